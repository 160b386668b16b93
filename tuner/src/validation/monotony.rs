//! Monotony over all larger sizes, against a flat correction over all pairs of sizes and against neighbours only.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;

use super::Options;
use super::machine::{Machine, Noise};
use super::rate::Rate;
use super::runs::LAUNCHES;
use crate::report::model::Outcome;
use crate::stats::sample::Sample;
use crate::verdict::{Family, Judged, Pair, Rule, judge, judge_families};

/// Standard deviation of the logarithm of launch medians.
const SPREAD: f64 = 0.05;

/// Functions of a run; the first ones have the violations.
const FUNCTIONS: usize = 12;

/// Sizes of a function: 1 B to 1 MiB in powers of four.
const SIZES: u32 = 11;

/// Other pairs of a run; the first ones are violated.
const PAIRS: usize = 300;

/// What is wrong, times of the eleven sizes over those of a function that is fine, and which sizes are then slower than a
/// larger one by more than the floor.
const SHAPES: [(&str, [f64; 11], &[usize]); 4] = [
    (
        "plateau: the smallest size 10 % above all of the plateau",
        [1.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        &[0],
    ),
    (
        "step: one size 15 % above the next, larger ones take longer",
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.3, 1.0, 1.0, 1.0],
        &[7],
    ),
    (
        "creep: five sizes, each 4 % above the next",
        [1.17, 1.125, 1.082, 1.04, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        &[0, 1, 2],
    ),
    (
        "dip: one size 15 % below all smaller ones",
        [1.0, 1.0, 1.0, 1.0, 0.87, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        &[0, 1, 2, 3],
    ),
];

/// What else is counted: pairs that are no monotony, in the same run.
const PAIR: &str = "another guideline 15 % slower, in the same run";

/// How much slower those pairs are.
const PAIR_RATIO: f64 = 1.15;

/// How many of them.
const SLOW_PAIRS: usize = 10;

/// One kind of violation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// What is wrong.
    pub violation: &'static str,
    /// With two hypotheses per smaller size ([`crate::verdict::monotony`]).
    pub two_per_size: Found,
    /// With one hypothesis per pair of sizes and Holm's correction over all.
    pub all_pairs: Found,
    /// With neighbours only.
    pub neighbours: Found,
}

/// What was found in all runs.
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

/// Time of a size of a function that is fine: equal up to 1 KiB, then growing.
fn fine(size: usize) -> f64 {
    2e-6 * if size < 6 { 1.0 } else { 2_f64.powi(size as i32 - 5) }
}

/// A tenth of the trials as runs.
#[must_use]
pub fn validate(options: &Options) -> Vec<Row> {
    let runs = (options.trials / 10).max(1);
    let found: Vec<[Vec<Vec<bool>>; 3]> = (0..runs).into_par_iter().map(|run| one(options.seed, run)).collect();
    let names = SHAPES.iter().map(|(violation, ..)| *violation).chain([PAIR]);
    names
        .enumerate()
        .map(|(kind, violation)| {
            let by = |way: usize| Found::of(&found.iter().map(|found| found[way][kind].clone()).collect::<Vec<_>>());
            Row {
                violation,
                two_per_size: by(0),
                all_pairs: by(1),
                neighbours: by(2),
            }
        })
        .collect()
}

/// For each way of correction and each violation, whether its sizes were found; the slow pairs come last.
fn one(seed: u64, run: usize) -> [Vec<Vec<bool>>; 3] {
    let mut machine = Machine::new(seed, &format!("monotony {run}"), Noise::Plain, SPREAD, LAUNCHES);
    let functions: Vec<BTreeMap<u64, Sample>> = (0..FUNCTIONS)
        .map(|function| {
            let factor = |size: usize| SHAPES.get(function).map_or(1.0, |(_, factors, _)| factors[size]);
            (0..SIZES as usize)
                .map(|size| (1 << (2 * size), machine.sample(fine(size) * factor(size), LAUNCHES)))
                .collect()
        })
        .collect();
    let ratio = |pair: usize| if pair < SLOW_PAIRS { PAIR_RATIO } else { 1.0 };
    let pairs: Vec<Pair> = (0..PAIRS).map(|pair| machine.pair(ratio(pair), LAUNCHES)).collect();
    let mut families = vec![Family::Independent(pairs.clone())];
    families.extend(functions.iter().cloned().map(Family::Monotony));
    let judged = judge_families(&families, &Rule::default());
    let is_violated = |judged: &Judged| judged.comparison.verdict == Outcome::Violated;
    let shapes = SHAPES.iter().enumerate();
    let mut ours: Vec<Vec<bool>> = shapes
        .map(|(function, (_, _, sizes))| {
            sizes
                .iter()
                .map(|size| is_violated(&judged[function + 1][*size]))
                .collect()
        })
        .collect();
    ours.push(judged[0][..SLOW_PAIRS].iter().map(is_violated).collect());
    [ours, flat(&pairs, &functions, usize::MAX), flat(&pairs, &functions, 1)]
}

/// Each size against up to `reach` larger ones, every pair a hypothesis.
fn flat(pairs: &[Pair], functions: &[BTreeMap<u64, Sample>], reach: usize) -> Vec<Vec<bool>> {
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
    let shapes = SHAPES.iter().enumerate();
    let mut sizes: Vec<Vec<bool>> = shapes
        .map(|(function, (_, _, sizes))| sizes.iter().map(|size| found((function, *size))).collect())
        .collect();
    sizes.push(violated[..SLOW_PAIRS].to_vec());
    sizes
}
