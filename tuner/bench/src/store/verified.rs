//! Stored results of the correctness matrix.

use rusqlite::{OptionalExtension as _, params};

use super::{Store, StoreError, now};

/// Circumstances on which a row's correctness depends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified<'a> {
    /// The library, as its launcher names it.
    pub library: &'a str,
    /// The machine on which it ran.
    pub machine: &'a str,
    /// Number of ranks.
    pub ranks: usize,
    /// The plugin's file.
    pub plugin: &'a str,
    /// Digest that tells its builds apart.
    pub digest: &'a str,
    /// The row's id.
    pub row: &'a str,
    /// Values of its parameters beside the defaults, as a JSON list.
    pub parameters: &'a str,
}

/// Result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedResult {
    /// Runs that were compared with the reference.
    pub compared: u64,
    /// Compared runs that were wrong.
    pub failed: u64,
    /// Planned runs that were not made, as a JSON object {reason: runs}.
    pub skipped: String,
    /// The first failures, as a JSON list of {case, reason}.
    pub failures: String,
}

impl Store {
    /// Stores a result. `depth` is `full`, `reduced` or `case`.
    pub fn record_verified(&self, of: &Verified<'_>, depth: &str, result: &VerifiedResult) -> Result<(), StoreError> {
        let values = params![
            now(),
            of.library,
            of.machine,
            of.ranks as i64,
            of.plugin,
            of.digest,
            of.row,
            of.parameters,
            depth,
            result.compared.cast_signed(),
            result.failed.cast_signed(),
            result.failures,
            result.skipped,
        ];
        self.inner
            .connection
            .execute(
                "INSERT INTO verified (time, library, machine, ranks, plugin, digest, row, parameters, depth, cases, failed, failures,
                    skipped)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                values,
            )
            .map_err(self.inner.context("store what was verified"))?;
        Ok(())
    }

    /// Newest result of the matrix for this row, wherever the plugin lies; a single case does not count. `None` if it
    /// was not verified, or only by a version that did not tell compared runs from skipped ones.
    pub fn verified(&self, of: &Verified<'_>) -> Result<Option<VerifiedResult>, StoreError> {
        self.inner
            .connection
            .query_row(
                "SELECT cases, failed, skipped, failures FROM verified WHERE row = ?1 AND library = ?2 AND machine = ?3 AND ranks = ?4
                 AND digest = ?5 AND parameters = ?6 AND depth <> 'case' AND skipped IS NOT NULL ORDER BY id DESC LIMIT 1",
                params![
                    of.row,
                    of.library,
                    of.machine,
                    of.ranks as i64,
                    of.digest,
                    of.parameters
                ],
                |row| {
                    Ok(VerifiedResult {
                        compared: row.get::<_, i64>(0)?.cast_unsigned(),
                        failed: row.get::<_, i64>(1)?.cast_unsigned(),
                        skipped: row.get(2)?,
                        failures: row.get(3)?,
                    })
                },
            )
            .optional()
            .map_err(self.inner.context("look for what was verified"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Store, Verified, VerifiedResult};

    fn of() -> Verified<'static> {
        Verified {
            library: "MPI 1",
            machine: "here",
            ranks: 4,
            plugin: "a.so",
            digest: "12",
            row: "bcast.x",
            parameters: "[8]",
        }
    }

    #[test]
    fn the_newest_result_of_the_very_same_is_found() {
        let directory = kilter_fixtures::directory();
        let store = Store::open(&directory.path().join("kilter.db")).unwrap();
        let of = of();
        assert_eq!(store.verified(&of).unwrap(), None);
        let result = |compared, failed, skipped: &str, failures: &str| VerifiedResult {
            compared,
            failed,
            skipped: skipped.to_owned(),
            failures: failures.to_owned(),
        };
        store
            .record_verified(&of, "reduced", &result(10, 1, "{}", "[1]"))
            .unwrap();
        let full = result(10, 0, r#"{"no data is moved":2}"#, "[]");
        store.record_verified(&of, "full", &full).unwrap();
        store.record_verified(&of, "case", &result(1, 1, "{}", "[2]")).unwrap();
        assert_eq!(store.verified(&of).unwrap(), Some(full));
        for other in [
            Verified {
                library: "MPI 2",
                ..of.clone()
            },
            Verified {
                machine: "there",
                ..of.clone()
            },
            Verified { ranks: 5, ..of.clone() },
            Verified {
                digest: "13",
                ..of.clone()
            },
            Verified {
                row: "bcast.y",
                ..of.clone()
            },
            Verified {
                parameters: "[]",
                ..of.clone()
            },
        ] {
            assert_eq!(store.verified(&other).unwrap(), None, "{other:?}");
        }
    }
    /// Version 3 of the schema counted skipped runs in `cases`, too. Such a result stays readable and proves nothing.
    #[test]
    fn a_result_that_counted_skipped_runs_is_kept_and_admits_nothing() {
        let directory = kilter_fixtures::directory();
        let path = directory.path().join("kilter.db");
        let old = rusqlite::Connection::open(&path).unwrap();
        for sql in [
            include_str!("schema/v1.sql"),
            include_str!("schema/v2.sql"),
            include_str!("schema/v3.sql"),
            "INSERT INTO verified VALUES (7, 1.5, 'MPI 1', 'here', 4, 'a.so', '12', 'bcast.x', '[8]', 'full', 10, 0, '[]')",
            "PRAGMA application_id = 1265398898; PRAGMA user_version = 3",
        ] {
            old.execute_batch(sql).unwrap();
        }
        drop(old);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.verified(&of()).unwrap(), None);
        let kept: (i64, i64, Option<String>) = store
            .inner
            .connection
            .query_row("SELECT id, cases, skipped FROM verified", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .unwrap();
        assert_eq!(kept, (7, 10, None));
        let result = VerifiedResult {
            compared: 9,
            failed: 0,
            skipped: r#"{"no data is moved":1}"#.to_owned(),
            failures: "[]".to_owned(),
        };
        store.record_verified(&of(), "reduced", &result).unwrap();
        assert_eq!(store.verified(&of()).unwrap(), Some(result));
    }
}
