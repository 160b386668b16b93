//! A gate: a setting of whole launches that admits the library's algorithms (`admits_algorithms` in its description). If something else decides
//! which of the library's algorithms runs ([`proof`]), none of them can be credited. The contest is then held again in launches with the gate,
//! in turn with launches without it. Gate and selection are chosen together.
//!
//! A gate touches every call of the collectives it belongs to, and so it is tried only for cells that nothing else fixes, and for contests
//! that were asked for. The pair has to meet the bounds as they are with the gate and as they are without it (a bound that became slower
//! mends nothing), and to be faster than the library without it, significantly.

use std::collections::BTreeSet;

use kilter_model::config::library::{Library, Parameter};
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::report::FixKind;
use kilter_model::setup::Setup;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::Rule;
use kilter_stats::verdict::improves;

use crate::choose::{Choice, Measured};
use crate::context::{Context, Facts, Site};
use crate::in_job_search::{Contests, FINAL_LAUNCHES, Held, front};
use crate::proof::{self, Finding};
use crate::quarantine::Quarantine;
use crate::space::{self, LaunchCandidate};
use crate::target::Target;
use crate::trials::Trials;
use kilter_model::change::id;

/// Tries the gates for targets that `choices` leave unfixed because the library's algorithms are hidden. It enters the results into the choices,
/// and notes the gate of each chosen selection. `deployed` is in force besides, `banned` settings are not proposed.
///
/// # Errors
/// A failure that no candidate explains.
pub fn search(
    context: &Context<'_>,
    label: &str,
    deployed: &Deployment,
    banned: &BTreeSet<Assignment>,
    kinds: &dyn Fn(&Target, FixKind) -> bool,
    choices: &mut [(Target, Choice)],
) -> anyhow::Result<()> {
    let mut base = deployed.clone();
    // Those of gates that something was chosen under: what is tried later is tried beside them.
    let mut opened: Vec<Assignment> = Vec::new();
    for gate in candidates(
        &context.site,
        &context.facts,
        &context.quarantine,
        &open(choices, &|_| true),
        banned,
    ) {
        let is_set = |one: &Assignment| base.assignments.iter().any(|other| other.name == one.name);
        let targets = open(choices, &|target| {
            acts_on(&context.site.library, &gate.parameter, target)
        });
        if targets.is_empty() || gate.assignments.iter().any(is_set) {
            continue;
        }
        let launches = 2 * FINAL_LAUNCHES.min(context.site.options.launches) + OTHER_LAUNCHES;
        if context
            .jobs
            .budget
            .search_exhausted(launches as f64 * context.jobs.launch_seconds())
        {
            let why = "the budget ended before algorithms were compared under this setting; raise --budget";
            context.progress.warn(&format!("`{}`: {why}", id(&gate.assignments)));
            for (_, choice) in choices.iter_mut().filter(|(target, _)| targets.contains(target)) {
                add_reason(choice, &gate.assignments, why);
            }
            break;
        }
        let chosen = hold(context, label, &base, &gate, &targets, kinds, choices)?;
        if chosen.is_empty() {
            continue;
        }
        for assignment in &gate.assignments {
            base.assign(assignment.clone());
        }
        opened.extend(gate.assignments);
        for (_, choice) in choices.iter_mut().filter(|(target, _)| chosen.contains(target)) {
            choice.needs.clone_from(&opened);
        }
    }
    Ok(())
}

/// Launches for a gate beside those of the finals: it alone, the screening, and the one that counts messages.
const OTHER_LAUNCHES: usize = 3;

/// The targets that are still looked at, of those that a gate is `wanted` for.
fn open(choices: &[(Target, Choice)], wanted: &dyn Fn(&Target) -> bool) -> Vec<Target> {
    let is_open = |(target, choice): &&(Target, Choice)| {
        // A default that holds after all needs no fix; without bounds, a contest was asked for.
        let is_unfixed = choice.unfixed_because.is_some() || target.bounds.is_empty();
        choice.hidden && choice.chosen.is_none() && is_unfixed && wanted(target)
    };
    let open = choices.iter().filter(is_open);
    open.map(|(target, _)| target.clone()).collect()
}

/// The gates that may be tried.
fn candidates(
    site: &Site<'_>,
    facts: &Facts,
    quarantine: &Quarantine,
    targets: &[Target],
    banned: &BTreeSet<Assignment>,
) -> Vec<LaunchCandidate> {
    let (library, options) = (&site.library, site.options);
    let mut candidates = space::admitting_candidates(library, &facts.transports(), targets);
    candidates.retain(|gate| {
        let is_banned = gate.assignments.iter().any(|one| banned.contains(one));
        let is_the_sites = gate.assignments.iter().all(|one| {
            let mut site = options.site_parameters.iter().chain(&options.site_environment);
            site.any(|(name, value)| (name, value) == (&one.name, &one.value))
        });
        let is_left = options.limits.leaves_parameter(library, &gate.parameter);
        let is_away = quarantine.contains(&id(&gate.assignments));
        !(is_banned || is_the_sites || is_left || is_away)
    });
    candidates
}

/// True if a parameter acts on the collective of a target; one that lists no collectives acts on all.
fn acts_on(library: &Library, parameter: &str, target: &Target) -> bool {
    let its = |row: &Parameter| target.collective().is_some_and(|one| row.collectives.contains(&one));
    let row = library.parameters.iter().find(|row| row.name == parameter);
    row.is_some_and(|row| row.collectives.is_empty() || its(row))
}

/// Holds the contests of `targets` under a gate and enters the results into the choices; returns the targets for which something is chosen.
fn hold(
    context: &Context<'_>,
    label: &str,
    base: &Deployment,
    gate: &LaunchCandidate,
    targets: &[Target],
    kinds: &dyn Fn(&Target, FixKind) -> bool,
    choices: &mut [(Target, Choice)],
) -> anyhow::Result<Vec<Target>> {
    let name = id(&gate.assignments);
    let label = format!("{label}/{name}");
    context.progress.note(&format!(
        "the library's algorithms may take effect only under `{name}`; they are compared again under this setting"
    ));
    // A setting that does not read back, or that jobs do not survive, is put away here, and not the library's own choice under it.
    let mut alone = Trials::new(context, format!("{label}/alone"), targets, Setup::of(base)).of_targets_alone();
    if alone.launch(&gate.assignments)?.is_none() {
        let why = "the setting could not be made, or jobs failed under it; see the quarantined candidates";
        for (_, choice) in choices.iter_mut().filter(|(target, _)| targets.contains(target)) {
            add_reason(choice, &gate.assignments, why);
        }
        return Ok(Vec::new());
    }
    let mut with_gate = base.clone();
    for assignment in &gate.assignments {
        with_gate.assign(assignment.clone());
    }
    let under = Contests::new(context, &with_gate, &label);
    let outside_label = format!("{label}/without");
    let without = Contests::new(context, base, &outside_label);
    // What was to be known before: how long a launch of these cells takes. The screening counts as one.
    let launches = 2 * FINAL_LAUNCHES.min(context.site.options.launches) + 1;
    let (finals, why) = if context
        .jobs
        .budget
        .search_exhausted(launches as f64 * (context.jobs.launch_seconds() + alone.trial_seconds))
    {
        (
            Vec::new(),
            "the budget ended before algorithms were compared under this setting; raise --budget",
        )
    } else {
        let why = "the budget ended before this cell was screened under this setting; raise --budget";
        (under.screen_all(targets, kinds, &front)?, why)
    };
    let is_missing = |target: &Target| targets.contains(target) && !finals.iter().any(|(other, _)| other == target);
    for (_, choice) in choices.iter_mut().filter(|(target, _)| is_missing(target)) {
        add_reason(choice, &gate.assignments, why);
    }
    if finals.is_empty() {
        return Ok(Vec::new());
    }
    let held = under.finals_in_turn(&without, finals, FINAL_LAUNCHES)?;
    let (held, of_library): (Vec<Held>, Vec<Held>) = held.into_iter().unzip();
    let (jobs, proofs) = (&context.jobs, &context.proofs);
    let findings = proof::of_finalists(jobs, proofs, &context.quarantine, &label, under.setup(), &held)?;
    let rule = context.site.rule(context.facts.noise_seconds());
    let mut chosen = Vec::new();
    for (held, of_library) in held.iter().zip(&of_library) {
        let finding = findings.get(&held.target.name());
        let (candidates, bounds) = field(held, of_library, finding);
        let judged = under.choose_proven(&held.target, candidates.clone(), &bounds, &rule)?;
        let Some((target, choice)) = choices.iter_mut().find(|(target, _)| *target == held.target) else {
            continue;
        };
        let contest = Judged {
            judged,
            candidates,
            default_without: default_of(of_library),
            finding,
        };
        if settle(choice, &gate.assignments, contest, &rule) {
            chosen.push(target.clone());
        }
    }
    Ok(chosen)
}

/// The library's own choice.
fn default_of(held: &Held) -> Option<&Sample> {
    let default = held.candidates.iter().find(|one| one.selection.is_none());
    default.map(|one| &one.medians)
}

/// The candidates under the gate, and the bounds that they have to meet, with and without it. The library's algorithms count only if messages
/// prove that they act under the gate; without the gate they are known not to act.
fn field(under: &Held, without: &Held, finding: Option<&Finding>) -> (Vec<Measured>, Vec<Sample>) {
    let acts = matches!(finding, Some(Finding::Acts { .. }));
    let is_the_librarys = |one: &Measured| matches!(one.selection, Some(Selection::Settings(_)));
    let credited = under.candidates.iter().filter(|one| acts || !is_the_librarys(one));
    let bounds = under.bounds.iter().chain(&without.bounds);
    (credited.cloned().collect(), bounds.cloned().collect())
}

/// A contest under a gate.
struct Judged<'h> {
    /// The choice by the times under the gate.
    judged: Choice,
    /// The candidates that it was chosen from.
    candidates: Vec<Measured>,
    /// The library's own choice without the gate, in launches in turn.
    default_without: Option<&'h Sample>,
    /// Evidence that the library's algorithms act under the gate, if one of them was a finalist.
    finding: Option<&'h Finding>,
}

/// Enters the result of a contest under a gate into the choice made without it; true if the pair is chosen.
fn settle(choice: &mut Choice, gate: &[Assignment], contest: Judged<'_>, rule: &Rule) -> bool {
    let Judged {
        judged,
        candidates,
        default_without,
        finding,
    } = contest;
    let name = id(gate);
    let is_faster = |selection: &Selection| {
        let measured = candidates.iter().find(|one| one.selection.as_ref() == Some(selection));
        let both = default_without.zip(measured);
        both.is_some_and(|(before, after)| improves(before, &after.medians, rule))
    };
    let (chosen, why_not) = match (judged.chosen, judged.unfixed_because) {
        (Some(selection), _) if is_faster(&selection) => (Some(selection), None),
        (Some(selection), _)
            if default_without.is_none_or(|default| rule.test.smallest_p(default.len()) > rule.alpha) =>
        {
            let why_not = format!(
                "`{}` meets the bound, and {} are too few to tell whether it is faster than the library without it; use more --launches",
                selection.id(),
                kilter_render::format::count(default_without.map_or(0, Sample::len), "launch"),
            );
            (None, Some(why_not))
        }
        (Some(selection), _) => {
            let id = selection.id();
            (
                None,
                Some(format!(
                    "`{id}` meets the bound, and is not faster than the library without it"
                )),
            )
        }
        (None, Some(why_not)) => (None, Some(why_not)),
        (None, None) => {
            let why_not = "the library's own choice meets the bound under this setting, but the setting by itself was not accepted";
            (None, Some(why_not.to_owned()))
        }
    };
    for mut one in judged.contest.candidates {
        one.change.settings = gate.to_vec();
        one.id = match one.kind {
            Some(_) => format!("{name} {}", one.id),
            None => name.clone(),
        };
        one.kind = one.kind.or(Some(FixKind::Parameter));
        one.chosen &= chosen.is_some();
        if let Some(without) = default_without {
            one.ratio_to_default = one.seconds / without.median();
        }
        choice.contest.candidates.push(one);
    }
    if let Some(finding) = finding {
        let proof = choice.contest.proof.get_or_insert_default();
        let separator = if proof.is_empty() { "" } else { "; " };
        *proof += &format!("{separator}with `{name}`: {}", finding.text());
    }
    if let Some(why_not) = why_not {
        add_reason(choice, gate, &why_not);
    }
    if chosen.is_some() {
        choice.unfixed_because = None;
        choice.chosen = chosen;
    }
    choice.chosen.is_some()
}

/// Adds a gate's result to the reason why a target is unfixed.
fn add_reason(choice: &mut Choice, gate: &[Assignment], reason: &str) {
    if let Some(text) = &mut choice.unfixed_because {
        *text += &format!("; with `{}`: {reason}", id(gate));
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_model::config::library::find_for;
    use kilter_model::plan::Subject;

    use super::*;
    use crate::choose::choose;

    const ACTS: Finding = Finding::Acts { forced: 9, kinds: 6 };
    const NO_EFFECT: Finding = Finding::NoEffect { forced: 9 };

    fn rule() -> Rule {
        Rule {
            noise_seconds: 1e-6,
            ..Rule::default()
        }
    }

    fn gate() -> Vec<Assignment> {
        vec![Assignment {
            name: "coll_han_priority".to_owned(),
            value: "0".to_owned(),
            environment: false,
        }]
    }

    /// Five launches around so many microseconds.
    fn launches(microseconds: f64) -> Sample {
        let times = [0.99, 0.995, 1.0, 1.005, 1.01].map(|factor| factor * microseconds * 1e-6);
        Sample::new(times.to_vec()).unwrap()
    }

    fn algorithm(number: u64) -> Selection {
        Selection::Settings(vec![("coll_tuned_bcast_algorithm".to_owned(), number.to_string())])
    }

    fn own() -> Selection {
        Selection::Algorithm("bcast.binomial".to_owned(), Vec::new())
    }

    fn target() -> Target {
        Target {
            bounds: vec![Subject::library(Collective::Scatter, 262_144)],
            ..Target::unbounded(Collective::Bcast, 262_144)
        }
    }

    fn held(default: f64, others: &[(Selection, f64)], bound: f64) -> Held {
        let one = |selection, microseconds| Measured {
            selection,
            medians: launches(microseconds),
        };
        let others = others
            .iter()
            .map(|(selection, time)| one(Some(selection.clone()), *time));
        Held {
            target: target(),
            candidates: std::iter::once(one(None, default)).chain(others).collect(),
            bounds: vec![launches(bound)],
        }
    }

    /// Without the gate, the library's own choice takes 10 ms, the hidden algorithm is not credited, and the bound is 4 ms.
    fn unfixed() -> Choice {
        let without = held(10_000.0, &[(own(), 9000.0)], 4000.0);
        Choice {
            hidden: true,
            ..choose(&without.target, &without.candidates, &without.bounds, &rule())
        }
    }

    /// The choice that `under` leads to, beside the library without the gate.
    fn settled(under: &Held, finding: &Finding) -> Choice {
        let without = held(10_000.0, &[], 4000.0);
        let (candidates, bounds) = field(under, &without, Some(finding));
        let judged = choose(&under.target, &candidates, &bounds, &rule());
        let mut choice = unfixed();
        let contest = Judged {
            judged,
            candidates,
            default_without: default_of(&without),
            finding: Some(finding),
        };
        let chosen = settle(&mut choice, &gate(), contest, &rule());
        assert_eq!(chosen, choice.chosen.is_some());
        choice
    }

    #[test]
    fn the_pair_fixes_what_neither_half_does() {
        let under = held(8000.0, &[(algorithm(7), 3900.0), (algorithm(3), 6000.0)], 4000.0);
        let choice = settled(&under, &ACTS);
        assert_eq!((choice.chosen, choice.unfixed_because), (Some(algorithm(7)), None));
        let text = choice.contest.candidates.iter().map(|one| {
            let chosen = if one.chosen { " chosen" } else { "" };
            format!("{} {:.2}{chosen}", one.id, one.ratio_to_default)
        });
        let text: Vec<String> = text.collect();
        assert_eq!(
            text,
            [
                "bcast.binomial 0.90",
                "default 1.00",
                "coll_han_priority=0 coll_tuned_bcast_algorithm=7 0.39 chosen",
                "coll_han_priority=0 coll_tuned_bcast_algorithm=3 0.60",
                "coll_han_priority=0 0.80",
            ]
        );
        let proof = choice.contest.proof.unwrap();
        assert!(
            proof.starts_with("with `coll_han_priority=0`: proven by messages"),
            "{proof}"
        );
    }

    #[test]
    fn what_is_not_shown_to_act_under_the_gate_is_not_credited() {
        let under = held(8000.0, &[(algorithm(7), 3900.0)], 4000.0);
        for finding in [NO_EFFECT, Finding::Unknown("not counted".to_owned())] {
            let choice = settled(&under, &finding);
            assert_eq!(choice.chosen, None, "{finding:?}");
            let why = choice.unfixed_because.unwrap();
            assert!(
                why.ends_with(
                    "with `coll_han_priority=0`: the best of 1 candidates, default, still takes 2.00 times the bound"
                ),
                "{why}"
            );
        }
    }

    #[test]
    fn a_bound_that_became_slower_mends_nothing() {
        let under = held(8000.0, &[(algorithm(7), 5000.0)], 6000.0);
        let choice = settled(&under, &ACTS);
        assert_eq!(choice.chosen, None);
        assert!(
            choice
                .unfixed_because
                .unwrap()
                .contains("still takes 1.25 times the bound")
        );
        // And one that became faster has to be met as it is then.
        let under = held(8000.0, &[(algorithm(7), 3900.0)], 2000.0);
        assert_eq!(settled(&under, &ACTS).chosen, None);
    }

    #[test]
    fn a_pair_has_to_be_faster_than_the_library_without() {
        let under = held(12_000.0, &[(algorithm(7), 4100.0)], 4000.0);
        let (candidates, bounds) = field(&under, &held(4200.0, &[], 4000.0), Some(&ACTS));
        let without = launches(4200.0);
        let contest = Judged {
            judged: choose(&under.target, &candidates, &bounds, &rule()),
            candidates,
            default_without: Some(&without),
            finding: Some(&ACTS),
        };
        let mut choice = unfixed();
        assert!(!settle(&mut choice, &gate(), contest, &rule()));
        let why = choice.unfixed_because.unwrap();
        assert!(why.ends_with("is not faster than the library without it"), "{why}");
        assert!(choice.contest.candidates.iter().all(|one| !one.chosen));
    }

    #[test]
    fn a_gate_that_is_enough_by_itself_was_for_the_search_of_settings_to_accept() {
        let under = held(3900.0, &[(algorithm(7), 3800.0)], 4000.0);
        let choice = settled(&under, &ACTS);
        assert_eq!(choice.chosen, None);
        assert!(
            choice
                .unfixed_because
                .unwrap()
                .contains("the setting by itself was not accepted")
        );
    }

    #[test]
    fn kilters_own_compete_under_the_gate_too() {
        let under = held(8000.0, &[(algorithm(7), 3900.0), (own(), 2000.0)], 4000.0);
        assert_eq!(settled(&under, &ACTS).chosen, Some(own()));
    }

    #[test]
    fn gates_are_tried_where_algorithms_are_hidden_and_nothing_fixes() {
        let with = |hidden, choice: Choice| (target(), Choice { hidden, ..choice });
        let fixed = Choice {
            chosen: Some(own()),
            unfixed_because: None,
            ..unfixed()
        };
        let holds = Choice {
            unfixed_because: None,
            ..unfixed()
        };
        let is_open = |one: (Target, Choice)| !open(&[one], &|_| true).is_empty();
        assert!(is_open(with(true, unfixed())));
        assert!(!is_open(with(false, unfixed())));
        assert!(!is_open(with(true, fixed)));
        assert!(!is_open(with(true, holds.clone())));
        // Asked for.
        let unbounded = Target::unbounded(Collective::Bcast, 262_144);
        assert!(is_open((unbounded, Choice { hidden: true, ..holds })));
        assert!(open(&[with(true, unfixed())], &|_| false).is_empty());
    }

    #[test]
    fn the_description_says_what_is_a_gate_and_for_which_collectives() {
        let library = find_for("mpirun (Open MPI) 5.0.11").unwrap();
        let several_hosts = &library.transports.several_hosts;
        let gates = |transports: &[String], collective| -> Vec<String> {
            let target = Target::unbounded(collective, 65536);
            let all = space::admitting_candidates(&library, transports, &[target]);
            all.iter().map(|one| id(&one.assignments)).collect()
        };
        assert_eq!(gates(several_hosts, Collective::Bcast), ["coll_han_priority=0"]);
        assert_eq!(gates(several_hosts, Collective::Scan), [""; 0]);
        assert_eq!(gates(&library.transports.one_host, Collective::Bcast), [""; 0]);
        let acts = |collective| acts_on(&library, "coll_han_priority", &Target::unbounded(collective, 8));
        assert!(acts(Collective::Bcast) && !acts(Collective::Scan));
        assert!(acts_on(&library, "btl_tcp_eager_limit", &target()));
        assert!(!acts_on(&library, "nothing", &target()));
    }
}
