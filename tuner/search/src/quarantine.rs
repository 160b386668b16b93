//! Candidates that hung, crashed or delivered wrong data: never proposed again in this run, nor in a later one on this library and machine, and
//! reported.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use kilter_bench::progress::Progress;
use kilter_bench::store::{self, PutAway, StoreError};
use kilter_model::plan::is_candidate;
use kilter_model::report::Quarantined;
use kilter_protocol::fault::{Fault, FaultKind};

/// The list, by candidate id.
#[derive(Default)]
pub struct Quarantine {
    entries: RefCell<BTreeMap<String, Quarantined>>,
    /// Entries of earlier runs that this one has asked for, or has not.
    earlier: BTreeSet<String>,
    asked: RefCell<BTreeSet<String>>,
    kept: Option<Kept>,
}

/// The place where entries outlive the run.
struct Kept {
    table: store::Quarantined,
    progress: Rc<Progress>,
}

/// True if a later run would meet the same failure, whatever it measures.
fn lasts(what: FaultKind) -> bool {
    matches!(what, FaultKind::Hung | FaultKind::Crashed | FaultKind::WrongData)
}

impl Quarantine {
    /// The candidates that earlier runs have put away, to which this one adds; `retries` forgets theirs.
    ///
    /// # Errors
    /// The database's.
    pub fn kept(table: store::Quarantined, retries: bool, progress: Rc<Progress>) -> Result<Quarantine, StoreError> {
        if retries {
            table.forget()?;
        }
        let mut quarantine = Quarantine::default();
        for PutAway {
            candidate,
            kind,
            detail,
        } in table.of_other_runs()?
        {
            let entry = Quarantined {
                id: candidate.clone(),
                what: kind,
                detail: format!(
                    "{detail} (in an earlier run on this library and machine; --retry-quarantined tries it again)"
                ),
            };
            quarantine.earlier.insert(candidate.clone());
            quarantine.entries.get_mut().insert(candidate, entry);
        }
        quarantine.kept = Some(Kept { table, progress });
        Ok(quarantine)
    }

    /// Puts a candidate away; the first reason is kept.
    pub fn add(&self, id: &str, what: FaultKind, detail: &str) {
        if self.entries.borrow().contains_key(id) {
            return;
        }
        let entry = Quarantined {
            id: id.to_owned(),
            what,
            detail: detail.to_owned(),
        };
        self.entries.borrow_mut().insert(id.to_owned(), entry);
        let Some(kept) = self.kept.as_ref().filter(|_| lasts(what)) else {
            return;
        };
        let stored = kept.table.add(&PutAway {
            candidate: id.to_owned(),
            kind: what,
            detail: detail.to_owned(),
        });
        if let Err(error) = stored {
            kept.progress
                .warn(&format!("later runs will not know that `{id}` {what}: {error}"));
        }
    }

    /// Puts a candidate away that failed its self-check, or that says that it cannot run here, with a warning; the library's own failures are
    /// warnings only.
    pub fn add_failed(&self, item: &str, fault: &Fault, progress: &Progress) {
        let what = fault.kind();
        if is_candidate(item) {
            progress.warn(&format!(
                "candidate `{item}` {what} and is not proposed again: {}",
                fault.detail()
            ));
            self.add(item, what, &fault.detail().to_string());
        } else {
            progress.warn(&format!(
                "the library's own `{item}` {what}: {}; report it to its developers",
                fault.detail()
            ));
        }
    }

    /// True if `id` is in quarantine.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.fault(id).is_some()
    }

    /// The fault for which a candidate is there.
    #[must_use]
    pub fn fault(&self, id: &str) -> Option<FaultKind> {
        let found = self.entries.borrow().get(id).map(|entry| entry.what);
        if found.is_some() && self.earlier.contains(id) {
            self.asked.borrow_mut().insert(id.to_owned());
        }
        found
    }

    /// The entries of this run, and those of earlier runs for which something was not tried, for the report.
    #[must_use]
    pub fn list(&self) -> Vec<Quarantined> {
        let asked = self.asked.borrow();
        let entries = self.entries.borrow();
        let concerns = |entry: &&Quarantined| !self.earlier.contains(&entry.id) || asked.contains(&entry.id);
        entries.values().filter(concerns).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use kilter_model::plan::DEFAULT;

    use super::*;

    #[test]
    fn only_candidates_are_put_away() {
        let (quarantine, progress) = (Quarantine::default(), Progress::new(true));
        let fault = Fault::BrokenBarrier;
        quarantine.add_failed("bcast.binomial", &fault, &progress);
        quarantine.add_failed(DEFAULT, &fault, &progress);
        let put_away: Vec<String> = quarantine.list().into_iter().map(|entry| entry.id).collect();
        assert_eq!(put_away, ["bcast.binomial"]);
        let warnings = progress.warnings();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[1].contains("report it to its developers"), "{warnings:?}");
    }
}
