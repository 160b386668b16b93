//! Candidates that hung, crashed or delivered wrong data: never proposed again in this run, and reported.

use std::cell::RefCell;
use std::collections::BTreeMap;

use kilter_bench::progress::Progress;
use kilter_model::plan::is_candidate;
use kilter_model::report::Quarantined;
use kilter_protocol::fault::{Fault, FaultKind};

/// The list, by candidate id.
#[derive(Debug, Default)]
pub struct Quarantine {
    entries: RefCell<BTreeMap<String, Quarantined>>,
}

impl Quarantine {
    /// Puts a candidate away; the first reason is kept.
    pub fn add(&self, id: &str, what: FaultKind, detail: &str) {
        self.entries
            .borrow_mut()
            .entry(id.to_owned())
            .or_insert_with(|| Quarantined {
                id: id.to_owned(),
                what,
                detail: detail.to_owned(),
            });
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
        self.entries.borrow().contains_key(id)
    }

    /// The fault for which a candidate is there.
    #[must_use]
    pub fn fault(&self, id: &str) -> Option<FaultKind> {
        self.entries.borrow().get(id).map(|entry| entry.what)
    }

    /// All entries, for the report.
    #[must_use]
    pub fn list(&self) -> Vec<Quarantined> {
        self.entries.borrow().values().cloned().collect()
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
