//! The binomial tree made by halving the ranks: for any root, in rank order.
//!
//! A tree over ranks relative to the root wraps round the end of the ranks, so its subtrees are not always one piece of
//! memory, nor one run of operands. Halving the ranks themselves costs as many rounds and avoids both (Chan et al. 2007,
//! doi:10.1002/cpe.1206, describe their minimum-spanning-tree algorithms in this form).

use std::ops::Range;

/// More halvings than any number of ranks that fits in memory allows.
const LEVELS: usize = usize::BITS as usize;

/// A rank's place in the tree.
///
/// The ranks are halved until one is left; the leader of the whole is the root, of a half without it the lowest rank.
/// Where a half is larger by one, it is the leader's. For six ranks and root 4:
///
/// ```text
/// 0 1 2 | 3 4 5        4 leads all: its children are 0 (with 1 and 2), 5 and 3
/// 0 1|2   3 4|5        0 leads 0 1 2: its children are 2 and 1
/// 0|1     3|4
/// ```
///
/// A subtree is always a run of consecutive ranks. Children and their parent's ranks alternate as operands must: smallest
/// first, each child's subtree lies directly beside what is combined already, on its left or on its right.
#[derive(Debug, Clone)]
pub struct Halving {
    /// The rank's parent; none for the root.
    pub parent: Option<usize>,
    /// The ranks of its subtree.
    pub subtree: Range<usize>,
    children: [Range<usize>; LEVELS],
    child_count: usize,
}

impl Halving {
    /// The place of `rank` among `p` ranks.
    #[must_use]
    pub fn new(rank: usize, root: usize, p: usize) -> Halving {
        let mut place = Halving {
            parent: None,
            subtree: 0..p,
            children: [const { 0..0 }; LEVELS],
            child_count: 0,
        };
        let (mut ranks, mut leader) = (0..p, root);
        while ranks.len() > 1 {
            let larger = ranks.len().div_ceil(2);
            let (low, high) = if leader < ranks.start + larger {
                let middle = ranks.start + larger;
                (ranks.start..middle, middle..ranks.end)
            } else {
                let middle = ranks.end - larger;
                (ranks.start..middle, middle..ranks.end)
            };
            let (own, other) = if low.contains(&leader) {
                (low, high)
            } else {
                (high, low)
            };
            if other.contains(&rank) {
                place.parent = Some(leader);
                place.subtree = other.clone();
                leader = other.start;
                ranks = other;
            } else {
                if rank == leader {
                    place.children[place.child_count] = other;
                    place.child_count += 1;
                }
                ranks = own;
            }
        }
        place
    }

    /// The ranks of each child's subtree, largest first; the child is the lowest of them.
    #[must_use]
    pub fn children(&self) -> &[Range<usize>] {
        &self.children[..self.child_count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::ceil_log2;

    fn places() -> impl Iterator<Item = (usize, usize, Vec<Halving>)> {
        (1..40)
            .flat_map(|p| (0..p).map(move |root| (p, root, (0..p).map(|rank| Halving::new(rank, root, p)).collect())))
    }

    #[test]
    fn every_rank_but_the_root_is_the_child_of_its_parent() {
        for (p, root, places) in places() {
            for (rank, place) in places.iter().enumerate() {
                assert!(place.subtree.contains(&rank));
                match place.parent {
                    None => assert_eq!((rank, &place.subtree), (root, &(0..p))),
                    Some(parent) => {
                        assert_eq!(rank, place.subtree.start, "p = {p}, root {root}");
                        assert!(places[parent].children().contains(&place.subtree));
                    }
                }
                for child in place.children() {
                    assert_eq!(places[child.start].parent, Some(rank));
                }
            }
        }
    }

    #[test]
    fn operands_stay_in_rank_order() {
        for (p, root, places) in places() {
            for (rank, place) in places.iter().enumerate() {
                let mut held = rank..rank + 1;
                for child in place.children().iter().rev() {
                    held = if child.end == held.start {
                        child.start..held.end
                    } else {
                        assert_eq!(held.end, child.start, "rank {rank} of {p}, root {root}");
                        held.start..child.end
                    };
                }
                assert_eq!(held, place.subtree);
            }
        }
    }

    #[test]
    fn rounds_are_as_few_as_can_be_and_the_root_is_busy_in_all() {
        for (p, root, places) in places() {
            assert_eq!(places[root].children().len(), ceil_log2(p) as usize);
            // When a rank has the data, if it is sent to one child after the other.
            let mut arrival = vec![None; p];
            arrival[root] = Some(0);
            for _ in 0..p {
                for (rank, place) in places.iter().enumerate() {
                    for (turn, child) in place.children().iter().enumerate() {
                        arrival[child.start] = arrival[rank].map(|at| at + turn + 1);
                    }
                }
            }
            assert!(
                arrival
                    .iter()
                    .all(|at| at.is_some_and(|at| at <= ceil_log2(p) as usize))
            );
        }
    }
}
