//! Samples of one cell, and their evidence.

use std::collections::BTreeMap;

use kilter_model::config::target::Target;
use kilter_model::survey::{Cell, MASK_FACTOR, Survey};
use kilter_protocol::overlap::Benchmark;
use kilter_stats::sample::Sample;
use kilter_stats::unpaired;
use kilter_stats::verdict::Rule;
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::{Judged, Verdict};

/// Size, requested computation, threads.
type Key = (u64, u64, u32);

/// Measured cells of a benchmark, with one from each launch that has it.
fn cells_of(surveys: &[Survey], benchmark: Benchmark) -> BTreeMap<Key, Vec<&Cell>> {
    let mut cells: BTreeMap<Key, Vec<&Cell>> = BTreeMap::new();
    let maps = surveys.iter().flat_map(|survey| &survey.maps);
    let measured = maps
        .filter(|map| map.benchmark == benchmark)
        .flat_map(|map| &map.cells)
        .filter(|cell| !cell.inferred);
    for cell in measured {
        cells
            .entry((cell.bytes, cell.computation_ns, cell.threads))
            .or_default()
            .push(cell);
    }
    cells
}

/// Middle value; not a number without values.
fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    Sample::new(values.into_iter().collect()).map_or(f64::NAN, |sample| sample.median())
}

/// Questions of a target about a run.
pub(super) struct Asked {
    pub(super) cells: Vec<Question>,
    pub(super) unmeasured: usize,
}

impl Asked {
    pub(super) fn of(target: &Target, base: &[Survey], now: &[Survey]) -> Asked {
        let (base, mut now) = (cells_of(base, target.benchmark), cells_of(now, target.benchmark));
        let mut asked = Asked {
            cells: Vec::new(),
            unmeasured: 0,
        };
        for (key, base) in base {
            let communication = median(base.iter().map(|cell| cell.communication_seconds));
            let computation = median(base.iter().map(|cell| cell.computation_seconds));
            if !target.covers(key.0, key.1, communication, computation) {
                continue;
            }
            match now.remove(&key) {
                Some(now) => asked.cells.extend(Question::of(target, key, &base, &now)),
                None => asked.unmeasured += 1,
            }
        }
        asked
    }

    pub(super) fn communication(&self) -> f64 {
        let changes: Vec<f64> = self.cells.iter().map(|cell| cell.communication).collect();
        if changes.is_empty() { 1.0 } else { median(changes) }
    }
}

/// One cell of one target.
pub(super) struct Question {
    key: Key,
    /// Medians of both together, one per launch.
    times: Sample,
    /// Half-widths of their intervals, downwards and upwards, in the order of the launches.
    halves: Vec<[f64; 2]>,
    /// Allowed times, one per launch of the untouched library.
    allowed: Sample,
    /// Time at which the bounded quantity is 0, and the time by which it grows by 1.
    zero: f64,
    unit: f64,
    noise: f64,
    pub(super) masked: bool,
    /// Communication time by itself, relative to the untouched library's.
    communication: f64,
}

/// Distance of the ends of a 95 % interval from its middle in standard errors.
const STANDARD_ERRORS: f64 = 1.96;

impl Question {
    /// The question about a cell; `None` if a time is no number.
    fn of(target: &Target, key: Key, base: &[&Cell], now: &[&Cell]) -> Option<Question> {
        let scale = |cell: &&Cell| {
            target
                .quantity
                .scale(cell.communication_seconds, cell.computation_seconds)
        };
        let allowed = base.iter().map(|cell| {
            let (zero, unit) = scale(cell);
            zero + target.bound * unit
        });
        let (zero, unit) = target.quantity.scale(
            median(base.iter().map(|cell| cell.communication_seconds)),
            median(base.iter().map(|cell| cell.computation_seconds)),
        );
        // Only the untouched library's noise counts: a setting that makes a job noisy must not mask its own cells.
        let noise = median(base.iter().map(|cell| cell.noise_seconds));
        Some(Question {
            key,
            times: Sample::new(now.iter().map(|cell| cell.overlapped_seconds).collect()).ok()?,
            halves: now
                .iter()
                .map(|cell| {
                    let [low, high] = cell.overlapped_interval_seconds;
                    [cell.overlapped_seconds - low, high - cell.overlapped_seconds].map(|half| half.max(0.0))
                })
                .collect(),
            allowed: Sample::new(allowed.collect()).ok()?,
            zero,
            unit,
            noise,
            // Not a number is masked as well.
            masked: !(unit >= MASK_FACTOR * noise && unit > 0.0),
            communication: median(now.iter().map(|cell| cell.communication_seconds))
                / median(base.iter().map(|cell| cell.communication_seconds)),
        })
    }

    /// True if the launches are enough for the rule's test among so many cells.
    fn has_ranks(&self, rule: &Rule, tests: usize) -> bool {
        let launches = self.times.len().min(self.allowed.len());
        rule.test.unpaired().smallest_p(launches) * tests as f64 <= rule.alpha
    }

    /// p-value of "takes longer than allowed".
    pub(super) fn p(&self, rule: &Rule, tests: usize) -> f64 {
        if self.has_ranks(rule, tests) {
            return rule.test.unpaired().p_left_greater(&self.times, &self.allowed);
        }
        let allowed = self.allowed.median();
        let launches = self.times.values().iter().zip(&self.halves);
        launches
            .map(|(seconds, [below, _])| beyond(seconds - allowed, below.hypot(self.noise) / STANDARD_ERRORS))
            .fold(0.0, f64::max)
    }

    /// Ends of the interval of both together, in seconds.
    fn interval(&self, rule: &Rule, tests: usize) -> [f64; 2] {
        if self.has_ranks(rule, tests) {
            let estimate = unpaired::ratio(&self.times, &self.allowed, rule.confidence);
            return [estimate.low, estimate.high].map(|ratio| ratio * self.allowed.median());
        }
        let launches = || self.times.values().iter().zip(&self.halves);
        let low = launches().map(|(seconds, [below, _])| seconds - below.hypot(self.noise));
        let high = launches().map(|(seconds, [_, above])| seconds + above.hypot(self.noise));
        [
            low.fold(f64::INFINITY, f64::min),
            high.fold(f64::NEG_INFINITY, f64::max),
        ]
    }

    /// Judges the cell; `p_adjusted` is `None` for a masked cell.
    pub(super) fn judged(&self, p_adjusted: Option<f64>, rule: &Rule, tests: usize) -> Judged {
        let (seconds, allowed) = (self.times.median(), self.allowed.median());
        let interval = self.interval(rule, tests);
        let floor = (rule.effect_floor * self.unit).max(self.noise);
        let verdict = match p_adjusted {
            None => Verdict::Masked,
            Some(p) if p <= rule.alpha && seconds - allowed > floor => Verdict::Missed,
            Some(_) if interval[1] <= allowed + floor => Verdict::Holds,
            Some(_) => Verdict::Undecided,
        };
        let (bytes, computation_ns, threads) = self.key;
        let value = |seconds: f64| (seconds - self.zero) / self.unit;
        Judged {
            bytes,
            computation_ns,
            threads,
            verdict,
            seconds,
            allowed_seconds: allowed,
            value: value(seconds),
            interval: interval.map(value),
            p_adjusted: p_adjusted.unwrap_or(1.0),
        }
    }
}

/// Probability of an excess at least as large by chance, given a standard error. It is above 0, because 0 stands for
/// exact times. A standard error of 0 makes it certain either way.
fn beyond(excess: f64, standard_error: f64) -> f64 {
    if standard_error > 0.0 {
        Normal::new(0.0, standard_error).map_or(1.0, |normal| normal.sf(excess).max(f64::MIN_POSITIVE))
    } else {
        f64::from(excess <= 0.0)
    }
}
