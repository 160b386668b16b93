//! Launches in turn: the i-th of the library as it is, and the i-th with a candidate, in the same minutes. Pure.
//!
//! A machine that others use as well changes its speed between launches, often by more than a target leaves room for. Both sides of a pair
//! see the same minutes, so that the candidate is judged within its pairs, as guidelines are. A cell has come nearer if every one of few
//! pairs shows it beyond its own intervals, or if Wilcoxon's signed ranks of many pairs do.

use kilter_model::config::target::Target;
use kilter_model::survey::{Cell, Survey};
use kilter_protocol::overlap::Benchmark;
use kilter_stats::sample::Sample;
use kilter_stats::signed_rank;
use kilter_stats::verdict::Rule;

use crate::targets::Judged;

/// Size, computation and threads of a cell.
pub(super) type Place = (u64, u64, u32);

/// Place of a judged cell.
pub(super) fn place(cell: &Judged) -> Place {
    (cell.bytes, cell.computation_ns, cell.threads)
}

/// Launches in turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct InTurn<'a> {
    /// The targets.
    pub(super) targets: &'a [Target],
    /// Launches of the library as it is, by whose communication and computation everything is judged.
    pub(super) untouched: &'a [Survey],
    /// Launches with the settings deployed so far; the same as `untouched` without any.
    pub(super) present: &'a [Survey],
    /// Launches with the candidate.
    pub(super) now: &'a [Survey],
    /// Rule by which it is judged.
    pub(super) rule: &'a Rule,
}

/// The direction in which a cell has moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Towards {
    /// Nearer to its target.
    Nearer,
    /// Farther from it.
    Farther,
}

/// One cell in one pair of launches, in seconds.
struct Pair {
    present: f64,
    now: f64,
    /// Difference from which on this pair alone is certain.
    uncertain: f64,
    /// Time that could be hidden.
    unit: f64,
}

impl InTurn<'_> {
    /// True if a target's cell has moved for certain, and by more than the rule's floor.
    pub(super) fn has_moved(&self, target: &str, place: Place, towards: Towards) -> bool {
        let pairs = self.pairs(target, place);
        let sign = match towards {
            Towards::Nearer => 1.0,
            Towards::Farther => -1.0,
        };
        let gains = || pairs.iter().map(|pair| sign * (pair.present - pair.now));
        let relative = gains().zip(&pairs).map(|(gain, pair)| gain / pair.unit);
        let Ok(relative) = Sample::new(relative.collect()) else {
            return false;
        };
        if relative.median() <= self.rule.effect_floor {
            return false;
        }
        // Each pair by itself is certain: nothing has to be ranked.
        if gains().zip(&pairs).all(|(gain, pair)| gain > pair.uncertain) {
            return true;
        }
        let sides = [|pair: &Pair| pair.present, |pair: &Pair| pair.now];
        let [present, now] = sides.map(|side| Sample::new(pairs.iter().map(side).collect()).ok());
        let (Some(present), Some(now)) = (present, now) else {
            return false;
        };
        let p = match towards {
            Towards::Nearer => signed_rank::p_left_greater(&present, &now),
            Towards::Farther => signed_rank::p_left_greater(&now, &present),
        };
        p.is_some_and(|p| p <= self.rule.alpha)
    }

    /// Pairs in which the cell was measured on every side.
    fn pairs(&self, target: &str, place: Place) -> Vec<Pair> {
        let Some(target) = self.targets.iter().find(|one| one.id == target) else {
            return Vec::new();
        };
        let cell = |survey| cell_at(survey, target, place);
        let triples = self.untouched.iter().zip(self.present).zip(self.now);
        let measured =
            triples.filter_map(|((untouched, present), now)| Some((cell(untouched)?, cell(present)?, cell(now)?)));
        let pair = |(untouched, present, now): (&Cell, &Cell, &Cell)| {
            let (_, unit) = target
                .quantity
                .scale(untouched.communication_seconds, untouched.computation_seconds);
            Pair {
                present: present.overlapped_seconds,
                now: now.overlapped_seconds,
                uncertain: half_width(present)
                    .hypot(half_width(now))
                    .hypot(untouched.noise_seconds),
                unit,
            }
        };
        measured.map(pair).filter(|pair| pair.unit > 0.0).collect()
    }
}

/// A launch converted to the machine's speed in `base`. Computation alone is the same work in every launch, so that its
/// time gives the speed. It serves only as a guess, because a setting that slows computation itself is forgiven.
pub(super) fn at_speed_of(base: &[Survey], mut survey: Survey) -> Survey {
    for map in &mut survey.maps {
        // There, threads compute all the time, and none of it is timed.
        if map.benchmark == Benchmark::ThreadLoad {
            continue;
        }
        let of_base = base.iter().flat_map(|survey| &survey.maps);
        let of_base: Vec<&Cell> = of_base
            .filter(|other| other.benchmark == map.benchmark)
            .flat_map(|other| &other.cells)
            .collect();
        for cell in &mut map.cells {
            let same = of_base.iter().filter(|other| {
                (other.bytes, other.computation_ns, other.threads) == (cell.bytes, cell.computation_ns, cell.threads)
            });
            let Ok(usual) = Sample::new(same.map(|other| other.computation_seconds).collect()) else {
                continue;
            };
            let factor = usual.median() / cell.computation_seconds;
            if factor.is_finite() && factor > 0.0 {
                cell.overlapped_seconds *= factor;
                cell.overlapped_interval_seconds = cell.overlapped_interval_seconds.map(|seconds| factor * seconds);
            }
        }
    }
    survey
}

fn cell_at<'s>(survey: &'s Survey, target: &Target, place: Place) -> Option<&'s Cell> {
    let maps = survey.maps.iter().filter(|map| map.benchmark == target.benchmark);
    let mut cells = maps.flat_map(|map| &map.cells).filter(|cell| !cell.inferred);
    cells.find(|cell| (cell.bytes, cell.computation_ns, cell.threads) == place)
}

/// Half of the wider side of a launch's interval of its median.
fn half_width(cell: &Cell) -> f64 {
    let [low, high] = cell.overlapped_interval_seconds;
    (cell.overlapped_seconds - low)
        .max(high - cell.overlapped_seconds)
        .max(0.0)
}
