//! Costs and variance components of the screening, block by block, and their consequences: the repetitions in a launch, and the cost of a launch
//! of some subjects.

use std::collections::BTreeMap;

use kilter_bench::store::{BlockOutcome, Repeating};
use kilter_model::plan::Subject;
use kilter_protocol::plan::Block;
use kilter_protocol::repetitions::{SLOW_SECONDS, made};
use kilter_stats::hodges_lehmann::SHORTEST_SECONDS;
use kilter_stats::sample::Sample;
use kilter_stats::variance;

use super::OF_SPLITS;
use crate::context::Cost;
use crate::repetition::FEWEST;

/// Repetitions in whose time an item is made ready, one of them checked, where no worker says how long that took.
const MAKING_READY: f64 = 1.0;
const MAKING_SLOW_READY: f64 = 2.0;

/// Seconds of repetitions that one spike does not move by much: a rank that loses its processor waits for some milliseconds. A launch that repeats an item
/// for so long needs no median.
const STEADY_SECONDS: f64 = 0.012;

/// Degrees of freedom that all blocks together count for beside a block's own: with two launches a block knows little of itself.
const POOLED_FREEDOM: f64 = 6.0;

/// A block in the launches of the screening.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// Making an item ready, one run of it with its check included, launch by launch, in seconds.
    ready: Vec<f64>,
    /// What a repetition takes beside the item's own time (exchange, lead), launch by launch, in seconds.
    overhead: Vec<f64>,
    items: BTreeMap<String, SeenItem>,
}

#[derive(Debug, Clone, Default)]
struct SeenItem {
    /// Medians, launch by launch, in seconds.
    medians: Vec<f64>,
    /// Means, launch by launch, in seconds. The budget pays the mean: one call of ten may wait for a timer of 40 ms.
    means: Vec<f64>,
    /// Variance of the logarithm of a time within a launch, launch by launch.
    within: Vec<f64>,
    /// Repetitions that were counted, launch by launch.
    repetitions: Vec<f64>,
}

/// Two levels of variance of a time's logarithm.
#[derive(Debug, Clone, Copy)]
struct Components {
    within: f64,
    /// Variance of one item against the others of its block: a slowdown of the whole launch concerns no comparison.
    between: f64,
    freedom: f64,
}

/// Purpose of the launches that follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aim<'a> {
    /// Seconds of a launch beside its blocks.
    pub(super) launch_seconds: f64,
    /// Launches until the first look. One that decides there needs no others.
    pub(super) launches: usize,
    /// Logarithm of the ratio up to which a slowdown is none.
    pub(super) margin: f64,
    /// Least distance of the log ratios from the floor, by subject; empty if unknown.
    pub(super) distances: &'a BTreeMap<Subject, f64>,
    /// Repetitions at most.
    pub(super) max: u32,
}

/// Observations of the screening.
#[derive(Debug, Clone, Default)]
pub(super) struct Learnt {
    blocks: BTreeMap<String, Seen>,
    of_subjects: BTreeMap<Subject, String>,
}

impl Learnt {
    /// Takes a block of a launch of the screening.
    pub(super) fn add(&mut self, block: &Block, outcome: &BlockOutcome) {
        let seen = self.blocks.entry(block.id.clone()).or_default();
        let (mut all_runs, mut own, mut items) = (0.0, 0.0, 0.0);
        let (mut ready_runs, mut ready_own) = (0.0, 0.0);
        for item in &block.items {
            let Some(samples) = outcome.samples.get(&item.id) else {
                continue;
            };
            let Ok(sample) = Sample::new(samples.seconds.clone()) else {
                continue;
            };
            let times = sample.len() as f64;
            let mean = samples.seconds.iter().sum::<f64>() / times;
            let all = runs(times, mean) + f64::from(samples.void);
            all_runs += all;
            own += mean * all;
            let making_ready = if mean < SLOW_SECONDS {
                MAKING_READY
            } else {
                MAKING_SLOW_READY
            };
            ready_runs += making_ready;
            ready_own += making_ready * mean;
            items += 1.0;
            let known = seen.items.entry(item.id.clone()).or_default();
            known.medians.push(sample.median());
            known.means.push(mean);
            known.repetitions.push(times);
            known.within.extend(variance::within_launch(&samples.seconds));
            if let Some(subject) = Subject::of(item) {
                self.of_subjects.insert(subject, block.id.clone());
            }
        }
        if items > 0.0 {
            let (overhead, ready) = match outcome.repeating {
                Some(Repeating { seconds, runs }) => {
                    let overhead = (seconds - own).max(0.0) / runs.max(1.0);
                    (overhead, (outcome.seconds - seconds).max(0.0))
                }
                None => {
                    let overhead = (outcome.seconds - own - ready_own).max(0.0) / (all_runs + ready_runs);
                    (overhead, ready_own + ready_runs * overhead)
                }
            };
            seen.overhead.push(overhead);
            seen.ready.push(ready / items);
        }
    }

    /// Repetitions per launch of each block, by its id: the number at which the deciding variance is least for its time (Kalibera and Jones,
    /// [`variance::optimal_repetitions`]), and no more than tell equal sides from the floor ([`variance::enough_repetitions`]); at least
    /// [`FEWEST`], or as many as take [`STEADY_SECONDS`] where these are fewer.
    ///
    /// Cells far from the floor need fewer: half of their distance has to be seen, which leaves as much to the test.
    pub(super) fn repetitions(&self, aim: &Aim<'_>) -> BTreeMap<String, u32> {
        let max = aim.max;
        let mut nearest: BTreeMap<&String, f64> = BTreeMap::new();
        for (subject, distance) in aim.distances {
            if let Some(id) = self.of_subjects.get(subject) {
                let known = nearest.entry(id).or_insert(*distance);
                *known = known.min(*distance);
            }
        }
        let margin = |id: &String| {
            nearest
                .get(id)
                .map_or(aim.margin, |nearest| aim.margin.max(nearest / 2.0))
        };
        let components: BTreeMap<&String, Components> =
            self.blocks.iter().map(|(id, seen)| (id, seen.components())).collect();
        let pooled = median(
            components
                .values()
                .filter(|one| one.freedom > 0.0)
                .map(|one| one.between),
        );
        // Blocks whose cells are decided are in no further launch.
        let measured = if aim.distances.is_empty() {
            self.blocks.len()
        } else {
            nearest.len()
        };
        let share = aim.launch_seconds / (measured as f64).max(1.0);
        self.blocks
            .iter()
            .map(|(id, seen)| {
                let own = components[id];
                let between = (own.freedom * own.between + POOLED_FREEDOM * pooled) / (own.freedom + POOLED_FREEDOM);
                let (prepare, repeat) = seen.price();
                let cheapest = variance::optimal_repetitions(own.within, between, prepare + share, repeat, max);
                let enough = variance::enough_repetitions(own.within, between, aim.launches, margin(id), max);
                let count = cheapest.min(enough);
                (id.clone(), count.clamp(seen.fewest().min(max), max))
            })
            .collect()
    }

    /// True if the screening measured the subject. Splits follow from its findings, so it did not measure them.
    pub(super) fn has_seen(&self, subject: &Subject) -> bool {
        self.of_subjects.contains_key(subject)
    }

    /// Costs of everything that was seen, in a launch of the screening and in one that repeats it as `repetitions` say.
    pub(super) fn costs(&self, repetitions: &BTreeMap<String, u32>) -> BTreeMap<Subject, Cost> {
        let each = self.of_subjects.iter().filter_map(|(subject, id)| {
            let seen = &self.blocks[id];
            let item = seen.items.get(&subject.item_id())?;
            let runs = runs(mean(item.repetitions.iter().copied()), item.own_seconds());
            let cost = Cost {
                screening_seconds: seen.ready() + (item.own_seconds() + seen.overhead()) * runs,
                launch_seconds: self.seconds(subject, repetitions),
            };
            Some((subject.clone(), cost))
        });
        each.collect()
    }

    /// Seconds of a subject in a launch that repeats it as `repetitions` say; as its parts take where it is a split, which is repeated
    /// [`FEWEST`] times unless they say otherwise; 0 where the screening saw neither.
    pub(super) fn seconds(&self, subject: &Subject, repetitions: &BTreeMap<String, u32>) -> f64 {
        let (parts, known) = if self.has_seen(subject) {
            (1, subject.clone())
        } else {
            parts(subject).unwrap_or((1, subject.clone()))
        };
        let parts = parts as f64;
        let Some(id) = self.of_subjects.get(&known) else {
            return 0.0;
        };
        let seen = &self.blocks[id];
        let of_parts = || repetitions.get(&format!("{id}{OF_SPLITS}"));
        let count = if known == *subject {
            repetitions.get(id)
        } else {
            of_parts()
        };
        let count = f64::from(count.copied().unwrap_or(FEWEST));
        let own = seen.items.get(&known.item_id()).map_or(0.0, SeenItem::own_seconds);
        // The run that is checked has all parts, too.
        let ready = seen.ready() + (parts - 1.0) * own;
        ready + (parts * own + seen.overhead()) * runs(count, parts * own)
    }
}

/// Repetitions that are made so that `counted` count, of an item that takes so many seconds.
fn runs(counted: f64, own_seconds: f64) -> f64 {
    let (before, each) = made(own_seconds);
    before + counted * each
}

/// Number of parts of a split, and the part: `8 * bcast(n)` has 8 of `bcast(n)`.
pub(super) fn parts(subject: &Subject) -> Option<(u64, Subject)> {
    let (count, text) = subject.text.split_once(" * ")?;
    let part = Subject {
        text: text.to_owned(),
        ..subject.clone()
    };
    Some((count.trim().parse().ok()?, part))
}

impl SeenItem {
    /// Seconds that a run takes by itself.
    fn own_seconds(&self) -> f64 {
        mean(self.means.iter().copied())
    }
}

impl Seen {
    /// Seconds beside its own time that a repetition takes.
    fn overhead(&self) -> f64 {
        median(self.overhead.iter().copied())
    }

    /// Seconds that making an item ready takes.
    fn ready(&self) -> f64 {
        median(self.ready.iter().copied())
    }

    /// Seconds that all items together take: to be made ready, and to be repeated once.
    fn price(&self) -> (f64, f64) {
        let (ready, overhead) = (self.ready(), self.overhead());
        let each = self.items.values().map(SeenItem::own_seconds);
        each.fold((0.0, 0.0), |(prepare, repeat), own| {
            let (once, (before, each)) = (own + overhead, made(own));
            (prepare + ready + before * once, repeat + each * once)
        })
    }

    /// Fewest repetitions in a launch: [`FEWEST`], or as many of the median item as take [`STEADY_SECONDS`] where these are fewer.
    fn fewest(&self) -> u32 {
        let own = median(self.items.values().map(SeenItem::own_seconds));
        (STEADY_SECONDS / own).ceil().clamp(1.0, f64::from(FEWEST)) as u32
    }

    fn components(&self) -> Components {
        let items = || self.items.values();
        let within = mean(items().flat_map(|item| item.within.iter().copied()));
        let repetitions = mean(items().flat_map(|item| item.repetitions.iter().copied()));
        // An item that one launch showed far below its bound says nothing of how launches differ.
        let repeated = || items().filter(|item| item.medians.len() > 1);
        let launches = repeated().map(|item| item.medians.len()).min().unwrap_or(0);
        let count = repeated().count();
        let freedom = (launches.saturating_sub(1) * count.saturating_sub(1)) as f64;
        if freedom == 0.0 {
            return Components {
                within,
                between: 0.0,
                freedom,
            };
        }
        // Two-way: what remains when every item and every launch have their own level.
        let rows: Vec<Vec<f64>> = repeated()
            .map(|item| {
                item.medians[..launches]
                    .iter()
                    .map(|seconds| seconds.max(SHORTEST_SECONDS).ln())
                    .collect()
            })
            .map(|logs: Vec<f64>| {
                let level = mean(logs.iter().copied());
                logs.into_iter().map(|log| log - level).collect()
            })
            .collect();
        let squares: f64 = (0..launches)
            .map(|launch| {
                let level = mean(rows.iter().map(|row| row[launch]));
                rows.iter().map(|row| (row[launch] - level).powi(2)).sum::<f64>()
            })
            .sum();
        Components {
            within,
            between: variance::between_launches(squares / freedom, within, repetitions),
            freedom,
        }
    }
}

/// 0 of nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

/// 0 of nothing.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    Sample::new(values.collect()).map_or(0.0, |sample| sample.median())
}

#[cfg(test)]
mod tests;
