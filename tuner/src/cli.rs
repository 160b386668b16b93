//! What can be typed: the commands here, the options of each in a file of its own. Nothing below [`crate::options`] sees these types.

use clap::{Parser, Subcommand, ValueEnum};

mod apply;
mod batch;
mod benchmark;
mod compare;
mod explain;
mod generate;
mod job;
mod list;
mod measure;
mod overlap;
mod place;
mod query;
mod report;
mod rollback;
mod tune;
mod validate_statistics;
mod verify_algorithms;

pub use apply::Apply;
pub use batch::Batch;
pub use benchmark::Benchmark;
pub use compare::{Compare, CompareFormat, Stage};
pub use explain::Explain;
pub use generate::Generate;
pub use job::Job;
pub use list::{List, ListFormat, Listed};
pub use measure::{CacheChoice, CorrectionChoice, ElementChoice, Measure, SyncChoice, TestChoice, WaitChoice};
pub use overlap::{ModelChoice, Overlap};
pub use place::Place;
pub use query::{Queried, Query, QueryFormat};
pub use report::Render;
pub use rollback::Rollback;
pub use tune::{Only, Tune};
pub use validate_statistics::ValidateStatistics;
pub use verify_algorithms::VerifyAlgorithms;

/// Verifies and tunes the performance guidelines of an MPI library.
///
/// Exit status: 0 every guideline holds, 1 violations remain, 2 error.
#[derive(Debug, Parser)]
#[command(name = "kilter", version, max_term_width = 110)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// More on standard error; twice for still more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

impl Cli {
    /// How often `-v` was given.
    #[must_use]
    pub fn verbosity(&self) -> u8 {
        self.verbose
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Verify guidelines and report what is violated.
    Check(Measure),
    /// Verify, search fixes, deploy them into a staging directory, verify what is deployed, and report.
    Tune(Tune),
    /// Put the library's own algorithms and Kilter's side by side: for each collective and size of --functions and --sizes the best
    /// of each, interleaved in the same jobs, with the ratio and its interval.
    ///
    /// Exit status: 0, whoever wins.
    Benchmark(Benchmark),
    /// Explore how far communication runs beside computation, over sizes and computation times (Denis and Trahay 2016): a map of the
    /// overhead ratio for each benchmark, 0 for perfect overlap, 1 for none.
    ///
    /// Writes overlap.json, overlap.csv and overlap.html. Exit status: 0, whatever overlaps.
    Overlap(Overlap),
    /// Examine the machine before measuring: 0 fit, 1 warnings that make verdicts doubtful, 2 nothing can be measured. Takes the
    /// options of `check`.
    Doctor(Measure),
    /// List guidelines, algorithms, mock-ups, libraries or overlap targets.
    List(List),
    /// Say what a guideline or an overlap target means, why it should hold and where it comes from.
    Explain(Explain),
    /// Install what `tune` emitted: shows the difference of every file, asks, keeps what was there.
    ///
    /// Parameters are merged into the library's own file within a marked block, the rest of which stays as it is; the environment
    /// becomes module files. Exit status: 0 done or nothing to do, 2 error, and nothing was changed.
    Apply(Apply),
    /// Take the latest `apply` back.
    ///
    /// Exit status: 0 done, 2 error, and nothing was changed.
    Rollback(Rollback),
    /// Render a stored report again.
    Report(Render),
    /// Print what the database has: runs, launches, cells with their verdicts, raw samples.
    Query(Query),
    /// Put runs side by side: what each violates, what became worse or better, how far their verdicts agree.
    ///
    /// Exit status: 0 nothing became worse, 1 regressions, 2 error.
    Compare(Compare),
    /// Run every algorithm of a plugin through the correctness matrix on this library, compared byte by byte with a sequential
    /// reference; the result is stored, and `kilter tune` deploys only what passed.
    ///
    /// Exit status: 0 every row is right, 1 a row is wrong, crashed or hung, 2 error.
    VerifyAlgorithms(VerifyAlgorithms),
    /// Show the error rates, the power and the cost of the verdicts on scripted times whose truth is known.
    ///
    /// Exit status: 0 every rate is within what is promised, 1 one is not.
    ValidateStatistics(ValidateStatistics),
    /// Write a batch script that runs a command of kilter in an allocation, on standard output.
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
