//! What `kilter verify-algorithms` tells `kilter-verify`, and what that reports.
//!
//! The request is the program's one argument, as JSON: no rank needs to read a file. Rank 0 appends [`Line`]s to the report and
//! writes the run that is about to begin into the announcement, over the one before; so a run that crashes or hangs has a name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What is to be verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// [`crate::VERSION`].
    pub v: u32,
    /// The plugin.
    pub plugin: PathBuf,
    /// The report, which rank 0 appends to.
    pub report: PathBuf,
    /// The announcement, which rank 0 writes.
    pub announcement: PathBuf,
    /// Rows to verify; all where empty.
    pub rows: Vec<Wanted>,
    /// Ids of rows that are left out although they are wanted.
    pub skip: Vec<String>,
    /// The only case, as a report names it; all of `depth` where there is none.
    pub case: Option<String>,
    /// How many cases.
    pub depth: Depth,
    /// Whether each case is compared with the library's own collective, too.
    pub with_library: bool,
}

/// A row that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Wanted {
    /// Its id, or the name of a collective for all rows of it.
    pub name: String,
    /// Values of its parameters to verify it with, beside the defaults; may be empty.
    pub values: Vec<u64>,
}

/// How many cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// The whole matrix.
    Full,
    /// A second's worth of it.
    Reduced,
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    /// First.
    Start {
        /// First line of the library's version.
        library: String,
        /// Ranks.
        ranks: usize,
        /// Runs that are planned.
        runs: u64,
        /// The rows that will be run, with how many runs are planned of each.
        rows: BTreeMap<String, u64>,
    },
    /// A row was wrong.
    Failure {
        /// Its id.
        row: String,
        /// The case, which `--case` takes.
        case: String,
        /// What was wrong, on which rank.
        reason: String,
    },
    /// The library's own collective was wrong: no row's fault.
    Library {
        /// The collective.
        collective: String,
        /// The case.
        case: String,
        /// What was wrong, on which rank.
        reason: String,
    },
    /// A row is done.
    Row {
        /// Its id.
        row: String,
        /// Runs of it that were compared with the reference.
        cases: u64,
        /// Of these, runs that were wrong.
        failed: u64,
        /// Planned runs that were not made, by reason.
        skipped: BTreeMap<String, u64>,
    },
    /// Last.
    End {},
}
