//! An MPICH's words on itself: its own selection of algorithms and their names, which are texts in its shared object.
//!
//! A selection file must hold the library's entries for all collectives, which differ from release to release. So they are taken from the tuned
//! library, and no copy of any release is kept here.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, ensure};

use super::selection::{ALGORITHM, Tree};

/// The beginning of a selection.
const SELECTION: &[u8] = b"{\"collective=";
/// The beginning of an algorithm's name at the end of a path.
const NAME: &[u8] = b"algorithm=MPIR_";

/// The library's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnSelection {
    /// Its selection without a file.
    pub tree: Tree,
    /// C names of the algorithms that it knows.
    pub algorithms: BTreeSet<String>,
}

/// Reads it from the shared object.
///
/// # Errors
/// A file that cannot be read, or that holds no selection.
pub fn read(library: &Path) -> anyhow::Result<OwnSelection> {
    let bytes = std::fs::read(library).with_context(|| format!("`{}` cannot be read", library.display()))?;
    let own = find(&bytes);
    ensure!(
        !own.tree.0.is_empty(),
        "`{}` holds no selection of algorithms, so none can be written for it: is it MPICH 4?",
        library.display()
    );
    Ok(own)
}

/// Looks through the texts, each of which ends in a NUL. Before the first text of a section stand other bytes.
fn find(bytes: &[u8]) -> OwnSelection {
    let mut own = OwnSelection {
        tree: Tree::default(),
        algorithms: BTreeSet::new(),
    };
    for chunk in bytes.split(|byte| *byte == 0) {
        if let Some(text) = from(chunk, SELECTION)
            && text.contains("\"algorithm=MPIR_")
            && let Ok(tree) = Tree::parse(text)
        {
            used(&tree, &mut own.algorithms);
            own.tree = tree;
        } else if let Some(text) = from(chunk, NAME) {
            let name = text.trim_start_matches(ALGORITHM);
            if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                own.algorithms.insert(name.to_owned());
            }
        }
    }
    own
}

/// The text that begins with `start` and ends with the chunk.
fn from<'a>(chunk: &'a [u8], start: &[u8]) -> Option<&'a str> {
    if chunk.len() < start.len() {
        return None;
    }
    let position = chunk.windows(start.len()).position(|window| window == start)?;
    std::str::from_utf8(&chunk[position..]).ok()
}

/// Adds the algorithms of a tree.
fn used(tree: &Tree, names: &mut BTreeSet<String>) {
    for (key, below) in &tree.0 {
        match key.strip_prefix(ALGORITHM) {
            Some(name) => {
                names.insert(name.to_owned());
            }
            None => used(below, names),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selection_and_the_names_are_found_among_other_texts() {
        let mut bytes = b"\x7fELF\0{\"collective=bcast\":{\"composition=MPIDI_alpha\":{}}}\0".to_vec();
        bytes.extend(b"\x01\xffalgorithm=MPIR_Bcast_intra_smp\0algorithm=MPIR_Bcast_intra_tree\0algorithm=MPIR_x y\0");
        bytes.extend(b"\xfe{\"collective=bcast\":{\"algorithm=MPIR_Bcast_intra_binomial\":{}}}\0tail");
        let own = find(&bytes);
        assert_eq!(own.tree.0.len(), 1);
        assert!(own.tree.0[0].1.get("algorithm=MPIR_Bcast_intra_binomial").is_some());
        let names: Vec<&str> = own.algorithms.iter().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "MPIR_Bcast_intra_binomial",
                "MPIR_Bcast_intra_smp",
                "MPIR_Bcast_intra_tree"
            ]
        );
    }

    #[test]
    fn another_file_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = read(file.path()).unwrap_err().to_string();
        assert!(error.contains("holds no selection of algorithms"), "{error}");
    }
}
