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

use std::fmt;

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

/// Smallest and largest number that are allowed, both inclusive; a bound that is not stated is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Smallest number, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub min: Option<usize>,
    /// Largest number, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max: Option<usize>,
}

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

impl Bounds {
    /// Exactly one number.
    #[must_use]
    pub const fn exactly(number: usize) -> Bounds {
        Bounds::between(number, number)
    }

    /// The numbers from the first to the second, both inclusive.
    #[must_use]
    pub const fn between(min: usize, max: usize) -> Bounds {
        Bounds {
            min: Some(min),
            max: Some(max),
        }
    }

    /// True if any number is allowed.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.min.is_none() && self.max.is_none()
    }

    /// True if the number is allowed.
    #[must_use]
    pub fn contains(&self, number: usize) -> bool {
        (self.low()..=self.high()).contains(&number)
    }

    /// The only number that is allowed.
    #[must_use]
    pub fn only(&self) -> Option<usize> {
        self.min.filter(|min| self.max == Some(*min))
    }

    /// Smallest number that is allowed; there is no communicator without ranks.
    #[must_use]
    pub fn low(&self) -> usize {
        self.min.unwrap_or(1).max(1)
    }

    /// Largest number that is allowed.
    #[must_use]
    pub fn high(&self) -> usize {
        self.max.unwrap_or(usize::MAX)
    }

    /// Numbers that both allow.
    fn and(&self, other: &Bounds) -> Bounds {
        let least = |a: Option<usize>, b: Option<usize>| a.into_iter().chain(b).min();
        Bounds {
            min: self.min.max(other.min),
            max: least(self.max, other.max),
        }
    }

    /// The number in words, such as `8 ranks`, `8 to 16 ranks`, `at least 8 ranks`; nothing where any is allowed.
    fn words(&self, thing: &str) -> Option<String> {
        let several = |number: usize| if number == 1 { "" } else { "s" };
        Some(match (self.min, self.max) {
            (None, None) => return None,
            (Some(min), Some(max)) if min == max => format!("{min} {thing}{}", several(min)),
            (Some(min), Some(max)) => format!("{min} to {max} {thing}s"),
            (Some(min), None) => format!("at least {min} {thing}{}", several(min)),
            (None, Some(max)) => format!("at most {max} {thing}{}", several(max)),
        })
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn communicators(ranks: Bounds, nodes: Bounds, ranks_per_node: Bounds) -> Communicators {
        Communicators {
            ranks,
            nodes,
            ranks_per_node,
        }
    }

    const ANY: Bounds = Bounds { min: None, max: None };

    #[test]
    fn they_are_told_in_words() {
        let least = |min| Bounds {
            min: Some(min),
            max: None,
        };
        let most = |max| Bounds {
            min: None,
            max: Some(max),
        };
        for (one, words) in [
            (Communicators::default(), "any ranks"),
            (Communicators::of_ranks(1), "1 rank"),
            (Communicators::of_layout(8, 2), "16 ranks on 8 nodes with 2 each"),
            (Communicators::of_layout(1, 4), "4 ranks on 1 node with 4 each"),
            (
                communicators(Bounds::between(8, 16), Bounds::exactly(8), ANY),
                "8 to 16 ranks on 8 nodes",
            ),
            (
                communicators(ANY, ANY, Bounds::exactly(1)),
                "any ranks with 1 rank on each node",
            ),
            (
                communicators(least(2), most(1), Bounds::between(2, 4)),
                "at least 2 ranks on at most 1 node with 2 to 4 ranks on each node",
            ),
        ] {
            assert_eq!(one.to_string(), words);
        }
        let uneven = Placement::of(["a", "b", "a", "b", "b"]).unwrap();
        assert_eq!(uneven.to_string(), "5 ranks on 2 nodes with 2 to 3 ranks on each node");
    }

    #[test]
    fn a_placement_is_counted_whatever_the_order_of_ranks() {
        assert_eq!(Placement::of([7, 3, 7, 3]), Some(Placement::even(2, 2)));
        assert_eq!(Placement::of([1, 1, 1]), Some(Placement::even(1, 3)));
        assert_eq!(Placement::of(Vec::<u8>::new()), None);
    }

    /// A node with fewer or more ranks than allowed is enough to be none of them.
    #[test]
    fn every_node_counts() {
        let two = communicators(ANY, ANY, Bounds::exactly(2));
        assert!(two.contains(&Placement::even(3, 2)));
        let uneven = Placement::of(["a", "a", "b"]).unwrap();
        assert!(!two.contains(&uneven));
        assert!(communicators(ANY, ANY, Bounds::between(1, 2)).contains(&uneven));
    }

    #[test]
    fn sizes_leave_out_what_lies_between() {
        let pairs = |nodes| communicators(ANY, nodes, Bounds::exactly(2));
        assert_eq!(pairs(Bounds::between(2, 4)).sizes(), [(4, 4), (6, 6), (8, 8)]);
        assert_eq!(Communicators::default().sizes(), [(1, usize::MAX)]);
        assert_eq!(Communicators::of_ranks(7).sizes(), [(7, 7)]);
        let up_to = communicators(Bounds::between(2, 8), ANY, Bounds::exactly(3));
        assert_eq!(up_to.sizes(), [(3, 3), (6, 6)]);
    }

    #[test]
    fn what_no_communicator_can_be_is_found() {
        for impossible in [
            communicators(Bounds::exactly(7), ANY, Bounds::exactly(2)),
            communicators(Bounds::exactly(16), Bounds::exactly(3), Bounds::exactly(2)),
            communicators(Bounds::exactly(2), Bounds::exactly(3), ANY),
            communicators(ANY, Bounds::between(3, 2), ANY),
            communicators(ANY, ANY, Bounds::between(2, 1)),
            communicators(Bounds::exactly(0), ANY, ANY),
        ] {
            assert_eq!(impossible.smallest(), None, "{impossible}");
        }
        let huge = Bounds::exactly(usize::MAX);
        assert_eq!(communicators(ANY, huge, huge).smallest(), None);
    }

    fn bounds() -> impl Strategy<Value = Bounds> {
        let edge = prop_oneof![Just(None), (1..9_usize).prop_map(Some)];
        (edge.clone(), edge).prop_map(|(min, max)| Bounds { min, max })
    }

    fn any_communicators() -> impl Strategy<Value = Communicators> {
        (bounds(), bounds(), bounds()).prop_map(|(ranks, nodes, per_node)| communicators(ranks, nodes, per_node))
    }

    /// All placements of up to 12 ranks, as far as they are told apart.
    fn placements() -> impl Iterator<Item = Placement> {
        (1..=12).flat_map(|ranks: usize| {
            (1..=ranks).flat_map(move |nodes| {
                (1..=ranks / nodes).flat_map(move |fewest| {
                    (ranks.div_ceil(nodes)..=ranks).filter_map(move |most| {
                        let between = if nodes == 1 {
                            fewest == ranks && most == ranks
                        } else {
                            let others = nodes - 2;
                            fewest <= most
                                && (fewest + most + others * fewest..=fewest + most + others * most).contains(&ranks)
                                && (fewest < most || fewest * nodes == ranks)
                        };
                        between.then_some(Placement {
                            ranks,
                            nodes,
                            min_ranks_per_node: fewest,
                            max_ranks_per_node: most,
                        })
                    })
                })
            })
        })
    }

    proptest! {
        /// Two conditions have a communicator in common exactly where some placement fits both, and the one that is named does.
        #[test]
        fn common_ones_are_found_where_there_are_any(one in any_communicators(), other in any_communicators()) {
            let fits = |placement: &Placement| one.contains(placement) && other.contains(placement);
            match one.common(&other) {
                Some(placement) => prop_assert!(fits(&placement), "{placement}"),
                None => prop_assert_eq!(placements().find(fits), None),
            }
            prop_assert_eq!(one.common(&other), other.common(&one));
        }

        /// The sizes are those of the placements.
        #[test]
        fn sizes_are_those_that_a_communicator_has(one in any_communicators()) {
            let sizes = one.sizes();
            for ranks in 1..=12 {
                let is_one = placements().any(|placement| placement.ranks == ranks && one.contains(&placement));
                let is_listed = sizes.iter().any(|(first, last)| (*first..=*last).contains(&ranks));
                prop_assert_eq!(is_one, is_listed, "{} ranks in {:?}", ranks, &sizes);
            }
            prop_assert!(sizes.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
        }

        /// A written text is read back.
        #[test]
        fn text_is_read_back(one in any_communicators()) {
            let text = serde_json::to_string(&one).unwrap();
            prop_assert_eq!(serde_json::from_str::<Communicators>(&text).unwrap(), one);
        }
    }
}
