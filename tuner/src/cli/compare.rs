//! `compare` as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Run to compare with: a report.json, a database (its last finished run), DATABASE:RUN, or :RUN for a run of --db, such as :3 or :last.
    #[arg(value_name = "BASE")]
    pub base: PathBuf,
    /// Runs to compare with it, in the same forms.
    #[arg(value_name = "OTHER", required = true)]
    pub others: Vec<PathBuf>,
    /// The database of :RUN (default: kilter-out/kilter.db if it is there, else ~/.local/share/kilter/kilter.db, or below XDG_DATA_HOME).
    #[arg(long, value_name = "FILE", env = "KILTER_DB")]
    pub db: Option<PathBuf>,
    /// Verdicts of a tuned run that are compared.
    #[arg(long, value_enum, default_value_t = Stage::Now)]
    pub stage: Stage,
    /// Smallest change that counts, as a fraction (default: the larger effect floor of the two runs).
    #[arg(long, value_name = "FRACTION")]
    pub tolerance: Option<f64>,
    /// Write the comparison as an HTML page as well.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub format: CompareFormat,
}

/// Formats of `compare`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Tables.
    Text,
    /// JSON for programs.
    Json,
    /// A CSV line for each cell of any run.
    Csv,
    /// Markdown for tickets.
    Markdown,
}

/// Verdicts of a tuned run that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// Verdicts with the deployed files, or with the untouched library if nothing was deployed.
    Now,
    /// Verdicts with the untouched library.
    Before,
}
