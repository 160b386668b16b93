//! Cells that a deployment is for, with ranks that arrive apart: no change is deployed that makes a call slower there.

use std::collections::BTreeSet;

use kilter_model::plan::{PlannedCell, Subject};
use kilter_model::report::ArrivalCell;
use kilter_model::setup::Setup;
use kilter_search::arrivals::compare;
use kilter_search::context::{Facts, Jobs};
use kilter_search::in_job_search::FINAL_LAUNCHES;
use kilter_search::verification::{Medians, OwnSeconds, TimedApart, measure_apart};
use kilter_stats::verdict::{Outcome, Rule};

/// The comparisons, and the subjects that are slower than in the untouched library, each with a note of how much and in which pattern.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) cells: Vec<(Subject, ArrivalCell)>,
    pub(crate) slower: Vec<(Subject, String)>,
}

/// Measures the left sides of `cells` under `setup` and in the untouched library, in turn, in every arrival pattern, whose sizes follow from the
/// times `before`. As in [`mod@crate::spoilt`], what seems slower is measured once more, and these launches decide.
///
/// # Errors
/// A launch that fails.
pub(crate) fn judge(
    jobs: &Jobs<'_>,
    facts: &Facts,
    (label, setup): (&str, &Setup),
    cells: &[&PlannedCell],
    before: &Medians,
) -> anyhow::Result<Judged> {
    let own = &OwnSeconds::of(cells.iter().copied(), before);
    let calls = cells.iter().filter(|cell| cell.left.collective().is_some());
    let subjects: &BTreeSet<Subject> = &calls.map(|cell| cell.left.clone()).collect();
    let rule = jobs.site.rule(facts.noise_seconds()).unpaired();
    let (untouched, launches) = (Setup::default(), FINAL_LAUNCHES.min(jobs.site.options.launches));
    if subjects.is_empty() || jobs.site.options.arrivals.is_empty() {
        return Ok(Judged::default());
    }
    let measured = |label: &str, subjects: &BTreeSet<Subject>| {
        let (timed, made) = measure_apart(jobs, facts, (label, &[setup, &untouched]), (subjects, own), launches)?;
        anyhow::Ok((compared(jobs, &timed, subjects, own, &rule), made))
    };
    let label = format!("{label}/apart");
    let (mut judged, made) = measured(&label, subjects)?;
    if made == 0 {
        jobs.progress.warn(
            "the budget ended before what is deployed was measured with ranks that arrive apart (--arrival); raise --budget",
        );
    }
    let slower: BTreeSet<Subject> = judged
        .iter()
        .filter(|one| is_slower(one))
        .map(|one| one.0.clone())
        .collect();
    if !slower.is_empty() && !jobs.site.options.is_exact() {
        let (again, _) = measured(&format!("{label}/slower"), &slower)?;
        for fresh in again {
            if let Some(one) = judged
                .iter_mut()
                .find(|one| one.0 == fresh.0 && one.1.when == fresh.1.when)
            {
                *one = fresh;
            }
        }
    }
    Ok(Judged {
        slower: judged.iter().filter(|one| is_slower(one)).map(note).collect(),
        cells: judged,
    })
}

fn is_slower((_, cell): &(Subject, ArrivalCell)) -> bool {
    cell.comparison.verdict == Outcome::Violated
}

fn note((subject, cell): &(Subject, ArrivalCell)) -> (Subject, String) {
    let (low, high) = cell.comparison.ratio_ci;
    let text = format!(
        "{} is slower than the library's own {}: {:.2} [{low:.2}, {high:.2}]",
        subject.item_id(),
        cell.when,
        cell.comparison.ratio
    );
    (subject.clone(), text)
}

/// Each subject under the deployment against itself in the untouched library, pattern by pattern.
fn compared(
    jobs: &Jobs<'_>,
    timed: &[Vec<TimedApart>],
    subjects: &BTreeSet<Subject>,
    own: &OwnSeconds,
    rule: &Rule,
) -> Vec<(Subject, ArrivalCell)> {
    let [deployed, untouched] = timed else {
        return Vec::new();
    };
    let mut cells = Vec::new();
    for ((arrival, deployed), untouched) in jobs.site.options.arrivals.iter().zip(deployed).zip(untouched) {
        for subject in subjects {
            let both = deployed.of(subject).zip(untouched.of(subject));
            let comparison = both.and_then(|(deployed, untouched)| compare(&deployed, &untouched, rule));
            let Some((comparison, own_seconds)) = comparison.zip(own.of_subject(subject)) else {
                continue;
            };
            let cell = ArrivalCell {
                when: arrival.words(),
                guideline: None,
                expression: format!("{} deployed <= untouched", subject.text),
                function: subject.task.to_string(),
                bytes: subject.bytes,
                offset_seconds: arrival.pattern(own_seconds, 0).seconds,
                comparison,
                delays: deployed.delay(subject).zip(untouched.delay(subject)),
            };
            cells.push((subject.clone(), cell));
        }
    }
    cells
}
