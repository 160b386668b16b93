//! The evidence that selections ran.

use std::cell::RefCell;
use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_model::deployment::Selection;

/// Evidence of all rounds of a run so far.
#[derive(Debug, Default)]
pub struct Proofs {
    /// Messages of a selection when it was switched in a running job, by cell and selection.
    pub(crate) sent: RefCell<BTreeMap<(Collective, u64, Selection), String>>,
    /// The reason why nothing can be counted here, once it is known.
    pub(crate) uncountable: RefCell<Option<String>>,
}
