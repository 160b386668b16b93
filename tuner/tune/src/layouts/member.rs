//! A layout with its run, which the merge, the proof and its launches share.

use kilter_model::layout::Layout;
use kilter_search::context::Context;

use crate::Tuned;

/// A layout that was tuned.
pub struct Member<'a, 'c> {
    /// The layout.
    pub layout: Layout,
    /// Its run.
    pub context: &'a Context<'c>,
    /// Result of the loop; from the proof on, the settings in force with the merged files.
    pub tuned: Tuned,
}
