//! Launches: one row per attempt, from its begin to its end. What its report says comes in between ([`super::lines`]).

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rusqlite::params;

use super::cached::Cached as _;
use super::lines::{Position, Written};
use super::{Inner, Run, StoreError, now};

/// The files of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchPaths {
    /// Plan, written by the tuner.
    pub plan: PathBuf,
    /// Report, written by rank 0.
    pub report: PathBuf,
    /// File with the job's output.
    pub log: PathBuf,
}

/// The row of an attempt that is under way.
#[derive(Debug)]
pub struct LaunchRecord {
    /// Row.
    pub id: i64,
    /// Environment tag of its processes.
    pub tag: String,
    pub(super) run: i64,
    pub(super) key: String,
    pub(super) written: Written,
    pub(super) store: Rc<Inner>,
}

/// An attempt whose tuner went away.
#[derive(Debug)]
pub struct UnclosedLaunch {
    /// Record to which further lines are added.
    pub record: LaunchRecord,
    /// Its files.
    pub paths: LaunchPaths,
    /// Position up to which its report was stored.
    pub position: Position,
    /// Wall seconds counted so far.
    pub seconds: f64,
}

impl Run {
    /// Number of the next attempt under this key; the first is 1.
    pub fn next_attempt(&self, key: &str) -> Result<u32, StoreError> {
        self.store
            .connection
            .row(
                "SELECT coalesce(max(attempt), 0) + 1 FROM launches WHERE run = ?1 AND key = ?2",
                params![self.id, key],
                |row| row.get(0),
            )
            .map_err(self.store.context("count the attempts"))
    }

    /// Begins an attempt; `tag` is unique in the world.
    pub fn begin_launch(
        &self,
        key: &str,
        attempt: u32,
        command_line: &str,
        paths: &LaunchPaths,
    ) -> Result<LaunchRecord, StoreError> {
        let tag = format!("{}-{}-{}", self.store.instance, self.id, super::unique());
        let text = |path: &Path| path.to_string_lossy().into_owned();
        self.store
            .connection
            .change(
                "INSERT INTO launches (run, key, attempt, instance, tag, command_line, plan_path, report_path, log_path, started)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    self.id,
                    key,
                    attempt,
                    self.store.instance,
                    tag,
                    command_line,
                    text(&paths.plan),
                    text(&paths.report),
                    text(&paths.log),
                    now()
                ],
            )
            .map_err(self.store.context("begin a launch"))?;
        let id = self.store.connection.last_insert_rowid();
        Ok(LaunchRecord {
            id,
            tag,
            run: self.id,
            key: key.to_owned(),
            written: Written::default(),
            store: Rc::clone(&self.store),
        })
    }

    /// Attempts of this run that a killed process began and never closed.
    pub fn unclosed_launches(&self) -> Result<Vec<UnclosedLaunch>, StoreError> {
        let context = || self.store.context("look for interrupted launches");
        let mut statement = self
            .store
            .connection
            .prepare_cached(
                "SELECT id, tag, key, plan_path, report_path, log_path, report_offset, report_lines, seconds
                 FROM launches WHERE run = ?1 AND ended IS NULL AND instance <> ?2 ORDER BY id",
            )
            .map_err(context())?;
        let path = |text: String| PathBuf::from(text);
        statement
            .query_map(params![self.id, self.store.instance], |row| {
                Ok(UnclosedLaunch {
                    record: LaunchRecord {
                        id: row.get(0)?,
                        tag: row.get(1)?,
                        run: self.id,
                        key: row.get(2)?,
                        written: Written::until(row.get(8)?),
                        store: Rc::clone(&self.store),
                    },
                    paths: LaunchPaths {
                        plan: path(row.get(3)?),
                        report: path(row.get(4)?),
                        log: path(row.get(5)?),
                    },
                    position: Position {
                        offset: row.get::<_, i64>(6)?.cast_unsigned(),
                        line: row.get::<_, i64>(7)?.cast_unsigned(),
                    },
                    seconds: row.get(8)?,
                })
            })
            .and_then(Iterator::collect)
            .map_err(context())
    }
}

impl LaunchRecord {
    /// Stores a property of the launch that is one column.
    pub(super) fn note(&self, column: &'static str, value: impl rusqlite::ToSql) -> Result<(), StoreError> {
        self.store
            .connection
            .change(
                &format!("UPDATE launches SET {column} = ?2 WHERE id = ?1"),
                params![self.id, value],
            )
            .map_err(self.store.context("store what a launch was like"))?;
        Ok(())
    }

    /// Closes the attempt, which took `elapsed` until now.
    pub fn close(&mut self, outcome: &str, elapsed: Duration) -> Result<(), StoreError> {
        self.close_late(outcome, elapsed, Duration::ZERO)
    }

    /// Closes an attempt that took `elapsed` and was over so long `ago`.
    pub fn close_late(&mut self, outcome: &str, elapsed: Duration, ago: Duration) -> Result<(), StoreError> {
        let seconds = elapsed.as_secs_f64().max(self.written.seconds);
        self.store
            .connection
            .change(
                "UPDATE launches SET ended = ?2, outcome = ?3, seconds = ?4 WHERE id = ?1",
                params![self.id, now() - ago.as_secs_f64(), outcome, seconds],
            )
            .map_err(self.store.context("close a launch"))?;
        Ok(())
    }

    /// Key of the launch.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}
