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
use crate::verdict::{Family, Pair, Rule, judge, judge_families};

/// Standard deviation of the logarithm of launch medians.
const SPREAD: f64 = 0.05;

/// Functions of a run; the first ones have the violations.
const FUNCTIONS: usize = 12;

/// Sizes of a function: 1 B to 1 MiB in powers of four.
const SIZES: u32 = 11;

/// Other pairs of a run; the first ones are violated.
const PAIRS: usize = 300;

/// What is wrong, times of the eleven sizes over those of a function that is fine, and the smaller size to be found.
const SHAPES: [(&str, [f64; 11], usize); 4] = [
    (
        "plateau: the smallest size 10 % above all of the plateau",
        [1.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        0,
    ),
    (
        "step: one size 15 % above the next, larger ones take longer",
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.3, 1.0, 1.0, 1.0],
        7,
    ),
    (
        "creep: five sizes, each 4 % above the next",
        [1.17, 1.125, 1.082, 1.04, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        0,
    ),
    (
        "dip: one size 15 % below all smaller ones",
        [1.0, 1.0, 1.0, 1.0, 0.87, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        0,
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
    /// Found with two hypotheses per smaller size ([`crate::verdict::monotony`]).
    pub two_per_size: Rate,
    /// Found with one hypothesis per pair of sizes and Holm's correction over all.
    pub all_pairs: Rate,
    /// Found with neighbours only.
    pub neighbours: Rate,
}

/// Time of a size of a function that is fine: equal up to 1 KiB, then growing.
fn fine(size: usize) -> f64 {
    2e-6 * if size < 6 { 1.0 } else { 2_f64.powi(size as i32 - 5) }
}

/// A tenth of the trials as runs.
#[must_use]
pub fn validate(options: &Options) -> Vec<Row> {
    let runs = (options.trials / 10).max(1);
    let found: Vec<[Vec<bool>; 3]> = (0..runs).into_par_iter().map(|run| one(options.seed, run)).collect();
    let rate = |way: usize, kinds: std::ops::Range<usize>| {
        let outcomes: Vec<bool> = found
            .iter()
            .flat_map(|found| found[way][kinds.clone()].iter().copied())
            .collect();
        Rate::of(&outcomes)
    };
    let row = |violation: &'static str, kinds: std::ops::Range<usize>| Row {
        violation,
        two_per_size: rate(0, kinds.clone()),
        all_pairs: rate(1, kinds.clone()),
        neighbours: rate(2, kinds),
    };
    let shapes = SHAPES.iter().enumerate();
    let mut rows: Vec<Row> = shapes
        .map(|(kind, (violation, _, _))| row(violation, kind..kind + 1))
        .collect();
    rows.push(row(PAIR, SHAPES.len()..SHAPES.len() + SLOW_PAIRS));
    rows
}

/// For each way of correction, whether each shape and each slow pair was found.
fn one(seed: u64, run: usize) -> [Vec<bool>; 3] {
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
    let mut ours: Vec<bool> = SHAPES
        .iter()
        .enumerate()
        .map(|(function, (_, _, size))| judged[function + 1][*size].comparison.verdict == Outcome::Violated)
        .collect();
    ours.extend(
        judged[0][..SLOW_PAIRS]
            .iter()
            .map(|judged| judged.comparison.verdict == Outcome::Violated),
    );
    [ours, flat(&pairs, &functions, usize::MAX), flat(&pairs, &functions, 1)]
}

/// Each size against up to `reach` larger ones, every pair a hypothesis.
fn flat(pairs: &[Pair], functions: &[BTreeMap<u64, Sample>], reach: usize) -> Vec<bool> {
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
    let sized = SHAPES.iter().enumerate().map(|(function, (_, _, size))| {
        let here = places.iter().zip(&violated[pairs.len()..]);
        here.filter(|(place, _)| **place == (function, *size))
            .any(|(_, violated)| *violated)
    });
    sized.chain(violated[..SLOW_PAIRS].iter().copied()).collect()
}
