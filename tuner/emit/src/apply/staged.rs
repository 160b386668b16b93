//! A staging directory as it was read, and a file as it is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::manifest::Manifest;

/// A staging directory, read.
#[derive(Debug, Clone)]
pub struct Staged {
    /// The directory that was read.
    pub directory: PathBuf,
    /// Its own description.
    pub manifest: Manifest,
    /// Contents of the files that are listed, by name.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// The state of a path now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Current {
    /// The file itself, where the path is a link.
    pub target: Option<PathBuf>,
    /// Its content, where there is a file.
    pub content: Option<Vec<u8>>,
    /// Its mode, where there is a file.
    pub mode: Option<u32>,
}
