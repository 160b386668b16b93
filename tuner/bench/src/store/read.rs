//! Reads without the writer's lock, because a run may be measuring into the same file.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::{BUSY_TIMEOUT, SCHEMA_VERSION, Store, StoreError, blob, schema};

/// A database open for reading. A statement that is stepped slowly blocks writers; read in pages.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    connection: Connection,
}

/// Summary of a run, without its samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunHead {
    /// Row.
    pub id: i64,
    /// True if it came to its end.
    pub finished: bool,
    /// True if its verdicts are stored.
    pub has_report: bool,
}

impl Reader {
    /// Opens a database for reading. A file of an older version is migrated first, as its next writer would do. Errors
    /// are a missing file, one that is not kilter's or newer than this kilter, and a writer at work on an older file.
    pub fn open(path: &Path) -> Result<Reader, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing {
                path: path.to_path_buf(),
            });
        }
        let reader = Self::connect(path)?;
        if schema::version_of(&reader.connection, path)? == SCHEMA_VERSION {
            return Ok(reader);
        }
        drop(reader);
        drop(Store::open(path)?);
        Self::connect(path)
    }

    fn connect(path: &Path) -> Result<Reader, StoreError> {
        let sqlite = |action| {
            move |source| StoreError::Sqlite {
                path: path.to_path_buf(),
                action,
                source,
            }
        };
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .map_err(sqlite("open it for reading"))?;
        connection
            .busy_timeout(BUSY_TIMEOUT)
            .map_err(sqlite("set the busy timeout"))?;
        Ok(Reader {
            path: path.to_path_buf(),
            connection,
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Connection for the caller's own statements; tables and views are those of `docs/method/store.md`.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Every run, oldest first.
    pub fn runs(&self) -> Result<Vec<RunHead>, StoreError> {
        let context = || self.context("list the runs");
        let mut statement = self
            .connection
            .prepare("SELECT id, finished IS NOT NULL, id IN (SELECT run FROM reports) FROM runs ORDER BY id")
            .map_err(context())?;
        statement
            .query_map([], |row| {
                Ok(RunHead {
                    id: row.get(0)?,
                    finished: row.get(1)?,
                    has_report: row.get(2)?,
                })
            })
            .and_then(Iterator::collect)
            .map_err(context())
    }

    /// The values of a `samples.seconds` or `cells.medians`, in seconds. An error if they are torn; `what` names the
    /// row.
    pub fn unpack(&self, bytes: &[u8], what: impl std::fmt::Display) -> Result<Vec<f64>, StoreError> {
        blob::decode(bytes).ok_or_else(|| self.damaged(format!("{what} has a torn value")))
    }

    /// Adds file and intention to SQLite's error.
    pub fn context(&self, action: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError + '_ {
        move |source| StoreError::Sqlite {
            path: self.path.clone(),
            action,
            source,
        }
    }

    /// An error that names an unreadable part of the database.
    pub fn damaged(&self, what: impl Into<String>) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            what: what.into(),
        }
    }
}
