//! The communicators that a decision holds for, told by how many ranks they have and how these lie on nodes. Pure.
//!
//! [`Communicators`] is the condition, [`Placement`] the facts about one communicator. What a condition does not state, it does not ask for.
//!
//! ```
//! # use kilter_profile::{Bounds, Communicators, Placement};
//! let eight_by_two = Communicators::of_layout(8, 2);
//! assert_eq!(eight_by_two.to_string(), "16 ranks on 8 nodes with 2 each");
//! assert!(eight_by_two.contains(&Placement::even(8, 2)));
//! assert!(!eight_by_two.contains(&Placement::even(16, 1)));
//!
//! let range = Communicators { ranks: Bounds::between(8, 16), ..Communicators::default() };
//! assert_eq!(range.common(&eight_by_two), Some(Placement::even(8, 2)));
//! ```

mod bounds;
mod placement;
#[cfg(test)]
mod tests;

use std::fmt;

pub use bounds::Bounds;
pub use placement::Placement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ranges of [`Communicators::sizes`] at most: a table of a library has no use for more.
pub const MOST_SIZES: usize = 4096;

/// The communicators that a decision holds for. What is not stated may be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Communicators {
    /// Ranks of the communicator.
    #[serde(default, skip_serializing_if = "Bounds::is_open")]
    pub ranks: Bounds,
    /// Nodes on which it has ranks.
    #[serde(default, skip_serializing_if = "Bounds::is_open")]
    pub nodes: Bounds,
    /// Ranks on each of these nodes: those of every node must lie within.
    #[serde(default, skip_serializing_if = "Bounds::is_open")]
    pub ranks_per_node: Bounds,
}

impl Communicators {
    /// Communicators of so many ranks, however these lie.
    #[must_use]
    pub fn of_ranks(ranks: usize) -> Communicators {
        Communicators {
            ranks: Bounds::exactly(ranks),
            ..Communicators::default()
        }
    }

    /// Communicators with so many ranks on each of so many nodes.
    #[must_use]
    pub fn of_layout(nodes: usize, ranks_per_node: usize) -> Communicators {
        Communicators {
            ranks: Bounds::exactly(nodes.saturating_mul(ranks_per_node)),
            nodes: Bounds::exactly(nodes),
            ranks_per_node: Bounds::exactly(ranks_per_node),
        }
    }

    /// True if the decision holds for this communicator.
    #[must_use]
    pub fn contains(&self, placement: &Placement) -> bool {
        self.ranks.contains(placement.ranks)
            && self.nodes.contains(placement.nodes)
            && self.ranks_per_node.contains(placement.min_ranks_per_node)
            && self.ranks_per_node.contains(placement.max_ranks_per_node)
    }

    /// True if a communicator of so many ranks can be among them, by what its ranks alone say.
    #[must_use]
    pub fn may_have(&self, ranks: usize) -> bool {
        self.ranks.contains(ranks)
    }

    /// True if more than the number of ranks decides.
    #[must_use]
    pub fn states_nodes(&self) -> bool {
        !self.nodes.is_open() || !self.ranks_per_node.is_open()
    }

    /// The communicators that both hold for.
    #[must_use]
    pub fn and(&self, other: &Communicators) -> Communicators {
        Communicators {
            ranks: self.ranks.and(&other.ranks),
            nodes: self.nodes.and(&other.nodes),
            ranks_per_node: self.ranks_per_node.and(&other.ranks_per_node),
        }
    }

    /// A communicator that both hold for, the one with the fewest nodes and ranks; `None` if there is none.
    #[must_use]
    pub fn common(&self, other: &Communicators) -> Option<Placement> {
        self.and(other).smallest()
    }

    /// Smallest and largest number of ranks that nodes and ranks per node leave.
    #[must_use]
    pub fn ranks_between(&self) -> (usize, usize) {
        let on_nodes = |nodes: usize, ranks: usize| nodes.saturating_mul(ranks);
        (
            self.ranks
                .low()
                .max(on_nodes(self.nodes.low(), self.ranks_per_node.low())),
            self.ranks
                .high()
                .min(on_nodes(self.nodes.high(), self.ranks_per_node.high())),
        )
    }

    /// The numbers of ranks of these communicators, as ranges from the first to the last that ascend and do not touch: for what tells
    /// communicators apart by their ranks alone. With 2 ranks on each of 2 to 3 nodes these are 4 and 6. Where nothing bounds the nodes, the
    /// list ends after [`MOST_SIZES`].
    #[must_use]
    pub fn sizes(&self) -> Vec<(usize, usize)> {
        let mut sizes: Vec<(usize, usize)> = Vec::new();
        let Some(smallest) = self.smallest() else { return sizes };
        let (few, many) = (self.ranks_per_node.low(), self.ranks_per_node.high());
        for nodes in smallest.nodes..=self.nodes.high() {
            let first = self.ranks.low().max(nodes.saturating_mul(few));
            let last = self.ranks.high().min(nodes.saturating_mul(many));
            if first > self.ranks.high() || first == usize::MAX {
                break;
            }
            if let Some((_, end)) = sizes.last_mut().filter(|(_, end)| first <= end.saturating_add(1)) {
                // More nodes leave more room: where two ranges touch, so do all behind them.
                *end = self.ranks.high().min(self.nodes.high().saturating_mul(many));
                break;
            }
            sizes.push((first, last));
            if last == self.ranks.high() || sizes.len() >= MOST_SIZES {
                break;
            }
        }
        sizes
    }

    /// The communicator with the fewest nodes and ranks of those that it holds for; `None` if it holds for none, such as 7 ranks
    /// with 2 on each node.
    #[must_use]
    pub fn smallest(&self) -> Option<Placement> {
        let (few, many) = (self.ranks_per_node.low(), self.ranks_per_node.high());
        if few > many {
            return None;
        }
        // On `nodes` nodes there are from `nodes * few` to `nodes * many` ranks, each number of them.
        let nodes = self.nodes.low().max(self.ranks.low().div_ceil(many));
        let least = nodes.checked_mul(few)?;
        let ranks = self.ranks.low().max(least);
        if nodes > self.nodes.high() || ranks > self.ranks.high() || ranks > nodes.saturating_mul(many) {
            return None;
        }
        Some(Placement {
            ranks,
            nodes,
            min_ranks_per_node: ranks / nodes,
            max_ranks_per_node: ranks.div_ceil(nodes),
        })
    }
}

impl fmt::Display for Communicators {
    /// `16 ranks on 8 nodes with 2 each`, `8 to 16 ranks`, `any ranks on 1 node`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.ranks.words("rank").unwrap_or_else(|| "any ranks".to_owned()))?;
        if let Some(nodes) = self.nodes.words("node") {
            write!(f, " on {nodes}")?;
        }
        match self.ranks_per_node.words("rank") {
            None => Ok(()),
            Some(_) if self.ranks_per_node.only().is_some() && !self.nodes.is_open() => {
                write!(f, " with {} each", self.ranks_per_node.low())
            }
            Some(words) => write!(f, " with {words} on each node"),
        }
    }
}
