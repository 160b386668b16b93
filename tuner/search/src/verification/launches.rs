//! The launches of a verification: their items, and the medians that come back.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use kilter_algorithms::Collective;
use kilter_bench::launch::session::BlockOutcome;
use kilter_model::options::Options;
use kilter_model::plan::{self, Subject};
use kilter_model::setup::Setup;
use kilter_protocol::plan::{Block, Repetitions};
use kilter_stats::describe;
use kilter_stats::sample::Sample;

use super::{Medians, Verification};
use crate::by_itself;
use crate::context::Jobs;

/// The reference cell is measured so often in each launch: at its start, its end, and evenly in between.
const REFERENCE_POSITIONS: usize = 5;

/// Repetitions of the reference cell at each position.
const REFERENCE_REPETITIONS: u32 = 7;

/// Volume of the reference cell in bytes, before rounding: small, so that it costs little, and large enough to be no special case.
const REFERENCE_BYTES: u64 = 1024;

/// Medians by launch.
#[derive(Debug, Clone, Default)]
pub(super) struct Timed {
    medians: BTreeMap<Subject, BTreeMap<usize, f64>>,
    /// Launches that a comparison takes at most, the first ones; both sides may be in more, for other cells.
    pub(super) most: Option<usize>,
}

impl Timed {
    /// The medians of both sides in the launches that have both, and which these are.
    pub(super) fn common(&self, left: &Subject, right: &Subject) -> Option<(Vec<usize>, Vec<f64>, Vec<f64>)> {
        let (left, right) = (self.medians.get(left)?, self.medians.get(right)?);
        let both = left
            .iter()
            .filter_map(|(launch, a)| Some((*launch, *a, *right.get(launch)?)));
        let (mut launches, mut lefts, mut rights) = (Vec::new(), Vec::new(), Vec::new());
        for (launch, a, b) in both.take(self.most.unwrap_or(usize::MAX)) {
            launches.push(launch);
            lefts.push(a);
            rights.push(b);
        }
        (!launches.is_empty()).then_some((launches, lefts, rights))
    }

    /// Notes a median.
    pub(super) fn insert(&mut self, subject: Subject, launch: usize, seconds: f64) {
        self.medians.entry(subject).or_default().insert(launch, seconds);
    }

    /// Forgets a subject.
    #[cfg(test)]
    pub(super) fn remove(&mut self, subject: &Subject) {
        self.medians.remove(subject);
    }

    /// Forgets a subject's median of one launch.
    #[cfg(test)]
    pub(super) fn remove_from(&mut self, subject: &Subject, launch: usize) {
        if let Some(medians) = self.medians.get_mut(subject) {
            medians.remove(&launch);
        }
    }

    /// Number of timed subjects.
    pub(super) fn len(&self) -> usize {
        self.medians.len()
    }

    /// The launches that all of these have, and the medians of each in them; `None` where there is no such launch.
    pub(super) fn in_common_launches(&self, subjects: &[Subject]) -> Option<(Vec<usize>, Vec<Vec<f64>>)> {
        let all: Vec<&BTreeMap<usize, f64>> = subjects
            .iter()
            .map(|subject| self.medians.get(subject))
            .collect::<Option<_>>()?;
        let is_common = |launch: &usize| all.iter().all(|medians| medians.contains_key(launch));
        let common = all.first()?.keys().copied().filter(is_common);
        let launches: Vec<usize> = common.take(self.most.unwrap_or(usize::MAX)).collect();
        let medians = |of: &&BTreeMap<usize, f64>| launches.iter().map(|launch| of[launch]).collect();
        let medians = all.iter().map(medians).collect();
        (!launches.is_empty()).then_some((launches, medians))
    }

    /// The launches that one subject was timed in.
    pub(super) fn launches_of(&self, subject: &Subject) -> Vec<usize> {
        self.medians
            .get(subject)
            .map_or_else(Vec::new, |medians| medians.keys().copied().collect())
    }

    /// The medians of one subject, launch by launch.
    pub(super) fn of(&self, subject: &Subject) -> Option<Vec<f64>> {
        let medians: Vec<f64> = self.medians.get(subject)?.values().copied().collect();
        (!medians.is_empty()).then_some(medians)
    }

    /// Everything, without which launch it was.
    pub(super) fn medians(&self) -> Medians {
        self.medians
            .iter()
            .map(|(subject, medians)| (subject.clone(), medians.values().copied().collect()))
            .collect()
    }

    /// Adds each item's median of a launch, and the failures.
    pub(super) fn collect(
        &mut self,
        launch: usize,
        blocks: &[Block],
        outcomes: &[BlockOutcome],
        failed: &mut BTreeMap<String, String>,
    ) {
        for (block, outcome) in blocks.iter().zip(outcomes) {
            for item in &block.items {
                if let Some(fault) = outcome.failed.get(&item.id) {
                    failed.insert(item.id.clone(), fault.to_string());
                } else if let (Some(subject), Some(median)) = (Subject::of(item), outcome.median(&item.id)) {
                    self.medians.entry(subject).or_default().insert(launch, median);
                }
            }
        }
    }
}

/// The cell that is measured again and again to see whether the machine stays as it is.
fn reference(options: &Options) -> Subject {
    let bytes = options.place().volume(Collective::Allreduce, REFERENCE_BYTES);
    Subject::library(Collective::Allreduce, bytes)
}

/// The blocks with the reference cell at its positions among them.
pub(super) fn with_reference(jobs: &Jobs<'_>, name: &str, blocks: Vec<Block>) -> Vec<Block> {
    let reference = reference(jobs.site.options);
    let block = |position: usize| {
        let id = format!("{REFERENCE}{position}");
        Block {
            seed: plan::derived_seed(jobs.run.seed, &format!("{name}/{id}")),
            items: vec![reference.item()],
            repetitions: Repetitions::fixed(REFERENCE_REPETITIONS, 0.1),
            id,
        }
    };
    let count = blocks.len();
    let mut all = vec![block(0)];
    let mut position = 1;
    for (i, own) in blocks.into_iter().enumerate() {
        all.push(own);
        while position < REFERENCE_POSITIONS && (i + 1) * (REFERENCE_POSITIONS - 1) >= position * count {
            all.push(block(position));
            position += 1;
        }
    }
    all
}

const REFERENCE: &str = "reference#";

/// The medians of the reference cell in the order of its positions.
fn reference_medians(blocks: &[Block], outcomes: &[BlockOutcome]) -> Vec<f64> {
    let positions = blocks
        .iter()
        .zip(outcomes)
        .filter(|(block, _)| block.id.starts_with(REFERENCE));
    positions
        .filter_map(|(block, outcome)| outcome.median(&block.items.first()?.id))
        .collect()
}

/// The results of a launch besides its samples.
pub(super) struct Launched {
    /// Its blocks and their outcomes, without the reference cell.
    pub(super) blocks: Vec<Block>,
    /// One per block.
    pub(super) outcomes: Vec<BlockOutcome>,
    /// Medians of the reference cell.
    pub(super) reference: Vec<f64>,
    /// Its cost in seconds, its start included.
    pub(super) seconds: f64,
}

/// Context of an error: no change was in force.
#[derive(Debug, thiserror::Error)]
#[error("the untouched library failed")]
pub struct OfTheUntouchedLibrary;

/// Runs one launch.
///
/// # Errors
/// It failed, or a setting did not take effect.
pub(super) fn launch(
    jobs: &Jobs<'_>,
    name: &str,
    setup: &Setup,
    blocks: Vec<Block>,
    verification: &mut Verification,
    noise: Option<&mut Vec<f64>>,
) -> anyhow::Result<Launched> {
    let launched = carry_out(jobs, (name, setup), blocks, verification, noise);
    if *setup == Setup::default() {
        launched.context(OfTheUntouchedLibrary)
    } else {
        launched
    }
}

fn carry_out(
    jobs: &Jobs<'_>,
    (name, setup): (&str, &Setup),
    blocks: Vec<Block>,
    verification: &mut Verification,
    noise: Option<&mut Vec<f64>>,
) -> anyhow::Result<Launched> {
    // A simulated machine stays as it is.
    let blocks = if jobs.site.options.is_exact() {
        blocks
    } else {
        with_reference(jobs, name, blocks)
    };
    let begin = jobs.budget.spent_seconds();
    let mut session = jobs.session(name, setup, noise.is_some())?;
    // A deployment that ends jobs is taken back; what the library does by itself is put away.
    if *setup == Setup::default() {
        session = session.surviving();
    }
    let outcomes = by_itself::measured(jobs, &mut session, (name, setup), &blocks, || jobs.progress.step(1))?
        .with_context(|| format!("launch `{name}` failed; its log is in {}", jobs.directory.display()))?;
    let start = session.start()?;
    jobs.site.confirm(setup, &start)?;
    if let Some(text) = jobs.site.crowded(&start.hosts) {
        jobs.progress.warn(&text);
    }
    verification.clock_tick_seconds = verification.clock_tick_seconds.max(start.clock_tick_seconds);
    verification.clock_read_seconds = verification.clock_read_seconds.max(start.clock_read_seconds);
    verification.loop_overhead_seconds = verification.loop_overhead_seconds.max(start.loop_overhead_seconds);
    verification.heed(start.sync);
    verification.library_string = start.library;
    verification.hosts = start.hosts.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    verification.command_line = jobs.command_line(setup);
    if let (Some(noise), Some(seconds)) = (noise, session.noise()) {
        noise.extend(Sample::new(seconds).map(|sample| describe::interquartile_range(&sample)));
    }
    let end = session.finish()?;
    verification.heed(end.sync);
    for (id, calls) in end.dropin_calls {
        *verification.dropin_calls.entry(id).or_default() += calls;
    }
    let measuring: f64 = outcomes.iter().map(|outcome| outcome.seconds).sum();
    let beside = jobs.budget.spent_seconds() - begin - measuring;
    // Launches from the store start nothing.
    if beside > 0.0 {
        jobs.budget.learn_start(beside);
    }
    let seconds = measuring + jobs.launch_seconds();
    verification.seconds += seconds;
    let reference = reference_medians(&blocks, &outcomes);
    let (blocks, outcomes) = blocks
        .into_iter()
        .zip(outcomes)
        .filter(|(block, _)| !block.id.starts_with(REFERENCE))
        .unzip();
    Ok(Launched {
        blocks,
        outcomes,
        reference,
        seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(bytes: u64) -> Subject {
        Subject::library(Collective::Bcast, bytes)
    }

    #[test]
    fn both_sides_are_compared_in_the_launches_that_have_both() {
        let mut timed = Timed::default();
        timed
            .medians
            .insert(subject(1), BTreeMap::from([(0, 1.0), (2, 3.0), (3, 4.0)]));
        timed
            .medians
            .insert(subject(2), BTreeMap::from([(0, 5.0), (1, 6.0), (3, 7.0)]));
        timed.medians.insert(subject(4), BTreeMap::from([(7, 5.0)]));
        let (launches, left, right) = timed.common(&subject(1), &subject(2)).unwrap();
        assert_eq!((launches, left, right), (vec![0, 3], vec![1.0, 4.0], vec![5.0, 7.0]));
        assert_eq!(timed.common(&subject(1), &subject(4)), None);
        assert_eq!(timed.common(&subject(1), &subject(8)), None);
        assert_eq!(timed.of(&subject(2)), Some(vec![5.0, 6.0, 7.0]));
    }
}
