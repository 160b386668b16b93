//! Makes the report's model, and files, from the results of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context as _;
use kilter_algorithms::Collective;
use kilter_model::config::guideline::Kind;
use kilter_model::deployment::Selection;
use kilter_model::options::Options;
use kilter_model::plan::{Plan, Subject};
use kilter_model::report::{BudgetPart, Cell, Gain, Library, Provenance, Report, SCHEMA, Setting};
use kilter_render::format;
use kilter_search::context::Jobs;
use kilter_search::quarantine::Quarantine;
use kilter_search::savings;
use kilter_search::verification::{JudgedCell, Verification, in_one_mode};
use kilter_stats::verdict::{Comparison, Outcome};
use kilter_tune::Tuned;

mod changes;
mod gains;
mod ranges;

use self::changes::{all_the_same, changes, fix, gain_of, is_partial, selected};

/// The report of `check`.
#[must_use]
pub fn of_check(jobs: &Jobs<'_>, plan: &Plan, quarantine: &Quarantine, verification: &Verification) -> Report {
    let mut report = empty("check", jobs, plan, quarantine, verification);
    report.cells = verification
        .cells
        .iter()
        .map(|judged| cell(jobs.site.options.ranks, judged))
        .collect();
    report.savings = savings::lost(&plan.calls, &verification.cells);
    report
}

/// The report of `tune`.
#[must_use]
pub fn of_tune(jobs: &Jobs<'_>, plan: &Plan, quarantine: &Quarantine, tuned: &Tuned) -> Report {
    warn_of_operators(jobs, tuned);
    let mut report = empty("tune", jobs, plan, quarantine, &tuned.before);
    report.contests = tuned.contests.clone();
    report.targets = tuned.goals.report();
    report.overlap = tuned.goals.maps();
    report.arrivals = tuned.arrivals.iter().map(|(_, cell)| cell.clone()).collect();
    let measured = measured_again(tuned);
    let after: BTreeMap<String, &Comparison> = measured
        .iter()
        .map(|judged| (key(judged), &judged.comparison))
        .collect();
    if let Some(verification) = &tuned.after {
        report.provenance.launch_after = verification.command_line.clone();
    }
    let reasons = tuned.ledger.reasons();
    let mut seen = BTreeSet::new();
    for judged in &tuned.before.cells {
        let mut cell = cell(jobs.site.options.ranks, judged);
        seen.insert(key(judged));
        cell.after = after.get(&key(judged)).map(|comparison| (*comparison).clone());
        cell.not_measured_again = cell.after.is_none().then(|| not_again(jobs, tuned, judged)).flatten();
        let in_force = cell.after.as_ref().unwrap_or(&cell.before);
        let is_known = cell.not_measured_again.is_none();
        let still = is_known && in_force.verdict == Outcome::Violated;
        let was = judged.comparison.verdict == Outcome::Violated;
        if was {
            cell.fix = if still {
                selected(tuned, judged)
            } else {
                fix(tuned, judged)
            };
        }
        let is_partial = is_partial(tuned, judged);
        let because = if still {
            Some(reason(&reasons, judged))
        } else if !is_known {
            reasons.get(&judged.cell.name()).cloned()
        } else if was && in_force.verdict != Outcome::Holds {
            let reason = reasons.get(&judged.cell.name()).map(String::as_str);
            let reason = reason.filter(|_| is_partial || cell.fix.is_none());
            Some(undecided(in_force, cell.fix.is_some(), reason))
        } else {
            None
        };
        let no_fix = cell.fix.as_ref().filter(|_| still || is_partial);
        cell.unfixed_because = because.map(|reason| match no_fix {
            Some(fix) => all_the_same(fix, gain_of(tuned, judged, cell.after.as_ref()), &reason),
            None => reason,
        });
        report.cells.push(cell);
    }
    // Splits are judged where the medians predict a violation, and a deployment can bring that about.
    for judged in measured.into_iter().filter(|judged| !seen.contains(&key(judged))) {
        let mut cell = cell(jobs.site.options.ranks, judged);
        if judged.comparison.verdict == Outcome::Violated {
            cell.unfixed_because = Some(reason(&reasons, judged));
        }
        cell.after = Some(judged.comparison.clone());
        report.cells.push(cell);
    }
    if let Some(after) = &tuned.after {
        // Left sides that are no collectives are not measured in turn with the deployed files. Their times before come
        // from the verification.
        let mut before = tuned.before.medians.clone();
        before.extend(tuned.untouched.clone());
        let rule = jobs.site.rule(after.noise_seconds);
        let touched = |subject: &Subject| tuned.deployment.touches(subject, &jobs.site.library);
        report.savings = savings::of(&plan.calls, (&before, &after.medians), &touched, &rule);
        let unchanged = |subject: &Subject| tuned.deployment.leaves(subject);
        let (mut untouched, mut deployed, in_other_modes) = in_one_mode((&tuned.untouched, &after.medians), &unchanged);
        if in_other_modes > 0 {
            jobs.progress.note(&format!(
                "{in_other_modes} launches of the proof were in a rarer mode of the machine; gains are those of the others"
            ));
        }
        untouched.extend(tuned.again.untouched.clone());
        deployed.extend(tuned.again.deployed.clone());
        report.gains = gains::of((&untouched, &deployed), &touched, &rule);
        report.gain = Gain::of(&report.gains);
    }
    if let Some(emitted) = &tuned.emitted {
        let shown = (report.cells.as_slice(), report.gains.as_slice());
        report.changes = changes(tuned, (plan, &jobs.site), emitted, shown);
    }
    report
}

/// The cells that were measured with what is deployed. Those for which the budget had no room have the comparison of before, which says nothing now.
fn measured_again(tuned: &Tuned) -> Vec<&JudgedCell> {
    let is_measured = |after: &Verification, judged: &JudgedCell| {
        let name = (judged.cell.guideline.clone(), judged.cell.left.clone());
        judged.comparison.verdict != Outcome::Screened || !after.out_of_reach.contains(&name)
    };
    let all = tuned.after.iter().flat_map(|after| {
        let cells = after.cells.iter();
        cells.filter(|judged| is_measured(after, judged))
    });
    all.collect()
}

/// Why nothing is known of a cell now that was not measured again; `None` where it is as before, since nothing that is deployed acts on it.
fn not_again(jobs: &Jobs<'_>, tuned: &Tuned, judged: &JudgedCell) -> Option<String> {
    let sides = [&judged.cell.left, &judged.cell.right];
    let mut touched = sides.iter();
    if !touched.any(|side| tuned.deployment.touches(side, &jobs.site.library)) {
        return None;
    }
    let failed = sides.iter().find_map(|side| {
        let why = tuned.after.as_ref()?.failed.get(&side.item_id())?;
        Some(format!("{}: {why}", side.item_id()))
    });
    Some(failed.unwrap_or_else(|| "the budget ended".to_owned()))
}

/// Key by which a cell is found again. The bound of a split or a monotony cell may change with the deployment and is
/// left out.
fn key(judged: &JudgedCell) -> String {
    let cell = &judged.cell;
    let what = if Kind::is_found_by_function(cell.kind.name()) {
        &cell.function
    } else {
        &cell.expression
    };
    format!("{} {what} {}", cell.guideline, cell.left.bytes)
}

fn reason(reasons: &BTreeMap<String, String>, judged: &JudgedCell) -> String {
    reasons.get(&judged.cell.name()).cloned().unwrap_or_else(|| {
        "it is violated in the last verification; run again with more --rounds or a larger --budget".to_owned()
    })
}

/// Says that the proof of a cell that was violated decides nothing, and why nothing fixes it where this is so.
fn undecided(proof: &Comparison, has_fix: bool, reason: Option<&str>) -> String {
    let launches = format::count(proof.left_medians.len(), "launch");
    let text = format!(
        "{launches} with what is deployed do not decide whether it holds (ratio {:.2}); use more --launches",
        proof.ratio
    );
    match reason {
        Some(reason) => format!("{reason}; {text}"),
        None if has_fix => text,
        None => format!("nothing that is deployed is for it; {text}"),
    }
}

/// Date of seconds since 1970 as in RFC 3339, which ends with the year 9999.
pub(crate) fn date(unix_seconds: f64) -> String {
    const LAST: f64 = 253_402_300_799.0;
    let since = Duration::try_from_secs_f64(unix_seconds.min(LAST)).unwrap_or_default();
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

/// Says what other load did, where it was there.
pub(crate) fn warn_of_load(jobs: &Jobs<'_>) {
    let allowed = jobs.most_other_cores();
    let Ok((most, launches)) = jobs.run.other_load(allowed) else {
        return;
    };
    let here = jobs.watch.other_load(allowed);
    if launches > 0 {
        let longer = longer(here.slower);
        jobs.progress.warn(&format!(
            "during {launches} of the launches{longer} other programs used more than {allowed} processors, up to {most:.1}, so that times \
             are longer and vary more, and fewer cells are decided; run again on a quiet machine"
        ));
    }
    if here.unanswered > 0 {
        jobs.progress.warn(&format!(
            "{} blocks were not measured, since the time of their launches was over; raise --budget, or end what else runs",
            here.unanswered
        ));
    }
}

/// Says how much longer launches beside other load lasted, if they did: those without it may be the long ones of the first verification, and the ratio says
/// nothing of the load then.
fn longer(slower: f64) -> String {
    let shown = format!("{slower:.1}");
    if slower > 1.0 && shown != "1.0" {
        format!(" (they lasted {shown} times as long as the others)")
    } else {
        String::new()
    }
}

/// Says which deployed algorithms are wrong for operators that do not commute.
fn warn_of_operators(jobs: &Jobs<'_>, tuned: &Tuned) {
    let library = &jobs.site.library;
    let for_some = |((collective, _), selection): (&(Collective, u64), &Selection)| match selection {
        Selection::Settings(settings) => {
            let choice = library.choice_of(*collective, settings)?;
            let row = library.algorithms_of(*collective)?;
            let text = format!("`{}={}` ({})", row.parameter, choice.value, choice.name);
            choice.commutative.then_some(text)
        }
        _ => None,
    };
    let ids: BTreeSet<String> = tuned.deployment.selections.iter().filter_map(for_some).collect();
    if !ids.is_empty() {
        jobs.progress.warn(&format!(
            "{}: right for operators that commute alone, and {} does not look at the operator where a rule names the algorithm. Programs that make others \
             (MPI_Op_create with commute = 0) must not run with these files; --any-operator leaves such algorithms out",
            ids.into_iter().collect::<Vec<_>>().join(", "),
            library.name
        ));
    }
}

/// Says how many launches ended or hung before they started, so that a library or a setting that fails now and then is not overlooked.
fn warn_of_failed_starts(jobs: &Jobs<'_>) {
    if let Ok(again @ 1..) = jobs.run.started_again() {
        let launches = if again == 1 { "launch" } else { "launches" };
        jobs.progress.warn(&format!(
            "{again} {launches} ended or hung before the start, for which the launcher or the library is to blame, and started when launched again; \
             the logs are in `launches`"
        ));
    }
}

fn empty(command: &str, jobs: &Jobs<'_>, plan: &Plan, quarantine: &Quarantine, verification: &Verification) -> Report {
    warn_of_load(jobs);
    warn_of_failed_starts(jobs);
    let at_stake = savings::at_stake(&plan.calls, &|subject| verification.medians.contains_key(subject));
    if let Some(stake) = at_stake.as_ref().filter(|stake| !stake.not_looked_at.is_empty()) {
        jobs.progress.warn(&format!("{} Raise --budget.", stake.in_words()));
    }
    let options = jobs.site.options;
    Report {
        schema: SCHEMA,
        command: command.to_owned(),
        library: Library {
            name: jobs.site.library.name.clone(),
            version: jobs.site.version.clone(),
        },
        ranks: options.ranks,
        provenance: Provenance {
            library_string: verification.library_string.clone(),
            hosts: verification.hosts.clone(),
            seed: jobs.run.seed,
            command_line: jobs.typed.clone(),
            launch_before: verification.command_line.clone(),
            launch_after: String::new(),
            started: date(jobs.run.started_unix_seconds),
            measuring_seconds: jobs.budget.spent_seconds(),
            budget: jobs
                .budget
                .phases()
                .into_iter()
                .map(|phase| BudgetPart {
                    part: phase.name,
                    allotted_seconds: phase.allotted_seconds,
                    used_seconds: phase.used_seconds,
                })
                .collect(),
            launches: verification.launches,
            alpha: options.alpha,
            effect_floor: options.effect_floor,
            noise_seconds: verification.noise_seconds,
            clock_tick_seconds: verification.clock_tick_seconds,
            clock_read_seconds: verification.clock_read_seconds,
            loop_overhead_seconds: verification.loop_overhead_seconds,
            sync_method: verification.sync.map_or("", |sync| sync.method.name()).to_owned(),
            sync_residual_seconds: verification.sync.map_or(0.0, |sync| sync.residual_seconds),
            sync_bound_seconds: verification.sync.map_or(0.0, |sync| sync.bound_seconds),
            kilter_version: env!("CARGO_PKG_VERSION").to_owned(),
            simulated_machine: options.platform.as_ref().map(|platform| platform.id.clone()),
            site_parameters: options
                .site_parameters
                .iter()
                .map(|(name, value)| Setting {
                    name: name.clone(),
                    value: value.clone(),
                })
                .collect(),
        },
        cells: Vec::new(),
        gain: None,
        gains: Vec::new(),
        changes: Vec::new(),
        contests: Vec::new(),
        savings: Vec::new(),
        at_stake,
        application: options.mix.as_ref().and_then(|mix| mix.application.clone()),
        targets: Vec::new(),
        arrivals: Vec::new(),
        overlap: None,
        quarantined: quarantine.list(),
        not_verified: not_verified(plan, verification),
        unreached: verification.unreached.clone(),
        warnings: jobs.progress.warnings(),
    }
}

/// Guidelines and sides that could not be verified, with reasons.
fn not_verified(plan: &Plan, verification: &Verification) -> BTreeMap<String, String> {
    let guidelines = plan.left_out.iter();
    let failed = verification.failed.iter();
    let of_reasons = guidelines.chain(failed).map(|(what, why)| (what.clone(), why.clone()));
    let unreached = verification.unreached.iter();
    let why = "the time did not reach it, or other programs left no repetition valid; end them, or raise --budget";
    let of_time = unreached.map(|what| (what.clone(), why.to_owned()));
    of_reasons.chain(of_time).collect()
}

fn cell(ranks: usize, judged: &JudgedCell) -> Cell {
    let cell = &judged.cell;
    Cell {
        guideline: cell.guideline.clone(),
        expression: cell.expression.clone(),
        kind: cell.kind.name().to_owned(),
        function: cell.function.clone(),
        bytes: cell.bytes,
        measured_bytes: cell.left.bytes,
        right_bytes: (cell.right.bytes != cell.left.bytes).then_some(cell.right.bytes),
        ranks,
        before: judged.comparison.clone(),
        after: None,
        not_measured_again: None,
        fix: None,
        unfixed_because: None,
        note: judged.note.clone(),
    }
}

/// Writes a file of the output directory.
pub fn write(options: &Options, name: &str, text: &str) -> anyhow::Result<()> {
    let path = options.out.join(name);
    std::fs::write(&path, text).with_context(|| format!("`{}` cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_beside_other_load_are_called_longer_only_where_they_are() {
        assert_eq!(longer(1.64), " (they lasted 1.6 times as long as the others)");
        for shorter in [0.0, 0.1, 1.0, 1.04] {
            assert_eq!(longer(shorter), "");
        }
    }

    #[test]
    fn an_undecided_proof_says_how_many_launches_it_had_and_why_nothing_is_deployed() {
        let proof = Comparison {
            verdict: Outcome::Undecided,
            ratio: 1.614,
            ratio_ci: (0.9, 1.8),
            p: 0.1,
            p_adjusted: 1.0,
            seconds: 2.9e-6,
            right_seconds: 1.8e-6,
            left_medians: vec![2.9e-6; 12],
            right_medians: vec![1.8e-6; 12],
        };
        let open = "12 launches with what is deployed do not decide whether it holds (ratio 1.61); use more --launches";
        assert_eq!(undecided(&proof, true, None), open);
        assert_eq!(
            undecided(&proof, false, Some("nothing is faster")),
            format!("nothing is faster; {open}")
        );
        assert_eq!(
            undecided(&proof, false, None),
            format!("nothing that is deployed is for it; {open}")
        );
    }
}
