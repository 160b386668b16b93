//! `validate-statistics` as typed.

use clap::Args;

use super::Format;

/// Options of `validate-statistics`.
#[derive(Debug, Args)]
pub struct ValidateStatistics {
    /// Comparisons per condition. Whole runs are simulated less often, by a fixed fraction.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pub trials: u32,
    /// Seed of all times.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}
