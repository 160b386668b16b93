//! Prices fitted to disturbed times, by the loss that is minimised: how far predictions are from the truth.
//! `cargo bench -p kilter-search --bench fit`; results are in `docs/method/search.md`. It needs no MPI.

#![allow(clippy::unwrap_used, reason = "a benchmark panics where a test would")]

mod simplex;

use argmin::core::{CostFunction, Executor, State as _};
use argmin::solver::neldermead::NelderMead;
use kilter_algorithms::{Collective, Cost, Nodes, registry};
use kilter_search::cost_model;
use kilter_search::cost_model::fit::Fit;
use rand::{RngExt as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use simplex::Position;

/// Seconds per round, per byte sent, per byte combined.
type Prices = [f64; 3];

/// Runs of each case.
const SEEDS: u64 = 10;
/// Residuals beyond so many standard deviations are held down.
const KNEE: f64 = 2.0;

/// Disturbance of the times.
#[derive(Clone, Copy)]
struct Disturbed {
    name: &'static str,
    /// Standard deviation of the logarithm.
    spread: f64,
    /// Share in a slow mode, and how many times as long that takes.
    slow: (f64, f64),
    /// Share that takes 3 to 30 times as long.
    outliers: f64,
    /// Each row's own deviation from the model, either way.
    rows: f64,
}

const CASES: [Disturbed; 6] = [
    Disturbed {
        name: "5 % noise",
        spread: 0.05,
        slow: (0.0, 1.0),
        outliers: 0.0,
        rows: 1.0,
    },
    Disturbed {
        name: "10 % of outliers",
        spread: 0.05,
        slow: (0.0, 1.0),
        outliers: 0.1,
        rows: 1.0,
    },
    Disturbed {
        name: "20 % of slow modes x 1.5",
        spread: 0.05,
        slow: (0.2, 1.5),
        outliers: 0.0,
        rows: 1.0,
    },
    Disturbed {
        name: "20 % slow modes x 3",
        spread: 0.05,
        slow: (0.2, 3.0),
        outliers: 0.0,
        rows: 1.0,
    },
    Disturbed {
        name: "both",
        spread: 0.05,
        slow: (0.2, 1.5),
        outliers: 0.1,
        rows: 1.0,
    },
    Disturbed {
        name: "both, rows off by 1.5",
        spread: 0.05,
        slow: (0.2, 1.5),
        outliers: 0.1,
        rows: 1.5,
    },
];

fn counts(cost: Cost) -> [f64; 3] {
    [cost.rounds, cost.bytes_sent, cost.bytes_reduced]
}

fn of_row(p: usize, collective: Collective, sizes: &[u64]) -> Vec<(&'static str, Cost)> {
    let nodes = Nodes::each_alone(p);
    let rows = registry::by_collective(collective).filter(|row| row.unmet(p, true, false).is_none());
    rows.flat_map(|row| sizes.iter().map(move |n| (row, *n)))
        .map(|(row, n)| (row.id, cost_model::cost(row, p, n, &row.default_parameters(), &nodes)))
        .collect()
}

struct Problem<'p> {
    points: &'p [(Cost, f64)],
    used: &'p [usize],
    loss: fn(f64) -> f64,
    /// Residuals are told in units of it.
    scale: f64,
}

impl CostFunction for Problem<'_> {
    type Param = Position;
    type Output = f64;

    /// A position has logarithms of prices.
    fn cost(&self, position: &Position) -> Result<f64, argmin::core::Error> {
        let residual = |(cost, seconds): &(Cost, f64)| {
            let counts = counts(*cost);
            let model: f64 = self
                .used
                .iter()
                .zip(&position.0)
                .map(|(i, price)| counts[*i] * price.exp())
                .sum();
            (self.loss)((model.max(1e-12) / seconds).ln() / self.scale)
        };
        Ok(self.points.iter().map(residual).sum())
    }
}

/// Improves the present fit over its prices that are not zero.
fn robust(points: &[(Cost, f64)], start: Prices, loss: fn(f64) -> f64) -> Prices {
    let used: Vec<usize> = (0..3).filter(|i| start[*i] > 0.0).collect();
    let first: Vec<f64> = used.iter().map(|i| start[*i].ln()).collect();
    let vertices = simplex::around(&first, |_, _| 0.3);
    let mut residuals: Vec<f64> = points
        .iter()
        .map(|(cost, seconds)| (cost.seconds(start[0], start[1], start[2]) / seconds).ln().abs())
        .collect();
    residuals.sort_by(f64::total_cmp);
    let scale = (1.4826 * residuals[residuals.len() / 2]).max(0.02);
    let problem = Problem {
        points,
        used: &used,
        loss,
        scale,
    };
    let solver = NelderMead::new(vertices).with_sd_tolerance(1e-9).unwrap();
    let result = Executor::new(problem, solver)
        .configure(|state| state.max_iters(400))
        .run()
        .unwrap();
    let best = result.state().get_best_param().unwrap();
    let mut prices = [0.0; 3];
    for (i, price) in used.iter().zip(&best.0) {
        prices[*i] = price.exp();
    }
    prices
}

fn huber(residual: f64) -> f64 {
    let size = residual.abs();
    if size <= KNEE {
        0.5 * size * size
    } else {
        KNEE * (size - 0.5 * KNEE)
    }
}

fn soft_l1(residual: f64) -> f64 {
    (1.0 + (residual / KNEE).powi(2)).sqrt() - 1.0
}

fn squares(residual: f64) -> f64 {
    residual * residual
}

fn cauchy(residual: f64) -> f64 {
    (1.0 + (residual / KNEE).powi(2)).ln()
}

fn main() {
    type Way = (&'static str, fn(&[(Cost, f64)], Prices) -> Prices);
    let ways: [Way; 5] = [
        ("relative errors, Huber's weights", |_, start| start),
        ("logarithms, squares", |points, start| robust(points, start, squares)),
        ("logarithms, Huber", |points, start| robust(points, start, huber)),
        ("logarithms, soft L1", |points, start| robust(points, start, soft_l1)),
        ("logarithms, Cauchy", |points, start| robust(points, start, cauchy)),
    ];
    for case in CASES {
        println!(
            "{}: error of predictions in per cent, median and 95 %, bias, seconds",
            case.name
        );
        for (name, way) in ways {
            let (mut errors, mut bias, mut seconds) = (Vec::new(), 0.0, 0.0);
            for seed in 0..SEEDS {
                for (p, n) in [(8, 4096), (8, 65_536), (32, 1024), (32, 262_144)] {
                    for truth in [[12e-6, 0.8e-9, 0.2e-9], [1e-6, 0.1e-9, 0.1e-9], [200e-6, 8e-9, 0.3e-9]] {
                        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                        let points = disturbed(case, p, n, truth, &mut random);
                        let fit = Fit::of(&points).unwrap();
                        let begin = std::time::Instant::now();
                        let prices = way(&points, [fit.alpha, fit.beta, fit.gamma]);
                        seconds += begin.elapsed().as_secs_f64();
                        for (_, cost) in of_row(p, Collective::Allreduce, &[n]) {
                            let [a, b, c] = truth;
                            let error = (cost.seconds(prices[0], prices[1], prices[2]) / cost.seconds(a, b, c)).ln();
                            errors.push(100.0 * error.abs().exp_m1());
                            bias += 100.0 * error;
                        }
                    }
                }
            }
            let fits = (SEEDS * 12) as f64;
            bias /= errors.len() as f64;
            errors.sort_by(f64::total_cmp);
            let at = |share: f64| errors[((errors.len() - 1) as f64 * share) as usize];
            println!(
                "  {name:34} {:6.1} {:6.1} {bias:+6.1} {:.5}",
                at(0.5),
                at(0.95),
                seconds / fits
            );
        }
    }
}

/// Times that a screening of other collectives measures near a size.
fn disturbed(case: Disturbed, p: usize, n: u64, truth: Prices, random: &mut Xoshiro256PlusPlus) -> Vec<(Cost, f64)> {
    let sizes = [(n / 16).max(1), n];
    let known = [Collective::Reduce, Collective::Bcast].map(|collective| of_row(p, collective, &sizes));
    let mut off = std::collections::BTreeMap::new();
    let known: Vec<(&str, Cost)> = known.concat();
    known
        .into_iter()
        .map(|(id, cost)| {
            let normal = (0..12).map(|_| random.random_range(0.0..1.0)).sum::<f64>() - 6.0;
            let own = *off
                .entry(id)
                .or_insert_with(|| case.rows.powf(random.random_range(-1.0..=1.0)));
            let mut seconds = own * cost.seconds(truth[0], truth[1], truth[2]) * (case.spread * normal).exp();
            if random.random_range(0.0..1.0) < case.slow.0 {
                seconds *= case.slow.1;
            }
            if random.random_range(0.0..1.0) < case.outliers {
                seconds *= 3.0 * f64::powf(10.0, random.random_range(0.0..1.0));
            }
            (cost, seconds)
        })
        .collect()
}
