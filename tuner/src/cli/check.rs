//! `check` as typed.

use clap::Args;

use super::Measure;

/// Options of `check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Options of the measurement.
    #[command(flatten)]
    pub measure: Measure,
    /// Layouts to check in one go, as nodes x ranks per node, such as 8x1,8x16, or 2,4 for ranks of one node. `auto`, the default inside an
    /// allocation of several nodes, stands for one rank on each node and one on each CPU, as the batch system counts them. Each layout has
    /// its report in DIR/NxP and an equal share of --budget.
    #[arg(long, help_heading = super::JOB, value_name = "NxP,...", conflicts_with = "ranks")]
    pub layouts: Option<String>,
    /// Arrival patterns in which guidelines are verified as well: late-one (the last rank, or late-one@RANK), linear, random, or a file of
    /// seconds by rank (text, JSON, or a profile made by `kilter profile`). The last rank comes as much later than the first as the call
    /// takes, or a multiple of that, such as random:x2. All ranks together (none) are always measured.
    #[arg(long, help_heading = super::MEASUREMENT, value_name = "PATTERNS", value_delimiter = ',')]
    pub arrival: Vec<String>,
}
