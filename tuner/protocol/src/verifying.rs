//! The protocol between `kilter verify-algorithms` and `kilter-verify`.
//!
//! The request is the program's one argument, as JSON: no rank needs to read a file. Rank 0 appends [`Line`]s to the report and
//! writes the run that is about to begin into the announcement, over the one before; so a run that crashes or hangs has a name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Request to verify rows.
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
    /// Extent of the matrix.
    pub depth: Depth,
    /// True if each case is compared with the library's own collective, too.
    pub with_library: bool,
}

crate::json_line::json_lines![Request, Line];

/// A row that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Wanted {
    /// Id of a row, or the name of a collective for all rows of it.
    pub name: String,
    /// Values of its parameters to verify it with, beside the defaults; may be empty.
    pub values: Vec<u64>,
}

/// Extent of the matrix.
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
        /// The row's id.
        row: String,
        /// The case, which `--case` takes.
        case: String,
        /// The fault, and its rank.
        reason: String,
    },
    /// The library's own collective was wrong: no row's fault.
    Library {
        /// The collective.
        collective: String,
        /// The case.
        case: String,
        /// The fault, and its rank.
        reason: String,
    },
    /// The library's own collective leaves other bits of random doubles from call to call: no row can equal it.
    Varies {
        /// The collective.
        collective: String,
        /// The case.
        case: String,
        /// The place, and its rank.
        reason: String,
    },
    /// A row is done.
    Row {
        /// The row's id.
        row: String,
        /// Runs of it that were compared with the reference.
        cases: u64,
        /// Number of wrong runs among these.
        failed: u64,
        /// Planned runs that were not made, by reason.
        skipped: BTreeMap<String, u64>,
        /// Runs on random doubles, which are none of the others.
        #[serde(default)]
        bits: Bits,
    },
    /// Last.
    End {},
}

/// Runs of a row on random doubles, compared bit by bit with the library's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bits {
    /// Runs that were compared with the library's.
    pub compared: u64,
    /// Number of these that left other bits, or other bits from call to call.
    pub other: u64,
    /// The first of those: the case, which `--case` takes, and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<(String, String)>,
}

impl Bits {
    /// Counts a run in this case, with its difference from the library's results, if any.
    pub fn add(&mut self, case: String, other: Option<String>) {
        self.compared += 1;
        if let Some(reason) = other {
            self.other += 1;
            self.first.get_or_insert((case, reason));
        }
    }

    /// Sum of two counts.
    #[must_use]
    pub fn and(&self, more: &Bits) -> Bits {
        Bits {
            compared: self.compared + more.compared,
            other: self.other + more.other,
            first: self.first.clone().or_else(|| more.first.clone()),
        }
    }
}
