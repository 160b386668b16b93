//! `overlap` as typed.

use clap::{Arg, Args, ValueEnum};
use kilter_protocol::overlap::Model;

use super::Measure;

/// Options of `overlap`.
#[derive(Debug, Args)]
#[command(mut_args(for_overlap))]
pub struct Overlap {
    /// Options of the measurement.
    #[command(flatten)]
    pub measure: Measure,
    /// Benchmarks by name, such as sender,receiver,iallreduce; `paper` for the six of Denis and Trahay; or `all`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "paper")]
    pub benchmarks: Vec<String>,
    /// Computation times: a list such as 10us,1ms, or a range 1us..10ms of powers of the square root of 2, or 1us..10ms:x4 of powers
    /// of four.
    #[arg(long, value_name = "TIMES", default_value = "1us..10ms")]
    pub computation: String,
    /// Measure every cell, as the paper does. The default refines where the map changes, and fills in the rest.
    #[arg(long)]
    pub full: bool,
    /// Model of the computation: a fixed amount of work, calibrated before the library starts, or spinning on the clock, as in the paper.
    /// A spin does not notice stolen cycles.
    #[arg(long, value_enum, value_name = "MODEL", default_value_t = ModelChoice::Fixed)]
    pub model: ModelChoice,
    /// Requests under way at once in the benchmark many-requests.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub requests: u32,
    /// Most computing threads in the benchmark thread-load (default: the processing units of rank 0's host, as hwloc counts them).
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// Measure every cell, then adaptively, and print the agreement of both maps and the cost of the second.
    #[arg(long, conflicts_with = "full")]
    pub benchmark_adaptive: bool,
}

/// Gives the options of the measurement their meaning for `overlap`, and hides those that have none there.
fn for_overlap(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "sizes" => option.default_value("8..4MiB").help(
            "Sizes of messages in bytes: a list such as 8,4K,1MiB, or a range 8..4MiB of powers of the square root of 2, or 8..4MiB:x4 \
             of powers of four",
        ),
        "repetitions" => option
            .value_name("N")
            .default_value("50")
            .help("Repetitions of a cell, of which the median counts"),
        "repetition_seconds" => option
            .default_value("1")
            .help("Seconds that the repetitions of a part of a cell may take; what is slow gets fewer"),
        "guidelines" | "guideline_file" | "functions" | "mix" | "profile" | "platform" | "fixed" | "root" | "element" | "launches" | "alpha"
        | "test" | "correction" | "effect_floor" | "sync" | "cache" | "min_repetitions" | "max_repetitions"
        | "repetition_step" | "dry_run" | "allocations" => option.hide(true),
        _ => option,
    }
}

/// Models of computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModelChoice {
    /// A fixed amount of work, calibrated before the library starts.
    Fixed,
    /// Spinning on the clock until the time is over.
    Clock,
}

impl ModelChoice {
    /// Model in the plan.
    #[must_use]
    pub const fn model(self) -> Model {
        match self {
            ModelChoice::Fixed => Model::FixedWork,
            ModelChoice::Clock => Model::ClockSpin,
        }
    }
}
