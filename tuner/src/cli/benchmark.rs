//! `benchmark` as typed.

use std::path::PathBuf;

use clap::Args;

use super::Measure;

/// Options of `benchmark`.
#[derive(Debug, Args)]
pub struct Benchmark {
    /// Options of the measurement.
    #[command(flatten)]
    pub measure: Measure,
    /// Plugin whose algorithms compete on Kilter's side. Each must pass the correctness matrix here first. Repeatable.
    #[arg(long = "plugin", value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Compare each of Kilter's algorithms with the library forced to the same algorithm, instead of best against best.
    #[arg(long)]
    pub same: bool,
    /// Compare the search with measuring every candidate, with every value of its parameters, in a launch of its own: launches, seconds
    /// and the result of both. Takes long; --budget ends it.
    #[arg(long, conflicts_with_all = ["same", "latency", "plugins"])]
    pub search: bool,
    /// Network latency in seconds. With --bandwidth, the table shows a lower bound for each cell.
    #[arg(long, value_name = "SECONDS", requires = "bandwidth")]
    pub latency: Option<f64>,
    /// Bytes per second that a host's link carries in each direction.
    #[arg(long, value_name = "BYTES", requires = "latency")]
    pub bandwidth: Option<f64>,
    /// Hosts over which the ranks are spread evenly, for the lower bound (default: as many as ranks).
    #[arg(long, value_name = "N", requires = "latency")]
    pub hosts: Option<usize>,
}
