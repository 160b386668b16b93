//! `advise` as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options of `advise`.
#[derive(Debug, Args)]
pub struct Advise {
    /// Files with statistics as the library printed them, such as the output of a job, `-` for standard input; profiles; directories of
    /// traces, and beside them overlap.json of `kilter overlap`, which says what they could hide.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Rules of your own beside those that come with Kilter; the manual has the form (docs/manual/advise.md). May be given several times.
    #[arg(long, value_name = "FILE")]
    pub advice_file: Vec<PathBuf>,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = AdviseFormat::Text)]
    pub format: AdviseFormat,
}

/// Formats of `advise`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AdviseFormat {
    /// Paragraphs for people.
    Text,
    /// JSON for programs; its schema is configs/schema/advice.schema.json.
    Json,
    /// Markdown for tickets.
    Markdown,
}
