//! Monotony over all larger sizes, against a flat correction over all pairs of sizes and against neighbours only.

use std::collections::BTreeMap;

use kilter_stats::sample::Sample;
use kilter_stats::verdict::Outcome;
use kilter_stats::verdict::sequential::DEFAULT_MAX_LAUNCHES as LAUNCHES;
use kilter_stats::verdict::{Family, Judged, Pair, Rule, judge, judge_families};
use rayon::prelude::*;
use serde::Serialize;

use super::Options;
use super::machine::{Machine, Noise};
use super::rate::Rate;

/// Standard deviation of the logarithm of launch medians.
const SPREAD: f64 = 0.07;

/// Functions of a run; the first ones have the violations.
const FUNCTIONS: usize = 12;

/// Sizes of a function, and how much longer each takes than the one before, once times grow: 1 B to 1 MiB in powers of
/// four, and in powers of two.
const SIZES: [(usize, f64); 2] = [(11, 2.0), (21, std::f64::consts::SQRT_2)];

/// Other pairs of a run; the first ones are violated.
const PAIRS: usize = 300;

/// A function with something wrong.
struct Shape {
    what: &'static str,
    /// Sizes, by position, and their times over those of a function that is fine.
    factors: Vec<(usize, f64)>,
    /// The sizes that are then slower than a larger one by more than the floor.
    violated: Vec<usize>,
}

fn shapes((sizes, growth): (usize, f64)) -> [Shape; 4] {
    let growing = 2 * sizes / 3;
    [
        Shape {
            what: "plateau: the smallest size 10 % above all of the plateau",
            factors: vec![(0, 1.1)],
            violated: vec![0],
        },
        Shape {
            what: "step: one size 15 % above the next, larger ones take longer",
            factors: vec![(growing, 1.15 * growth)],
            violated: vec![growing],
        },
        Shape {
            what: "creep: five sizes, each 4 % above the next",
            factors: vec![(0, 1.17), (1, 1.125), (2, 1.082), (3, 1.04)],
            violated: vec![0, 1, 2],
        },
        Shape {
            what: "dip: one size 15 % below all smaller ones",
            factors: vec![(4, 0.87)],
            violated: vec![0, 1, 2, 3],
        },
    ]
}

/// Further counted cells: pairs of another guideline in the same run.
const PAIR: &str = "another guideline 15 % slower, in the same run";

/// Slowdown of those pairs, as a ratio.
const PAIR_RATIO: f64 = 1.15;

/// Number of those pairs.
const SLOW_PAIRS: usize = 10;

/// One kind of violation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Sizes of each function.
    pub sizes: usize,
    /// The violation in the scripted times.
    pub violation: &'static str,
    /// Result with two hypotheses per smaller size ([`kilter_stats::verdict::monotony`]).
    pub two_per_size: Found,
    /// Result with one hypothesis per pair of sizes and Holm's correction over all.
    pub all_pairs: Found,
    /// Result with neighbours only.
    pub neighbours: Found,
}

/// Results of all runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Found {
    /// Runs in which at least one of the violated sizes was found: the defect is known.
    pub defects: Rate,
    /// Violated sizes that were found.
    pub sizes: Rate,
}

impl Found {
    fn of(runs: &[Vec<bool>]) -> Found {
        let any: Vec<bool> = runs.iter().map(|sizes| sizes.contains(&true)).collect();
        Found {
            defects: Rate::of(&any),
            sizes: Rate::of(&runs.concat()),
        }
    }
}

/// Time of a size of a function that is fine: equal for the first half of the sizes, then growing.
fn fine(size: usize, (sizes, growth): (usize, f64)) -> f64 {
    2e-6 * growth.powi(size.saturating_sub(sizes / 2) as i32)
}

/// A twentieth of the trials as runs.
#[must_use]
pub fn validate(options: &Options) -> Vec<Row> {
    let runs = (options.trials / 20).max(1);
    let mut rows = Vec::new();
    for sizes in SIZES {
        let found: Vec<[Vec<Vec<bool>>; 3]> = (0..runs)
            .into_par_iter()
            .map(|run| one(options.seed, run, sizes))
            .collect();
        let names = shapes(sizes).map(|shape| shape.what).into_iter().chain([PAIR]);
        rows.extend(names.enumerate().map(|(kind, violation)| {
            let by = |way: usize| Found::of(&found.iter().map(|found| found[way][kind].clone()).collect::<Vec<_>>());
            Row {
                sizes: sizes.0,
                violation,
                two_per_size: by(0),
                all_pairs: by(1),
                neighbours: by(2),
            }
        }));
    }
    rows
}

/// Tells for each way of correction and each violation if its sizes were found; the slow pairs come last.
fn one(seed: u64, run: usize, sizes: (usize, f64)) -> [Vec<Vec<bool>>; 3] {
    let name = format!("monotony {} {run}", sizes.0);
    let mut machine = Machine::new(seed, &name, Noise::Plain, SPREAD, LAUNCHES);
    let shapes = shapes(sizes);
    let functions: Vec<BTreeMap<u64, Sample>> = (0..FUNCTIONS)
        .map(|function| {
            let mut centers: Vec<f64> = (0..sizes.0).map(|size| fine(size, sizes)).collect();
            for (size, factor) in shapes.get(function).iter().flat_map(|shape| &shape.factors) {
                centers[*size] *= factor;
            }
            let sized = centers.iter().enumerate();
            sized
                .map(|(size, center)| (1 << size, machine.sample(*center, LAUNCHES)))
                .collect()
        })
        .collect();
    let ratio = |pair: usize| if pair < SLOW_PAIRS { PAIR_RATIO } else { 1.0 };
    let pairs: Vec<Pair> = (0..PAIRS).map(|pair| machine.pair(ratio(pair), LAUNCHES)).collect();
    let mut families = vec![Family::Independent(pairs.clone())];
    families.extend(functions.iter().cloned().map(Family::Monotony));
    let judged = judge_families(&families, &Rule::default());
    let is_violated = |judged: &Judged| judged.comparison.verdict == Outcome::Violated;
    let mut ours: Vec<Vec<bool>> = shapes
        .iter()
        .enumerate()
        .map(|(function, shape)| {
            let cells = &judged[function + 1];
            shape.violated.iter().map(|size| is_violated(&cells[*size])).collect()
        })
        .collect();
    ours.push(judged[0][..SLOW_PAIRS].iter().map(is_violated).collect());
    [
        ours,
        flat(&pairs, &functions, &shapes, usize::MAX),
        flat(&pairs, &functions, &shapes, 1),
    ]
}

/// Each size against up to `reach` larger ones, every pair a hypothesis.
fn flat(pairs: &[Pair], functions: &[BTreeMap<u64, Sample>], shapes: &[Shape], reach: usize) -> Vec<Vec<bool>> {
    let mut all = pairs.to_vec();
    let mut places = Vec::new();
    for (function, sizes) in functions.iter().enumerate() {
        for (size, left) in sizes.values().enumerate() {
            for right in sizes.values().skip(size + 1).take(reach) {
                places.push((function, size));
                all.push(Pair {
                    left: left.clone(),
                    right: right.clone(),
                });
            }
        }
    }
    let violated: Vec<bool> = judge(&all, &Rule::default())
        .iter()
        .map(|comparison| comparison.verdict == Outcome::Violated)
        .collect();
    let found = |place: (usize, usize)| {
        let here = places
            .iter()
            .zip(&violated[pairs.len()..])
            .filter(|(at, _)| **at == place);
        here.into_iter().any(|(_, violated)| *violated)
    };
    let mut sizes: Vec<Vec<bool>> = shapes
        .iter()
        .enumerate()
        .map(|(function, shape)| shape.violated.iter().map(|size| found((function, *size))).collect())
        .collect();
    sizes.push(violated[..SLOW_PAIRS].to_vec());
    sizes
}
