//! What was verified for correctness, and with what result.

use rusqlite::{OptionalExtension as _, params};

use super::{Store, StoreError, now};

/// What a row's correctness depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified<'a> {
    /// The library, as its launcher names it.
    pub library: &'a str,
    /// Where it ran.
    pub machine: &'a str,
    /// Number of ranks.
    pub ranks: usize,
    /// The plugin's file.
    pub plugin: &'a str,
    /// Tells its builds apart.
    pub digest: &'a str,
    /// The row's id.
    pub row: &'a str,
    /// Values of its parameters beside the defaults, as a JSON list.
    pub parameters: &'a str,
}

impl Store {
    /// Stores a result. `depth` is `full`, `reduced` or `case`; `failures` a JSON list.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn record_verified(
        &self,
        of: &Verified<'_>,
        depth: &str,
        (cases, failed): (u64, u64),
        failures: &str,
    ) -> Result<(), StoreError> {
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
            cases.cast_signed(),
            failed.cast_signed(),
            failures,
        ];
        self.inner
            .connection
            .execute(
                "INSERT INTO verified (time, library, machine, ranks, plugin, digest, row, parameters, depth, cases, failed, failures)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                values,
            )
            .map_err(self.inner.context("store what was verified"))?;
        Ok(())
    }

    /// The newest result of the matrix (a single case is none) for this row, wherever the plugin lies: runs that failed, and
    /// the failures as a JSON list. `None` where it was not verified.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn verified(&self, of: &Verified<'_>) -> Result<Option<(u64, String)>, StoreError> {
        self.inner
            .connection
            .query_row(
                "SELECT failed, failures FROM verified WHERE row = ?1 AND library = ?2 AND machine = ?3 AND ranks = ?4
                 AND digest = ?5 AND parameters = ?6 AND depth <> 'case' ORDER BY id DESC LIMIT 1",
                params![
                    of.row,
                    of.library,
                    of.machine,
                    of.ranks as i64,
                    of.digest,
                    of.parameters
                ],
                |row| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?)),
            )
            .optional()
            .map_err(self.inner.context("look for what was verified"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Store, Verified};

    #[test]
    fn the_newest_result_of_the_very_same_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("kilter.db")).unwrap();
        let of = Verified {
            library: "MPI 1",
            machine: "here",
            ranks: 4,
            plugin: "a.so",
            digest: "12",
            row: "bcast.x",
            parameters: "[8]",
        };
        assert_eq!(store.verified(&of).unwrap(), None);
        store.record_verified(&of, "reduced", (10, 1), "[1]").unwrap();
        store.record_verified(&of, "full", (10, 0), "[]").unwrap();
        store.record_verified(&of, "case", (1, 1), "[2]").unwrap();
        assert_eq!(store.verified(&of).unwrap(), Some((0, "[]".to_owned())));
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
}
