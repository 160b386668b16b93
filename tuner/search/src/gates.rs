//! A gate: a setting of whole launches that admits the library's algorithms (`admits_algorithms` in its description). If something else decides
//! which of the library's algorithms runs ([`proof`]), none of them can be credited. The contest is then held again in launches with the gate,
//! in turn with launches without it. Gate and selection are chosen together.
//!
//! A gate touches every call of the collectives it belongs to, and so it is tried only for cells that nothing else fixes, and for contests
//! that were asked for. For the same reason it is opened for a fix alone, and not for a partial one, whose place the pair takes. The pair has to meet
//! the bounds as they are with the gate and as they are without it (a bound that became slower mends nothing), and to be faster than the library
//! without it, significantly. With ranks that arrive apart it must not be slower than that.

use std::collections::BTreeSet;

use kilter_model::config::library::Library;
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::report::FixKind;
use kilter_model::setup::Setup;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::Rule;
use kilter_stats::verdict::improves;

use crate::arrivals::Apart;
use crate::choose::{Choice, Measured, Otherwise};
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
            context
                .progress
                .warn(&format!("`{}`: {NOT_COMPARED}", id(&gate.assignments)));
            for (_, choice) in choices.iter_mut().filter(|(target, _)| targets.contains(target)) {
                add_reason(choice, &gate.assignments, NOT_COMPARED);
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

/// Reason of a gate that decides nothing because the seconds did not reach.
const NOT_COMPARED: &str = "the budget ended before algorithms were compared under this setting; raise --budget";

/// The targets that are still looked at, of those that a gate is `wanted` for.
fn open(choices: &[(Target, Choice)], wanted: &dyn Fn(&Target) -> bool) -> Vec<Target> {
    let is_open = |(target, choice): &&(Target, Choice)| {
        choice.hidden && !choice.fixes() && choice.is_wanted(target) && wanted(target)
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
    let mut candidates = space::admitting_candidates(library, &facts.transports(), &facts.heard(), targets);
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

/// True if the library has the parameter and it acts on the collective of the target.
fn acts_on(library: &Library, parameter: &str, target: &Target) -> bool {
    let row = library.parameters.iter().find(|row| row.name == parameter);
    row.is_some_and(|row| row.serves(target.collective()))
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
    let mut alone = Trials::new(
        context.launch_search(),
        format!("{label}/alone"),
        targets,
        Setup::of(base),
    )
    .of_targets_alone();
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
    let under = Contests::new(context.in_job_search(), &with_gate, &label);
    let outside_label = format!("{label}/without");
    let without = Contests::new(context.in_job_search(), base, &outside_label);
    // The time that a launch of these cells takes was to be known before. The screening counts as one.
    let launches = 2 * FINAL_LAUNCHES.min(context.site.options.launches) + 1;
    let measured_seconds = (1 + context.site.options.arrivals.len()) as f64 * alone.trial_seconds();
    let (finals, why) = if context
        .jobs
        .budget
        .search_exhausted(launches as f64 * (context.jobs.launch_seconds() + measured_seconds))
    {
        (Vec::new(), NOT_COMPARED)
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
    let screened: Vec<Target> = finals.iter().map(|(target, _)| target.clone()).collect();
    let held = under.finals_in_turn(&without, finals, FINAL_LAUNCHES)?;
    if held.is_empty() {
        for (_, choice) in choices.iter_mut().filter(|(target, _)| screened.contains(target)) {
            add_reason(choice, &gate.assignments, NOT_COMPARED);
        }
        return Ok(Vec::new());
    }
    let (held, of_library): (Vec<Held>, Vec<Held>) = held.into_iter().unzip();
    let (jobs, proofs) = (&context.jobs, &context.proofs);
    let setup = (under.setup(), false);
    let findings = proof::of_finalists(jobs, proofs, &context.quarantine, &label, setup, &held)?;
    let rule = context.site.rule(context.facts.noise_seconds());
    let mut chosen = Vec::new();
    for (held, of_library) in held.iter().zip(&of_library) {
        let finding = findings.get(&held.target.name());
        let (candidates, bounds) = field(held, of_library, finding);
        let apart = apart(held, of_library);
        let judged = under.choose_proven(
            &held.target,
            candidates.clone(),
            (&bounds, &apart),
            &rule,
            Otherwise::Nothing,
        )?;
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

/// The finalists under the gate beside the library's own choice without it, with ranks that arrive apart: jobs have the latter now.
fn apart(under: &Held, without: &Held) -> Vec<Apart> {
    let both = under.apart.iter().zip(&without.apart);
    let beside = |(under, without): (&Apart, &Apart)| {
        let finalists = under.candidates.iter().filter(|one| one.selection.is_some());
        Apart {
            when: under.when.clone(),
            candidates: without.candidates.iter().chain(finalists).cloned().collect(),
        }
    };
    both.map(beside).collect()
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
    if chosen.is_some() {
        choice.drop_partial();
    }
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
    let is_chosen = chosen.is_some();
    if is_chosen {
        choice.unfixed_because = None;
        choice.chosen = chosen;
    }
    is_chosen
}

/// Adds a gate's result to the reason why a target is unfixed.
fn add_reason(choice: &mut Choice, gate: &[Assignment], reason: &str) {
    if let Some(text) = &mut choice.unfixed_because {
        *text += &format!("; with `{}`: {reason}", id(gate));
    }
}

#[cfg(test)]
mod tests;
