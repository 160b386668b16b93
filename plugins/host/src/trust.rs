//! Files that steer a program must belong to whom it runs as, or to root, and nobody else may write them.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// It cannot be opened.
    #[error("cannot open `{path}`: {error}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// It is a directory, a pipe, ...
    #[error("`{0}` is no regular file")]
    NoFile(PathBuf),
    /// Its owner is another.
    #[error("`{path}` belongs to user {owner}, who is neither root nor the user this program runs as ({user})")]
    Owner {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// Who runs the program.
        user: u32,
    },
    /// Others may write it.
    #[error("`{path}` may be written by others than its owner (mode {mode:o}); `chmod go-w` it")]
    Writable {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

/// Opens a file, if it may be trusted. What is checked is the open file, not the name.
///
/// # Errors
/// See [`TrustError`].
pub fn open(path: &Path) -> Result<File, TrustError> {
    let failed = |error| TrustError::Open {
        path: path.to_owned(),
        error,
    };
    // Or opening a pipe would wait until somebody writes to it.
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = options.open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(TrustError::NoFile(path.to_owned()));
    }
    // SAFETY: has no preconditions.
    let user = unsafe { libc::geteuid() };
    let owner = metadata.uid();
    if owner != user && owner != 0 {
        return Err(TrustError::Owner {
            path: path.to_owned(),
            owner,
            user,
        });
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(TrustError::Writable {
            path: path.to_owned(),
            mode,
        });
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::{TrustError, open};

    #[test]
    fn only_files_that_nobody_else_may_write_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("profile.json");
        assert!(matches!(open(&path), Err(TrustError::Open { .. })));
        assert!(matches!(open(directory.path()), Err(TrustError::NoFile(_))));
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success() && matches!(open(&pipe), Err(TrustError::NoFile(_))));
        fs::write(&path, "{}").unwrap();
        for (mode, trusted) in [
            (0o600, true),
            (0o644, true),
            (0o755, true),
            (0o664, false),
            (0o646, false),
            (0o666, false),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let result = open(&path);
            assert_eq!(result.is_ok(), trusted, "{mode:o}");
            if let Err(error) = result {
                assert!(error.to_string().contains(&format!("{mode:o}")), "{error}");
            }
        }
    }
}
