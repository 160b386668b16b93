//! Files of knowledge: read where nobody else may write, and changed as a whole or not at all.

use std::fs::{DirBuilder, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kilter_profile::trust::{self, TrustError, Trusted};

use super::{File, KnowledgeError, Layout, MOST_BYTES};

/// Time that the end of a job waits for another one that writes the same file.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between two tries to get the lock: the system has no event for a lock that is waited for with a limit.
const PAUSE: Duration = Duration::from_millis(5);

/// Reads what is known of a layout: nothing where there is no file or directory. Files and directories that others may write are refused.
pub fn read(directory: &Path, layout: &Layout) -> Result<File, KnowledgeError> {
    let path = directory.join(layout.file_name());
    match std::fs::symlink_metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(File::empty(layout.clone())),
        _ => trust::directory(directory, &Trusted::program())?,
    }
    let Some(file) = opened(&path)? else {
        return Ok(File::empty(layout.clone()));
    };
    if file.layout != *layout {
        return Err(KnowledgeError::Layout {
            path,
            has: in_words(&file.layout),
            expected: in_words(layout),
        });
    }
    Ok(file)
}

/// A file that [`list`] found, and what is in it.
pub type Found = (PathBuf, Result<File, KnowledgeError>);

/// All files of knowledge of a directory, or the one file that is named, each with its path; in the order of their names. What is no `.json` is none.
pub fn list(place: &Path) -> Result<Vec<Found>, KnowledgeError> {
    let failed = |error| KnowledgeError::Io {
        what: "read",
        path: place.to_owned(),
        error,
    };
    let mut paths = Vec::new();
    if std::fs::metadata(place).map_err(failed)?.is_dir() {
        trust::directory(place, &Trusted::program())?;
        for entry in std::fs::read_dir(place).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        paths.sort();
    } else {
        trust::above(place)?;
        paths.push(place.to_owned());
    }
    let is_directory = paths.first().is_none_or(|path| path != place);
    let read = |path: PathBuf| match opened(&path) {
        Ok(None) => None,
        // A copy would say everything twice.
        Ok(Some(file)) if is_directory && !path.ends_with(file.layout.file_name()) => {
            let (has, expected) = (in_words(&file.layout), "the layout of its name".to_owned());
            Some((path.clone(), Err(KnowledgeError::Layout { path, has, expected })))
        }
        Ok(Some(file)) => Some((path, Ok(file))),
        Err(error) => Some((path, Err(error))),
    };
    Ok(paths.into_iter().filter_map(read).collect())
}

/// Adds what this job learnt (a file that was [`File::empty`] at its start) to the file of its layout in a directory, which is made if it is
/// missing. Readers see the file before or after it; jobs that end together each add theirs.
pub fn merge(directory: &Path, learnt: &File) -> Result<(), KnowledgeError> {
    if learnt.rows.is_empty() {
        return Ok(());
    }
    let io = |what, path: &Path| {
        let path = path.to_owned();
        move |error| KnowledgeError::Io { what, path, error }
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(io("make", directory))?;
    trust::directory(directory, &Trusted::program())?;
    let path = directory.join(learnt.layout.file_name());
    let _lock = locked(&path.with_extension("lock"))?;
    let mut file = read(directory, &learnt.layout)?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    file.add(learnt, now);
    let text = within_bounds(&mut file);
    let new = path.with_extension(format!("{}.new", std::process::id()));
    // The remains of a job that was killed here, with the same number.
    let _ = std::fs::remove_file(&new);
    let mut options = OpenOptions::new();
    let options = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW);
    let mut writer = options.open(&new).map_err(io("write", &new))?;
    let written = writer
        .write_all(text.as_bytes())
        .and_then(|()| writer.sync_all())
        .map_err(io("write", &new))
        .and_then(|()| std::fs::rename(&new, &path).map_err(io("write", &path)));
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written?;
    // The name survives a crash as well, but on file systems that cannot sync directories.
    if let Ok(directory) = std::fs::File::open(directory) {
        let _ = directory.sync_all();
    }
    Ok(())
}

/// Its text, without the rows that were learnt longest ago as long as it is too large.
pub(super) fn within_bounds(file: &mut File) -> String {
    loop {
        let text = file.to_text();
        let Some(oldest) = (0..file.rows.len()).min_by_key(|at| file.rows[*at].when) else {
            return text;
        };
        if text.len() as u64 <= MOST_BYTES {
            return text;
        }
        file.rows.remove(oldest);
    }
}

/// The file of that name, if it may be trusted. None if there is none.
fn opened(path: &Path) -> Result<Option<File>, KnowledgeError> {
    let file = match trust::open(path) {
        Err(TrustError::Open { error, .. }) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| KnowledgeError::Io {
            what: "read",
            path: path.to_owned(),
            error,
        })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(KnowledgeError::Large { path: path.to_owned() });
    }
    let text = String::from_utf8(bytes).map_err(|error| KnowledgeError::Broken {
        path: path.to_owned(),
        flaw: error.into(),
    })?;
    File::parse(&text, path).map(Some)
}

/// The lock beside a file, held until it is dropped. Where the file system has no locks there is none: the file stays whole, and of two jobs that
/// end together one may be forgotten.
fn locked(path: &Path) -> Result<std::fs::File, KnowledgeError> {
    let mut options = OpenOptions::new();
    let options = options
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW);
    let file = options.open(path).map_err(|error| KnowledgeError::Io {
        what: "lock",
        path: path.to_owned(),
        error,
    })?;
    let begun = Instant::now();
    while let Err(TryLockError::WouldBlock) = file.try_lock() {
        if begun.elapsed() > PATIENCE {
            return Err(KnowledgeError::Locked {
                path: path.to_owned(),
                seconds: PATIENCE.as_secs(),
            });
        }
        std::thread::sleep(PAUSE);
    }
    Ok(file)
}

fn in_words(layout: &Layout) -> String {
    let Layout {
        library,
        ranks,
        nodes,
        ranks_per_node,
    } = layout;
    format!("`{library}` with {ranks} ranks on {nodes} hosts, up to {ranks_per_node} on each")
}
