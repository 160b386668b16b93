//! False violations of a single test: a function against itself, at the sizes where other checkers fail.

use kilter_stats::verdict::Test;
use rayon::prelude::*;
use serde::Serialize;

use super::Options;
use super::machine::{Machine, Noise};
use super::rate::Rate;

/// Launches of both sides.
pub const SIZES: [(usize, usize); 6] = [(5, 5), (10, 10), (100, 50), (50, 100), (1000, 10), (10, 1000)];

/// Standard deviation of the logarithm of the medians: as in the check of another tool that these sizes come from.
const SPREAD: f64 = 0.3;

/// One condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Name of the test as on the command line. Tests of pairs get both sides from the same launches.
    pub test: &'static str,
    /// Launches of both sides.
    pub launches: (usize, usize),
    /// Disturbance of the times.
    pub noise: Noise,
    /// p <= `nominal` although both sides are the same.
    pub false_violations: Rate,
    /// The level.
    pub nominal: f64,
}

/// Every test at every size with every noise.
#[must_use]
pub fn validate(options: &Options) -> Vec<Row> {
    let nominal = 0.05;
    let mut rows = Vec::new();
    for test in Test::ALL {
        for launches @ (n, m) in SIZES {
            if test.is_paired() && n != m {
                continue;
            }
            for noise in Noise::ALL {
                let one = |trial: usize| {
                    let name = format!("single {n} {m} {} {trial}", noise.name());
                    let mut machine = Machine::new(options.seed, &name, noise, SPREAD, n.max(m));
                    let (left, right) = (machine.sample(1.0, n), machine.sample(1.0, m));
                    test.p_left_greater(&left, &right) <= nominal
                };
                let outcomes: Vec<bool> = (0..options.trials).into_par_iter().map(one).collect();
                rows.push(Row {
                    test: test.name(),
                    launches,
                    noise,
                    false_violations: Rate::of(&outcomes),
                    nominal,
                });
            }
        }
    }
    rows
}
