//! Site database: one SQLite file with every sample and its origin.
//!
//! Durability: a report line is stored in a transaction of its own before anything else happens with it, together with the
//! position in the report file up to which lines have been stored. A run that is killed therefore loses nothing, and its
//! successor can take over what the worker wrote but the killed tuner did not read, each line exactly once.
//!
//! The journal is a rollback journal, not a write-ahead log: write-ahead logs need shared memory and fail on network file
//! systems. There is one writer, kept by an advisory lock on a file beside the database (never on the database itself: closing
//! a second descriptor of it would drop SQLite's own locks).

mod allocation;
mod blob;
mod block;
mod cached;
mod compact;
mod guarded;
mod intern;
mod launch;
mod learnt;
mod lock;
mod quarantined;
mod read;
mod run;
mod schema;
mod taken_over;
mod verdicts;
mod verified;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

pub use block::{BlockOutcome, ItemSamples, StoredBlock, StoredFailure};
pub use guarded::{Guarded, GuardedNight};
pub use launch::{LaunchPaths, LaunchRecord, Position, UnclosedLaunch};
pub use learnt::Learnt;
pub use quarantined::{PutAway, Quarantined};
pub use read::{Reader, RunHead};
pub use run::Run;
pub use schema::SCHEMA_VERSION;
pub use taken_over::TakenOver;
pub use verified::{Verified, VerifiedResult};

/// Time that SQLite waits for a reader that holds the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Errors of the database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another kilter writes to it.
    #[error(
        "`{}` is in use by another kilter ({holder}); wait until it ends, or give another file with `--db` (lock file `{}`)",
        path.display(), lock.display()
    )]
    InUse {
        /// The database.
        path: PathBuf,
        /// The lock file.
        lock: PathBuf,
        /// The lock file's description of the holder.
        holder: String,
    },
    /// The database is missing.
    #[error("there is no database `{}`; `kilter check` and `kilter tune` make one, `--db` names another", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file belongs to another program.
    #[error("`{}` is an SQLite file, but not one of kilter's; give another file with `--db`", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer kilter.
    #[error(
        "`{}` has schema version {found}; this kilter knows versions 1 to {known}; use the kilter that wrote it or newer",
        path.display()
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// Newest version known here.
        known: i64,
    },
    /// A file or directory could not be used.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// SQLite refused.
    #[error("`{}`: cannot {action}: {source}", path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// The attempted action.
        action: &'static str,
        /// Cause.
        source: rusqlite::Error,
    },
    /// A stored value that cannot be read back.
    #[error("`{}`: damaged entry: {what}", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// Table, key and what is wrong.
        what: String,
    },
}

/// The open database. Dropping it (and all runs of it) releases the lock.
#[derive(Debug)]
pub struct Store {
    inner: Rc<Inner>,
}

/// State that a [`Store`] and its [`Run`]s share.
#[derive(Debug)]
struct Inner {
    path: PathBuf,
    connection: Connection,
    /// Unique for each opening. It tells our own unfinished launches from those of a killed predecessor.
    instance: String,
    _lock: lock::WriterLock,
}

impl Inner {
    /// Adds file and intention to SQLite's error.
    fn context(&self, action: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError + '_ {
        move |source| StoreError::Sqlite {
            path: self.path.clone(),
            action,
            source,
        }
    }

    fn damaged(&self, what: impl Into<String>) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            what: what.into(),
        }
    }
}

impl Store {
    /// Opens the database as its only writer, creating or migrating it as needed; missing directories are created.
    /// Errors are another writer, and a file that is not kilter's or is newer than this kilter.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            std::fs::create_dir_all(directory).map_err(|source| StoreError::Io {
                path: directory.to_path_buf(),
                source,
            })?;
        }
        let lock = lock::WriterLock::take(path)?;
        let connection = schema::open(path)?;
        let inner = Inner {
            path: path.to_path_buf(),
            connection,
            instance: unique(),
            _lock: lock,
        };
        Ok(Store { inner: Rc::new(inner) })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Continues the newest run with this fingerprint if it is unfinished, or begins a new one. Finished runs are never continued.
    ///
    /// `fingerprint` says what the run measures (library, ranks, sizes, guidelines, ...); equal fingerprints mean that samples
    /// may be mixed. A resumed run keeps its own seed.
    pub fn begin_or_resume(
        &self,
        fingerprint: &str,
        seed_if_new: u64,
        command_line: &str,
        library: &str,
        ranks: usize,
    ) -> Result<Run, StoreError> {
        match Run::resume(&self.inner, fingerprint)? {
            Some(run) => Ok(run),
            None => self.begin_anew(fingerprint, seed_if_new, command_line, library, ranks),
        }
    }

    /// The newest run with this fingerprint, finished or not, for a replay; `None` if there is none.
    pub fn newest(&self, fingerprint: &str) -> Result<Option<Run>, StoreError> {
        Run::newest_of(&self.inner, fingerprint)
    }

    /// Begins a new run even if one is unfinished. The old one stays, and is never continued.
    pub fn begin_anew(
        &self,
        fingerprint: &str,
        seed: u64,
        command_line: &str,
        library: &str,
        ranks: usize,
    ) -> Result<Run, StoreError> {
        Run::begin(&self.inner, fingerprint, seed, command_line, library, ranks)
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// Makes a word that is unique among all processes on all hosts.
pub fn unique() -> String {
    use std::hash::{BuildHasher, RandomState};
    // RandomState draws its keys from the system's entropy.
    let entropy = RandomState::new().hash_one(SystemTime::now());
    format!("{:x}-{entropy:016x}", std::process::id())
}

#[cfg(test)]
mod tests;
