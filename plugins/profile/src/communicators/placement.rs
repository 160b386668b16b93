//! The ranks of one communicator on their nodes.

use std::fmt;

use super::{Bounds, Communicators};

/// The ranks of one communicator and how they lie on nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placement {
    /// Ranks, at least 1.
    pub ranks: usize,
    /// Nodes on which there are ranks of it.
    pub nodes: usize,
    /// Ranks on the node that has the fewest.
    pub min_ranks_per_node: usize,
    /// Ranks on the node that has the most.
    pub max_ranks_per_node: usize,
}

impl Placement {
    /// So many ranks on each of so many nodes.
    #[must_use]
    pub const fn even(nodes: usize, ranks_per_node: usize) -> Placement {
        Placement {
            ranks: nodes.saturating_mul(ranks_per_node),
            nodes,
            min_ranks_per_node: ranks_per_node,
            max_ranks_per_node: ranks_per_node,
        }
    }

    /// Ranks by the names of their nodes, one for each rank; `None` without ranks. Equal names are one node, in whatever order they come.
    #[must_use]
    pub fn of<N: Ord>(nodes: impl IntoIterator<Item = N>) -> Option<Placement> {
        let mut nodes: Vec<N> = nodes.into_iter().collect();
        nodes.sort_unstable();
        let on_each = || nodes.chunk_by(|one, next| one == next).map(<[N]>::len);
        Some(Placement {
            ranks: nodes.len(),
            nodes: on_each().count(),
            min_ranks_per_node: on_each().min()?,
            max_ranks_per_node: on_each().max()?,
        })
    }
}

impl fmt::Display for Placement {
    /// `16 ranks on 8 nodes with 2 each`, `7 ranks on 2 nodes with 3 to 4 ranks on each node`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = Communicators {
            ranks: Bounds::exactly(self.ranks),
            nodes: Bounds::exactly(self.nodes),
            ranks_per_node: Bounds::between(self.min_ranks_per_node, self.max_ranks_per_node),
        };
        exact.fmt(f)
    }
}
