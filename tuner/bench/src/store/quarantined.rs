//! Stores candidates that hung, crashed or delivered wrong data: no later run on this library and machine tries them.

use std::rc::Rc;

use kilter_protocol::fault::FaultKind;
use rusqlite::params;

use super::{Inner, Run, StoreError, now};

/// A candidate that is not tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutAway {
    /// Its id.
    pub candidate: String,
    /// Its failure.
    pub kind: FaultKind,
    /// The details.
    pub detail: String,
}

/// The candidates that are put away on one library and machine, as one run sees them.
#[derive(Debug, Clone)]
pub struct Quarantined {
    store: Rc<Inner>,
    run: i64,
    library: String,
    machine: String,
}

impl Run {
    /// Those of a library and a machine, as [`super::Verified`] names both.
    #[must_use]
    pub fn quarantined(&self, library: &str, machine: &str) -> Quarantined {
        Quarantined {
            store: Rc::clone(&self.store),
            run: self.id,
            library: library.to_owned(),
            machine: machine.to_owned(),
        }
    }
}

impl Quarantined {
    /// Puts a candidate away; the first failure is kept.
    pub fn add(&self, one: &PutAway) -> Result<(), StoreError> {
        let failed = || self.store.context("put a candidate away");
        let kind = serde_json::to_string(&one.kind).unwrap_or_default();
        self.store
            .connection
            .execute(
                "INSERT OR IGNORE INTO quarantined (library, machine, candidate, kind, detail, run, time) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![self.library, self.machine, one.candidate, kind, one.detail, self.run, now()],
            )
            .map_err(failed())?;
        Ok(())
    }

    /// Those that other runs put away. What this run put away before it was interrupted is found again as it was found then.
    pub fn of_other_runs(&self) -> Result<Vec<PutAway>, StoreError> {
        let failed = || self.store.context("read what is put away");
        let mut statement = self
            .store
            .connection
            .prepare_cached(
                "SELECT candidate, kind, detail FROM quarantined WHERE library = ?1 AND machine = ?2 AND run <> ?3 ORDER BY candidate",
            )
            .map_err(failed())?;
        let rows = statement
            .query_map(params![self.library, self.machine, self.run], |row| {
                Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?))
            })
            .map_err(failed())?;
        let mut all = Vec::new();
        for row in rows {
            let (candidate, kind, detail): (String, String, String) = row.map_err(failed())?;
            let kind = serde_json::from_str(&kind).map_err(|_| {
                self.store
                    .damaged(format!("quarantined: `{kind}` is no kind of a failure"))
            })?;
            all.push(PutAway {
                candidate,
                kind,
                detail,
            });
        }
        Ok(all)
    }

    /// Forgets all of them: they are tried again.
    pub fn forget(&self) -> Result<(), StoreError> {
        self.store
            .connection
            .execute(
                "DELETE FROM quarantined WHERE library = ?1 AND machine = ?2",
                params![self.library, self.machine],
            )
            .map_err(self.store.context("forget what is put away"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn what_failed_is_known_to_later_runs_on_this_library_and_machine() {
        let directory = kilter_fixtures::directory();
        let store = Store::open(&directory.path().join("kilter.db")).unwrap();
        let run = |name: &str| store.begin_anew(name, 1, "kilter tune", "library", 2).unwrap();
        let one = PutAway {
            candidate: "reduce_algorithm=3".to_owned(),
            kind: FaultKind::Crashed,
            detail: "signal 11".to_owned(),
        };
        let first = run("first").quarantined("A 1.0", "here");
        first.add(&one).unwrap();
        let again = PutAway {
            kind: FaultKind::Hung,
            ..one.clone()
        };
        first.add(&again).unwrap();
        assert_eq!(first.of_other_runs().unwrap(), [], "a run finds its own again");
        let second = run("second");
        let known = |library: &str, machine: &str| second.quarantined(library, machine).of_other_runs().unwrap();
        assert_eq!(known("A 1.0", "here"), [one]);
        assert_eq!(known("A 1.1", "here"), []);
        assert_eq!(known("A 1.0", "there"), []);
        second.quarantined("A 1.0", "here").forget().unwrap();
        assert_eq!(known("A 1.0", "here"), []);
    }
}
