//! Strategies for ordered parameters on scripted surfaces: measurements, and how far the choice is from the best.
//! `cargo bench -p kilter-search --bench ordered`; results are in `docs/method/search.md`. It needs no MPI.
//!
//! * [`surfaces`]: times over two parameters, or one, by cost models.
//! * [`strategies`]: what is compared.

#![allow(clippy::unwrap_used, reason = "a benchmark panics where a test would")]

#[path = "../simplex/mod.rs"]
mod simplex;
mod strategies;
mod surfaces;

use std::collections::BTreeMap;

use kilter_search::ordered::{Costs, Point};
use rand::{RngExt as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use strategies::STRATEGIES;
use surfaces::{Surface, every};

/// Runs of each surface, with noise of their own.
const SEEDS: u64 = 5;
/// A slow mode takes so many times as long.
const SLOW: f64 = 1.3;

/// Measures a surface, each point once; the noise of a point is the same for every strategy.
struct Bench<'a> {
    surface: &'a Surface,
    noise: Noise,
    seed: u64,
    known: Costs,
    asked: usize,
}

/// Disturbance of measured times.
#[derive(Clone, Copy)]
struct Noise {
    /// Standard deviation of the logarithm.
    spread: f64,
    /// Share of the points that are measured in a slow mode.
    slow: f64,
}

impl<'a> Bench<'a> {
    fn new(surface: &'a Surface, noise: Noise, seed: u64) -> Bench<'a> {
        let mut bench = Bench {
            surface,
            noise,
            seed,
            known: BTreeMap::new(),
            asked: 0,
        };
        surface.screened.iter().for_each(|point| {
            bench.measure(point);
        });
        bench.asked = 0;
        bench
    }

    fn measure(&mut self, point: &[u64]) -> f64 {
        if let Some(known) = self.known.get(point) {
            return *known;
        }
        self.asked += 1;
        let mix = |hash: u64, value: &u64| (hash ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(point.iter().fold(self.seed, mix));
        let normal = (0..12).map(|_| random.random_range(0.0..1.0)).sum::<f64>() - 6.0;
        let mode = if random.random_range(0.0..1.0) < self.noise.slow {
            SLOW
        } else {
            1.0
        };
        let seconds = (self.surface.seconds)(point) * (self.noise.spread * normal).exp() * mode;
        self.known.insert(point.to_vec(), seconds);
        seconds
    }

    /// The point that was measured as the best.
    fn best(&self) -> Point {
        let least = self.known.iter().min_by(|a, b| a.1.total_cmp(b.1));
        least.unwrap().0.clone()
    }
}

fn main() {
    for held_out in [false, true] {
        let surfaces = surfaces::all(held_out);
        let title = if held_out {
            "other surfaces"
        } else {
            "the surfaces that constants were chosen on"
        };
        for (spread, slow) in [(0.0, 0.0), (0.02, 0.0), (0.05, 0.0), (0.05, 0.1), (0.10, 0.1)] {
            println!(
                "\n{title}, noise {:.0} %, {:.0} % in a slow mode",
                100.0 * spread,
                100.0 * slow
            );
            println!("measurements, regret in per cent: median, 95 %");
            table(&surfaces, Noise { spread, slow });
        }
    }
}

fn table(surfaces: &[Surface], noise: Noise) {
    let mut kinds: Vec<&str> = surfaces.iter().map(|surface| surface.kind).collect();
    kinds.dedup();
    kinds.sort_unstable();
    kinds.dedup();
    let head: Vec<String> = kinds.iter().map(|kind| format!("{kind:>22}")).collect();
    println!("{:24}{}", "", head.join(""));
    for strategy in STRATEGIES {
        let mut line = format!("{:24}", strategy.name);
        for kind in &kinds {
            let (mut regrets, mut asked) = (Vec::new(), 0);
            for surface in surfaces.iter().filter(|surface| surface.kind == *kind) {
                let times = every(&surface.axes).into_iter().map(|point| (surface.seconds)(&point));
                let least = times.fold(f64::INFINITY, f64::min);
                for seed in 0..SEEDS {
                    let mut bench = Bench::new(surface, noise, seed);
                    (strategy.search)(&mut bench);
                    regrets.push(100.0 * ((surface.seconds)(&bench.best()) / least - 1.0));
                    asked += bench.asked;
                }
            }
            regrets.sort_by(f64::total_cmp);
            let at = |share: f64| regrets[((regrets.len() - 1) as f64 * share) as usize];
            let mean = asked as f64 / regrets.len() as f64;
            line += &format!("{:>8}{:>7.1}{:>7.1}", format!("{mean:.1}"), at(0.5), at(0.95));
        }
        println!("{line}");
    }
}
