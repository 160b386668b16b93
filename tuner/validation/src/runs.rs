//! False decisions in whole runs: all corrections, monotony, and the sequential design over all its looks.

use std::collections::BTreeMap;

use kilter_stats::sample::Sample;
use kilter_stats::verdict::Outcome;
use kilter_stats::verdict::dependence::LaunchesOf;
use kilter_stats::verdict::sequential::DEFAULT_MAX_LAUNCHES;
use kilter_stats::verdict::{
    Allocations, Correction, Dependence, Family, Judged, Looks, Pair, Rule, Test, judge_families,
};
use rayon::prelude::*;
use serde::Serialize;

use super::Options;
use super::machine::{Machine, Noise};
use super::rate::Rate;

/// Launches of the fixed design.
pub const LAUNCHES: usize = 10;

/// Standard deviation of the logarithm of launch medians.
const SPREAD: f64 = 0.05;

/// Pairs of a run, unless functions take part.
const PAIRS: usize = 100;

/// One condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The judged comparison, and the design.
    pub what: &'static str,
    /// The counted event.
    pub counted: &'static str,
    /// Disturbance of the times.
    pub noise: Noise,
    /// Observed rate of the event.
    pub false_decisions: Rate,
    /// Allowed rate of the event.
    pub nominal: f64,
}

/// A kind of run.
struct Kind {
    what: &'static str,
    counted: &'static str,
    test: Test,
    correction: Correction,
    /// Number of pairs that are really violated; they come last.
    violated: usize,
    sequential: bool,
    functions: Functions,
    /// Slowdown of the pairs that count, as a ratio.
    ratio: f64,
    spreads: Spreads,
}

/// Spread of the sides of a pair (standard deviations of logarithms).
#[derive(Clone, Copy, PartialEq)]
enum Spreads {
    /// Both by [`SPREAD`].
    Equal,
    /// Left by 15 %, right by 2 %.
    Unequal,
    /// Both by 0.45 together, and by 0.2 each for themselves: as seen on a noisy day.
    Common,
}

#[derive(PartialEq)]
enum Functions {
    None,
    /// All sizes take the same time, the least favourable case.
    Equal,
    /// Equal up to the fourth size, then growing with the size.
    Growing,
}

const RUNS_WITH_ONE: &str = "runs with a false violation";
const SHARE: &str = "false share of the violations";
const HOLDS: &str = "cells 10 % slower said to hold";
/// The least favourable case of the bound.
const HOLDS_AT_FLOOR: &str = "cells 5 % slower said to hold";

const PLAIN: Kind = Kind {
    what: "pairs, Holm, 100 pairs",
    counted: RUNS_WITH_ONE,
    test: Test::Pairs,
    correction: Correction::Holm,
    violated: 0,
    sequential: false,
    functions: Functions::None,
    ratio: 1.0,
    spreads: Spreads::Equal,
};

const AT_FLOOR: Kind = Kind {
    what: "sequential, floor 5 %, at it",
    counted: HOLDS_AT_FLOOR,
    sequential: true,
    ratio: 1.05,
    ..PLAIN
};

const KINDS: [Kind; 19] = [
    PLAIN,
    Kind {
        what: "unpaired, Holm, 100 pairs",
        test: Test::Unpaired,
        ..PLAIN
    },
    Kind {
        what: "rank sum, Holm, 100 pairs",
        test: Test::RankSum,
        ..PLAIN
    },
    Kind {
        what: "pairs, Holm, 70 pairs, 30 violated ones",
        violated: 30,
        ..PLAIN
    },
    Kind {
        what: "Kolmogorov-Smirnov, Holm, 100 pairs",
        test: Test::KolmogorovSmirnov,
        ..PLAIN
    },
    Kind {
        what: "pairs, Benjamini-Hochberg, 70 pairs, 30 violated ones",
        counted: SHARE,
        correction: Correction::BenjaminiHochberg,
        violated: 30,
        ..PLAIN
    },
    Kind {
        what: "monotony, 4 functions of 8 equal sizes, 40 pairs",
        functions: Functions::Equal,
        ..PLAIN
    },
    Kind {
        what: "monotony, 4 functions of 8 growing sizes, 40 pairs",
        functions: Functions::Growing,
        ..PLAIN
    },
    Kind {
        what: "sequential, Holm, 100 pairs",
        sequential: true,
        ..PLAIN
    },
    Kind {
        what: "sequential, spreads of 15 % and 2 %",
        sequential: true,
        spreads: Spreads::Unequal,
        ..PLAIN
    },
    Kind {
        what: "sequential, unpaired, spreads of 15 % and 2 %",
        test: Test::Unpaired,
        sequential: true,
        spreads: Spreads::Unequal,
        ..PLAIN
    },
    Kind {
        what: "sequential, launches vary by 0.45, sides by 0.2",
        sequential: true,
        spreads: Spreads::Common,
        ..PLAIN
    },
    Kind {
        what: "sequential, the same, monotony, 4 functions of 8 equal sizes, 40 pairs",
        sequential: true,
        functions: Functions::Equal,
        spreads: Spreads::Common,
        ..PLAIN
    },
    Kind {
        what: "sequential, monotony, 4 functions of 8 equal sizes, 40 pairs",
        sequential: true,
        functions: Functions::Equal,
        ..PLAIN
    },
    Kind {
        what: "sequential, signed ranks, 4 functions of 8 equal sizes, 40 pairs",
        test: Test::SignedRank,
        sequential: true,
        functions: Functions::Equal,
        ..PLAIN
    },
    Kind {
        what: "sequential, floor 5 %",
        counted: HOLDS,
        sequential: true,
        ratio: 1.10,
        ..PLAIN
    },
    AT_FLOOR,
    Kind {
        what: "sequential, floor 5 %, launches vary by 0.45, sides by 0.2",
        spreads: Spreads::Common,
        ..AT_FLOOR
    },
    Kind {
        what: "sequential, floor 5 %, signed ranks",
        test: Test::SignedRank,
        ..AT_FLOOR
    },
];

/// Every kind of run with every noise; a fifth of the trials, a tenth where functions take part.
#[must_use]
pub fn validate(options: &Options) -> Vec<Row> {
    let mut rows = Vec::new();
    for kind in &KINDS {
        let runs = (options.trials / if kind.functions == Functions::None { 5 } else { 10 }).max(1);
        for noise in Noise::ALL {
            let shares: Vec<Vec<f64>> = (0..runs)
                .into_par_iter()
                .map(|run| kind.run(options.seed, noise, run))
                .collect();
            rows.push(Row {
                what: kind.what,
                counted: kind.counted,
                noise,
                false_decisions: Rate::of_shares(&shares.concat()),
                nominal: 0.05,
            });
        }
    }
    rows
}

impl Kind {
    /// True if cells are counted that are said to hold, and not runs.
    fn counts_cells(&self) -> bool {
        [HOLDS, HOLDS_AT_FLOOR].contains(&self.counted)
    }

    /// Shares of the counted event in [0, 1]: one per run, or one per cell if cells are counted.
    fn run(&self, seed: u64, noise: Noise, run: usize) -> Vec<f64> {
        let launches = if self.sequential {
            DEFAULT_MAX_LAUNCHES
        } else {
            LAUNCHES
        };
        let name = format!("run {} {} {run}", self.what, noise.name());
        let mut machine = match self.spreads {
            Spreads::Common => Machine::new(seed, &name, noise, 0.2, launches).with_common(0.45),
            Spreads::Equal | Spreads::Unequal => Machine::new(seed, &name, noise, SPREAD, launches),
        };
        let pairs = if self.functions == Functions::None { PAIRS } else { 40 };
        let pair = |index: usize| match self.spreads {
            Spreads::Unequal => machine.unequal_pair((0.15, 0.02), launches),
            _ => machine.pair(if index < pairs - self.violated { self.ratio } else { 1.5 }, launches),
        };
        let mut families = vec![Family::Independent((0..pairs).map(pair).collect())];
        if self.functions != Functions::None {
            families.extend((0..4).map(|_| function(&mut machine, &self.functions, launches)));
        }
        let rule = Rule {
            effect_floor: if self.counts_cells() { 0.05 } else { 0.0 },
            test: self.test,
            correction: self.correction,
            ..Rule::default()
        };
        let judged = if self.sequential {
            sequential(&families, &rule, DEFAULT_MAX_LAUNCHES).0
        } else {
            judge_families(&families, &rule)
        };
        let is = |judged: &&Judged, outcome: Outcome| judged.comparison.verdict == outcome;
        let honest = judged[0][..pairs - self.violated]
            .iter()
            .chain(judged[1..].iter().flatten());
        if self.counts_cells() {
            return honest
                .map(|judged| f64::from(u8::from(is(&judged, Outcome::Holds))))
                .collect();
        }
        let wrong = honest.filter(|judged| is(judged, Outcome::Violated)).count();
        let all = judged
            .iter()
            .flatten()
            .filter(|judged| is(judged, Outcome::Violated))
            .count();
        let share = if self.counted == SHARE {
            wrong as f64 / all.max(1) as f64
        } else {
            f64::from(u8::from(wrong > 0))
        };
        vec![share]
    }
}

fn function(machine: &mut Machine, shape: &Functions, launches: usize) -> Family {
    let center = |size: u32| match shape {
        Functions::Growing => 1e-6 * 2_f64.powi(size.saturating_sub(3) as i32),
        Functions::Equal | Functions::None => 1e-6,
    };
    let sizes: BTreeMap<u64, Sample> = (0..8)
        .map(|size| (1 << (2 * size), machine.sample(center(size), launches)))
        .collect();
    Family::Monotony(sizes)
}

/// Carries out the sequential design on launches that are all at hand, as [`follow`] does; the verdicts, and how many launches each cell
/// had when it was decided.
#[must_use]
pub fn sequential(families: &[Family], rule: &Rule, max_launches: usize) -> (Vec<Vec<Judged>>, Vec<Vec<usize>>) {
    let (judged, launches, _) = follow(families, rule, max_launches);
    (judged, launches)
}

/// Carries out the sequential design as a verification does: what is decided gets no more launches, and the sizes of a function
/// have theirs together. With the verdicts and the launches of each cell comes what the last look found out about the launches.
#[must_use]
pub fn follow(
    families: &[Family],
    rule: &Rule,
    max_launches: usize,
) -> (Vec<Vec<Judged>>, Vec<Vec<usize>>, Option<Dependence>) {
    follow_by(Looks::new(*rule, max_launches), families)
}

/// The same by a design that is made already.
#[must_use]
pub fn follow_by(mut design: Looks, families: &[Family]) -> (Vec<Vec<Judged>>, Vec<Vec<usize>>, Option<Dependence>) {
    let mut judged = Vec::new();
    let mut launches: Vec<Vec<usize>> = families.iter().map(|family| vec![0; family.cells()]).collect();
    while let Some(next) = design.next_launches(0.0, 0.0) {
        let wanted = design.wanted();
        for (family, cells) in launches.iter_mut().enumerate() {
            for (cell, count) in cells.iter_mut().enumerate() {
                let open = wanted.iter().any(|at| (at.family, at.cell) == (family, cell));
                if open || judged.is_empty() {
                    *count = next.launches;
                }
            }
        }
        let seen: Vec<(Family, LaunchesOf)> = families
            .iter()
            .zip(&launches)
            .map(|(family, launches)| first(family, launches))
            .collect();
        let (seen, of): (Vec<Family>, Vec<LaunchesOf>) = seen.into_iter().unzip();
        judged = design.look(&seen, &of, Allocations::Unknown, next.last);
    }
    (judged, launches, design.dependence().cloned())
}

/// Samples of a family when its cells have had so many launches.
fn first(family: &Family, launches: &[usize]) -> (Family, LaunchesOf) {
    let cut = |sample: &Sample, launches: usize| {
        let values = &sample.values()[..launches.min(sample.len())];
        Sample::new(values.to_vec()).unwrap_or_else(|_| sample.clone())
    };
    match family {
        Family::Independent(pairs) => {
            let cut = |(pair, launches): (&Pair, &usize)| Pair {
                left: cut(&pair.left, *launches),
                right: cut(&pair.right, *launches),
            };
            let of = launches.iter().map(|launches| (0..*launches).collect()).collect();
            (Family::Independent(pairs.iter().zip(launches).map(cut).collect()), of)
        }
        Family::Monotony(sizes) => {
            let most = launches.iter().copied().max().unwrap_or(0);
            let cut = sizes.iter().map(|(bytes, sample)| (*bytes, cut(sample, most)));
            (Family::Monotony(cut.collect()), vec![(0..most).collect(); sizes.len()])
        }
    }
}
