//! `list` as typed.

use clap::{Args, ValueEnum};

/// Options of `list`.
#[derive(Debug, Args)]
pub struct List {
    /// What to list.
    #[arg(value_enum)]
    pub what: Listed,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Guidelines.
    Guidelines,
    /// Kilter's algorithms.
    Algorithms,
    /// Compositions that can stand for a collective.
    Mockups,
    /// MPI libraries with a description.
    Libraries,
    /// Targets for the overlap of communication and computation.
    Targets,
}
