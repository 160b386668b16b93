//! A run: one invocation of a measuring command, over as many processes as it takes to finish.

use std::rc::Rc;

use kilter_protocol::report::{End, Start};
use rusqlite::{OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::cached::Cached as _;
use super::{Inner, StoreError, blob, now};

/// A run in the database.
#[derive(Debug, Clone)]
pub struct Run {
    /// Row.
    pub id: i64,
    /// Seed of every order; a resumed run keeps its first one.
    pub seed: u64,
    /// True if an unfinished run was found and is continued.
    pub resumed: bool,
    /// Start of the run in seconds since 1970; the first one if it was resumed.
    pub started_unix_seconds: f64,
    pub(super) store: Rc<Inner>,
}

/// One view of the database, until it is dropped. Nothing is written meanwhile.
#[derive(Debug)]
#[must_use = "dropped at once it is a view of nothing"]
pub struct Reading<'run> {
    _transaction: Transaction<'run>,
}

impl Run {
    /// Begins to read. A question that is asked outside of it locks the file for itself, and looks for what others left half-written: on a network
    /// file system that takes far longer than the answer.
    pub fn reading(&self) -> Result<Reading<'_>, StoreError> {
        Transaction::new_unchecked(&self.store.connection, TransactionBehavior::Deferred)
            .map(|_transaction| Reading { _transaction })
            .map_err(self.store.context("begin to read"))
    }

    /// The newest run with this fingerprint, if it is unfinished. A run that was begun anew hides those before it.
    pub(super) fn resume(store: &Rc<Inner>, fingerprint: &str) -> Result<Option<Run>, StoreError> {
        let unfinished = store
            .connection
            .row(
                "SELECT id, seed, started FROM runs WHERE finished IS NULL
                 AND id = (SELECT max(id) FROM runs WHERE fingerprint = ?1)",
                [fingerprint],
                |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, f64>(2)?)),
            )
            .optional()
            .map_err(store.context("look for an unfinished run"))?;
        Ok(unfinished.map(|(id, seed, started_unix_seconds)| Run {
            id,
            seed: seed.cast_unsigned(),
            resumed: true,
            started_unix_seconds,
            store: Rc::clone(store),
        }))
    }

    /// The newest run with this fingerprint, finished or not.
    pub(super) fn newest_of(store: &Rc<Inner>, fingerprint: &str) -> Result<Option<Run>, StoreError> {
        let found = store.connection.row(
            "SELECT id, seed, started FROM runs WHERE fingerprint = ?1 ORDER BY id DESC LIMIT 1",
            [fingerprint],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, f64>(2)?)),
        );
        let found = found.optional().map_err(store.context("look for a run"))?;
        Ok(found.map(|(id, seed, started_unix_seconds)| Run {
            id,
            seed: seed.cast_unsigned(),
            resumed: false,
            started_unix_seconds,
            store: Rc::clone(store),
        }))
    }

    /// Begins a new run.
    pub(super) fn begin(
        store: &Rc<Inner>,
        fingerprint: &str,
        seed: u64,
        command_line: &str,
        library: &str,
        ranks: usize,
    ) -> Result<Run, StoreError> {
        let started_unix_seconds = now();
        store
            .connection
            .change(
                "INSERT INTO runs (fingerprint, seed, command_line, library, ranks, started) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![fingerprint, seed.cast_signed(), command_line, library, ranks as i64, started_unix_seconds],
            )
            .map_err(store.context("begin a run"))?;
        let id = store.connection.last_insert_rowid();
        Ok(Run {
            id,
            seed,
            resumed: false,
            started_unix_seconds,
            store: Rc::clone(store),
        })
    }

    /// Marks the run as finished: it will not be resumed.
    pub fn finish(&self) -> Result<(), StoreError> {
        self.store
            .connection
            .change("UPDATE runs SET finished = ?2 WHERE id = ?1", params![self.id, now()])
            .map_err(self.store.context("finish the run"))?;
        self.store.runs.release(self.id);
        Ok(())
    }

    /// Wall seconds of all launches of this run, including those before it was resumed.
    pub fn measuring_seconds(&self) -> Result<f64, StoreError> {
        self.scalar("SELECT coalesce(sum(seconds), 0.0) FROM launches WHERE run = ?1")
    }

    /// Number of valid repetitions stored for this run, including those of unfinished blocks.
    pub fn sample_count(&self) -> Result<u64, StoreError> {
        self.scalar(
            "SELECT coalesce(sum(repetitions), 0) FROM samples JOIN launches ON launches.id = samples.launch WHERE run = ?1",
        )
        .map(i64::cast_unsigned)
    }

    /// Number of launches begun.
    pub fn launch_count(&self) -> Result<u64, StoreError> {
        self.scalar("SELECT count(*) FROM launches WHERE run = ?1")
            .map(i64::cast_unsigned)
    }

    /// Number of launches whose keys begin with `prefix`, and their wall seconds.
    pub fn launches_of(&self, prefix: &str) -> Result<(u64, f64), StoreError> {
        // Not LIKE, in which `_` and `%` mean something.
        let sql = "SELECT count(*), coalesce(sum(seconds), 0.0) FROM launches WHERE run = ?1 AND substr(key, 1, length(?2)) = ?2";
        self.store
            .connection
            .row(sql, params![self.id, prefix], |row| {
                Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?))
            })
            .map_err(self.store.context("count launches"))
    }

    /// Start line of the newest attempt that started.
    pub fn start_info(&self, key: &str) -> Result<Option<Start>, StoreError> {
        let text: Option<String> = self.newest(
            "SELECT start_json FROM launches WHERE run = ?1 AND key = ?2 AND start_json IS NOT NULL ORDER BY id DESC LIMIT 1",
            key,
        )?;
        text.map(|text| self.parse(&text, "launches.start_json", key))
            .transpose()
    }

    /// Times of the empty operation in the newest attempt that has them, in seconds.
    pub fn noise(&self, key: &str) -> Result<Option<Vec<f64>>, StoreError> {
        let bytes: Option<Vec<u8>> = self.newest(
            "SELECT noise FROM launches WHERE run = ?1 AND key = ?2 AND noise IS NOT NULL ORDER BY id DESC LIMIT 1",
            key,
        )?;
        bytes
            .map(|bytes| {
                blob::decode(&bytes).ok_or_else(|| {
                    self.store
                        .damaged(format!("launches.noise of `{key}` has a torn value"))
                })
            })
            .transpose()
    }

    /// End lines of all attempts under this key, with their counts added; `None` if there is none.
    pub fn end_info(&self, key: &str) -> Result<Option<End>, StoreError> {
        let context = || self.store.context("read the ends of launches");
        let mut statement = self
            .store
            .connection
            .prepare_cached(
                "SELECT end_json FROM launches WHERE run = ?1 AND key = ?2 AND end_json IS NOT NULL ORDER BY id",
            )
            .map_err(context())?;
        let mut rows = statement.query(params![self.id, key]).map_err(context())?;
        let mut sum: Option<End> = None;
        while let Some(row) = rows.next().map_err(context())? {
            let text: String = row.get(0).map_err(context())?;
            let end: End = self.parse(&text, "launches.end_json", key)?;
            let sum = sum.get_or_insert_default();
            for (id, calls) in end.dropin_calls {
                *sum.dropin_calls.entry(id).or_default() += calls;
            }
            // The attempts follow one another: what the last one says is in force.
            sum.sync = end.sync.or(sum.sync);
            sum.sweeps += end.sweeps;
        }
        Ok(sum)
    }

    fn newest<T: rusqlite::types::FromSql>(&self, sql: &'static str, key: &str) -> Result<Option<T>, StoreError> {
        self.store
            .connection
            .row(sql, params![self.id, key], |row| row.get(0))
            .optional()
            .map_err(self.store.context("read about a launch"))
    }

    fn scalar<T: rusqlite::types::FromSql>(&self, sql: &'static str) -> Result<T, StoreError> {
        self.store
            .connection
            .row(sql, [self.id], |row| row.get(0))
            .map_err(self.store.context("sum up the run"))
    }

    /// An error that names a wrong entry.
    pub(crate) fn damaged(&self, what: impl Into<String>) -> StoreError {
        self.store.damaged(what)
    }

    pub(super) fn parse<T: serde::de::DeserializeOwned>(
        &self,
        text: &str,
        column: &str,
        key: &str,
    ) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.store.damaged(format!("{column} of `{key}`: {error}")))
    }
}
