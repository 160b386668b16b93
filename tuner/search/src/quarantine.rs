//! Candidates that hung, crashed or delivered wrong data: never proposed again in this run, and reported.

use std::cell::RefCell;
use std::collections::BTreeMap;

use kilter_model::report::Quarantined;
use kilter_protocol::fault::FaultKind;

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
