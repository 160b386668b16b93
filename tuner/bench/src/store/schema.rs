//! Tables and their migrations. `PRAGMA user_version` counts the migrations that a file has had.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::cached::STATEMENTS;
use super::{BUSY_TIMEOUT, StoreError, compact, lock};

/// Marks the file as ours (`PRAGMA application_id`): "Kltr".
const APPLICATION_ID: i64 = 0x4b6c_7472;

/// The version that this kilter reads and writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Migration `i` leads from version `i` to `i + 1`. Append; never edit one that was released.
///
/// Times are seconds since 1970, durations seconds. `seed` is a u64 as SQLite's signed integer with the same bits.
const MIGRATIONS: [Migration; 11] = [
    Migration {
        sql: include_str!("schema/v1.sql"),
        then: |_| Ok(()),
    },
    Migration {
        sql: include_str!("schema/v2.sql"),
        then: compact::v1_to_v2,
    },
    Migration {
        sql: include_str!("schema/v3.sql"),
        then: |_| Ok(()),
    },
    Migration {
        sql: include_str!("schema/v4.sql"),
        then: |_| Ok(()),
    },
    Migration {
        sql: include_str!("schema/v5.sql"),
        then: |_| Ok(()),
    },
    Migration {
        sql: include_str!("schema/v6.sql"),
        then: |_| Ok(()),
    },
    Migration {
        sql: include_str!("schema/v7.sql"),
        then: |_| Ok(()),
    },
    Migration {
        sql: include_str!("schema/v8.sql"),
        then: |_| Ok(()),
    },
    Migration {
        sql: include_str!("schema/v9.sql"),
        then: |_| Ok(()),
    },
    Migration {
        sql: include_str!("schema/v10.sql"),
        then: |_| Ok(()),
    },
    Migration {
        sql: include_str!("schema/v11.sql"),
        then: |_| Ok(()),
    },
];

/// A step from one version to the next.
struct Migration {
    /// SQL statements, which run first.
    sql: &'static str,
    /// Steps of the migration that SQL alone cannot do.
    then: fn(&Transaction<'_>) -> Result<(), rusqlite::Error>,
}

/// Opens the database and migrates it, for which nobody else may have it open.
pub(super) fn open(path: &Path, lock: &mut lock::WriterLock) -> Result<Connection, StoreError> {
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
    let version = version_of(&connection, path)?;
    if version < SCHEMA_VERSION && !lock.is_alone() {
        return Err(lock.in_use(path));
    }
    // A transaction that reads first could not wait for another writer behind that.
    connection.set_transaction_behavior(TransactionBehavior::Immediate);
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
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A plan that followed from the values asked for would be made anew for each.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(error("keep its plans of statements"))?;
    let had_data = version > 0 && version < SCHEMA_VERSION;
    if version < SCHEMA_VERSION {
        migrate(&mut connection, version).map_err(error("migrate it"))?;
    }
    if had_data {
        // Gives back what the old form took. On a full disk the file stays as large as it was, and is as good.
        let _ = connection.execute_batch("VACUUM");
    }
    Ok(connection)
}

/// Leads a file from a version to the newest one, as a whole: each transaction waits for the disk several times.
fn migrate(connection: &mut Connection, version: i64) -> Result<(), rusqlite::Error> {
    let transaction = connection.transaction()?;
    for migration in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0)) {
        transaction.execute_batch(migration.sql)?;
        (migration.then)(&transaction)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()
}

/// Version of a file. An error if another program or a newer kilter wrote it.
pub(super) fn version_of(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let error = |action| {
        move |source| StoreError::Sqlite {
            path: path.to_path_buf(),
            action,
            source,
        }
    };
    let pragma = |name: &'static str| {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .map_err(error("read its header"))
    };
    let version = pragma("user_version")?;
    let owner = pragma("application_id")?;
    let mut tables = 0;
    let mut statement = connection
        .prepare("SELECT sql FROM sqlite_master")
        .map_err(error("read its tables"))?;
    let mut rows = statement.query([]).map_err(error("read its tables"))?;
    while let Some(row) = rows.next().map_err(error("read its tables"))? {
        tables += 1;
        let sql = row.get_ref(0).map_err(error("read its tables"))?;
        // A text that is not UTF-8 would end the program as soon as columns are asked for their names.
        if sql.as_bytes().is_ok_and(|sql| std::str::from_utf8(sql).is_err()) {
            return Err(StoreError::Damaged {
                path: path.to_path_buf(),
                what: "sqlite_master: the text of a table is no UTF-8".to_owned(),
            });
        }
    }
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
    Ok(version)
}
