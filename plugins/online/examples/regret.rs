//! Goes through thousands of scripted jobs of online selection, and prints what `docs/results/regret/scripted.txt` keeps.
//!
//! ```text
//! cargo run --release -p kilter-online --example regret -- 1000 > docs/results/regret/scripted.txt
//! ```

#[path = "../tests/scripted/mod.rs"]
mod scripted;

use kilter_online::Settings;
use scripted::{Run, SCENARIOS, run};

/// Calls at which curves are noted.
const POINTS: [u64; 22] = [
    10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400, 600, 800, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000,
    10_000,
];

fn main() {
    let runs: u64 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(100);
    let settings = Settings::default();
    println!("$ cargo run --release -p kilter-online --example regret -- {runs}");
    println!(
        "# {runs} runs of each scenario, 10000 calls each; alpha {}, constant {} ns",
        settings.alpha, settings.constant_ns
    );
    println!(
        "# broken: percent of runs in which the bound was broken at any call, in expected times, in drawn times, in the site's own account"
    );
    println!(
        "# behind: percent of the default's time at the end, 5 %, median, 95 % of the runs; settled: calls and epochs until then (median)"
    );
    println!(
        "{:27} {:>8} {:>6} {:>6} {:>7} {:>7} {:>7} {:>8} {:>7} {:>8}",
        "scenario", "expected", "drawn", "own", "5 %", "median", "95 %", "settled", "epochs", "restarts"
    );
    let all: Vec<Vec<Run>> = SCENARIOS
        .iter()
        .map(|scenario| {
            (0..runs)
                .map(|seed| run(scenario, &settings, seed, None, &POINTS))
                .collect()
        })
        .collect();
    for (scenario, runs) in SCENARIOS.iter().zip(&all) {
        let percent = |is_one: &dyn Fn(&Run) -> bool| {
            100.0 * runs.iter().filter(|run| is_one(run)).count() as f64 / runs.len() as f64
        };
        let behind = sorted(runs.iter().map(|run| 100.0 * run.behind / run.default));
        let calls = sorted(
            runs.iter()
                .map(|run| run.calls_until_settled.map_or(f64::INFINITY, |calls| calls as f64)),
        );
        let epochs = sorted(
            runs.iter()
                .map(|run| run.epochs_until_settled.map_or(f64::INFINITY, f64::from)),
        );
        let median = |values: &[f64]| match at(values, 0.5) {
            never if never.is_infinite() => "-".to_owned(),
            value => format!("{value:.0}"),
        };
        println!(
            "{:27} {:8.2} {:6.2} {:6.2} {:7.2} {:7.2} {:7.2} {:>8} {:>7} {:8.2}",
            scenario.name,
            percent(&|run| run.worst > 0.0),
            percent(&|run| run.worst_drawn > 0.0),
            percent(&|run| run.worst_own > 0),
            at(&behind, 0.05),
            at(&behind, 0.5),
            at(&behind, 0.95),
            median(&calls),
            median(&epochs),
            runs.iter().map(|run| f64::from(run.restarts)).sum::<f64>() / runs.len() as f64,
        );
    }
    println!(
        "\n# curves: accumulated expected time over the untouched library's after so many calls, 5 %, median, 95 % of the runs, and the bound"
    );
    for (scenario, runs) in SCENARIOS.iter().zip(&all) {
        println!("curve {}", scenario.name);
        for (point, calls) in POINTS.iter().enumerate() {
            let ratios = sorted(runs.iter().map(|run| run.curve[point].0));
            let bounds = sorted(runs.iter().map(|run| run.curve[point].1));
            println!(
                "{calls} {:.4} {:.4} {:.4} {:.4}",
                at(&ratios, 0.05),
                at(&ratios, 0.5),
                at(&ratios, 0.95),
                at(&bounds, 0.5)
            );
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}
