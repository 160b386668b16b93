//! `trace` as typed.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use kilter_protocol::trace::{HASH_MIB, LIMIT_MIB, LIMITS_MIB, MAX_HASH_MIB};

/// Name of a trace where nobody says otherwise.
const DIRECTORY: &str = "kilter-trace";

/// Options of `trace`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Trace {
    /// Use of a trace that is there.
    #[command(subcommand)]
    pub stored: Option<Stored>,
    /// The run.
    #[command(flatten)]
    pub run: Run,
}

/// Uses of a trace.
#[derive(Debug, Subcommand)]
pub enum Stored {
    /// Print what is in a trace that was made before. Exit status: 0 done, 2 error.
    Show(Show),
    /// Write a trace for another program. Exit status: 0 done, 2 error.
    Export(Export),
}

/// Options of the run.
#[derive(Debug, Args)]
pub struct Run {
    /// Directory of the trace; it is made, and there must be none of this name. The ranks write into it, on all nodes the same.
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    pub out: PathBuf,
    /// Size of each rank's file in MiB.
    #[arg(long, value_name = "MIB", default_value_t = LIMIT_MIB,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(LIMITS_MIB.0 as u64..=LIMITS_MIB.1 as u64))]
    pub limit: usize,
    /// Behaviour when a file is full.
    #[arg(long, value_enum, default_value_t = Full::Stop)]
    pub when_full: Full,
    /// Bytes of a message that are hashed at most, in MiB; 0 hashes nothing.
    #[arg(long, value_name = "MIB", default_value_t = HASH_MIB,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(0..=MAX_HASH_MIB as u64))]
    pub hash: usize,
    /// Source of one time for several nodes (default: compared, and day for a command of several programs, some of which may lack the tracer).
    #[arg(long, value_enum)]
    pub clocks: Option<ClocksOf>,
    /// Format of standard output, which the program's own output precedes.
    #[arg(long, value_enum, default_value_t = TraceFormat::Text)]
    pub format: TraceFormat,
    /// The command, and the library of its ranks.
    #[command(flatten)]
    pub traced: super::Traced,
}

/// Options of `trace show`.
#[derive(Debug, Args)]
pub struct Show {
    /// The trace.
    #[arg(value_name = "DIR", default_value = DIRECTORY)]
    pub directory: PathBuf,
    /// Print every event, by rank and time.
    #[arg(long)]
    pub events: bool,
    /// Events of this rank alone.
    #[arg(long, value_name = "RANK", requires = "events")]
    pub rank: Option<u32>,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = TraceFormat::Text)]
    pub format: TraceFormat,
}

/// Options of `trace export`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("form").required(true).multiple(true).args(["perfetto", "otf2"]))]
pub struct Export {
    /// The trace.
    #[arg(value_name = "DIR", default_value = DIRECTORY)]
    pub directory: PathBuf,
    /// Write JSON for the Perfetto viewer (ui.perfetto.dev) to this file.
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Write an OTF2 archive for Vampir, Scalasca and the like into this directory, which must be new or empty; needs libotf2.
    #[arg(long, value_name = "DIR")]
    pub otf2: Option<PathBuf>,
    /// File of libotf2, where it is not one of the system's libraries.
    #[arg(long, value_name = "FILE", requires = "otf2")]
    pub otf2_library: Option<PathBuf>,
}

/// Behaviour of a full file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Full {
    /// Nothing more is recorded.
    Stop,
    /// The oldest calls give way.
    Ring,
}

/// Sources of one time for several nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClocksOf {
    /// Their clocks of the day.
    Day,
    /// The ranks ask each other for the time when the program begins and ends; all of them must have the tracer.
    Compared,
}

/// Formats of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// Tables, or a line for each event.
    Text,
    /// JSON for programs; with `--events` a line for each event.
    Json,
    /// The counters that rules of `kilter advise` read, a line each.
    Counters,
}
