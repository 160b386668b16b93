//! Costs and variance components of the screening, block by block, and their consequences: the repetitions in a launch, and the cost of a launch
//! of some subjects.

use std::collections::BTreeMap;

use kilter_bench::store::{BlockOutcome, Repeating};
use kilter_model::plan::Subject;
use kilter_protocol::plan::Block;
use kilter_protocol::repetitions::SLOW_SECONDS;
use kilter_stats::hodges_lehmann::SHORTEST_SECONDS;
use kilter_stats::sample::Sample;
use kilter_stats::variance;

use super::OF_SPLITS;
use crate::context::Cost;
use crate::repetition::FEWEST;

/// Repetitions of an item that warm it up. One that takes [`SLOW_SECONDS`] or more has none.
const WARM_UPS: f64 = 2.0;

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
        let (mut runs, mut own, mut items) = (0.0, 0.0, 0.0);
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
            let all = times + f64::from(samples.void) + warm_ups(mean);
            runs += all;
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
                    let overhead = (outcome.seconds - own - ready_own).max(0.0) / (runs + ready_runs);
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
            let runs = mean(item.repetitions.iter().copied()) + warm_ups(item.own_seconds());
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
        ready + (parts * own + seen.overhead()) * (count + warm_ups(parts * own))
    }
}

/// Repetitions that warm an item up, by the seconds that it takes.
fn warm_ups(own_seconds: f64) -> f64 {
    if own_seconds < SLOW_SECONDS { WARM_UPS } else { 0.0 }
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
            let once = own + overhead;
            (prepare + ready + warm_ups(own) * once, repeat + once)
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
mod tests {
    use kilter_algorithms::Collective;
    use kilter_bench::store::ItemSamples;
    use kilter_protocol::plan::Repetitions;

    use super::*;

    fn block(subjects: &[Subject]) -> Block {
        Block {
            id: "bcast@8".to_owned(),
            seed: 1,
            items: subjects.iter().map(Subject::item).collect(),
            repetitions: Repetitions::fixed(5, 1.0),
        }
    }

    fn subjects() -> [Subject; 2] {
        let left = Subject::library(Collective::Bcast, 8);
        let right = Subject {
            text: "scatter(n) + allgather(n)".to_owned(),
            ..left.clone()
        };
        [left, right]
    }

    /// A block whose items take these times; each repetition costs `overhead` beside its own time, and making an item ready as much as one repetition.
    fn outcome(subjects: &[Subject], times: &[Vec<f64>], overhead: f64) -> BlockOutcome {
        let mut outcome = BlockOutcome::default();
        let mut repeating = Repeating {
            seconds: 0.0,
            runs: 0.0,
        };
        for (subject, seconds) in subjects.iter().zip(times) {
            let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
            let runs = seconds.len() as f64 + warm_ups(mean);
            repeating.runs += runs;
            repeating.seconds += runs * (overhead + mean);
            outcome.seconds += (runs + 1.0) * (overhead + mean);
            let samples = ItemSamples {
                seconds: seconds.clone(),
                void: 0,
            };
            outcome.samples.insert(subject.item_id(), samples);
        }
        outcome.repeating = Some(repeating);
        outcome
    }

    fn learnt(within: f64, between: f64) -> Learnt {
        let subjects = subjects();
        let mut learnt = Learnt::default();
        for launch in [1.0, -1.0] {
            let times = |sign: f64| -> Vec<f64> {
                let level = 5e-4 * (1.0 + sign * launch * between);
                (-2..=2).map(|i| level * (1.0 + within * f64::from(i))).collect()
            };
            learnt.add(&block(&subjects), &outcome(&subjects, &[times(1.0), times(-1.0)], 1e-3));
        }
        learnt
    }

    #[test]
    fn repetitions_go_where_the_variance_is() {
        let nowhere = BTreeMap::new();
        let aim = |launch_seconds, margin| Aim {
            launch_seconds,
            launches: 10,
            margin,
            distances: &nowhere,
            max: 60,
        };
        let count = |within, between, start| learnt(within, between).repetitions(&aim(start, 0.0))["bcast@8"];
        assert_eq!(count(0.001, 0.2, 0.01), FEWEST, "launches differ, repetitions do not");
        assert!(count(0.2, 0.001, 0.01) > 20, "{}", count(0.2, 0.001, 0.01));
        let (cheap, dear) = (count(0.1, 0.1, 0.001), count(0.1, 0.1, 1.0));
        assert!(
            cheap < dear,
            "where starting is dear, a launch repeats more: {cheap} {dear}"
        );
        let enough = learnt(0.2, 0.001).repetitions(&aim(0.01, 0.2))["bcast@8"];
        assert!(enough < 10, "more than tell 1 from 1.2 are not needed: {enough}");
        let [left, right] = subjects();
        let at = |left_distance: f64, right_distance: f64| {
            let distances = BTreeMap::from([(left.clone(), left_distance), (right.clone(), right_distance)]);
            let aim = Aim {
                distances: &distances,
                ..aim(0.01, 0.05)
            };
            learnt(0.2, 0.001).repetitions(&aim)["bcast@8"]
        };
        assert_eq!(at(0.4, 0.9), enough, "half of the nearest distance");
        assert!(
            at(0.0, 0.9) > 2 * enough,
            "one that lies at the floor needs all: {}",
            at(0.0, 0.9)
        );
    }

    #[test]
    fn what_was_in_one_launch_alone_leaves_the_variance_of_the_others() {
        let mut both = learnt(0.1, 0.05);
        let before = both.blocks["bcast@8"].components();
        assert!(before.freedom > 0.0 && before.between > 0.0, "{before:?}");
        let far = Subject {
            text: "far below".to_owned(),
            ..subjects()[0].clone()
        };
        let seen = both.blocks.get_mut("bcast@8").unwrap();
        seen.items.entry(far.item_id()).or_default().medians.push(1.0);
        let after = seen.components();
        assert_eq!((after.freedom, after.between), (before.freedom, before.between));
    }

    #[test]
    fn a_launch_is_priced_by_its_own_time_and_what_stands_beside_it() {
        let learnt = learnt(0.0, 0.0);
        let mut counts = BTreeMap::from([("bcast@8".to_owned(), 10)]);
        let [left, _] = subjects();
        approx::assert_relative_eq!(learnt.seconds(&left, &counts), 13.0 * 1.5e-3, max_relative = 1e-9);
        let split = Subject {
            text: "8 * bcast(n)".to_owned(),
            ..left.clone()
        };
        // Its parts take 4 ms together, so that it is not warmed up. Making it ready calls all of them once.
        let few = f64::from(FEWEST) + 1.0;
        approx::assert_relative_eq!(learnt.seconds(&split, &counts), few * 5e-3, max_relative = 1e-9);
        counts.insert("bcast@8 in parts".to_owned(), 6);
        approx::assert_relative_eq!(learnt.seconds(&split, &counts), 7.0 * 5e-3, max_relative = 1e-9);
        assert!(learnt.has_seen(&left) && !learnt.has_seen(&split));
        // The screening repeated five times.
        let cost = learnt.costs(&counts)[&left];
        approx::assert_relative_eq!(cost.screening_seconds, 8.0 * 1.5e-3, max_relative = 1e-9);
        approx::assert_relative_eq!(cost.launch_seconds, 13.0 * 1.5e-3, max_relative = 1e-9);
        let unseen = Subject::library(Collective::Bcast, 16);
        assert_eq!(learnt.seconds(&unseen, &counts), 0.0);
    }

    #[test]
    fn calls_that_sometimes_wait_are_priced_with_their_waits() {
        let subjects = subjects();
        let waits = vec![1e-3, 1e-3, 1e-3, 1e-3, 46e-3];
        let mut learnt = Learnt::default();
        learnt.add(&block(&subjects), &outcome(&subjects, &[waits, vec![1e-3; 5]], 0.0));
        let counts = BTreeMap::from([("bcast@8".to_owned(), 7)]);
        // Both were made ready, which took 11 ms.
        approx::assert_relative_eq!(
            learnt.seconds(&subjects[0], &counts),
            7.0 * 1e-2 + 5.5e-3,
            max_relative = 1e-9
        );
    }

    #[test]
    fn where_making_ready_is_dear_a_launch_repeats_more() {
        let subjects = subjects();
        let distances = BTreeMap::new();
        let aim = Aim {
            launch_seconds: 0.01,
            launches: 5,
            margin: 0.0,
            distances: &distances,
            max: 60,
        };
        let count = |ready: f64| {
            let mut learnt = Learnt::default();
            for launch in [1.0, -1.0] {
                let times = |sign: f64| -> Vec<f64> {
                    let level = 5e-4 * (1.0 + 0.1 * sign * launch);
                    (-2..=2).map(|i| level * (1.0 + 0.1 * f64::from(i))).collect()
                };
                let mut outcome = outcome(&subjects, &[times(1.0), times(-1.0)], 1e-3);
                outcome.seconds += 2.0 * ready;
                learnt.add(&block(&subjects), &outcome);
            }
            learnt.repetitions(&aim)["bcast@8"]
        };
        assert!(count(0.0) < count(0.05), "{} {}", count(0.0), count(0.05));
    }

    #[test]
    fn where_no_worker_says_how_long_items_take_to_be_made_ready_it_is_a_repetition() {
        let subjects = subjects();
        let mut learnt = Learnt::default();
        let mut outcome = outcome(&subjects, &[vec![5e-4; 5], vec![5e-4; 5]], 1e-3);
        outcome.repeating = None;
        learnt.add(&block(&subjects), &outcome);
        let counts = BTreeMap::from([("bcast@8".to_owned(), 10)]);
        approx::assert_relative_eq!(
            learnt.seconds(&subjects[0], &counts),
            13.0 * 1.5e-3,
            max_relative = 1e-9
        );
    }

    #[test]
    fn the_fewer_blocks_a_launch_has_the_more_it_repeats() {
        let all = subjects();
        let other = Subject {
            bytes: 16,
            ..all[0].clone()
        };
        let mut learnt = learnt(0.1, 0.05);
        let mut second = block(std::slice::from_ref(&other));
        "bcast@16".clone_into(&mut second.id);
        let times = vec![vec![4e-4, 5e-4, 6e-4]];
        for _ in 0..2 {
            learnt.add(&second, &outcome(std::slice::from_ref(&other), &times, 1e-3));
        }
        let count = |measured: &[&Subject]| {
            let distances = measured.iter().map(|one| ((*one).clone(), 0.0)).collect();
            let aim = Aim {
                launch_seconds: 1.0,
                launches: 5,
                margin: 0.0,
                distances: &distances,
                max: 1000,
            };
            learnt.repetitions(&aim)["bcast@8"]
        };
        let (both, alone) = (count(&[&all[0], &all[1], &other]), count(&[&all[0], &all[1]]));
        assert!(both < alone, "{both} {alone}");
    }

    #[test]
    fn long_calls_are_repeated_less_often_where_launches_differ() {
        let subjects = subjects();
        let distances = BTreeMap::new();
        let aim = Aim {
            launch_seconds: 0.01,
            launches: 10,
            margin: 0.05,
            distances: &distances,
            max: 60,
        };
        let fewest = |level: f64| {
            let mut learnt = Learnt::default();
            for launch in [1.0, -1.0] {
                let times = |sign: f64| vec![level * (1.0 + 0.2 * sign * launch); 5];
                learnt.add(&block(&subjects), &outcome(&subjects, &[times(1.0), times(-1.0)], 1e-3));
            }
            learnt.repetitions(&aim)["bcast@8"]
        };
        assert_eq!([1e-5, 5e-3, 7e-3, 0.02, 2.0].map(fewest), [FEWEST, FEWEST, 2, 1, 1]);
    }

    #[test]
    fn what_slows_a_whole_launch_is_no_variance_between() {
        let subjects = subjects();
        let mut common = Learnt::default();
        for level in [1e-3, 3e-3] {
            let times = vec![level, level * 1.1, level * 0.9, level, level];
            common.add(&block(&subjects), &outcome(&subjects, &[times.clone(), times], 0.0));
        }
        assert_eq!(common.blocks["bcast@8"].components().between, 0.0);
    }
}
