//! Candidates that are not reported, counted by reason.

use std::collections::BTreeMap;

use crate::model::finding::Reason;

/// Counts by reason.
#[derive(Debug, Default)]
pub(crate) struct Filters {
    pub(crate) counts: BTreeMap<Reason, u64>,
}

impl Filters {
    pub(crate) fn count(&mut self, reason: Reason) {
        self.add(reason, 1);
    }

    pub(crate) fn add(&mut self, reason: Reason, times: u64) {
        if times > 0 {
            *self.counts.entry(reason).or_default() += times;
        }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        for (reason, times) in &other.counts {
            self.add(*reason, *times);
        }
    }
}
