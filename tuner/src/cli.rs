//! The command line as typed: the commands here, the options of each in a file of its own. Nothing below [`crate::options`] sees these
//! types.

use clap::{Parser, Subcommand, ValueEnum};

mod advise;
mod apply;
mod batch;
mod benchmark;
mod check;
mod compare;
mod config;
mod detect;
mod duration;
mod explain;
mod generate;
mod guard;
mod import;
mod job;
mod list;
mod measure;
mod overlap;
mod place;
mod profile;
mod query;
mod report;
mod rollback;
mod trace;
mod traced;
mod tune;
mod validate_statistics;
mod verify_algorithms;
mod which;

pub use advise::{Advise, AdviseFormat};
pub use apply::Apply;
pub use batch::Batch;
pub use benchmark::Benchmark;
pub use check::Check;
pub use compare::{Compare, CompareFormat, Stage};
pub use config::Config;
pub use detect::{Detect, DetectFormat};
pub use explain::Explain;
pub use generate::Generate;
pub use guard::Guard;
pub use import::Import;
pub use job::{Job, Output};
pub use list::{List, ListFormat, Listed};
pub use measure::{
    CacheChoice, CorrectionChoice, DEFAULT_SIZES, ElementChoice, Measure, SyncChoice, TestChoice, WaitChoice,
};
pub use overlap::{ModelChoice, Overlap};
pub use place::Place;
pub use profile::{Compare as ProfileCompare, Profile, ProfileFormat, Run as ProfileRun, Show as ProfileShow, Stored};
pub use query::{Queried, Query, QueryFormat};
pub use report::Render;
pub use rollback::Rollback;
pub use trace::{
    ClocksOf, Export as TraceExport, Full, Run as TraceRun, Show as TraceShow, Stored as StoredTrace, Trace,
    TraceFormat,
};
pub use traced::Traced;
pub use tune::{Goal, Only, Tune};
pub use validate_statistics::ValidateStatistics;
pub use verify_algorithms::VerifyAlgorithms;
pub use which::Which;

/// Headings of options in `--help`.
const JOB: &str = "Library and jobs";
const SCOPE: &str = "Guidelines and calls";
const RUN: &str = "Time and course of the run";
const MEASUREMENT: &str = "Measurement";
const VERDICTS: &str = "Verdicts";
const OUTPUT: &str = "Output";
const FIXES: &str = "Fixes";
const TARGETS: &str = "Overlap targets";

/// Verifies the performance guidelines of an MPI library, and tunes the library to keep them.
///
/// A guideline states that an MPI call is no slower than another way to the same result: MPI_Allreduce, for example, no slower than
/// MPI_Reduce and MPI_Bcast. The usual order is `kilter doctor`, `kilter check`, `kilter tune`, `kilter apply`.
///
/// Exit status: 0 every guideline holds, 1 violations remain, 2 error.
#[derive(Debug, Parser)]
#[command(name = "kilter", version, max_term_width = 110)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Print more on standard error; give it twice for still more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

impl Cli {
    /// Number of `-v`.
    #[must_use]
    pub fn verbosity(&self) -> u8 {
        self.verbose
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Verify guidelines and report violations.
    Check(Check),
    /// Verify guidelines, decide all calls together, write the files to deploy, prove them, and report.
    Tune(Tune),
    /// Compare the library's own algorithms with Kilter's, best against best, for each collective and size.
    ///
    /// Both sides are interleaved in the same jobs. The table has the ratio and its interval. Exit status: 0, whoever wins.
    Benchmark(Benchmark),
    /// Map how far communication overlaps computation, over message sizes and computation times.
    ///
    /// Each benchmark of Denis and Trahay (2016) gets a map of its overhead ratio: 0 for perfect overlap, 1 for none.
    /// Writes overlap.json, overlap.csv and overlap.html. Exit status: 0, whatever overlaps.
    Overlap(Overlap),
    /// Check that this machine is fit for measurements, and say what to do if not.
    ///
    /// Takes the options of `check`. Exit status: 0 fit, 1 warnings that make verdicts doubtful, 2 nothing can be measured.
    Doctor(Measure),
    /// List guidelines, algorithms, mock-ups, libraries or overlap targets.
    List(List),
    /// Explain a guideline or an overlap target: its meaning, its reason, its source.
    Explain(Explain),
    /// Install the files that `tune` wrote. Shows every difference, asks, and keeps the old contents for `rollback`.
    ///
    /// Parameters go into a marked block of the library's own file; the rest of that file stays as it is. Environment variables become
    /// module files. Exit status: 0 done or nothing to do, 2 error and nothing was changed.
    Apply(Apply),
    /// Undo the latest `apply`.
    ///
    /// Exit status: 0 done, 2 error and nothing was changed.
    Rollback(Rollback),
    /// Render a stored report again.
    Report(Render),
    /// Print runs, launches, cells with their verdicts, raw samples, or what jobs learnt from the database.
    Query(Query),
    /// Put what jobs learnt while they ran into the database.
    ///
    /// `kilter query learnt` prints it. Exit status: 0 done, 2 a file was not taken.
    Import(Import),
    /// Compare runs: violations of each, regressions and gains, agreement of their verdicts.
    ///
    /// Exit status: 0 no regression, 1 regressions, 2 error.
    Compare(Compare),
    /// Check, every night or after maintenance, what changed for MPI: the hosts, the library, what is deployed, a few times.
    ///
    /// The first night is accepted, and later ones are compared with it. Hosts are named with what they had and have, deployed changes
    /// with the evidence that they act, times with ratio and interval. Exit status: 0 nothing changed, 1 something changed or is slower, 2
    /// something could not be checked.
    Guard(Guard),
    /// Read statistics that an MPI library printed, and say what to set or change: retries, copies, unexpected messages, calls to avoid.
    ///
    /// Reads MPT's MPI_STATS, Open MPI's SPC, MPICH's counts of algorithms, UCX's statistics, Intel's APS charts, and counts and times of
    /// MPI calls. The form is recognised by the content, also within a job's output. Exit status: 0 no advice, 1 advice, 2 error.
    Advise(Advise),
    /// Run an MPI program, and count and time its MPI calls: by communicator, function, size and place, with the time spent waiting.
    ///
    /// `kilter profile -- mpirun -n 4 ./program` writes one SQLite file and prints it; `kilter profile show FILE` prints it again, as text,
    /// JSON, or the call mix for `kilter tune --mix`. Exit status: that of the program; 2 if its calls could not be counted.
    Profile(Profile),
    /// Run an MPI program, and record every message, completion, probe and collective, with a digest of what was sent.
    ///
    /// `kilter trace -- mpirun -n 4 ./program` writes a directory with a file of each rank; `kilter trace show` prints what is in it, `kilter
    /// trace export --perfetto` makes a picture of it. Exit status: that of the program; 2 if its calls could not be recorded.
    Trace(Trace),
    /// Find collectives that a traced program makes of messages by hand.
    ///
    /// Each finding has its call sites, its times, the reasons for it, and what may take its place. Exit status: 0 nothing found, 1 findings, 2 error.
    Detect(Detect),
    /// Say which algorithm of the library carries a call out, how that is known, and which setting, file and line, or default decided it.
    ///
    /// `kilter which reduce@4096 -n 8` answers for calls that are named, `kilter which -- mpirun -n 8 ./program` for those of a program. Exit
    /// status: 0 answered, 1 answered and a setting for one of the calls is not followed, 2 error or nothing can be told.
    Which(Which),
    /// Check every algorithm of a plugin for correct results on this library.
    ///
    /// Results are compared byte by byte with a sequential reference, and stored: `kilter tune` deploys only rows that passed.
    /// Exit status: 0 every row is right, 1 a row is wrong, crashed or hung, 2 error.
    VerifyAlgorithms(VerifyAlgorithms),
    /// Show error rates, power and cost of the verdicts, on scripted times whose truth is known.
    ///
    /// Exit status: 0 every rate is as promised, 1 one is not.
    ValidateStatistics(ValidateStatistics),
    /// Print the defaults of options that files `kilter.toml` set, or all options of a command, and where each is from.
    ///
    /// Read are /etc/kilter/kilter.toml, PREFIX/etc/kilter/kilter.toml of an installation and ~/.config/kilter/kilter.toml, of which the later one
    /// wins; KILTER_CONFIG names the only one. Exit status: 0 done, 2 a file that cannot be followed.
    Config(Config),
    /// Print a batch script that runs a kilter command in an allocation.
    Batch(Batch),
    /// Write manual pages and completions of shells below a prefix; `scripts/install` calls it.
    #[command(hide = true)]
    Generate(Generate),
}

/// Formats of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables.
    Text,
    /// The report as JSON.
    Json,
}
