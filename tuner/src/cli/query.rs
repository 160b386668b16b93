//! `query` as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options of `query`.
#[derive(Debug, Args)]
pub struct Query {
    /// Kind of rows.
    #[arg(value_enum, default_value_t = Queried::Runs)]
    pub what: Queried,
    /// The database (default: kilter-out/kilter.db if it is there, else ~/.local/share/kilter/kilter.db, or below XDG_DATA_HOME).
    #[arg(long, value_name = "FILE", env = "KILTER_DB")]
    pub db: Option<PathBuf>,
    /// Runs by number, or `last`, such as 3,last.
    #[arg(long, value_name = "RUNS", value_delimiter = ',')]
    pub run: Vec<String>,
    /// Runs of libraries whose version string contains this, in upper or lower case.
    #[arg(long, value_name = "TEXT")]
    pub library: Option<String>,
    /// Cells of these guidelines, by id.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub guidelines: Vec<String>,
    /// Cells and samples of these collectives, such as reduce,gather.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub functions: Vec<String>,
    /// Cells and samples of these sizes or ranges of sizes, ends included, such as 8,1K..1MiB.
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub sizes: Vec<String>,
    /// Runs with these numbers of ranks.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub ranks: Vec<u32>,
    /// Cells with these verdicts: holds, violated, undecided, unstable, screened.
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',')]
    pub verdict: Vec<String>,
    /// Runs not before this day or time in UTC, such as 2026-11-21 or 2026-11-21T12:00:00Z.
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Runs not after this day or time in UTC; the whole day counts.
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// Runs on a host whose name contains this, in upper or lower case.
    #[arg(long, value_name = "TEXT")]
    pub host: Option<String>,
    /// Columns in the order of printing, such as guideline,function,bytes,verdict (default: all, or as many as the terminal has room
    /// for).
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = QueryFormat::Text)]
    pub format: QueryFormat,
}

/// Kinds of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Queried {
    /// A line per run.
    Runs,
    /// A line per launch.
    Launches,
    /// A line per cell and phase, with its verdict.
    Cells,
    /// A line per repetition.
    Samples,
    /// A line per implementation that jobs tried while they ran, as `kilter import --online` put it there.
    Learnt,
}

/// Formats of `query`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QueryFormat {
    /// Columns for people.
    Text,
    /// CSV (RFC 4180), times in seconds, sizes in bytes.
    Csv,
    /// An array of objects.
    Json,
}
