//! Hands one collective of one size to the component that has the library's algorithms, where another component decides by itself
//! ([`Components`]): the smaller fix beside a gate, which takes that component out for everything.
//!
//! If messages have shown that none of the library's algorithms is asked for, their contest is held again, each with the setting that hands the
//! collective on. What a first contest chose of Kilter's own competes with them, so that parameters win among equals. The library's algorithms
//! are credited only if their messages now differ. A partial fix that is found there takes the place of another one, and of no fix.

use kilter_model::config::library::Components;
use kilter_model::deployment::{Deployment, Selection};
use kilter_model::report::FixKind;

use crate::choose::{Choice, Measured, Otherwise};
use crate::context::Context;
use crate::in_job_search::{Contests, FINAL_LAUNCHES, Held, front};
use crate::proof::{self, Finding};
use crate::target::Target;

/// Reason of a target for which nothing was compared.
const NOT_COMPARED: &str = "the budget ended before algorithms were compared there; raise --budget";

/// Holds the contests of targets whose algorithms are hidden once more, and enters the results into the choices. `deployed` is in force besides.
///
/// # Errors
/// A failure that no candidate explains.
pub fn search(
    context: &Context<'_>,
    label: &str,
    deployed: &Deployment,
    kinds: &dyn Fn(&Target, FixKind) -> bool,
    choices: &mut [(Target, Choice)],
) -> anyhow::Result<()> {
    let Some(components) = &context.site.library.components else {
        return Ok(());
    };
    let open: Vec<&mut (Target, Choice)> = choices.iter_mut().filter(|one| is_open(components, one)).collect();
    if open.is_empty() {
        return Ok(());
    }
    if let Some(name) = components.settings().find(|name| context.site.sets(name)) {
        let why = format!("the site sets `{name}` itself, and Kilter leaves it as it is");
        context
            .progress
            .warn(&format!("no collective is handed on by size: {why}"));
        for (_, choice) in open {
            add_reason(choice, components, &why);
        }
        return Ok(());
    }
    let targets: Vec<Target> = open.iter().map(|one| one.0.clone()).collect();
    context.progress.note(&format!(
        "the library's algorithms may take effect where `{}` hands the collective to `{}`; they are compared again there",
        components.own, components.of_algorithms
    ));
    let label = format!("{label}/components");
    let contests = Contests::new(context.in_job_search(), deployed, &label).handing_on();
    let mut finals = contests.screen_all(&targets, kinds, &front)?;
    for (target, front) in &mut finals {
        let rival = open.iter().find(|one| one.0 == *target);
        front.extend(rival.and_then(|one| one.1.chosen.clone()));
    }
    let held = contests.finals(finals, FINAL_LAUNCHES)?;
    let setup = (contests.setup(), true);
    let findings = proof::of_finalists(
        &context.jobs,
        &context.proofs,
        &context.quarantine,
        &label,
        setup,
        &held,
    )?;
    let rule = context.site.rule(context.facts.noise_seconds());
    for (target, choice) in open {
        let Some(held) = held.iter().find(|held| held.target == *target) else {
            add_reason(choice, components, NOT_COMPARED);
            continue;
        };
        let finding = findings.get(&target.name());
        let candidates = credited(held, finding);
        let judged = contests.choose_proven(
            target,
            candidates,
            (&held.bounds, &held.apart),
            &rule,
            Otherwise::PartialFix,
        )?;
        settle(choice, components, judged, finding);
    }
    Ok(())
}

/// True if another contest may find a smaller fix: the algorithms are hidden, the collective can be handed on, and no setting fixes the target.
fn is_open(components: &Components, (target, choice): &(Target, Choice)) -> bool {
    let switch = target
        .collective()
        .and_then(|collective| components.switching(collective));
    let chosen = choice.chosen.as_ref();
    let by_setting = choice.fixes() && chosen.is_some_and(|one| one.kind() == FixKind::Parameter);
    choice.hidden && switch.is_some() && !by_setting && choice.is_wanted(target)
}

/// The candidates that count: the library's algorithms only if messages prove that they act.
fn credited(held: &Held, finding: Option<&Finding>) -> Vec<Measured> {
    let acts = matches!(finding, Some(Finding::Acts { .. }));
    let is_the_librarys = |one: &Measured| matches!(one.selection, Some(Selection::Settings(_)));
    let credited = held.candidates.iter().filter(|one| acts || !is_the_librarys(one));
    credited.cloned().collect()
}

/// Enters a contest into the choice that was made before it.
fn settle(choice: &mut Choice, components: &Components, mut judged: Choice, finding: Option<&Finding>) {
    if choice.fixes() {
        judged.drop_partial();
    }
    let to = &components.of_algorithms;
    if let Some(finding) = finding {
        let proof = choice.contest.proof.get_or_insert_default();
        let separator = if proof.is_empty() { "" } else { "; " };
        *proof += &format!("{separator}handed to `{to}`: {}", finding.text());
    }
    match (&judged.chosen, &judged.unfixed_because) {
        (Some(_), None) => {
            choice.drop_partial();
            for one in &mut choice.contest.candidates {
                one.chosen = false;
            }
            choice.unfixed_because = None;
        }
        (chosen, Some(why)) => {
            if chosen.is_some() {
                choice.drop_partial();
            }
            add_reason(choice, components, why);
        }
        // The default holds in these launches, and what was chosen before stands.
        (None, None) => {}
    }
    for one in judged.contest.candidates {
        match choice.contest.candidates.iter_mut().find(|other| other.id == one.id) {
            // In the launches that decided.
            Some(other) if judged.chosen.is_some() => *other = one,
            Some(_) => {}
            None => choice.contest.candidates.push(one),
        }
    }
    choice
        .contest
        .candidates
        .sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    choice.chosen = judged.chosen.or(choice.chosen.take());
}

/// Adds a result to the reason why a target is unfixed.
fn add_reason(choice: &mut Choice, components: &Components, reason: &str) {
    if let Some(text) = &mut choice.unfixed_because {
        *text += &format!("; handed to `{}`: {reason}", components.of_algorithms);
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_model::config::library::find_for;
    use kilter_model::plan::Subject;
    use kilter_stats::sample::Sample;
    use kilter_stats::verdict::Rule;

    use super::*;
    use crate::choose::choose_among;

    fn components() -> Components {
        find_for("mpirun (Open MPI) 5.0.11").unwrap().components.unwrap()
    }

    fn target(collective: Collective) -> Target {
        Target {
            bounds: vec![Subject::library(Collective::Scatter, 262_144)],
            ..Target::unbounded(collective, 262_144)
        }
    }

    fn own() -> Selection {
        Selection::Algorithm("bcast.binomial".to_owned(), Vec::new())
    }

    fn handed_on() -> Selection {
        let algorithm = ("coll_tuned_bcast_algorithm".to_owned(), "3".to_owned());
        Selection::Settings(components().through(Collective::Bcast, vec![algorithm]).unwrap())
    }

    /// A setting that is no algorithm.
    fn setting() -> Selection {
        Selection::Settings(vec![("coll_tuned_bcast_segment".to_owned(), "1".to_owned())])
    }

    /// The contest of these times in milliseconds; the bound is 4 ms.
    fn held(times: &[(Option<Selection>, f64)]) -> Held {
        let launches =
            |ms: f64| Sample::new([0.99, 1.0, 1.01, 1.0, 1.0].map(|factor| factor * ms * 1e-3).to_vec()).unwrap();
        let measured = |(selection, ms): &(Option<Selection>, f64)| Measured {
            selection: selection.clone(),
            medians: launches(*ms),
        };
        Held {
            target: target(Collective::Bcast),
            candidates: times.iter().map(measured).collect(),
            bounds: vec![launches(4.0)],
            apart: Vec::new(),
        }
    }

    fn choice(held: &Held, finding: Option<&Finding>) -> Choice {
        choose_among(
            &held.target,
            &credited(held, finding),
            &held.bounds,
            &Rule::default(),
            &|_| None,
            Otherwise::PartialFix,
        )
    }

    fn hidden(times: &[(Option<Selection>, f64)]) -> Choice {
        Choice {
            hidden: true,
            ..choice(&held(times), None)
        }
    }

    #[test]
    fn only_what_is_hidden_and_can_be_handed_on_is_compared_again() {
        let is_open = |collective, choice: Choice| super::is_open(&components(), &(target(collective), choice));
        let unfixed = hidden(&[(None, 10.0)]);
        assert!(is_open(Collective::Bcast, unfixed.clone()));
        assert!(!is_open(Collective::Alltoall, unfixed.clone()));
        assert!(!is_open(
            Collective::Bcast,
            Choice {
                hidden: false,
                ..unfixed
            }
        ));
        assert!(is_open(Collective::Bcast, hidden(&[(None, 10.0), (Some(own()), 3.0)])));
        let by_setting = |ms| Choice {
            chosen: Some(setting()),
            ..hidden(&[(None, 10.0), (Some(own()), ms)])
        };
        assert!(!is_open(Collective::Bcast, by_setting(3.0)));
        assert!(is_open(Collective::Bcast, by_setting(4.4)), "a partial fix");
        // The default holds after all.
        assert!(!is_open(Collective::Bcast, hidden(&[(None, 3.0)])));
    }

    #[test]
    fn the_smaller_fix_replaces_what_was_chosen_before() {
        let acts = Finding::Acts { forced: 9, kinds: 6 };
        let mut before = hidden(&[(None, 10.0), (Some(own()), 3.0)]);
        assert_eq!(before.chosen, Some(own()));
        let again = held(&[(None, 10.0), (Some(handed_on()), 3.0), (Some(own()), 3.0)]);
        settle(&mut before, &components(), choice(&again, Some(&acts)), Some(&acts));
        assert_eq!(before.chosen, Some(handed_on()));
        let chosen = before.contest.candidates.iter().filter(|one| one.chosen);
        assert_eq!(chosen.map(|one| one.id.clone()).collect::<Vec<_>>(), [handed_on().id()]);
        assert!(
            before
                .contest
                .proof
                .is_some_and(|proof| proof.contains("handed to `tuned`: proven"))
        );
    }

    #[test]
    fn a_partial_fix_takes_the_place_of_another_one_and_of_no_fix() {
        let acts = Finding::Acts { forced: 9, kinds: 6 };
        let settled = |mut before: Choice, handed_on_ms| {
            let again = held(&[(None, 10.0), (Some(handed_on()), handed_on_ms), (Some(own()), 4.5)]);
            settle(&mut before, &components(), choice(&again, Some(&acts)), Some(&acts));
            let chosen = before.contest.candidates.iter().filter(|one| one.chosen);
            let chosen: Vec<String> = chosen.map(|one| one.id.clone()).collect();
            assert_eq!(chosen, before.chosen.iter().map(Selection::id).collect::<Vec<_>>());
            before
        };
        let partial = || hidden(&[(None, 10.0), (Some(own()), 4.4)]);
        let now = settled(partial(), 4.3);
        assert!(partial().is_partial() && now.is_partial());
        assert_eq!(now.chosen, Some(handed_on()));
        let why = now.unfixed_because.unwrap();
        assert!(why.contains("handed to `tuned`: the best of 3 candidates"), "{why}");
        let now = settled(partial(), 3.0);
        assert!(now.fixes() && now.chosen == Some(handed_on()));
        let now = settled(hidden(&[(None, 10.0), (Some(own()), 3.0)]), 4.3);
        assert!(now.fixes() && now.chosen == Some(own()), "{:?}", now.chosen);
        let now = settled(hidden(&[(None, 10.0), (Some(own()), 9.9)]), 4.3);
        assert!(now.is_partial() && now.chosen == Some(handed_on()));
    }

    #[test]
    fn what_messages_do_not_prove_is_not_credited() {
        let unfixed = [(None, 10.0), (Some(own()), 9.9)];
        let again = held(&[(None, 10.0), (Some(handed_on()), 3.0)]);
        for finding in [
            Finding::NoEffect { forced: 9 },
            Finding::Unknown("no counter".to_owned()),
        ] {
            let mut before = hidden(&unfixed);
            settle(
                &mut before,
                &components(),
                choice(&again, Some(&finding)),
                Some(&finding),
            );
            assert_eq!(before.chosen, None);
            assert!(
                before
                    .unfixed_because
                    .is_some_and(|why| why.contains("handed to `tuned`: "))
            );
        }
    }
}
