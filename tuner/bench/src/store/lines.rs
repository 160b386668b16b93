//! Report lines in the database: those that come together are one durable write.

use std::time::Duration;

use kilter_protocol::plan::Item;
use kilter_protocol::report::{Costs, Event};
use rusqlite::{Connection, params};

use super::cached::Cached as _;
use super::launch::LaunchRecord;
use super::{StoreError, blob, intern, now};

/// Interval at which heartbeats are written. They show only that the job lives, and every write disturbs the
/// measurement.
const HEARTBEAT_INTERVAL_SECONDS: f64 = 5.0;

/// Position up to which a report file has been stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Bytes.
    pub offset: u64,
    /// Complete lines.
    pub line: u64,
}

/// The part of a launch's report that is written.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Seconds of the launch that the lines account for.
    pub(super) seconds: f64,
    /// True from [`LaunchRecord::together`] to its end.
    is_together: bool,
    /// Position and seconds that the lines since then have reached.
    reached: Option<(Position, f64)>,
}

impl Written {
    /// The report of another process's launch, whose lines account for so many seconds.
    pub(super) fn until(seconds: f64) -> Written {
        Written {
            seconds,
            ..Written::default()
        }
    }
}

impl LaunchRecord {
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
        let seconds = elapsed.as_secs_f64().max(self.written.seconds);
        if *event == Event::Heartbeat && seconds - self.written.seconds < HEARTBEAT_INTERVAL_SECONDS {
            return Ok(());
        }
        let stored = self.write(event, items, measured);
        if stored.is_ok() {
            self.written.reached = Some((position, seconds));
            self.written.seconds = seconds;
        } else if self.store.connection.is_autocommit() {
            // SQLite undoes the lines before it, too, where the disk is full.
            self.written.reached = None;
        }
        let stored = stored.map_err(self.store.context("store a report line"));
        let ended = if self.written.is_together {
            Ok(())
        } else {
            self.end_together()
        };
        stored.and(ended)
    }

    /// Opens one durable write for the following lines, until [`LaunchRecord::end_together`]. A line by itself costs as
    /// much as a hundred, and disturbs the measurement as much. Lines that are not written yet are still in the report
    /// file.
    pub fn together(&mut self) {
        self.written.is_together = true;
    }

    /// Writes the lines since [`LaunchRecord::together`], and the position of the last one.
    pub fn end_together(&mut self) -> Result<(), StoreError> {
        self.written.is_together = false;
        let reached = self.written.reached.take();
        let connection = &self.store.connection;
        let ended = (|| {
            if let Some((position, seconds)) = reached {
                self.writing()?.change(
                    "UPDATE launches SET report_offset = ?2, report_lines = ?3, seconds = ?4 WHERE id = ?1",
                    params![
                        self.id,
                        position.offset.cast_signed(),
                        position.line.cast_signed(),
                        seconds
                    ],
                )?;
            }
            // Lines that say nothing to be stored have begun nothing.
            if connection.is_autocommit() {
                Ok(())
            } else {
                connection.execute_batch("COMMIT")
            }
        })();
        if ended.is_err() && !connection.is_autocommit() {
            // If even this fails, closing the connection undoes it.
            let _ = connection.execute_batch("ROLLBACK");
        }
        ended.map_err(self.store.context("store report lines"))
    }

    /// The connection with a transaction that writes: one that read first could not wait for another writer.
    fn writing(&self) -> Result<&Connection, rusqlite::Error> {
        let connection = &self.store.connection;
        if connection.is_autocommit() {
            connection.execute_batch("BEGIN IMMEDIATE")?;
        }
        Ok(connection)
    }

    /// Writes what a line says. Its last statement is the one that may not be made twice: where it fails, the line is taken again.
    fn write(&self, event: &Event, items: &[Item], measured: bool) -> Result<(), rusqlite::Error> {
        let says_nothing = match event {
            Event::Enter { .. } | Event::Heartbeat => true,
            Event::Settings { .. } | Event::Failed { .. } | Event::Samples { .. } => !measured,
            Event::Start(_) | Event::Noise { .. } | Event::End(_) | Event::BlockEnd { .. } => false,
        };
        if says_nothing {
            return Ok(());
        }
        let transaction = self.writing()?;
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
                transaction.change(
                    "INSERT INTO samples (launch, block, item, repetitions, seconds, void, time)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![
                        self.id,
                        intern::text(transaction, block)?,
                        intern::item(transaction, item, &description)?,
                        seconds.len() as i64,
                        blob::encode(seconds),
                        void,
                        now()
                    ],
                )?;
            }
            Event::BlockEnd { block, seconds, costs } if measured => {
                self.write_block(transaction, block, items, ("done", *seconds, ""), costs.as_ref())?;
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
        self.write_block(&transaction, block, items, (state, 0.0, detail), None)
            .and_then(|()| transaction.commit())
            .map_err(context())
    }

    /// The row of a block: state, wall seconds, detail; and what of the seconds went into its repetitions.
    fn write_block(
        &self,
        transaction: &Connection,
        block: &str,
        items: &[Item],
        (state, seconds, detail): (&str, f64, &str),
        costs: Option<&Costs>,
    ) -> Result<(), rusqlite::Error> {
        transaction.change(
            "INSERT INTO blocks (run, key, block, launch, end_launch, state, seconds, items, detail, time, repeat_seconds, repeat_runs)
             VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                self.run,
                intern::text(transaction, &self.key)?,
                intern::text(transaction, block)?,
                self.id,
                state,
                seconds,
                intern::text(transaction, &to_json(items))?,
                detail,
                now(),
                costs.map(|costs| costs.repeat_seconds),
                costs.map(|costs| costs.runs.min(i64::MAX as u64).cast_signed())
            ],
        )?;
        Ok(())
    }
}

/// JSON text of a value whose map keys are all strings, which cannot fail.
fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use kilter_protocol::report::End;

    use super::*;
    use crate::store::{LaunchPaths, Repeating, Store};

    fn begin(store: &Store) -> LaunchRecord {
        let run = store.begin_anew("f", 1, "kilter check", "library", 2).unwrap();
        let paths = LaunchPaths {
            plan: "p".into(),
            report: "r".into(),
            log: "l".into(),
        };
        run.begin_launch("k", 1, "mpirun", &paths).unwrap()
    }

    fn take(record: &mut LaunchRecord, event: &Event, line: u64) -> Result<(), StoreError> {
        let position = Position {
            offset: 10 * line,
            line,
        };
        record.record(event, &[], true, position, Duration::from_secs(line))
    }

    /// Lines that were stored, as the launch says it, and notes on items.
    fn stored(record: &LaunchRecord) -> (i64, i64) {
        let count = |sql| record.store.connection.row(sql, [], |row| row.get(0)).unwrap();
        (
            count("SELECT report_lines FROM launches"),
            count("SELECT count(*) FROM item_notes"),
        )
    }

    fn enter() -> Event {
        Event::Enter {
            block: "b".to_owned(),
            item: "i".to_owned(),
        }
    }

    fn settings() -> Event {
        Event::Settings {
            block: "b".to_owned(),
            item: "i".to_owned(),
            read_back: Vec::new(),
        }
    }

    #[test]
    fn what_the_repetitions_of_a_block_took_is_read_back() {
        let directory = kilter_fixtures::directory();
        let store = Store::open(&directory.path().join("kilter.db")).unwrap();
        let mut record = begin(&store);
        let run = store.begin_or_resume("f", 1, "kilter check", "library", 2).unwrap();
        let costs = Costs {
            repeat_seconds: 0.75,
            runs: 140,
            ..Costs::default()
        };
        for (line, block, costs) in [(1, "says", Some(costs)), (2, "does not say", None)] {
            let end = Event::BlockEnd {
                block: block.to_owned(),
                seconds: 2.0,
                costs,
            };
            take(&mut record, &end, line).unwrap();
            let outcome = run.finished_block("k", block).unwrap().unwrap().outcome;
            let expected = costs.map(|costs| Repeating {
                seconds: costs.repeat_seconds,
                runs: 140.0,
            });
            assert_eq!((outcome.seconds, outcome.repeating), (2.0, expected));
        }
    }

    #[test]
    fn lines_that_come_together_are_one_write_and_the_position_is_that_of_the_last() {
        let directory = kilter_fixtures::directory();
        let store = Store::open(&directory.path().join("kilter.db")).unwrap();
        let mut record = begin(&store);
        take(&mut record, &enter(), 1).unwrap();
        assert_eq!(stored(&record), (1, 0), "a line by itself");
        record.together();
        for line in 2..5 {
            take(&mut record, &settings(), line).unwrap();
        }
        let other = Store::open(&directory.path().join("kilter.db")).unwrap();
        let notes = || {
            other
                .inner
                .connection
                .row("SELECT count(*) FROM item_notes", [], |row| row.get::<_, i64>(0))
        };
        assert_eq!(notes().unwrap(), 0, "not yet seen by others");
        record.end_together().unwrap();
        assert_eq!((stored(&record), notes().unwrap()), ((4, 3), 3));
    }

    #[test]
    fn lines_before_one_that_cannot_be_stored_are_stored_with_their_position() {
        let directory = kilter_fixtures::directory();
        let store = Store::open(&directory.path().join("kilter.db")).unwrap();
        let mut record = begin(&store);
        record.together();
        take(&mut record, &settings(), 1).unwrap();
        let refuse = "CREATE TRIGGER refused BEFORE UPDATE OF noise ON launches BEGIN SELECT raise(ABORT, 'full'); END";
        record.store.connection.execute_batch(refuse).unwrap();
        let noise = Event::Noise { seconds: vec![1.0] };
        assert!(take(&mut record, &noise, 2).is_err());
        record.end_together().unwrap();
        assert_eq!(stored(&record), (1, 1));
        // Undone as a whole: the position of lines that are not there would hide them from the next command.
        record.together();
        take(&mut record, &settings(), 3).unwrap();
        let gone = refuse
            .replace("refused", "gone")
            .replace("ABORT", "ROLLBACK")
            .replace("noise", "end_json");
        record.store.connection.execute_batch(&gone).unwrap();
        assert!(take(&mut record, &Event::End(End::default()), 4).is_err());
        record.end_together().unwrap();
        assert_eq!(stored(&record), (1, 1));
    }
}
