//! The evidence that selections ran.

use std::cell::RefCell;
use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_model::deployment::Selection;

/// Evidence of all rounds of a run so far.
#[derive(Debug, Default)]
pub struct Proofs {
    /// Messages of a selection when it was switched in a running job, by cell and selection.
    sent: RefCell<BTreeMap<(Collective, u64, Selection), String>>,
    /// The reason why nothing can be counted here, once it is known.
    uncountable: RefCell<Option<String>>,
}

impl Proofs {
    /// Keeps what a selection sent when it was switched in a running job.
    pub(crate) fn keep(&self, (collective, bytes): (Collective, u64), selection: &Selection, sent: String) {
        let key = (collective, bytes, selection.clone());
        self.sent.borrow_mut().insert(key, sent);
    }

    /// Messages of a selection when it was switched in a running job, by cell and selection.
    pub(crate) fn sent(&self, (collective, bytes): (Collective, u64), selection: &Selection) -> Option<String> {
        let key = (collective, bytes, selection.clone());
        self.sent.borrow().get(&key).cloned()
    }

    /// Keeps the reason why nothing can be counted here.
    pub(crate) fn give_up(&self, why: &str) {
        self.uncountable.replace(Some(why.to_owned()));
    }

    /// The reason why nothing can be counted here, once it is known.
    pub(crate) fn uncountable(&self) -> Option<String> {
        self.uncountable.borrow().clone()
    }
}
