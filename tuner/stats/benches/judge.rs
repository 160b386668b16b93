//! Time of judging: `cargo bench -p kilter-stats --bench judge`, with a number behind `--` for another number of cells. Results are in
//!
//! Not timed by a framework: a run judges once after some launches, each of which takes seconds.

#![allow(clippy::unwrap_used, reason = "a benchmark panics where a test would")]

use std::time::Instant;

use kilter_stats::sample::Sample;
use kilter_stats::verdict::dependence::LaunchesOf;
use kilter_stats::verdict::{Allocations, Family, Looks, Pair, Rule, judge_families};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Sizes of a function, whose guideline of monotony compares each with all larger ones.
const SIZES: u64 = 20;

fn main() {
    let cells = std::env::args()
        .skip(1)
        .find_map(|word| word.parse().ok())
        .unwrap_or(2000);
    for launches in [5, 20, 60] {
        for monotony in [0, cells / 4] {
            let families = families(cells, monotony, launches);
            let rule = Rule::default();
            let made: Vec<usize> = (0..launches).collect();
            let launches_of = |family: &Family| match family {
                Family::Independent(pairs) => vec![made.clone(); pairs.len()],
                Family::Monotony(sizes) => vec![made.clone(); sizes.len()],
            };
            let all_launches: Vec<LaunchesOf> = families.iter().map(launches_of).collect();
            let (once, judged) = timed(|| judge_families(&families, &rule));
            let (look, _) = timed(|| Looks::new(rule, 60).look(&families, &all_launches, Allocations::Unknown, false));
            println!(
                "{} cells, {monotony} of monotony, {launches} launches: judged once {once:.3} s, a look with dependence {look:.3} s",
                judged.iter().flatten().count()
            );
        }
    }
}

/// The seconds that it took, and what came of it.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let begin = Instant::now();
    let result = work();
    (begin.elapsed().as_secs_f64(), result)
}

fn families(cells: usize, monotony: usize, launches: usize) -> Vec<Family> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut sample = |seconds: f64| {
        let times = (0..launches).map(|_| seconds * f64::powf(1.1, random.random_range(-1.0..=1.0)));
        Sample::new(times.collect()).unwrap()
    };
    let pairs = (monotony..cells).map(|cell| {
        let left = if cell % 7 == 0 { 1.3e-5 } else { 1e-5 };
        Pair {
            left: sample(left),
            right: sample(1e-5),
        }
    });
    let mut all = vec![Family::Independent(pairs.collect())];
    for _ in 0..monotony / (SIZES as usize - 1) {
        all.push(Family::Monotony(
            (0..SIZES)
                .map(|size| (8 << size, sample(1e-5 * (1.0 + size as f64))))
                .collect(),
        ));
    }
    all
}
