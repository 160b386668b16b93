//! Validated options of `kilter overlap`.

use kilter_model::options::Options;
use kilter_protocol::overlap::{Benchmark, Model};
use serde::Serialize;

use super::grid::{self, Grid};

/// Options of `overlap`.
#[derive(Debug, Clone)]
pub struct OverlapOptions {
    /// Options of the measurement; its sizes are those of the suite.
    pub common: Options,
    /// The benchmarks to measure.
    pub suite: Suite,
    /// True to compare the adaptive mode with full maps instead of making a survey.
    pub benchmark_adaptive: bool,
}

/// Benchmarks to measure, and their points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suite {
    /// Benchmarks, each once, in the order of [`Benchmark::ALL`].
    pub benchmarks: Vec<Benchmark>,
    /// Sizes in bytes, ascending.
    pub sizes: Vec<u64>,
    /// Computation times in nanoseconds, ascending.
    pub computations_ns: Vec<u64>,
    /// Most computing threads; `None` for as many as rank 0's host has processing units, which its worker reports.
    pub threads: Option<u32>,
    /// Model of computation.
    pub model: Model,
    /// Requests under way at once, for [`Benchmark::ManyRequests`].
    pub requests: u32,
    /// Repetitions of each part of a cell.
    pub repetitions: u32,
    /// Seconds that the repetitions of a part may take.
    pub part_seconds: f64,
    /// True if every cell is measured.
    pub full: bool,
}

impl Suite {
    /// The points of a benchmark among `ranks` ranks, on a host of so many processing units.
    #[must_use]
    pub fn grid(&self, benchmark: Benchmark, ranks: usize, processing_units: u32) -> Grid {
        let threads = grid::threads(self.threads.unwrap_or(processing_units), self.full);
        Grid::of(benchmark, (&self.sizes, &self.computations_ns, &threads), ranks)
    }
}
