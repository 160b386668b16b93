//! Reasons why knowledge is neither read nor written.

use std::path::PathBuf;

use kilter_profile::trust::TrustError;

use super::{MOST_BYTES, VERSION};

/// Reason why knowledge is neither read nor written. A file that is refused stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    /// Others may write it, or put another one into its place.
    #[error("what earlier jobs learnt is not used: {0}")]
    Trust(#[from] TrustError),
    /// It does not have the form of a file of knowledge.
    #[error("`{path}` is no file of what jobs learnt: {reason}; remove it, and jobs begin anew")]
    Broken {
        /// The file.
        path: PathBuf,
        /// The mistake, with its place.
        reason: String,
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
