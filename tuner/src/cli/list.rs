//! `list` as typed.

use clap::{Args, ValueEnum};

/// Options of `list`.
#[derive(Debug, Args)]
pub struct List {
    /// Kind of entries.
    #[arg(value_enum)]
    pub what: Listed,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    pub format: ListFormat,
}

/// Formats of `list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// Columns for people.
    Text,
    /// An array of objects; the manual names the fields (docs/manual/guidelines.md, "Lists for programs").
    Json,
}

/// Kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Guidelines.
    Guidelines,
    /// Kilter's algorithms.
    Algorithms,
    /// Mock-ups: compositions of other calls that can replace a collective.
    Mockups,
    /// MPI libraries with a description.
    Libraries,
    /// Targets for the overlap of communication with computation.
    Targets,
}
