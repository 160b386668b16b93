//! Launches: one row per attempt, written as its report lines arrive.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use kilter_protocol::plan::Item;
use kilter_protocol::report::Event;
use rusqlite::{Connection, params};

use super::cached::Cached as _;
use super::{Inner, Run, StoreError, blob, intern, now};

/// Interval at which heartbeats are written. They show only that the job lives, and every write disturbs the
/// measurement.
const HEARTBEAT_INTERVAL_SECONDS: f64 = 5.0;

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

/// Position up to which a report file has been stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Bytes.
    pub offset: u64,
    /// Complete lines.
    pub line: u64,
}

/// The row of an attempt that is under way.
#[derive(Debug)]
pub struct LaunchRecord {
    /// Row.
    pub id: i64,
    /// Environment tag of its processes.
    pub tag: String,
    run: i64,
    key: String,
    stored_seconds: f64,
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
            stored_seconds: 0.0,
            store: Rc::clone(&self.store),
        })
    }

    /// Attempts of this run that a killed process began and never closed.
    pub fn unclosed_launches(&self) -> Result<Vec<UnclosedLaunch>, StoreError> {
        let context = || self.store.context("look for interrupted launches");
        let mut statement = self
            .store
            .connection
            .prepare(
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
                        stored_seconds: row.get(8)?,
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

    /// Stores a report line as a whole: its content, the position in the report, and the launch's time so far.
    ///
    /// `items` are the items of the block that the line is about. `measured` is false for blocks whose samples do not
    /// count: only the start and end lines of their launch do.
    pub fn record(
        &mut self,
        event: &Event,
        items: &[Item],
        measured: bool,
        position: Position,
        elapsed: Duration,
    ) -> Result<(), StoreError> {
        let seconds = elapsed.as_secs_f64().max(self.stored_seconds);
        if *event == Event::Heartbeat && seconds - self.stored_seconds < HEARTBEAT_INTERVAL_SECONDS {
            return Ok(());
        }
        let connection = &self.store.connection;
        // A savepoint is a transaction of its own where none is open, and a part of one that is: see [`LaunchRecord::together`].
        let stored = (|| {
            connection.change("SAVEPOINT line", [])?;
            self.write(connection, event, items, measured)?;
            connection
                .prepare_cached(
                    "UPDATE launches SET report_offset = ?2, report_lines = ?3, seconds = ?4 WHERE id = ?1",
                )?
                .execute(params![
                    self.id,
                    position.offset.cast_signed(),
                    position.line.cast_signed(),
                    seconds
                ])?;
            connection.change("RELEASE line", [])
        })();
        if let Err(error) = stored {
            // The line is undone as a whole. If even this fails, closing the connection undoes it.
            let _ = connection.execute_batch("ROLLBACK TO line; RELEASE line");
            return Err(self.store.context("store a report line")(error));
        }
        self.stored_seconds = seconds;
        Ok(())
    }

    /// Opens one durable write for the following lines, until [`LaunchRecord::end_together`]. A line by itself costs as
    /// much as a hundred, and disturbs the measurement as much. Lines that are not written yet are still in the report
    /// file.
    pub fn together(&self) -> Result<(), StoreError> {
        let begun = self.store.connection.execute_batch("BEGIN");
        begun.map_err(self.store.context("begin to store report lines"))
    }

    /// Writes the lines since [`LaunchRecord::together`].
    pub fn end_together(&self) -> Result<(), StoreError> {
        let ended = self.store.connection.execute_batch("COMMIT");
        ended.map_err(self.store.context("store report lines"))
    }

    fn write(
        &self,
        transaction: &Connection,
        event: &Event,
        items: &[Item],
        measured: bool,
    ) -> Result<(), rusqlite::Error> {
        let note = |block: &str, item: &str, kind: &str, detail: &str| {
            transaction.change(
                "INSERT INTO item_notes (launch, block, item, kind, detail, time) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![self.id, block, item, kind, detail, now()],
            )
        };
        match event {
            Event::Start(start) => {
                transaction.change(
                    "UPDATE launches SET start_json = ?2 WHERE id = ?1",
                    params![self.id, to_json(start)],
                )?;
                let mut hosts: Vec<&String> = Vec::new();
                for host in &start.hosts {
                    // Ranks of a host mostly follow each other.
                    if hosts.last() != Some(&host) && !hosts.contains(&host) {
                        hosts.push(host);
                    }
                }
                transaction.change(
                    "UPDATE runs SET library_string = ?2, hosts = ?3 WHERE id = ?1 AND library_string IS NULL",
                    params![self.run, start.library, to_json(&hosts)],
                )?;
            }
            Event::Noise { seconds } => {
                transaction.change(
                    "UPDATE launches SET noise = ?2 WHERE id = ?1",
                    params![self.id, blob::encode(seconds)],
                )?;
            }
            Event::End(end) => {
                transaction.change(
                    "UPDATE launches SET end_json = ?2 WHERE id = ?1",
                    params![self.id, to_json(end)],
                )?;
            }
            Event::Settings { block, item, read_back } if measured => {
                note(block, item, "settings", &to_json(read_back))?;
            }
            Event::Failed { block, item, fault } if measured => {
                note(block, item, "failed", &to_json(fault))?;
            }
            Event::Samples {
                block,
                item,
                seconds,
                void,
            } if measured => {
                let description = items
                    .iter()
                    .find(|known| known.id == *item)
                    .map_or_else(String::new, to_json);
                transaction
                    .prepare_cached(
                        "INSERT INTO samples (launch, block, item, repetitions, seconds, void, time)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    )?
                    .execute(params![
                        self.id,
                        intern::text(transaction, block)?,
                        intern::item(transaction, item, &description)?,
                        seconds.len() as i64,
                        blob::encode(seconds),
                        void,
                        now()
                    ])?;
            }
            Event::BlockEnd { block, seconds, .. } if measured => {
                self.write_block(transaction, block, items, ("done", *seconds, ""))?;
            }
            Event::BlockEnd { block, .. } => {
                transaction.change(
                    "UPDATE blocks SET end_launch = ?4 WHERE run = ?1
                     AND key = (SELECT id FROM texts WHERE text = ?2) AND block = (SELECT id FROM texts WHERE text = ?3)",
                    params![self.run, self.key, block, self.id],
                )?;
            }
            Event::Settings { .. }
            | Event::Failed { .. }
            | Event::Samples { .. }
            | Event::Enter { .. }
            | Event::Heartbeat => {}
        }
        Ok(())
    }

    /// Stores that the block took the job down. `state` is `hung` or `crashed`; `detail` describes it.
    pub fn record_failure(&self, block: &str, items: &[Item], state: &str, detail: &str) -> Result<(), StoreError> {
        let context = || self.store.context("store a failure");
        let transaction = self.store.connection.unchecked_transaction().map_err(context())?;
        self.write_block(&transaction, block, items, (state, 0.0, detail))
            .and_then(|()| transaction.commit())
            .map_err(context())
    }

    /// The row of a block: state, wall seconds, detail.
    fn write_block(
        &self,
        transaction: &Connection,
        block: &str,
        items: &[Item],
        (state, seconds, detail): (&str, f64, &str),
    ) -> Result<(), rusqlite::Error> {
        transaction.change(
            "INSERT INTO blocks (run, key, block, launch, end_launch, state, seconds, items, detail, time)
             VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                self.run,
                intern::text(transaction, &self.key)?,
                intern::text(transaction, block)?,
                self.id,
                state,
                seconds,
                intern::text(transaction, &to_json(items))?,
                detail,
                now()
            ],
        )?;
        Ok(())
    }

    /// Closes the attempt.
    pub fn close(&mut self, outcome: &str, elapsed: Duration) -> Result<(), StoreError> {
        let seconds = elapsed.as_secs_f64().max(self.stored_seconds);
        self.store
            .connection
            .change(
                "UPDATE launches SET ended = ?2, outcome = ?3, seconds = ?4 WHERE id = ?1",
                params![self.id, now(), outcome, seconds],
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

/// JSON text of a value whose map keys are all strings, which cannot fail.
fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
