//! Single steps on the file system. Between any two of them a kill may come.

use std::ffi::OsString;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Makes a directory whose parent is there; one that is there stays as it is.
    MakeDirectory(PathBuf, u32),
    /// Writes a file of its own to the disk, over the leftovers of a kill under its name. Mode and owner are those of `like` if that is there.
    Write {
        /// The file.
        path: PathBuf,
        /// Its content.
        content: Vec<u8>,
        /// Its mode.
        mode: u32,
        /// The file that it will replace.
        like: Option<PathBuf>,
    },
    /// Gives a file the name of another, which it replaces in one go.
    Rename(PathBuf, PathBuf),
    /// Removes a file; none is as good.
    Remove(PathBuf),
    /// Removes a directory if it is empty; none is as good.
    RemoveDirectory(PathBuf),
}

/// A step that failed.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The file system refused.
    #[error("`{path}` cannot be {what}: {source}")]
    Failed {
        /// The file or directory.
        path: String,
        /// The attempt.
        what: &'static str,
        /// The reason.
        source: std::io::Error,
    },
    /// The tests' fail point.
    #[error("stopped after {0} steps, as a test asked")]
    Stopped(usize),
}

/// The steps that replace a file in one go, or make it.
#[must_use]
pub fn replace(path: &Path, content: &[u8], mode: u32) -> [Step; 2] {
    let temporary = temporary(path);
    let write = Step::Write {
        path: temporary.clone(),
        content: content.to_vec(),
        mode,
        like: Some(path.to_path_buf()),
    };
    [write, Step::Rename(temporary, path.to_path_buf())]
}

/// The file in which the new content waits, in the same directory.
#[must_use]
pub fn temporary(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".kilter-new");
    path.with_file_name(name)
}

/// Carries steps out, in their order; with `stop_after`, only so many, as a kill would.
///
/// # Errors
/// The first step that fails.
pub fn run(steps: &[Step], stop_after: Option<usize>) -> Result<(), StepError> {
    for (index, step) in steps.iter().enumerate() {
        if stop_after == Some(index) {
            return Err(StepError::Stopped(index));
        }
        one(step)?;
    }
    Ok(())
}

fn one(step: &Step) -> Result<(), StepError> {
    let failed = |path: &Path, what| {
        let path = path.display().to_string();
        move |source| StepError::Failed { path, what, source }
    };
    match step {
        Step::MakeDirectory(path, mode) => match std::fs::create_dir(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            Err(error) => Err(error),
            // Whatever the umask: the drop-in refuses what others may write.
            Ok(()) => {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(*mode)).and_then(|()| sync_parent(path))
            }
        }
        .map_err(failed(path, "made")),
        Step::Write {
            path,
            content,
            mode,
            like,
        } => write(path, content, *mode, like.as_deref()).map_err(failed(path, "written")),
        Step::Rename(from, to) => std::fs::rename(from, to)
            .and_then(|()| sync_parent(to))
            .map_err(failed(to, "replaced")),
        Step::Remove(path) => match std::fs::remove_file(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            result => result.and_then(|()| sync_parent(path)),
        }
        .map_err(failed(path, "removed")),
        Step::RemoveDirectory(path) => match std::fs::remove_dir(path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => Ok(()),
            result => result,
        }
        .map_err(failed(path, "removed")),
    }
}

fn write(path: &Path, content: &[u8], mode: u32, like: Option<&Path>) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // A file of its own, which nobody else can have put there.
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    let mut mode = mode;
    if let Some(there) = like.and_then(|like| std::fs::metadata(like).ok()) {
        mode = there.mode() & 0o7777;
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (there.uid(), there.gid()) {
            std::os::unix::fs::fchown(&file, Some(there.uid()), Some(there.gid()))?;
        }
    }
    file.write_all(content)?;
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    file.sync_all()
}

/// A name is on the disk when its directory is.
fn sync_parent(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(parent) => std::fs::File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}
