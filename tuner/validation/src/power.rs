//! Detected slowdowns in runs of 300 cells, by the fixed design and by the sequential one.

use kilter_stats::verdict::Outcome;
use kilter_stats::verdict::sequential::DEFAULT_MAX_LAUNCHES;
use kilter_stats::verdict::{Family, Pair, Rule, Test, judge_families, launches_planned};
use rayon::prelude::*;
use serde::Serialize;

use super::Options;
use super::machine::{Machine, Noise};
use super::rate::Rate;
use super::runs::{LAUNCHES, sequential};

/// Cells of a run; those with a slowdown come first.
const CELLS: usize = 300;

/// Number of these cells that are slow, with each of the slowdowns.
const SLOW: usize = 10;

/// Slowdowns as fractions.
pub const SLOWDOWNS: [f64; 5] = [0.05, 0.10, 0.20, 0.30, 0.50];

/// Condition of the launches.
struct Condition {
    name: &'static str,
    noise: Noise,
    /// Spread of each side from launch to launch (standard deviation of the logarithm), drawn evenly for each cell.
    spread: (f64, f64),
    /// Spread of what both sides of a launch have in common.
    common: f64,
}

const PLAIN: Condition = Condition {
    name: "by 2 to 7 %",
    noise: Noise::Plain,
    spread: (0.02, 0.07),
    common: 0.0,
};

const CONDITIONS: [Condition; 8] = [
    Condition {
        name: "launches vary by 2 %",
        spread: (0.02, 0.02),
        ..PLAIN
    },
    Condition {
        name: "launches vary by 5 %",
        spread: (0.05, 0.05),
        ..PLAIN
    },
    Condition {
        name: "launches vary by 7 %",
        spread: (0.07, 0.07),
        ..PLAIN
    },
    PLAIN,
    Condition {
        name: "by 2 to 7 %, 2 % spikes",
        noise: Noise::Spikes,
        ..PLAIN
    },
    Condition {
        name: "by 2 to 7 %, drift",
        noise: Noise::Drift,
        ..PLAIN
    },
    Condition {
        name: "by 2 to 7 %, bimodal",
        noise: Noise::Bimodal,
        ..PLAIN
    },
    // Seen on a noisy day: a side varies by 0.47, the ratio by 0.25.
    Condition {
        name: "by 0.44 together, 0.18 each",
        spread: (0.177, 0.177),
        common: 0.435,
        ..PLAIN
    },
];

/// The way in which launches are spent and judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Ten launches.
    Fixed,
    /// The sequential design by default.
    Sequential,
    /// The same with a third of the cells, for the rest was decided by a screening, which plans more launches on a noisy machine.
    Confirming,
    /// The sequential design for one cell.
    Alone,
    /// The sequential design, rank sum.
    RankSum,
    /// The sequential design, signed ranks within launches.
    SignedRank,
}

impl Design {
    /// Every design.
    const ALL: [Design; 6] = [
        Design::Fixed,
        Design::Sequential,
        Design::Confirming,
        Design::Alone,
        Design::RankSum,
        Design::SignedRank,
    ];

    fn test(self) -> Test {
        match self {
            Design::Fixed | Design::Sequential | Design::Confirming | Design::Alone => Test::default(),
            Design::RankSum => Test::RankSum,
            Design::SignedRank => Test::SignedRank,
        }
    }

    fn cells(self) -> usize {
        match self {
            Design::Confirming => CELLS / 3,
            Design::Alone => SLOW * SLOWDOWNS.len(),
            _ => CELLS,
        }
    }

    /// The power that is promised: what is worth tuning is found where launches vary as on a quiet day, and what is slower by 30 %
    /// on a noisy one, too, among as many as a screening leaves or alone.
    fn promised(self, condition: &Condition, slowdown: f64) -> Option<f64> {
        let least = match self {
            Design::Sequential | Design::Confirming if condition.common == 0.0 => 0.2,
            Design::Confirming | Design::Alone => 0.3,
            _ => f64::INFINITY,
        };
        (slowdown >= least).then_some(0.95)
    }

    /// Name in a table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Design::Fixed => "fixed, 10 launches",
            Design::Sequential => "sequential",
            Design::Confirming => "confirming 100 cells",
            Design::Alone => "sequential, one cell",
            Design::RankSum => "sequential, rank sum",
            Design::SignedRank => "sequential, signed ranks",
        }
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The way in which launches are spent and judged.
    pub design: Design,
    /// Description of the launches.
    pub launches: &'static str,
    /// Slowdown of the left side as a fraction.
    pub slowdown: f64,
    /// Violated, of the cells with this slowdown.
    pub found: Rate,
    /// The power that is promised here.
    pub promised: Option<f64>,
    /// Launches per cell of the run in the mean, over all cells.
    pub mean_launches: f64,
}

/// Every slowdown in every condition; a twentieth of the trials as runs, ten cells of each slowdown in each.
#[must_use]
pub fn validate(options: &Options) -> Vec<Row> {
    let runs = (options.trials / 20).max(1);
    let mut rows = Vec::new();
    for design in Design::ALL {
        for condition in &CONDITIONS {
            let found: Vec<(Vec<bool>, f64)> = (0..runs)
                .into_par_iter()
                .map(|run| one(options.seed, condition, design, run))
                .collect();
            let mean_launches = found.iter().map(|(_, launches)| launches).sum::<f64>() / runs as f64;
            for (index, slowdown) in SLOWDOWNS.into_iter().enumerate() {
                let outcomes: Vec<bool> = found
                    .iter()
                    .flat_map(|(found, _)| found[index * SLOW..(index + 1) * SLOW].iter().copied())
                    .collect();
                rows.push(Row {
                    design,
                    launches: condition.name,
                    slowdown,
                    found: Rate::of(&outcomes),
                    promised: design.promised(condition, slowdown),
                    mean_launches,
                });
            }
        }
    }
    rows
}

/// Tells for each slow cell if it was found, and gives the mean number of launches of all cells.
fn one(seed: u64, condition: &Condition, design: Design, run: usize) -> (Vec<bool>, f64) {
    let launches = match design {
        Design::Fixed => LAUNCHES,
        // The ratio of two sides that vary so much.
        Design::Confirming => launches_planned(
            std::f64::consts::SQRT_2 * condition.spread.1,
            design.cells(),
            &Rule::default(),
        ),
        _ => DEFAULT_MAX_LAUNCHES,
    };
    let (name, (from, to)) = (format!("power {} {run}", condition.name), condition.spread);
    let mut machine = Machine::new(seed, &name, condition.noise, from, launches).with_common(condition.common);
    let cells = design.cells();
    let pairs = (0..cells).map(|cell| {
        let spread = from + (to - from) * machine.uniform();
        machine.set_spread(spread);
        machine.pair(1.0 + SLOWDOWNS.get(cell / SLOW).unwrap_or(&0.0), launches)
    });
    let pairs: Vec<Pair> = pairs.collect();
    let families = [Family::Independent(pairs.clone())];
    let rule = Rule {
        test: design.test(),
        ..Rule::default()
    };
    let (judged, counts) = if design == Design::Alone {
        let alone = |pair: Pair| {
            let (judged, counts) = sequential(&[Family::Independent(vec![pair])], &rule, DEFAULT_MAX_LAUNCHES);
            (judged[0][0].clone(), counts[0][0])
        };
        let (judged, counts) = pairs.into_iter().map(alone).unzip();
        (vec![judged], vec![counts])
    } else if design == Design::Fixed {
        (judge_families(&families, &rule), vec![vec![LAUNCHES; cells]])
    } else {
        sequential(&families, &rule, launches)
    };
    let slow = &judged[0][..SLOW * SLOWDOWNS.len()];
    let found = slow
        .iter()
        .map(|judged| judged.comparison.verdict == Outcome::Violated)
        .collect();
    (found, counts[0].iter().sum::<usize>() as f64 / cells as f64)
}
