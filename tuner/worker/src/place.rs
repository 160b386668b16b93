//! Where a rank stands among the others.

use kilter_protocol::plan::Element;

/// Where a rank stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// This rank.
    pub(crate) rank: usize,
    /// The number of ranks.
    pub(crate) p_ranks: usize,
    /// Whether all of them are on one node.
    pub(crate) one_node: bool,
    /// The root of rooted collectives.
    pub(crate) root: usize,
    /// What is combined.
    pub(crate) element: Element,
}
