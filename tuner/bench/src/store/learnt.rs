//! Knowledge of jobs from online selection, as `kilter import` puts it there.

use rusqlite::params;

use super::{Store, StoreError};

/// An implementation at one site: a layout, a collective and a class of sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learnt {
    /// Library and version, as the library says it.
    pub library: String,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// Hosts that they are on.
    pub nodes: u32,
    /// Most ranks on one host.
    pub ranks_per_node: u32,
    /// The collective.
    pub function: String,
    /// Class of sizes: the logarithm to base 2 of the smallest one, up to 61.
    pub class: u32,
    /// Id of the implementation; `default` is the library's own.
    pub implementation: String,
    /// Timed calls.
    pub calls: u64,
    /// Their time in nanoseconds, in all.
    pub counted_ns: u64,
    /// Median of a call, as last seen.
    pub median_ns: u64,
    /// True if the last job that settled chose it.
    pub is_settled: bool,
    /// Jobs that added to it.
    pub jobs: u64,
    /// Time of the last one, in seconds since 1970.
    pub when: u64,
}

impl Store {
    /// Puts these into the database, all or none. What it had of the same layouts before makes room: files that are imported again have it still.
    pub fn record_learnt(&self, rows: &[Learnt]) -> Result<(), StoreError> {
        let store = || {
            let transaction = self.inner.connection.unchecked_transaction()?;
            for row in rows {
                transaction.execute(
                    "DELETE FROM learnt WHERE library = ?1 AND ranks = ?2 AND nodes = ?3 AND ranks_per_node = ?4",
                    params![row.library, row.ranks, row.nodes, row.ranks_per_node],
                )?;
            }
            for row in rows {
                transaction.execute(
                    "INSERT INTO learnt (library, ranks, nodes, ranks_per_node, function, class, implementation, calls, counted_ns, median_ns,
                        is_settled, jobs, time)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                    params![
                        row.library,
                        row.ranks,
                        row.nodes,
                        row.ranks_per_node,
                        row.function,
                        row.class,
                        row.implementation,
                        row.calls.min(i64::MAX as u64).cast_signed(),
                        row.counted_ns.min(i64::MAX as u64).cast_signed(),
                        row.median_ns.min(i64::MAX as u64).cast_signed(),
                        i64::from(row.is_settled),
                        row.jobs.min(i64::MAX as u64).cast_signed(),
                        row.when as f64,
                    ],
                )?;
            }
            transaction.commit()
        };
        store().map_err(self.inner.context("store what jobs learnt"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(ranks: u32, implementation: &str, calls: u64) -> Learnt {
        Learnt {
            library: "MPI 1".to_owned(),
            ranks,
            nodes: 2,
            ranks_per_node: 4,
            function: "reduce".to_owned(),
            class: 12,
            implementation: implementation.to_owned(),
            calls,
            counted_ns: 2_000 * calls,
            median_ns: 1_900,
            is_settled: implementation != "default",
            jobs: 3,
            when: 1_800_000_000,
        }
    }

    #[test]
    fn a_layout_that_is_imported_again_takes_its_own_place() {
        let directory = kilter_fixtures::directory();
        let store = Store::open(&directory.path().join("kilter.db")).unwrap();
        store
            .record_learnt(&[
                learnt(8, "default", 5),
                learnt(8, "reduce.ring", 5),
                learnt(7, "default", 1),
            ])
            .unwrap();
        store.record_learnt(&[learnt(8, "default", 9)]).unwrap();
        let rows = |sql: &str| -> Vec<(i64, String, i64, i64, f64, String)> {
            let mut statement = store.inner.connection.prepare(sql).unwrap();
            let rows = statement
                .query_map([], |row| {
                    Ok((
                        row.get(0)?,
                        row.get(1)?,
                        row.get(2)?,
                        row.get(3)?,
                        row.get(4)?,
                        row.get(5)?,
                    ))
                })
                .unwrap();
            rows.map(Result::unwrap).collect()
        };
        let all = rows(
            "SELECT ranks, implementation, bytes, to_bytes, round(seconds * 1e9), started FROM learnt_view ORDER BY ranks",
        );
        let when = "2027-01-15T08:00:00Z".to_owned();
        let row = |ranks| (ranks, "default".to_owned(), 4096, 8191, 2_000.0, when.clone());
        assert_eq!(all, [row(7), row(8)]);
        // Twice the same: none of it is there.
        assert!(
            store
                .record_learnt(&[learnt(9, "default", 1), learnt(9, "default", 2)])
                .is_err()
        );
        assert_eq!(
            rows(
                "SELECT ranks, implementation, bytes, to_bytes, round(seconds * 1e9), started FROM learnt_view WHERE ranks = 9"
            ),
            []
        );
    }
}
