//! Reasons why knowledge is neither read nor written.

use std::path::PathBuf;

use kilter_profile::trust::TrustError;

use super::{LONGEST, MOST_ARMS, MOST_BYTES, MOST_ROWS, VERSION};

/// Reason why knowledge is neither read nor written. A file that is refused stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    /// Others may write it, or put another one into its place.
    #[error("what earlier jobs learnt is not used: {0}")]
    Trust(#[from] TrustError),
    /// It does not have the form of a file of knowledge.
    #[error("`{path}` is no file of what jobs learnt: {flaw}; remove it, and jobs begin anew")]
    Broken {
        /// The file.
        path: PathBuf,
        /// The mistake, with its place.
        flaw: Flaw,
    },
    /// It has another version.
    #[error("`{path}` has version {got}; allowed: {VERSION}; remove it, or use the Kilter that wrote it")]
    Version {
        /// The file.
        path: PathBuf,
        /// The version it has.
        got: u64,
    },
    /// It is too large.
    #[error(
        "`{path}` has more than {MOST_BYTES} bytes, the most that a file of what jobs learnt may have; remove it, and jobs begin anew"
    )]
    Large {
        /// The file.
        path: PathBuf,
    },
    /// It is about another layout than its name says.
    #[error("`{path}` is about {has}, not {expected}; it was renamed, or belongs to another directory: remove it")]
    Layout {
        /// The file.
        path: PathBuf,
        /// The layout in it.
        has: String,
        /// The layout that its name stands for.
        expected: String,
    },
    /// Another job writes it for too long.
    #[error(
        "`{path}` has been locked for {seconds} s by another job that writes what it learnt; if there is none, remove it"
    )]
    Locked {
        /// The lock.
        path: PathBuf,
        /// Time that was waited.
        seconds: u64,
    },
    /// The system refuses.
    #[error("cannot {what} `{path}`: {error}")]
    Io {
        /// The attempt.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Cause.
        error: std::io::Error,
    },
}

/// A mistake in a file of knowledge. Rows and arms are counted from 0.
#[derive(Debug, thiserror::Error)]
pub enum Flaw {
    /// It is no text.
    #[error(transparent)]
    Text(#[from] std::string::FromUtf8Error),
    /// It is no JSON of this form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It has too many rows.
    #[error("it has {got} rows; allowed: {MOST_ROWS}")]
    Rows {
        /// The rows.
        got: usize,
    },
    /// A collective without a name, or with too long a name.
    #[error("rows[{row}].collective has {bytes} bytes; allowed: 1 to {LONGEST}")]
    Collective {
        /// The row.
        row: usize,
        /// Length of the name.
        bytes: usize,
    },
    /// Two rows for the same calls.
    #[error("rows[{row}]: {collective} of class {class} is there twice")]
    RowTwice {
        /// The second row.
        row: usize,
        /// Its collective.
        collective: String,
        /// Its class of sizes.
        class: u32,
    },
    /// A row with too many arms.
    #[error("rows[{row}] has {got} arms; allowed: {MOST_ARMS}")]
    Arms {
        /// The row.
        row: usize,
        /// Its arms.
        got: usize,
    },
    /// An arm without an id, or with too long an id.
    #[error("rows[{row}].arms[{arm}].id has {bytes} bytes; allowed: 1 to {LONGEST}")]
    ArmId {
        /// The row.
        row: usize,
        /// The arm.
        arm: usize,
        /// Length of the id.
        bytes: usize,
    },
    /// Two arms of one id.
    #[error("rows[{row}].arms[{arm}]: `{id}` is there twice")]
    ArmTwice {
        /// The row.
        row: usize,
        /// The second arm.
        arm: usize,
        /// The id.
        id: String,
    },
    /// A choice that is none of the arms.
    #[error("rows[{row}].settled: `{id}` is none of its arms")]
    Settled {
        /// The row.
        row: usize,
        /// The choice.
        id: String,
    },
}
