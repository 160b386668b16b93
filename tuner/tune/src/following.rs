//! Cells that keep their guidelines only as long as nothing is deployed: the choices of a round make their bounds faster than they are. Pure.
//!
//! They are searched in the same round. Left to the next one, each would cost a proof of its own, and a budget that ends between the rounds
//! would leave them violated.
//!
//! The cells of patterns are those that were judged. A function's sizes bound each other in more ways than were judged: a size that becomes faster
//! bounds every smaller one, and another part may be the one that a size is best divided into.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_model::change::Cell;
use kilter_model::plan::{self, Plan, PlannedCell, Subject};
use kilter_protocol::expression::Side;
use kilter_search::choose::Choice;
use kilter_search::findings::Gains;
use kilter_search::target::{Broken, Target, grouped};
use kilter_search::verification::{JudgedCell, Verification};
use kilter_stats::sample::Sample;
use kilter_stats::verdict::{Outcome, split};

/// The gain of a choice, as its contest measured it; `None` where nothing is chosen.
pub(super) fn gain((target, choice): &(Target, Choice)) -> Option<(Cell, f64)> {
    let chosen = choice.contest.candidates.iter().find(|one| one.chosen)?;
    choice.chosen.as_ref()?;
    Some((target.cell()?, chosen.ratio_to_default))
}

/// Targets that the `gains` make of cells that are not violated now, without those among `searched`. A ratio beyond `1 + floor` makes one.
pub(super) fn follow_ups(
    (now, plan): (&Verification, &Plan),
    gains: &Gains,
    searched: &[Target],
    floor: f64,
) -> Vec<Target> {
    let known: BTreeSet<&Subject> = searched.iter().map(|target| &target.left).collect();
    let foreseen = Foreseen { now, plan, gains };
    let of_patterns = now.cells.iter().filter_map(|judged| foreseen.pattern(judged));
    let mut broken: Vec<Broken> = of_patterns.collect();
    broken.extend(foreseen.larger_sizes());
    broken.extend(foreseen.splits(floor));
    broken.retain(|one| one.ratio > 1.0 + floor && !known.contains(&one.cell.left));
    grouped(broken)
}

/// A verification with the times that the gains would make of it.
struct Foreseen<'a> {
    now: &'a Verification,
    plan: &'a Plan,
    gains: &'a Gains,
}

impl Foreseen<'_> {
    /// A judged cell with the gains; `None` where it is violated already, where they do not change its right side, or where its times are not known.
    fn pattern(&self, judged: &JudgedCell) -> Option<Broken> {
        let (cell, comparison) = (&judged.cell, &judged.comparison);
        if comparison.verdict == Outcome::Violated {
            return None;
        }
        let calls = cell.right.text.parse::<Side>().ok()?.plain_calls()?;
        let of_call = |call: &Collective| {
            let gain = self.gains.get(&(*call, cell.right.bytes))?;
            let seconds = match calls.len() {
                1 => comparison.right_seconds,
                _ => median(self.now, &Subject::library(*call, cell.right.bytes))?,
            };
            Some((gain * seconds, (1.0 - gain) * seconds))
        };
        let (takes, saved) = calls
            .iter()
            .filter_map(of_call)
            .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        // Sides are timed by themselves, so that a part may seem to take longer than the whole; with the gains a part takes its time still.
        let right = (comparison.right_seconds - saved).max(takes);
        let own = cell.left.collective().map(|own| self.gain(own, cell.left.bytes));
        let left = comparison.seconds * own.unwrap_or(1.0);
        (saved > 0.0).then(|| broken(cell.clone(), left, right)).flatten()
    }

    /// Each size of a function with each larger one that becomes faster.
    fn larger_sizes(&self) -> Vec<Broken> {
        let mut found = Vec::new();
        for (guideline, collective) in &self.plan.monotony_functions {
            let sizes = self.sizes(*collective);
            for (&large, right) in sizes.iter().filter(|(bytes, _)| self.is_faster(*collective, **bytes)) {
                found.extend(sizes.range(..large).filter_map(|(&small, left)| {
                    let cell = plan::monotony_cell(guideline, *collective, small, large);
                    broken(cell, left.median(), right.median())
                }));
            }
        }
        found
    }

    /// Each size of a function with as many calls of a smaller one that becomes faster.
    fn splits(&self, floor: f64) -> Vec<Broken> {
        let mut found = Vec::new();
        for (guideline, collective) in &self.plan.split_functions {
            let sizes = self.sizes(*collective);
            let ways = split::split(&sizes, floor).into_iter();
            for way in ways.filter(|way| self.is_faster(*collective, way.part_bytes)) {
                let cell = plan::split_cell(guideline, *collective, way.bytes, way.part_bytes);
                let left = sizes[&way.bytes].median();
                let right = self
                    .in_parts(&cell.right, *collective)
                    .unwrap_or(left / way.predicted_ratio);
                found.extend(broken(cell, left, right));
            }
        }
        found
    }

    /// Seconds of a function in parts, with the gain of a part, where they were measured: one call behind the other takes less than its
    /// median as often, or more.
    fn in_parts(&self, parts: &Subject, collective: Collective) -> Option<f64> {
        Some(median(self.now, parts)? * self.gain(collective, parts.bytes))
    }

    /// The sizes of a function that were timed, with the seconds that they would take.
    fn sizes(&self, collective: Collective) -> BTreeMap<u64, Sample> {
        let volumes = self.plan.volumes.get(&collective).into_iter().flatten();
        let seconds = |&bytes: &u64| {
            let seconds = median(self.now, &Subject::library(collective, bytes))? * self.gain(collective, bytes);
            Some((bytes, Sample::new(vec![seconds]).ok()?))
        };
        volumes.filter_map(seconds).collect()
    }

    fn gain(&self, collective: Collective, bytes: u64) -> f64 {
        self.gains.get(&(collective, bytes)).copied().unwrap_or(1.0)
    }

    fn is_faster(&self, collective: Collective, bytes: u64) -> bool {
        self.gain(collective, bytes) < 1.0
    }
}

/// The cell with these seconds of its sides; `None` where one of them is no time.
fn broken(cell: PlannedCell, left_seconds: f64, right_seconds: f64) -> Option<Broken> {
    (left_seconds > 0.0 && right_seconds > 0.0).then(|| Broken {
        cell,
        ratio: left_seconds / right_seconds,
        excess_seconds: left_seconds - right_seconds,
    })
}

/// Median of a subject over launches, in seconds.
fn median(now: &Verification, subject: &Subject) -> Option<f64> {
    let mut seconds = now.medians.get(subject)?.clone();
    seconds.sort_unstable_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}
