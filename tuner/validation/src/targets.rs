//! Targets for overlap: how often a cell at a known distance from its bound is missed, held or left undecided.
//!
//! Repetitions are scripted, and become cells and verdicts by the code that measurements go through. A run judges what is deployed
//! against the untouched library, as the proof of `kilter tune` does: launches of both, three cells for each target that bounds a ratio
//! by 0.2, computation three times as long as communication.
//!
//! A launch has a time for communication and one for computation, in which it differs from other launches; communication differs ten
//! times as much. Both together take what the same launch computes and a part of what it communicates.

use std::convert::Infallible;

use kilter_bench::launch::session::{BlockOutcome, ItemSamples};
use kilter_model::config::target::{self, Target};
use kilter_model::reading::Quantity;
use kilter_model::survey::{Cell, Map, Survey};
use kilter_overlap::assemble;
use kilter_overlap::grid::{Load, Point};
use kilter_overlap::targets::looks::{FIRST_LAUNCHES, Launches, MOST_LAUNCHES, is_nearly_met, judge_in_looks};
use kilter_overlap::targets::{Judgement, Verdict};
use kilter_protocol::overlap::{Model, Part};
use kilter_stats::verdict::Rule;
use rayon::prelude::*;
use serde::Serialize;

use super::Options;
use super::machine::{Machine, Noise};
use super::rate::Rate;

/// The bound of the targets that take part.
const BOUND: f64 = 0.2;

/// True ratios. The floor is 0.05, so that 0.25 is the last that may be said to hold.
pub const RATIOS: [f64; 8] = [0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 1.0];

/// Sizes and what communication takes at them, in seconds.
const SIZES: [(u64, f64); 3] = [(64 << 10, 1e-4), (1 << 20, 1e-3), (8 << 20, 8e-3)];

/// Computation in multiples of the time that communication takes.
const COVERS: f64 = 3.0;

/// Repetitions of a part, as `kilter tune` has them.
const REPETITIONS: usize = 9;

/// Repetitions of communication, of computation, vary by this within a launch (standard deviation of the logarithm).
const WITHIN: [f64; 2] = [0.05, 0.005];

/// Conditions of launches: name, disturbance of communication, its spread from launch to launch.
const CONDITIONS: [(&str, Noise, f64); 4] = [
    ("alike", Noise::Plain, 0.0),
    ("vary by 2 %", Noise::Plain, 0.02),
    ("vary by 5 %", Noise::Plain, 0.05),
    ("vary by 5 %, 2 % spikes", Noise::Spikes, 0.05),
];

/// The way in which launches are spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Three launches.
    OneLook,
    /// Three launches, and more for what is nearly met.
    TwoLooks,
}

impl Design {
    /// Name in a table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Design::OneLook => "3 launches",
            Design::TwoLooks => "3, then more",
        }
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The way in which launches are spent.
    pub design: Design,
    /// Description of the launches.
    pub launches: &'static str,
    /// The true ratio of every cell; the bound is 0.2.
    pub ratio: f64,
    /// Cells that are said to hold.
    pub holds: Rate,
    /// Cells that are said to be missed.
    pub missed: Rate,
    /// Runs in which a cell is said to be missed.
    pub runs_with_missed: Rate,
    /// Launches of each side in the mean.
    pub mean_launches: f64,
}

impl Row {
    /// True if the promises are kept. A cell within the bound is missed in at most 5 % of the runs. A cell beyond it by
    /// more than the floor holds in at most 5 % of the cases. A cell that is far on either side is found.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        let within = self.ratio <= BOUND;
        let beyond = self.ratio >= BOUND + Rule::default().effect_floor;
        (!within || self.runs_with_missed.at_most(0.05))
            && (!beyond || self.holds.at_most(0.05))
            && (self.ratio > 0.0 || self.holds.at_least(0.95))
            && (self.ratio < 1.0 || self.missed.at_least(0.95))
    }
}

/// Every ratio in every condition by both designs; a tenth of the trials as runs.
#[must_use]
pub fn validate(options: &Options) -> Vec<Row> {
    let targets = targets();
    let runs = (options.trials / 10).max(1);
    let mut rows = Vec::new();
    for design in [Design::OneLook, Design::TwoLooks] {
        for (condition, noise, spread) in CONDITIONS {
            for ratio in RATIOS {
                let judged: Vec<Vec<Judgement>> = (0..runs)
                    .into_par_iter()
                    .map(|run| {
                        // The same launches for both designs, as far as they go.
                        let name = format!("targets {condition} {ratio} {run}");
                        let machine = Machine::new(options.seed, &name, noise, spread, MOST_LAUNCHES);
                        one(&targets, machine, ratio, design)
                    })
                    .collect();
                rows.push(row((design, condition, ratio), &judged));
            }
        }
    }
    rows
}

/// The targets that bound a ratio by [`BOUND`].
fn targets() -> Vec<Target> {
    // Embedded files that could not be read would be a defect of this build, which every other command says.
    let mut all = target::load_embedded().unwrap_or_default();
    all.retain(|target| target.quantity == Quantity::Ratio && target.bound == BOUND);
    all
}

fn row((design, launches, ratio): (Design, &'static str, f64), judged: &[Vec<Judgement>]) -> Row {
    let of = |run: &[Judgement], verdict: Verdict| -> Vec<bool> {
        let cells = run.iter().flat_map(|judgement| &judgement.cells);
        cells.map(|cell| cell.verdict == verdict).collect()
    };
    let cells = |verdict| Rate::of(&judged.iter().flat_map(|run| of(run, verdict)).collect::<Vec<bool>>());
    let any: Vec<bool> = judged
        .iter()
        .map(|run| of(run, Verdict::Missed).contains(&true))
        .collect();
    let launched: usize = judged
        .iter()
        .filter_map(|run| run.first())
        .map(|one| one.launches[1])
        .sum();
    Row {
        design,
        launches,
        ratio,
        holds: cells(Verdict::Holds),
        missed: cells(Verdict::Missed),
        runs_with_missed: Rate::of(&any),
        mean_launches: launched as f64 / judged.len() as f64,
    }
}

/// Judges one run.
fn one(targets: &[Target], mut machine: Machine, ratio: f64, design: Design) -> Vec<Judgement> {
    let mut measure = |launches: &mut Launches, _: usize| {
        launches.base.push(launch(targets, &mut machine, ratio));
        let now = launch(targets, &mut machine, ratio);
        launches.now.get_or_insert_default().push(now);
        Ok::<(), Infallible>(())
    };
    let mut launches = Launches::default();
    for number in 0..FIRST_LAUNCHES {
        let Ok(()) = measure(&mut launches, number);
    }
    let affords = |_| design == Design::TwoLooks;
    let rule = Rule::default();
    let Ok(judged) = judge_in_looks((targets, &rule), &mut launches, affords, is_nearly_met, measure);
    judged
}

/// A launch in which every cell has this ratio.
fn launch(targets: &[Target], machine: &mut Machine, ratio: f64) -> Survey {
    let maps = targets.iter().map(|target| Map {
        benchmark: target.benchmark,
        cells: SIZES
            .into_iter()
            .filter_map(|size| cell(target, machine, size, ratio))
            .collect(),
        failed: Vec::new(),
    });
    let maps = maps.collect();
    Survey {
        schema: 1,
        library: String::new(),
        ranks: 2,
        hosts: vec!["node-1".to_owned(), "node-2".to_owned()],
        processing_units: 2,
        processing_units_by: String::new(),
        transport: String::new(),
        computation: Model::FixedWork,
        command: String::new(),
        maps,
    }
}

/// A cell, from its repetitions.
fn cell(target: &Target, machine: &mut Machine, (bytes, seconds): (u64, f64), ratio: f64) -> Option<Cell> {
    let computes = COVERS * seconds;
    // The launch's own: of computation a tenth of the logarithm.
    let of_launch = |machine: &mut Machine| machine.sample(1.0, 1).median();
    let communication = seconds * of_launch(machine);
    let computation = computes * of_launch(machine).powf(0.1);
    let mut outcome = BlockOutcome::default();
    for part in assemble::parts(target.benchmark) {
        let mut repetition = || {
            let [of_communication, of_computation] = WITHIN.map(|spread| (spread * machine.normal()).exp());
            let (communicates, computes) = (communication * of_communication, computation * of_computation);
            match part {
                Part::Latency => 0.0,
                Part::Communication => communicates,
                Part::Computation => computes,
                Part::Overlapped => computes + ratio * communicates,
            }
        };
        let samples = ItemSamples {
            seconds: (0..REPETITIONS).map(|_| repetition()).collect(),
            void: 0,
        };
        outcome.samples.insert(assemble::item_id(part).to_owned(), samples);
    }
    let point = Point {
        bytes,
        load: Load {
            threads: 1,
            computation_ns: (computes * 1e9) as u64,
        },
    };
    let (cell, widths) = assemble::cell(target.benchmark, point, &outcome).ok()?;
    Some(Cell {
        noise_seconds: widths.communication.max(widths.computation),
        ..cell
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_the_cells_of_tune_and_finds_what_is_far_from_the_bound() {
        let targets = targets();
        assert_eq!(targets.len(), 5);
        let judged = |ratio, design| {
            let machine = Machine::new(7, "far", Noise::Plain, 0.01, MOST_LAUNCHES);
            one(&targets, machine, ratio, design)
        };
        for (ratio, verdict) in [(0.0, Verdict::Holds), (1.0, Verdict::Missed)] {
            let judged = judged(ratio, Design::TwoLooks);
            let cells: Vec<Verdict> = judged
                .iter()
                .flat_map(|one| &one.cells)
                .map(|cell| cell.verdict)
                .collect();
            assert_eq!(cells, [verdict; 15], "{ratio}");
        }
    }

    #[test]
    fn a_row_keeps_its_promise_or_does_not() {
        let rate = |cases: f64| Rate { cases, trials: 1000 };
        let row = |ratio, holds, missed, runs| Row {
            design: Design::OneLook,
            launches: "alike",
            ratio,
            holds: rate(holds),
            missed: rate(missed),
            runs_with_missed: rate(runs),
            mean_launches: 3.0,
        };
        assert!(row(0.0, 1000.0, 0.0, 0.0).is_kept() && !row(0.0, 500.0, 0.0, 0.0).is_kept());
        assert!(row(0.2, 0.0, 3.0, 45.0).is_kept() && !row(0.2, 0.0, 9.0, 200.0).is_kept());
        assert!(row(0.25, 20.0, 0.0, 0.0).is_kept() && !row(0.25, 200.0, 0.0, 0.0).is_kept());
        assert!(row(1.0, 0.0, 1000.0, 1000.0).is_kept() && !row(1.0, 0.0, 500.0, 1000.0).is_kept());
    }
}
