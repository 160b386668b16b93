//! Paths of a system that is put together in a directory, which will be its root.

use std::path::{Path, PathBuf};

/// A path as it is now, where `root` will be the root.
pub(super) fn below(root: Option<&Path>, path: &Path) -> PathBuf {
    match root {
        Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
        None => path.to_path_buf(),
    }
}

/// A path as it will be, where `root` will be the root.
pub(super) fn installed(root: Option<&Path>, path: &Path) -> PathBuf {
    let inside = root.and_then(|root| path.strip_prefix(root).ok());
    inside.map_or_else(|| path.to_path_buf(), |inside| Path::new("/").join(inside))
}
