//! A profile as one SQLite file.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use kilter_protocol::calls::End;
use rusqlite::{Connection, OpenFlags, Row, Transaction, params};

use crate::profile::{Calls, Communicator, Messages, Profile, Rank, Received, Sampling, Site};
use crate::split::Measured;

/// Version of the tables.
const VERSION: i64 = 2;
/// Marks the file as a profile: `Klpr`.
const APPLICATION: i64 = 0x4b6c_7072;

const TABLES: &str = "
CREATE TABLE profile (command TEXT NOT NULL, status INTEGER NOT NULL, library TEXT NOT NULL, ranks INTEGER NOT NULL,
    sample_interval INTEGER NOT NULL, clocks INTEGER NOT NULL, clock_bound_ns INTEGER NOT NULL, unmatched_samples INTEGER NOT NULL);
CREATE TABLE ranks (rank INTEGER PRIMARY KEY, host TEXT NOT NULL, seconds REAL NOT NULL, finalized INTEGER NOT NULL,
    lost_calls INTEGER NOT NULL, lost_messages INTEGER NOT NULL, failed_calls INTEGER NOT NULL, lost_receives INTEGER NOT NULL);
CREATE TABLE communicators (id INTEGER PRIMARY KEY, name TEXT NOT NULL, label TEXT NOT NULL, ranks INTEGER NOT NULL,
    nodes INTEGER NOT NULL, ranks_per_node INTEGER NOT NULL);
CREATE TABLE sites (id INTEGER PRIMARY KEY, module TEXT NOT NULL, offset INTEGER NOT NULL, symbol TEXT NOT NULL, source TEXT NOT NULL);
CREATE TABLE calls (rank INTEGER NOT NULL REFERENCES ranks, communicator INTEGER REFERENCES communicators, function TEXT NOT NULL,
    site INTEGER REFERENCES sites, bucket INTEGER NOT NULL, datatype TEXT NOT NULL, operator TEXT NOT NULL, calls INTEGER NOT NULL,
    seconds REAL NOT NULL, shortest REAL NOT NULL, longest REAL NOT NULL, bytes INTEGER NOT NULL, requests INTEGER NOT NULL,
    sampled INTEGER NOT NULL, sampled_waiting REAL NOT NULL, sampled_transfer REAL NOT NULL, came_last INTEGER NOT NULL, caused REAL NOT NULL);
CREATE TABLE messages (sender INTEGER NOT NULL, receiver INTEGER NOT NULL, messages INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (sender, receiver));
CREATE TABLE received (rank INTEGER NOT NULL, sender INTEGER NOT NULL, function TEXT NOT NULL, site INTEGER REFERENCES sites, calls INTEGER NOT NULL,
    seconds REAL NOT NULL, bytes INTEGER NOT NULL);
";

/// A file that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite's.
    #[error("`{}` cannot be read or written as a profile", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: rusqlite::Error,
    },
    /// No profile has this.
    #[error("`{}` is damaged: {what}; make it again with `kilter profile`", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The objection.
        what: &'static str,
    },
    /// There is a file already.
    #[error("`{}` is there already; remove it, or give another --out", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another kind of file.
    #[error("`{}` is no profile of this kilter (its version is {found}, and {VERSION} is read); make it with `kilter profile`", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
}

/// Writes a profile into a new file.
pub fn write(profile: &Profile, path: &Path) -> Result<(), StoreError> {
    if path.exists() {
        return Err(StoreError::Exists { path: path.to_owned() });
    }
    written(profile, path).map_err(|source| StoreError::Sqlite {
        path: path.to_owned(),
        source,
    })
}

/// True if the file is one of SQLite that is marked as a profile.
#[must_use]
pub fn is_profile(path: &Path) -> bool {
    const SQLITE: &[u8] = b"SQLite format 3\0";
    // SQLite's file format: the application's id stands at byte 68, the most significant byte first.
    let mut head = [0; 72];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok()
        && head.starts_with(SQLITE)
        && i64::from(i32::from_be_bytes([head[68], head[69], head[70], head[71]])) == APPLICATION
}

/// SQLite's integers are signed.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn written(profile: &Profile, path: &Path) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", VERSION)?;
    let all = connection.transaction()?;
    all.execute_batch(TABLES)?;
    all.execute(
        "INSERT INTO profile VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            profile.command,
            profile.status,
            profile.library,
            profile.world,
            profile.sampling.interval,
            profile.sampling.clocks,
            signed(profile.sampling.bound_ns),
            signed(profile.sampling.unmatched)
        ],
    )?;
    ranks(profile, &all)?;
    places(profile, &all)?;
    calls(profile, &all)?;
    messages(profile, &all)?;
    all.commit()
}

fn ranks(profile: &Profile, all: &Transaction<'_>) -> rusqlite::Result<()> {
    for rank in &profile.ranks {
        let End {
            lost_calls,
            lost_messages,
            lost_receives,
            failed_calls,
        } = rank.missing;
        let lost = [lost_calls, lost_messages, failed_calls, lost_receives].map(signed);
        all.execute(
            "INSERT INTO ranks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                rank.rank,
                rank.host,
                rank.seconds,
                rank.finalized,
                lost[0],
                lost[1],
                lost[2],
                lost[3]
            ],
        )?;
    }
    Ok(())
}

/// Communicators and call sites, which calls name by their places.
fn places(profile: &Profile, all: &Transaction<'_>) -> rusqlite::Result<()> {
    for (id, one) in (0_i64..).zip(&profile.communicators) {
        all.execute(
            "INSERT INTO communicators VALUES (?, ?, ?, ?, ?, ?)",
            params![id, one.name, one.label, one.ranks, one.nodes, one.ranks_per_node],
        )?;
    }
    for (id, site) in (0_i64..).zip(&profile.sites) {
        all.execute(
            "INSERT INTO sites VALUES (?, ?, ?, ?, ?)",
            params![id, site.module, signed(site.offset), site.symbol, site.source],
        )?;
    }
    Ok(())
}

/// Column of a place in a list; SQLite's NULL where there is none.
fn column(place: Option<usize>) -> Option<i64> {
    place.and_then(|place| i64::try_from(place).ok())
}

fn calls(profile: &Profile, all: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut insert = all.prepare("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    for calls in &profile.calls {
        insert.execute(params![
            calls.rank,
            column(calls.communicator),
            calls.function,
            column(calls.site),
            calls.bucket,
            calls.datatype,
            calls.operator,
            signed(calls.calls),
            calls.seconds,
            calls.shortest,
            calls.longest,
            signed(calls.bytes),
            signed(calls.requests),
            signed(calls.measured.calls),
            calls.measured.waiting,
            calls.measured.transfer,
            signed(calls.measured.last),
            calls.measured.caused
        ])?;
    }
    Ok(())
}

/// Messages of pairs of ranks, and those that each call received.
fn messages(profile: &Profile, all: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut insert = all.prepare("INSERT INTO messages VALUES (?, ?, ?, ?)")?;
    for line in &profile.messages {
        insert.execute(params![line.from, line.to, signed(line.messages), signed(line.bytes)])?;
    }
    let mut insert = all.prepare("INSERT INTO received VALUES (?, ?, ?, ?, ?, ?, ?)")?;
    for line in &profile.received {
        insert.execute(params![
            line.rank,
            line.from,
            line.function,
            column(line.site),
            signed(line.calls),
            line.seconds,
            signed(line.bytes)
        ])?;
    }
    Ok(())
}

/// Reads a profile.
pub fn read(path: &Path) -> Result<Profile, StoreError> {
    let failed = |source| StoreError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, found) = (
        pragma("application_id").map_err(failed)?,
        pragma("user_version").map_err(failed)?,
    );
    if (application, found) != (APPLICATION, VERSION) {
        return Err(StoreError::Other {
            path: path.to_owned(),
            found: if application == APPLICATION { found } else { 0 },
        });
    }
    let damaged = |what| StoreError::Damaged {
        path: path.to_owned(),
        what,
    };
    if !has_our_tables(&connection).map_err(failed)? {
        return Err(damaged("its tables are not those of a profile"));
    }
    let profile = was_read(&connection).map_err(failed)?;
    match profile.objection() {
        Some(what) => Err(damaged(what)),
        None => Ok(profile),
    }
}

/// True if the tables are those that [`TABLES`] makes. SQLite takes names that are no text, which rusqlite does not.
fn has_our_tables(connection: &Connection) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare("SELECT CAST(sql AS BLOB) FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = row
            .get_ref(0)?
            .as_blob()
            .ok()
            .and_then(|blob| std::str::from_utf8(blob).ok());
        if !text.is_some_and(|text| TABLES.contains(text)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn rows<T>(
    connection: &Connection,
    table: &str,
    order: &str,
    of: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = connection.prepare(&format!("SELECT * FROM {table} ORDER BY {order}"))?;
    statement.query_map([], of)?.collect()
}

fn was_read(connection: &Connection) -> rusqlite::Result<Profile> {
    let head = connection.query_row("SELECT * FROM profile", [], |row| {
        Ok(Profile {
            command: row.get(0)?,
            status: row.get(1)?,
            library: row.get(2)?,
            world: row.get(3)?,
            sampling: Sampling {
                interval: row.get(4)?,
                clocks: row.get(5)?,
                bound_ns: unsigned(row.get(6)?),
                unmatched: unsigned(row.get(7)?),
            },
            ..Profile::default()
        })
    })?;
    Ok(Profile {
        ranks: rows(connection, "ranks", "rank", |row| {
            Ok(Rank {
                rank: row.get(0)?,
                host: row.get(1)?,
                seconds: row.get(2)?,
                finalized: row.get(3)?,
                missing: End {
                    lost_calls: unsigned(row.get(4)?),
                    lost_messages: unsigned(row.get(5)?),
                    failed_calls: unsigned(row.get(6)?),
                    lost_receives: unsigned(row.get(7)?),
                },
            })
        })?,
        communicators: rows(connection, "communicators", "id", |row| {
            Ok(Communicator {
                name: row.get(1)?,
                label: row.get(2)?,
                ranks: row.get(3)?,
                nodes: row.get(4)?,
                ranks_per_node: row.get(5)?,
            })
        })?,
        sites: rows(connection, "sites", "id", |row| {
            Ok(Site {
                module: row.get(1)?,
                offset: unsigned(row.get(2)?),
                symbol: row.get(3)?,
                source: row.get(4)?,
            })
        })?,
        calls: rows(connection, "calls", "rowid", |row| {
            let number = |place: Option<i64>| place.and_then(|place| usize::try_from(place).ok());
            Ok(Calls {
                rank: row.get(0)?,
                communicator: number(row.get(1)?),
                function: row.get(2)?,
                site: number(row.get(3)?),
                bucket: row.get(4)?,
                datatype: row.get(5)?,
                operator: row.get(6)?,
                calls: unsigned(row.get(7)?),
                seconds: row.get(8)?,
                shortest: row.get(9)?,
                longest: row.get(10)?,
                bytes: unsigned(row.get(11)?),
                requests: unsigned(row.get(12)?),
                measured: Measured {
                    calls: unsigned(row.get(13)?),
                    waiting: row.get(14)?,
                    transfer: row.get(15)?,
                    last: unsigned(row.get(16)?),
                    caused: row.get(17)?,
                },
            })
        })?,
        messages: rows(connection, "messages", "sender, receiver", |row| {
            Ok(Messages {
                from: row.get(0)?,
                to: row.get(1)?,
                messages: unsigned(row.get(2)?),
                bytes: unsigned(row.get(3)?),
            })
        })?,
        received: rows(connection, "received", "rowid", |row| {
            let site: Option<i64> = row.get(3)?;
            Ok(Received {
                rank: row.get(0)?,
                from: row.get(1)?,
                function: row.get(2)?,
                site: site.and_then(|site| usize::try_from(site).ok()),
                calls: unsigned(row.get(4)?),
                seconds: row.get(5)?,
                bytes: unsigned(row.get(6)?),
            })
        })?,
        ..head
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_profile_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("profile.db");
        let mut profile = fixture::profile();
        profile.sampling = Sampling {
            interval: 8,
            clocks: 2,
            bound_ns: 900,
            unmatched: 3,
        };
        profile.calls[0].measured = Measured {
            calls: 12,
            waiting: 0.5,
            transfer: 0.25,
            last: 4,
            caused: 1.5,
        };
        write(&profile, &path).unwrap();
        assert_eq!(read(&path).unwrap(), profile);
        let again = write(&profile, &path).unwrap_err().to_string();
        assert!(again.contains("is there already") && again.contains("--out"), "{again}");
    }

    #[test]
    fn other_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("other.db");
        Connection::open(&path)
            .unwrap()
            .execute_batch("CREATE TABLE a (b)")
            .unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("is no profile of this kilter"), "{error}");
        std::fs::write(
            &path,
            "text that is no database, and long enough to have the header of one, which it has not",
        )
        .unwrap();
        let whole = |path: &Path| {
            let error = read(path).unwrap_err();
            let cause = std::error::Error::source(&error).unwrap();
            format!("{error}: {cause}")
        };
        assert!(whole(&path).contains("not a database"));
        let missing = whole(&directory.path().join("missing.db"));
        assert!(
            missing.contains("missing.db` cannot be read") && missing.contains("unable to open"),
            "{missing}"
        );
    }
}
