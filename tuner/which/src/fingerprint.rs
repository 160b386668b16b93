//! Traces that a call leaves.

use std::collections::BTreeSet;

/// The functions in which ranks waited, and the messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fingerprint {
    /// Call paths, outermost function first, each function by [`name`].
    pub paths: Vec<Vec<String>>,
    /// Messages of every rank to every other, if the library counts them.
    pub messages: Option<String>,
}

impl Fingerprint {
    /// All functions of its paths.
    #[must_use]
    pub fn functions(&self) -> BTreeSet<&str> {
        self.paths.iter().flatten().map(String::as_str).collect()
    }

    /// The longest path that has this function, or the longest of all.
    #[must_use]
    pub fn path_with(&self, function: &str) -> Option<&[String]> {
        let has = |path: &&Vec<String>| path.iter().any(|one| one == function);
        let with = self.paths.iter().filter(has).max_by_key(|path| path.len());
        with.or_else(|| self.paths.iter().max_by_key(|path| path.len()))
            .map(Vec::as_slice)
    }
}

/// A function by its own name, or by its place in a shared object without names: `libmpi.so.12+0x1a2b`.
#[must_use]
pub fn name(file: &str, offset: u64, name: Option<&str>) -> String {
    let base = file.rsplit('/').next().unwrap_or(file);
    match name {
        Some(name) => name.to_owned(),
        None => format!("{base}+{offset:#x}"),
    }
}
