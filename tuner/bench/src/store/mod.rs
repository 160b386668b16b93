//! Site database: one SQLite file with every sample and its origin.
//!
//! Durability: a report line is stored in a transaction of its own before anything else happens with it, together with the
//! position in the report file up to which lines have been stored. A run that is killed therefore loses nothing, and its
//! successor can take over what the worker wrote but the killed tuner did not read, each line exactly once.
//!
//! The journal is a rollback journal, not a write-ahead log: write-ahead logs need shared memory and fail on network file
//! systems. Several processes may write, each transaction alone, but a run is measured by one of them ([`lock`]).

mod allocation;
mod blob;
mod block;
mod cached;
mod compact;
mod guarded;
mod intern;
mod launch;
mod learnt;
mod lines;
mod lock;
mod quarantined;
mod read;
mod run;
mod schema;
mod shared;
mod taken_over;
mod verdicts;
mod verified;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

pub use block::{BlockOutcome, ItemSamples, Repeating, StoredBlock, StoredFailure};
pub use guarded::{Guarded, GuardedNight};
pub use launch::{LaunchPaths, LaunchRecord, UnclosedLaunch};
pub use learnt::Learnt;
pub use lines::Position;
pub use quarantined::{PutAway, Quarantined};
pub use read::{Reader, RunHead};
pub use run::Run;
pub use schema::SCHEMA_VERSION;
pub use taken_over::TakenOver;
pub use verified::{Verified, VerifiedResult};

/// Time that SQLite waits for a reader or another writer that holds the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Errors of the database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another kilter has it alone: it migrates the tables, or is of a version that shares it with nobody.
    #[error(
        "`{}` is in use by another kilter ({holder}), which has it alone; wait until it ends, or give another file with `--db` (lock file `{}`)",
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
    /// Another kilter measures the same run.
    #[error(
        "run {run} of `{}`, which this command would resume, is measured by another kilter ({holder}); wait until it ends, or begin another run \
         with `--fresh` and an `--out` of its own",
        path.display()
    )]
    RunInUse {
        /// The database.
        path: PathBuf,
        /// The run.
        run: i64,
        /// The process that measures it.
        holder: String,
    },
    /// The file system has no locks.
    #[error(
        "`{}` cannot be locked ({errno}): its file system has no locks, without which two commands would spoil each other's samples; NFS 4 has them, \
         and Lustre where it is mounted with `-o flock`; give a file elsewhere with `--db`",
        path.display()
    )]
    NoLocks {
        /// The lock file.
        path: PathBuf,
        /// The system's answer.
        errno: nix::errno::Errno,
    },
    /// The file belongs to somebody who keeps it from others.
    #[error(
        "`{}` may not be written ({owner}); its owner lets a group write by `chmod g+w` on it and on those beside it whose names begin alike, or \
         give another file with `--db`",
        path.display()
    )]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// Its owner, group and mode.
        owner: String,
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
    runs: lock::RunLocks,
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
    /// Opens the database to write, beside others who do, creating or migrating it as needed; missing directories are created.
    /// Errors are a file that another one has alone, that this user may not write, or that is not kilter's or newer than this kilter.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            std::fs::create_dir_all(directory).map_err(|source| StoreError::Io {
                path: directory.to_path_buf(),
                source,
            })?;
        }
        let mut lock = lock::WriterLock::take(path)?;
        shared::prepare(path)?;
        let connection = schema::open(path, &mut lock)?;
        lock.share()?;
        let inner = Inner {
            path: path.to_path_buf(),
            connection,
            instance: unique(),
            runs: lock::RunLocks::open(path)?,
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
        let context = || self.inner.context("begin a run");
        // As a whole: of two commands that begin at once, the second one finds the run of the first.
        let transaction = self.inner.connection.unchecked_transaction().map_err(context())?;
        let run = match Run::resume(&self.inner, fingerprint)? {
            Some(run) => run,
            None => Run::begin(&self.inner, fingerprint, seed_if_new, command_line, library, ranks)?,
        };
        self.inner.runs.hold(run.id)?;
        transaction.commit().map_err(context())?;
        Ok(run)
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
        let run = Run::begin(&self.inner, fingerprint, seed, command_line, library, ranks)?;
        self.inner.runs.hold(run.id)?;
        Ok(run)
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
