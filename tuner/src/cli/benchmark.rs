//! `benchmark` as typed.

use std::path::PathBuf;

use clap::Args;

use super::Measure;

/// Options of `benchmark`.
#[derive(Debug, Args)]
pub struct Benchmark {
    /// Measuring.
    #[command(flatten)]
    pub measure: Measure,
    /// A plugin whose algorithms compete on Kilter's side, each only after it has passed the correctness matrix here. Repeatable.
    #[arg(long = "plugin", value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Instead of the best with the best, compare each of Kilter's algorithms with the library forced to the same one.
    #[arg(long)]
    pub same: bool,
    /// Instead of Kilter's collectives, put the search to the test: its launches, its seconds and what it finds, against measuring
    /// every candidate with every value of its knobs in a launch of its own. Takes long; --budget ends it.
    #[arg(long, conflicts_with_all = ["same", "latency", "plugins"])]
    pub search: bool,
    /// Seconds that a message of no length takes through the network: with --bandwidth, adds the lower bound of each cell.
    #[arg(long, value_name = "SECONDS", requires = "bandwidth")]
    pub latency: Option<f64>,
    /// Bytes per second that a host's link carries in each direction.
    #[arg(long, value_name = "BYTES", requires = "latency")]
    pub bandwidth: Option<f64>,
    /// Hosts that the ranks are spread over evenly, for the lower bound (default: as many as ranks).
    #[arg(long, value_name = "N", requires = "latency")]
    pub hosts: Option<usize>,
}
