//! `profile` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Options of `profile`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Profile {
    /// The command on a profile that is there.
    #[command(subcommand)]
    pub stored: Option<Stored>,
    /// The program to run, with its launcher and arguments.
    #[command(flatten)]
    pub run: Run,
}

/// Uses of a profile.
#[derive(Debug, Subcommand)]
pub enum Stored {
    /// Print a profile that was made before. Exit status: 0 done, 2 error.
    Show(Show),
    /// Print what a deployment saved a program: two profiles, beside what `kilter tune` predicted. Exit status: 0 done, 2 error.
    Compare(Compare),
}

/// Options of `profile compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// The profile without the deployment.
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// The profile with it.
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// The --out directory of the `kilter tune --profile BEFORE` that made the deployment, or its report.json. Repeatable.
    #[arg(long, value_name = "DIR")]
    pub report: Vec<PathBuf>,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = super::Format::Text)]
    pub format: super::Format,
}

/// Options of the run.
#[derive(Debug, Args)]
pub struct Run {
    /// File of the profile; there must be none of this name.
    #[arg(long, value_name = "FILE", default_value = "kilter-profile.db")]
    pub out: PathBuf,
    /// Directory into which the ranks write, on all nodes the same (default: the file's name with `.ranks`). It is made, and removed again.
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Memory of each rank's counts in MiB; what does not fit is counted as lost.
    #[arg(long, value_name = "MIB", default_value_t = kilter_protocol::calls::MEMORY_MIB,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=kilter_protocol::calls::MAX_MEMORY_MIB as u64))]
    pub memory: usize,
    /// Measure waiting in one of so many calls of blocking collectives; 0 for none (default: 8, and 0 for a command of several programs, some of which may
    /// run without the tracer).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(kilter_protocol::sampling::MAX_INTERVAL)))]
    pub sample: Option<u32>,
    /// Format of standard output, which the program's own output precedes.
    #[arg(long, value_enum, default_value_t = ProfileFormat::Text)]
    pub format: ProfileFormat,
    /// The command, and the library of its ranks.
    #[command(flatten)]
    pub traced: super::Traced,
}

/// Options of `profile show`.
#[derive(Debug, Args)]
pub struct Show {
    /// The profile.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = ProfileFormat::Text)]
    pub format: ProfileFormat,
    /// Write the HTML page to this file instead.
    #[arg(long, value_name = "FILE", conflicts_with = "mix")]
    pub html: Option<PathBuf>,
    /// Write the call mix, for `kilter tune --mix`, into this file instead.
    #[arg(long, value_name = "FILE")]
    pub mix: Option<PathBuf>,
}

/// Formats of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProfileFormat {
    /// Tables.
    Text,
    /// JSON for programs; its schema is configs/schema/calls.schema.json.
    Json,
    /// Calls and times of each rank, in the form of SGI's listing.
    Listing,
    /// The counters that rules of `kilter advise` read, a line each.
    Counters,
}
