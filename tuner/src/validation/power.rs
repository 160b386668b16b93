//! Detected slowdowns in runs of 300 cells, by the fixed design and by the sequential one.

use rayon::prelude::*;
use serde::Serialize;

use super::Options;
use super::machine::{Machine, Noise};
use super::rate::Rate;
use super::runs::{LAUNCHES, sequential};
use crate::report::model::Outcome;
use crate::verdict::sequential::DEFAULT_MAX_LAUNCHES;
use crate::verdict::{Family, Rule, Test, judge_families};

/// Cells of a run; those with a slowdown come first.
const CELLS: usize = 300;

/// Of these, with each of the slowdowns.
const SLOW: usize = 10;

/// How much slower, as a fraction.
pub const SLOWDOWNS: [f64; 5] = [0.05, 0.10, 0.20, 0.30, 0.50];

/// What the launches are like: name, disturbance, spread from launch to launch (standard deviation of the logarithm)
/// from and to, drawn evenly for each cell.
const CONDITIONS: [(&str, Noise, f64, f64); 8] = [
    ("launches vary by 2 %", Noise::Plain, 0.02, 0.02),
    ("launches vary by 5 %", Noise::Plain, 0.05, 0.05),
    ("launches vary by 7 %", Noise::Plain, 0.07, 0.07),
    ("by 2 to 7 %", Noise::Plain, 0.02, 0.07),
    ("by 2 to 7 %, 2 % spikes", Noise::Spikes, 0.02, 0.07),
    ("by 2 to 7 %, drift", Noise::Drift, 0.02, 0.07),
    ("by 2 to 7 %, bimodal", Noise::Bimodal, 0.02, 0.07),
    ("sides by 20 %, all by 45 %", Noise::NoisyDay, 0.2, 0.2),
];

/// How launches are spent and judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Ten launches, rank sum.
    Fixed,
    /// The sequential design by default, rank sum.
    Sequential,
    /// The sequential design, signed ranks within launches.
    Paired,
}

impl Design {
    /// In a table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Design::Fixed => "fixed, 10 launches",
            Design::Sequential => "sequential",
            Design::Paired => "sequential, signed ranks",
        }
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// How launches are spent and judged.
    pub design: Design,
    /// What the launches are like.
    pub launches: &'static str,
    /// How much slower the left side is, as a fraction.
    pub slowdown: f64,
    /// Violated, of the cells with this slowdown.
    pub found: Rate,
    /// The power that is promised here.
    pub promised: Option<f64>,
    /// Launches per cell of the run in the mean, over all 300 cells.
    pub mean_launches: f64,
}

/// Every slowdown in every condition; a twentieth of the trials as runs, ten cells of each slowdown in each.
#[must_use]
pub fn validate(options: &Options) -> Vec<Row> {
    let runs = (options.trials / 20).max(1);
    let mut rows = Vec::new();
    for design in [Design::Fixed, Design::Sequential, Design::Paired] {
        for (condition, noise, from, to) in CONDITIONS {
            let found: Vec<(Vec<bool>, f64)> = (0..runs)
                .into_par_iter()
                .map(|run| one(options.seed, (noise, from, to), design, &format!("{condition} {run}")))
                .collect();
            let mean_launches = found.iter().map(|(_, launches)| launches).sum::<f64>() / runs as f64;
            for (index, slowdown) in SLOWDOWNS.into_iter().enumerate() {
                let outcomes: Vec<bool> = found
                    .iter()
                    .flat_map(|(found, _)| found[index * SLOW..(index + 1) * SLOW].iter().copied())
                    .collect();
                // The reference cell chooses the test: within launches where they drift or have modes.
                let chosen = match noise {
                    Noise::Plain | Noise::Ties | Noise::Spikes => Design::Sequential,
                    Noise::Bimodal | Noise::Drift | Noise::NoisyDay => Design::Paired,
                };
                rows.push(Row {
                    design,
                    launches: condition,
                    slowdown,
                    found: Rate::of(&outcomes),
                    // With sides of 20 % only the confirmation of fewer cells has that power.
                    promised: (design == chosen && slowdown >= 0.2 && noise != Noise::NoisyDay).then_some(0.95),
                    mean_launches,
                });
            }
        }
    }
    rows
}

/// For each slow cell whether it was found, and the mean launches of all cells.
fn one(seed: u64, (noise, from, to): (Noise, f64, f64), design: Design, name: &str) -> (Vec<bool>, f64) {
    let launches = if design == Design::Fixed {
        LAUNCHES
    } else {
        DEFAULT_MAX_LAUNCHES
    };
    let mut machine = Machine::new(seed, &format!("power {name}"), noise, from, launches);
    let pairs = (0..CELLS).map(|cell| {
        let spread = from + (to - from) * machine.uniform();
        machine.set_spread(spread);
        machine.pair(1.0 + SLOWDOWNS.get(cell / SLOW).unwrap_or(&0.0), launches)
    });
    let families = [Family::Independent(pairs.collect())];
    let rule = Rule {
        test: if design == Design::Paired {
            Test::SignedRank
        } else {
            Test::RankSum
        },
        ..Rule::default()
    };
    let (judged, counts) = if design == Design::Fixed {
        (judge_families(&families, &rule), vec![vec![LAUNCHES; CELLS]])
    } else {
        sequential(&families, &rule, DEFAULT_MAX_LAUNCHES)
    };
    let slow = &judged[0][..SLOW * SLOWDOWNS.len()];
    let found = slow
        .iter()
        .map(|judged| judged.comparison.verdict == Outcome::Violated)
        .collect();
    (found, counts[0].iter().sum::<usize>() as f64 / CELLS as f64)
}
