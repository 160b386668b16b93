//! Installs a staging directory, and takes it back.
//!
//! The changes are computed from the contents of files alone ([`plan`], [`block`], [`undo`]): a list of changes, shown as a diff, and a list of
//! single steps on the file system ([`step`]) that carries it out. The journal has the old contents on the disk before the first file changes,
//! so that after a kill between any two steps the next command finishes the work.

pub mod block;
pub mod consent;
pub mod diff;
pub mod disk;
pub mod journal;
pub mod layout;
pub mod plan;
pub mod relocate;
pub mod session;
pub mod site_rules;
pub mod staged;
pub mod step;
pub mod undo;
pub mod version;

use std::path::PathBuf;

/// A file that is to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file itself: links are followed.
    pub path: PathBuf,
    /// The link by which it was reached.
    pub link: Option<PathBuf>,
    /// Its content now; `None` where there is none.
    pub old: Option<Vec<u8>>,
    /// Its later content; `None` where it will be gone.
    pub new: Option<Vec<u8>>,
    /// Its mode when it has to be made.
    pub mode: u32,
    /// Kilter's block within it, where the rest is another's.
    pub block: Option<Vec<u8>>,
}

#[cfg(test)]
mod tests;
