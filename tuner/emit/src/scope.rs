//! Scopes for which files are installed.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kilter_bench::launch::command::quote;

/// The users for whom files are installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The user, in the home directory.
    User,
    /// Everybody on this machine, or on the system whose root is this directory: an image, a package.
    System(Option<PathBuf>),
    /// Everybody who uses a tree of software; nothing outside of it is touched.
    Prefix(PathBuf),
}

impl Scope {
    /// The option as typed.
    #[must_use]
    pub fn option(&self) -> String {
        match self {
            Scope::User => "--user".to_owned(),
            Scope::System(None) => "--system".to_owned(),
            Scope::System(Some(root)) => format!("--system --root {}", quote(&root.display().to_string())),
            Scope::Prefix(prefix) => {
                format!("--prefix {}", quote(&prefix.display().to_string()))
            }
        }
    }
}

/// The user's home directory.
pub(crate) fn home() -> anyhow::Result<PathBuf> {
    std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
        .context("the home directory is unknown: set HOME to it, or use --system or --prefix PATH")
}

/// A path as it is now, where `root` will be the root: a system is put together in a directory.
pub(crate) fn below(root: Option<&Path>, path: &Path) -> PathBuf {
    match root {
        Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
        None => path.to_path_buf(),
    }
}

/// A path as it will be, where `root` will be the root.
pub(crate) fn installed(root: Option<&Path>, path: &Path) -> PathBuf {
    let inside = root.and_then(|root| path.strip_prefix(root).ok());
    inside.map_or_else(|| path.to_path_buf(), |inside| Path::new("/").join(inside))
}
