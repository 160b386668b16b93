//! `batch` as typed.

use clap::Args;

/// Options of `batch`.
#[derive(Debug, Args)]
pub struct Batch {
    /// The batch system and its launcher: slurm, pbs, pals, lsf, jsm, sge or flux.
    #[arg(value_name = "LAUNCHER")]
    pub launcher: String,
    /// Hosts of the allocation.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub nodes: usize,
    /// Ranks on each host. Without it `check` and `tune` find layouts themselves on Slurm and JSM, where whole hosts can be asked for; others
    /// run 2.
    #[arg(long, value_name = "N")]
    pub ranks_per_node: Option<usize>,
    /// Minutes of the allocation. The command's budget is nine tenths of them; the rest is for starting and ending.
    #[arg(long, value_name = "MINUTES", default_value_t = 60)]
    pub minutes: u32,
    /// Name of the job.
    #[arg(long, value_name = "NAME", default_value = "kilter")]
    pub job: String,
    /// Account or project that pays.
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    /// Queue or partition.
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// Module to load, such as openmpi/4.1.4. Repeatable, in order.
    #[arg(long = "module", value_name = "NAME")]
    pub modules: Vec<String>,
    /// The process management interface, for slurm: pmix or pmi2.
    #[arg(long, value_name = "NAME")]
    pub pmi: Option<String>,
    /// The command with its options, after `--`: check, tune, doctor or verify-algorithms (default: check).
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
