//! Position of a rank among the others.

use kilter_protocol::plan::Operand;

/// Position of a rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// This rank.
    pub(crate) rank: usize,
    /// The number of ranks.
    pub(crate) p_ranks: usize,
    /// True if all of them are on one node.
    pub(crate) one_node: bool,
    /// The root of rooted collectives.
    pub(crate) root: usize,
    /// Elements that are combined, and how.
    pub(crate) operand: Operand,
}
