//! Subjects whose ranks arrive apart, in launches of their own: times from the last arrival to the last end, and the delays of the ranks.

use std::collections::{BTreeMap, BTreeSet};

use kilter_bench::launch::session::BlockOutcome;
use kilter_model::plan::{self, Plan, PlannedCell, Subject};
use kilter_model::report::ArrivalCell;
use kilter_model::setup::Setup;
use kilter_protocol::plan::{Block, Item, Repetitions};
use kilter_stats::sample::Sample;
use kilter_stats::verdict::{self, Pair};

use super::allowance::{Allowance, Limit};
use super::launches::launch;
use super::side_by_side::UNTOUCHED;
use super::{Medians, Verification};
use crate::PROOF_LAUNCHES;
use crate::context::{Facts, Jobs};
use crate::repetition::{Purpose, repetitions_apart, repetitions_of};

/// Begin of the words of a pattern in the ids of blocks.
const APART: &str = " when ";

/// A number of a subject in each launch that has it.
type ByLaunch = BTreeMap<Subject, BTreeMap<usize, f64>>;

/// Subjects under one pattern and one setup.
#[derive(Debug, Clone, Default)]
pub struct TimedApart {
    /// Medians in seconds.
    seconds: ByLaunch,
    /// Mean delays of the ranks in seconds.
    delays: ByLaunch,
}

impl TimedApart {
    fn collect(&mut self, launch: usize, block: &Block, outcome: &BlockOutcome) {
        for item in &block.items {
            let Some(subject) = Subject::of(item) else { continue };
            if let Some(median) = outcome.median(&item.id) {
                self.seconds.entry(subject.clone()).or_default().insert(launch, median);
            }
            if let Some(delay) = outcome.mean_delay(&item.id) {
                self.delays.entry(subject).or_default().insert(launch, delay);
            }
        }
    }

    /// Medians of a subject, launch by launch, in seconds.
    #[must_use]
    pub fn of(&self, subject: &Subject) -> Option<Sample> {
        Sample::new(self.seconds.get(subject)?.values().copied().collect()).ok()
    }

    /// Both sides in the launches that have both.
    fn common(&self, left: &Subject, right: &Subject) -> Option<Pair> {
        let (left, right) = (self.seconds.get(left)?, self.seconds.get(right)?);
        let both = left.iter().filter_map(|(launch, a)| Some((*a, *right.get(launch)?)));
        let (left, right) = both.unzip();
        Some(Pair {
            left: Sample::new(left).ok()?,
            right: Sample::new(right).ok()?,
        })
    }

    /// Median over the launches of a subject's mean delay, in seconds.
    #[must_use]
    pub fn delay(&self, subject: &Subject) -> Option<f64> {
        let delays = self.delays.get(subject)?.values().copied().collect();
        Sample::new(delays).ok().map(|delays| delays.median())
    }
}

/// Times of the calls when all ranks come together, by block, in seconds: the size of a pattern follows from them.
#[derive(Debug, Clone, Default)]
pub struct OwnSeconds(BTreeMap<String, f64>);

impl OwnSeconds {
    /// The left sides' of these cells.
    #[must_use]
    pub fn of<'p>(cells: impl IntoIterator<Item = &'p PlannedCell>, medians: &Medians) -> OwnSeconds {
        let mut own = BTreeMap::new();
        for cell in cells {
            let median = medians.get(&cell.left).and_then(|all| Sample::new(all.clone()).ok());
            if let Some(median) = median.map(|sample| sample.median()) {
                own.entry(cell.left.block_id()).or_insert(median);
            }
        }
        OwnSeconds(own)
    }

    /// That of a subject's block.
    #[must_use]
    pub fn of_subject(&self, subject: &Subject) -> Option<f64> {
        self.0.get(&subject.block_id()).copied()
    }
}

/// Measures `subjects` under every pattern that the options ask for, in at most so many launches of each of `setups`, in turn. Returns the times by
/// setup and pattern, and the number of launches, which is less where the budget ends.
///
/// # Errors
/// A launch that failed although nothing but the untouched or verified library ran in it.
pub fn measure_apart(
    jobs: &Jobs<'_>,
    facts: &Facts,
    (label, setups): (&str, &[&Setup]),
    (subjects, own): (&BTreeSet<Subject>, &OwnSeconds),
    launches: usize,
) -> anyhow::Result<(Vec<Vec<TimedApart>>, usize)> {
    let arrivals = &jobs.site.options.arrivals;
    let launches = if jobs.site.options.is_exact() { 1 } else { launches };
    let limit = Limit::new(Allowance::ALL, jobs.budget.spent_seconds(), jobs.budget.total_seconds());
    let mut timed = vec![vec![TimedApart::default(); arrivals.len()]; setups.len()];
    let mut unused = Verification::default();
    jobs.progress.phase(
        &format!("{label}: {launches} launches with ranks that arrive apart"),
        (launches * setups.len() * arrivals.len() * subjects.len()) as u64,
    );
    // No launch is begun for which the seconds do not reach.
    let expected: f64 = blocks(jobs, facts, label, subjects, own)
        .iter()
        .map(|(block, _)| seconds_of(block, own))
        .sum();
    let mut dearest = setups.len() as f64 * (jobs.launch_seconds() + expected);
    let mut made = 0;
    while made < launches && limit.left(jobs.budget.spent_seconds()) > dearest {
        let begin = jobs.budget.spent_seconds();
        for (setup, timed) in setups.iter().zip(&mut timed) {
            let is_beside = setups.len() > 1 && **setup == Setup::default();
            let name = format!("{label}/{made}{}", if is_beside { UNTOUCHED } else { "" });
            let (blocks, patterns): (Vec<Block>, Vec<usize>) =
                blocks(jobs, facts, &name, subjects, own).into_iter().unzip();
            let of_block: BTreeMap<String, usize> = blocks.iter().map(|block| block.id.clone()).zip(patterns).collect();
            let launched = launch(jobs, &name, setup, blocks, &mut unused, None)?;
            for (block, outcome) in launched.blocks.iter().zip(&launched.outcomes) {
                if let Some(timed) = of_block.get(&block.id).and_then(|pattern| timed.get_mut(*pattern)) {
                    timed.collect(made, block, outcome);
                }
            }
        }
        dearest = dearest.max(jobs.budget.spent_seconds() - begin);
        made += 1;
    }
    Ok((timed, made))
}

/// Seconds that a block is expected to take at most: in each repetition of an item the last rank comes, and then the call is carried out.
fn seconds_of(block: &Block, own: &OwnSeconds) -> f64 {
    let own_seconds = block
        .id
        .split_once(APART)
        .and_then(|(id, _)| own.0.get(id))
        .copied()
        .unwrap_or(0.0);
    let offset = |item: &Item| item.arrival.as_ref().map_or(0.0, |arrival| arrival.seconds);
    let once: f64 = block.items.iter().map(|item| own_seconds + offset(item)).sum();
    (f64::from(block.repetitions.max) * once).min(block.repetitions.seconds)
}

/// The blocks of a launch, each with the place of its pattern. Blocks of subjects whose time together is not known are left out.
fn blocks(
    jobs: &Jobs<'_>,
    facts: &Facts,
    name: &str,
    subjects: &BTreeSet<Subject>,
    own: &OwnSeconds,
) -> Vec<(Block, usize)> {
    let options = jobs.site.options;
    let mut all = Vec::new();
    for (place, arrival) in options.arrivals.iter().enumerate() {
        let rule = options.repetitions;
        for mut block in plan::blocks(subjects, jobs.run.seed, &format!("{name}/{place}"), rule) {
            let Some(own_seconds) = own.0.get(&block.id) else {
                continue;
            };
            let rule = repetitions_apart(arrival, repetitions_of(options, facts, Purpose::Final, &block.id));
            block.repetitions = Repetitions {
                seconds: rule.seconds * block.items.len() as f64,
                ..rule
            };
            for item in &mut block.items {
                item.arrival = Some(arrival.pattern(*own_seconds, block.seed));
            }
            block.id = format!("{} {}", block.id, arrival.words());
            all.push((block, place));
        }
    }
    // Patterns among each other, not one behind the other.
    all.sort_by_key(|(block, _)| block.seed);
    all
}

/// Verifies the guidelines that compare two sides under every pattern that the options ask for; `found` knows the times of ranks that come
/// together.
///
/// # Errors
/// A launch that failed although nothing but the untouched library ran in it.
pub fn verify_apart(
    jobs: &Jobs<'_>,
    plan: &Plan,
    facts: &Facts,
    label: &str,
    found: &Verification,
) -> anyhow::Result<Vec<ArrivalCell>> {
    let options = jobs.site.options;
    if options.arrivals.is_empty() {
        return Ok(Vec::new());
    }
    let can_run = |one: &Subject| !found.failed.contains_key(&one.item_id());
    let cells = plan
        .cells
        .iter()
        .filter(|cell| can_run(&cell.left) && can_run(&cell.right));
    let cells: Vec<&PlannedCell> = cells.collect();
    let subjects: BTreeSet<Subject> = cells
        .iter()
        .flat_map(|cell| [cell.left.clone(), cell.right.clone()])
        .collect();
    let own = OwnSeconds::of(cells.iter().copied(), &found.medians);
    let most = options.launches.min(PROOF_LAUNCHES);
    let setup = Setup::default();
    let (mut timed, made) = measure_apart(jobs, facts, (label, &[&setup]), (&subjects, &own), most)?;
    if made < most && !options.is_exact() {
        jobs.progress.warn(&format!(
            "the budget ended after {made} of {most} launches with ranks that arrive apart; raise --budget"
        ));
    }
    let timed = timed.pop().unwrap_or_default();
    let (mut judged, mut pairs) = (Vec::new(), Vec::new());
    for (arrival, timed) in options.arrivals.iter().zip(&timed) {
        for cell in &cells {
            let own_seconds = own.of_subject(&cell.left);
            if let Some((pair, own_seconds)) = timed.common(&cell.left, &cell.right).zip(own_seconds) {
                pairs.push(pair);
                judged.push((arrival, timed, *cell, arrival.pattern(own_seconds, 0).seconds));
            }
        }
    }
    let compared = verdict::judge(&pairs, &jobs.site.rule(found.noise_seconds));
    let cells = judged.into_iter().zip(compared);
    Ok(cells
        .map(|((arrival, timed, cell, offset_seconds), comparison)| ArrivalCell {
            when: arrival.words(),
            guideline: Some(cell.guideline.clone()),
            expression: cell.expression.clone(),
            function: cell.function.clone(),
            bytes: cell.left.bytes,
            offset_seconds,
            comparison,
            delays: timed.delay(&cell.left).zip(timed.delay(&cell.right)),
        })
        .collect())
}
