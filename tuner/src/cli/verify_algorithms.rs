//! `verify-algorithms` as typed.

use std::path::PathBuf;

use clap::Args;

use super::Job;

/// Options of `verify-algorithms`.
#[derive(Debug, Args)]
pub struct VerifyAlgorithms {
    /// Algorithms and mock-ups by id, such as bcast.binomial, or all of a collective, such as bcast (default: all of the plugin). An
    /// id may carry values of its parameters, such as bcast.pipelined_chain@8192.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Numbers of ranks, a job for each.
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "1,2,3,4,5,7,8"
    )]
    pub ranks: Vec<usize>,
    /// The plugin (default: Kilter's own, libkilter_collectives.so).
    #[arg(long, value_name = "FILE")]
    pub plugin: Option<PathBuf>,
    /// Run only this case, written as failures report it. Missing parts have defaults.
    #[arg(long, value_name = "CASE")]
    pub case: Option<String>,
    /// Run the reduced matrix of `tune`, which takes about a second.
    #[arg(long)]
    pub reduced: bool,
    /// The library, its launcher, and the places of results.
    #[command(flatten)]
    pub job: Job,
}
