//! Launches of the library as everybody gets it here, and the medians that come back.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use kilter_model::plan::{self, Subject};
use kilter_model::setup::Setup;
use kilter_search::context::Jobs;
use kilter_search::verification::REPETITIONS;
use kilter_stats::describe;
use kilter_stats::sample::Sample;

/// Times of several launches.
#[derive(Debug, Clone, Default)]
pub(super) struct Timed {
    /// Calls that were to be timed.
    pub(super) subjects: BTreeSet<Subject>,
    /// Medians by launch, in seconds.
    medians: Vec<BTreeMap<Subject, f64>>,
    /// Calls of each implementation by the drop-in.
    pub(super) dropin: BTreeMap<String, u64>,
    /// Variation of the empty operation, in seconds.
    pub(super) noise_seconds: f64,
    /// Subjects that failed, with the reason.
    failed: BTreeMap<String, String>,
    /// Launches in which a subject had no valid repetition.
    void: BTreeMap<String, usize>,
    /// Launches that the budget did not reach.
    left_out: usize,
}

impl Timed {
    /// The launch medians of a subject.
    pub(super) fn sample(&self, subject: &Subject) -> Option<Sample> {
        let medians = self.medians.iter().filter_map(|launch| launch.get(subject).copied());
        Sample::new(medians.collect()).ok()
    }

    /// The medians of two subjects in the launches that have both.
    pub(super) fn both(&self, left: &Subject, right: &Subject) -> Option<(Sample, Sample)> {
        let common = self.medians.iter();
        let common = common.filter_map(|launch| Some((*launch.get(left)?, *launch.get(right)?)));
        let (left, right): (Vec<f64>, Vec<f64>) = common.unzip();
        Some((Sample::new(left).ok()?, Sample::new(right).ok()?))
    }

    /// The launch medians of all subjects by name.
    pub(super) fn medians(&self) -> BTreeMap<String, Vec<f64>> {
        let of = |subject: &Subject| Some((subject.item_id(), self.sample(subject)?.values().to_vec()));
        self.subjects.iter().filter_map(of).collect()
    }

    /// Calls that gave no times, with the reason.
    pub(super) fn unchecked(&self) -> Vec<String> {
        let failed = self.failed.iter().map(|(what, why)| format!("{what}: {why}"));
        let is_timed = |item: &String| {
            let mut all = self.medians.iter().flat_map(BTreeMap::keys);
            all.any(|subject| subject.item_id() == *item)
        };
        let void = self
            .void
            .iter()
            .filter(|(item, _)| !is_timed(item) && !self.failed.contains_key(*item));
        let void = void.map(|(item, launches)| {
            format!(
                "{item}: a rank missed the start of every repetition in {}; end what else runs, or start no more ranks than processors",
                kilter_render::format::count(*launches, "launch")
            )
        });
        let budget = (self.left_out > 0).then(|| {
            format!(
                "the budget ended before {} of the launches; raise --budget",
                self.left_out
            )
        });
        failed.chain(void).chain(budget).collect()
    }
}

/// Times all subjects in so many launches, or in as many as the budget has room for.
pub(super) fn measure(
    jobs: &Jobs<'_>,
    label: &str,
    subjects: &BTreeSet<Subject>,
    count: usize,
) -> anyhow::Result<Timed> {
    jobs.progress
        .phase(&format!("{} launches of {} calls", count, subjects.len()), count as u64);
    let mut timed = Timed {
        subjects: subjects.clone(),
        ..Timed::default()
    };
    let mut noise = Vec::new();
    for number in 0..count {
        if jobs.budget.exhausted() {
            timed.left_out = count - number;
            break;
        }
        let name = format!("{label}/{number}");
        let blocks = plan::blocks(subjects, jobs.run.seed, &name, REPETITIONS);
        let setup = Setup::default();
        let mut session = jobs.session(&name, &setup, true)?.surviving();
        let outcomes = session
            .measure_all(&blocks, &mut |_| ())
            .with_context(|| format!("launch `{name}` failed; its log is in {}", jobs.directory.display()))?;
        let start = session.start()?;
        jobs.site.confirm(&setup, &start)?;
        noise.extend(session.noise().and_then(|seconds| Sample::new(seconds).ok()));
        for (id, calls) in session.finish()?.dropin_calls {
            *timed.dropin.entry(id).or_default() += calls;
        }
        let mut medians = BTreeMap::new();
        for (block, outcome) in blocks.iter().zip(&outcomes) {
            for item in outcome.untimed() {
                *timed.void.entry(item.clone()).or_default() += 1;
            }
            for item in &block.items {
                if let Some(fault) = outcome.failed.get(&item.id) {
                    timed.failed.insert(item.id.clone(), fault.to_string());
                } else if let Some(median) = outcome.median(&item.id) {
                    medians.insert(Subject::timed_by(item), median);
                }
            }
        }
        timed.medians.push(medians);
        jobs.progress.step(1);
    }
    let spreads = noise.iter().map(describe::interquartile_range).collect();
    timed.noise_seconds = Sample::new(spreads).map_or(0.0, |spreads| spreads.median());
    Ok(timed)
}
