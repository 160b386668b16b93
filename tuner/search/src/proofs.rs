//! The evidence that selections ran.

use std::cell::RefCell;
use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_bench::launch::failure::JobFailure;
use kilter_model::deployment::Selection;

/// Reason why messages were not counted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Uncounted {
    /// The description of the library, which is named, has no counter.
    #[error("no message counter is known for {0}")]
    NoCounter(String),
    /// The launch does not have the settings with which messages are counted.
    #[error("messages cannot be counted: {0}")]
    NotSet(String),
    /// The launch failed.
    #[error("the launch that counts messages failed: {0}")]
    Failed(JobFailure),
    /// The budget ended.
    #[error("the budget ended before the messages of this cell were counted")]
    Budget,
    /// The launch told nothing of the cell.
    #[error("nothing was counted for this cell")]
    Untold,
}

/// Evidence of all rounds of a run so far.
#[derive(Debug, Default)]
pub struct Proofs {
    /// Messages of a selection when it was switched in a running job, by cell and selection.
    sent: RefCell<BTreeMap<(Collective, u64, Selection), String>>,
    /// The reason why nothing can be counted here, once it is known.
    uncountable: RefCell<Option<Uncounted>>,
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
    pub(crate) fn give_up(&self, why: &Uncounted) {
        self.uncountable.replace(Some(why.clone()));
    }

    /// The reason why nothing can be counted here, once it is known.
    pub(crate) fn uncountable(&self) -> Option<Uncounted> {
        self.uncountable.borrow().clone()
    }
}
