//! Benchmark seconds: the sequential design against ten launches of a thousand repetitions, on the same cells.

use kilter_stats::sample::Sample;
use kilter_stats::verdict::Outcome;
use kilter_stats::verdict::sequential::DEFAULT_MAX_LAUNCHES;
use kilter_stats::verdict::{Family, Judged, Pair, Rule, judge_families};
use rayon::prelude::*;
use serde::Serialize;

use super::Options;
use super::machine::{Machine, Noise};
use super::runs::{LAUNCHES, sequential};

/// Cells of a run.
const CELLS: usize = 300;

/// Repetitions per launch of the fixed design, as other checkers have them.
const FIXED_REPETITIONS: f64 = 1000.0;

/// Standard deviation of the logarithm of repetitions within a launch.
const WITHIN: f64 = 0.1;

/// Repetitions per launch of the sequential design: until the relative standard error is 2 %, at this `WITHIN`.
const REPETITIONS: f64 = 25.0;

/// Standard deviation of a median over that of the mean, for normal values.
const MEDIAN: f64 = 1.2533;

/// The cost that is the goal, as a fraction of the fixed design's.
const GOAL: f64 = 0.2;

/// Cost of both designs, and their decisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// Cells in all runs.
    pub cells: usize,
    /// Benchmark seconds of the fixed design.
    pub fixed_seconds: f64,
    /// Benchmark seconds of the sequential design.
    pub sequential_seconds: f64,
    /// Launches per cell of the sequential design in the mean.
    pub mean_launches: f64,
    /// Cells that the fixed design decided.
    pub fixed_decided: usize,
    /// Cells that the sequential design decided.
    pub sequential_decided: usize,
    /// Cells that both decided.
    pub both_decided: usize,
    /// Cells that both designs decided alike.
    pub agreed: usize,
}

impl Cost {
    /// Sequential over fixed.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        self.sequential_seconds / self.fixed_seconds
    }

    /// True if the sequential design needs at most a fifth of the seconds, decides at least as many cells, and agrees
    /// on 99 % of them.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.fraction() <= GOAL
            && self.sequential_decided >= self.fixed_decided
            && self.agreed as f64 >= 0.99 * self.both_decided as f64
    }
}

/// A hundredth of the trials as runs.
#[must_use]
pub fn validate(options: &Options) -> Cost {
    let runs = (options.trials / 100).max(1);
    let costs: Vec<Cost> = (0..runs).into_par_iter().map(|run| one(options.seed, run)).collect();
    let sum = |part: fn(&Cost) -> usize| costs.iter().map(part).sum();
    Cost {
        cells: sum(|cost| cost.cells),
        fixed_seconds: costs.iter().map(|cost| cost.fixed_seconds).sum(),
        sequential_seconds: costs.iter().map(|cost| cost.sequential_seconds).sum(),
        mean_launches: costs.iter().map(|cost| cost.mean_launches).sum::<f64>() / runs as f64,
        fixed_decided: sum(|cost| cost.fixed_decided),
        sequential_decided: sum(|cost| cost.sequential_decided),
        both_decided: sum(|cost| cost.both_decided),
        agreed: sum(|cost| cost.agreed),
    }
}

/// Ratios as checks find them: three fifths clearly fast, a quarter about equal, the rest violated.
fn truth(machine: &mut Machine) -> f64 {
    let (kind, place) = (machine.uniform(), machine.uniform());
    if kind < 0.6 {
        0.3 + 0.65 * place
    } else if kind < 0.85 {
        0.97 + 0.06 * place
    } else {
        1.1 + 0.9 * place
    }
}

fn one(seed: u64, run: usize) -> Cost {
    let mut machine = Machine::new(seed, &format!("cost {run}"), Noise::Plain, 0.0, DEFAULT_MAX_LAUNCHES);
    let (mut fixed, mut growing, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..CELLS {
        let ratio = truth(&mut machine);
        let right = 1e-6 * 10_f64.powf(4.0 * machine.uniform());
        let launch = 0.02 + 0.05 * machine.uniform();
        let mut pair = |repetitions: f64, launches: usize| {
            let spread = launch.hypot(MEDIAN * WITHIN / repetitions.sqrt());
            machine.set_spread(spread);
            let mut side = |center: f64| -> Sample { machine.sample(center, launches) };
            Pair {
                left: side(ratio * right),
                right: side(right),
            }
        };
        fixed.push(pair(FIXED_REPETITIONS, LAUNCHES));
        growing.push(pair(REPETITIONS, DEFAULT_MAX_LAUNCHES));
        seconds.push(right * (1.0 + ratio));
    }
    let rule = Rule::default();
    let fixed = judge_families(&[Family::Independent(fixed)], &rule);
    let (looked, launches) = sequential(&[Family::Independent(growing)], &rule, DEFAULT_MAX_LAUNCHES);
    let decided = |judged: &Judged| matches!(judged.comparison.verdict, Outcome::Violated | Outcome::Holds);
    let both = || {
        fixed[0]
            .iter()
            .zip(&looked[0])
            .filter(|(a, b)| decided(a) && decided(b))
    };
    let repetition: f64 = seconds.iter().sum();
    let weighted: f64 = seconds
        .iter()
        .zip(&launches[0])
        .map(|(seconds, count)| seconds * *count as f64)
        .sum();
    Cost {
        cells: CELLS,
        fixed_seconds: repetition * LAUNCHES as f64 * FIXED_REPETITIONS,
        sequential_seconds: weighted * REPETITIONS,
        mean_launches: launches[0].iter().sum::<usize>() as f64 / CELLS as f64,
        fixed_decided: fixed[0].iter().filter(|judged| decided(judged)).count(),
        sequential_decided: looked[0].iter().filter(|judged| decided(judged)).count(),
        both_decided: both().count(),
        agreed: both()
            .filter(|(a, b)| a.comparison.verdict == b.comparison.verdict)
            .count(),
    }
}
