//! Tables and their migrations. `PRAGMA user_version` counts the migrations that a file has had.

use std::path::Path;

use rusqlite::Connection;

use super::{BUSY_TIMEOUT, StoreError};

/// Marks the file as ours (`PRAGMA application_id`): "Kltr".
const APPLICATION_ID: i64 = 0x4b6c_7472;

/// The version that this kilter reads and writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Migration `i` leads from version `i` to `i + 1`. Append; never edit one that was released.
///
/// Times are seconds since 1970, durations seconds. `seed` is a u64 as SQLite's signed integer with the same bits.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        fingerprint TEXT NOT NULL,
        seed INTEGER NOT NULL,
        command_line TEXT NOT NULL,
        library TEXT NOT NULL,
        ranks INTEGER NOT NULL,
        started REAL NOT NULL,
        finished REAL
    ) STRICT;
    CREATE INDEX runs_by_fingerprint ON runs (fingerprint);

    -- One attempt at one job. `report_offset` bytes (`report_lines` lines) of the report file have been stored;
    -- `seconds` is its wall time so far.
    CREATE TABLE launches (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs (id),
        key TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        instance TEXT NOT NULL,
        tag TEXT NOT NULL,
        command_line TEXT NOT NULL,
        plan_path TEXT NOT NULL,
        report_path TEXT NOT NULL,
        log_path TEXT NOT NULL,
        report_offset INTEGER NOT NULL DEFAULT 0,
        report_lines INTEGER NOT NULL DEFAULT 0,
        seconds REAL NOT NULL DEFAULT 0,
        started REAL NOT NULL,
        ended REAL,
        outcome TEXT,
        start_json TEXT,
        noise BLOB,
        end_json TEXT,
        UNIQUE (run, key, attempt)
    ) STRICT;

    -- What became of a block. `launch` measured it; `end_launch` is the launch whose end line covers it.
    CREATE TABLE blocks (
        run INTEGER NOT NULL REFERENCES runs (id),
        key TEXT NOT NULL,
        block TEXT NOT NULL,
        launch INTEGER NOT NULL REFERENCES launches (id),
        end_launch INTEGER NOT NULL REFERENCES launches (id),
        state TEXT NOT NULL CHECK (state IN ('done', 'hung', 'crashed')),
        seconds REAL NOT NULL,
        items_json TEXT NOT NULL,
        detail TEXT NOT NULL,
        time REAL NOT NULL,
        PRIMARY KEY (run, key, block)
    ) STRICT;

    -- Raw samples, also those of blocks that were never done. `seconds` is little-endian f64.
    CREATE TABLE samples (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs (id),
        launch INTEGER NOT NULL REFERENCES launches (id),
        key TEXT NOT NULL,
        block TEXT NOT NULL,
        item TEXT NOT NULL,
        description TEXT NOT NULL,
        seconds BLOB NOT NULL,
        void INTEGER NOT NULL,
        time REAL NOT NULL
    ) STRICT;
    CREATE INDEX samples_by_block ON samples (launch, block);

    -- What the worker says about an item besides its samples: settings read back (JSON), or why it failed (text).
    CREATE TABLE item_notes (
        launch INTEGER NOT NULL REFERENCES launches (id),
        block TEXT NOT NULL,
        item TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('settings', 'failed')),
        detail TEXT NOT NULL,
        time REAL NOT NULL
    ) STRICT;
    CREATE INDEX item_notes_by_block ON item_notes (launch, block);
"];

/// Opens and brings up to date.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let error = |action| {
        move |source| StoreError::Sqlite {
            path: path.to_path_buf(),
            action,
            source,
        }
    };
    let mut connection = Connection::open(path).map_err(error("open it"))?;
    connection
        .busy_timeout(BUSY_TIMEOUT)
        .map_err(error("set the busy timeout"))?;
    let pragma = |connection: &Connection, name: &'static str| {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .map_err(error("read its header"))
    };
    let version = pragma(&connection, "user_version")?;
    let owner = pragma(&connection, "application_id")?;
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
        .map_err(error("read its tables"))?;
    if owner != APPLICATION_ID && (tables > 0 || version != 0 || owner != 0) {
        return Err(StoreError::NotOurs {
            path: path.to_path_buf(),
        });
    }
    if !(0..=SCHEMA_VERSION).contains(&version) {
        return Err(StoreError::TooNew {
            path: path.to_path_buf(),
            found: version,
            known: SCHEMA_VERSION,
        });
    }
    // Setting the mode answers with the mode that is now in force.
    connection
        .pragma_update_and_check(None, "journal_mode", "TRUNCATE", |_| Ok(()))
        .map_err(error("select a rollback journal"))?;
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(error("select full synchronisation"))?;
    connection
        .pragma_update(None, "foreign_keys", true)
        .map_err(error("switch foreign keys on"))?;
    for (done, migration) in MIGRATIONS
        .iter()
        .enumerate()
        .skip(usize::try_from(version).unwrap_or(0))
    {
        let migrate = error("migrate it");
        (|| {
            let transaction = connection.transaction()?;
            transaction.execute_batch(migration)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", done as i64 + 1)?;
            transaction.commit()
        })()
        .map_err(migrate)?;
    }
    Ok(connection)
}
