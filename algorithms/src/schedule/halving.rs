//! The binomial tree made by halving the ranks: for any root, in rank order.
//!
//! A tree over ranks relative to the root wraps round the end of the ranks, so its subtrees are not always one piece of
//! memory, nor one run of operands. Halving the ranks themselves costs as many rounds and avoids both (Chan et al. 2007,
//! doi:10.1002/cpe.1206, describe their minimum-spanning-tree algorithms in this form).

use std::ops::Range;

/// A rank's place in the tree.
///
/// The ranks are halved until one is left. The leader of all ranks is the root; the leader of a half without the root is its
/// lowest rank. If the halves differ by one rank, the leader's half is the larger one. Example with six ranks and root 4:
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
    rank: usize,
}

/// Both halves of two or more ranks: the leader's, then the other one.
#[inline]
fn halves(ranks: &Range<usize>, leader: usize) -> (Range<usize>, Range<usize>) {
    let larger = ranks.len().div_ceil(2);
    let middle = ranks.start + larger;
    if leader < middle {
        (ranks.start..middle, middle..ranks.end)
    } else {
        let middle = ranks.end - larger;
        (middle..ranks.end, ranks.start..middle)
    }
}

impl Halving {
    /// The place of `rank` among `p` ranks.
    #[inline]
    #[must_use]
    pub fn new(rank: usize, root: usize, p: usize) -> Halving {
        let mut place = Halving {
            parent: None,
            subtree: 0..p,
            rank,
        };
        let (mut ranks, mut leader) = (0..p, root);
        while rank != leader {
            let (own, other) = halves(&ranks, leader);
            if other.contains(&rank) {
                place.parent = Some(leader);
                leader = other.start;
                ranks = other;
            } else {
                ranks = own;
            }
        }
        place.subtree = ranks;
        place
    }

    /// The ranks of each child's subtree, largest first; the child is the lowest of them.
    #[inline]
    #[must_use]
    pub fn children(&self) -> Children {
        Children {
            ranks: self.subtree.clone(),
            leader: self.rank,
            left: super::ceil_log2(self.subtree.len()) as usize,
        }
    }
}

/// The children of a rank, found by halving its ranks while they are asked for: nothing is kept, which a call of a few bytes would
/// feel.
#[derive(Debug, Clone)]
pub struct Children {
    /// The leader's own with those of the children to come.
    ranks: Range<usize>,
    leader: usize,
    left: usize,
}

impl Iterator for Children {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        self.left = self.left.checked_sub(1)?;
        let (own, other) = halves(&self.ranks, self.leader);
        self.ranks = own;
        Some(other)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl DoubleEndedIterator for Children {
    #[inline]
    fn next_back(&mut self) -> Option<Range<usize>> {
        self.left = self.left.checked_sub(1)?;
        let mut ranks = self.ranks.clone();
        for _ in 0..self.left {
            ranks = halves(&ranks, self.leader).0;
        }
        Some(halves(&ranks, self.leader).1)
    }
}

impl ExactSizeIterator for Children {}

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
                        assert!(places[parent].children().any(|child| child == place.subtree));
                    }
                }
                for child in place.children() {
                    assert_eq!(places[child.start].parent, Some(rank));
                }
            }
        }
    }

    #[test]
    fn children_are_the_same_from_both_ends() {
        for (_, _, places) in places() {
            for place in places {
                let forward: Vec<_> = place.children().collect();
                let mut backward: Vec<_> = place.children().rev().collect();
                backward.reverse();
                assert_eq!(forward, backward);
                assert_eq!(forward.len(), place.children().len());
                let mut ends = place.children();
                let from_ends = [ends.next(), ends.next_back(), ends.next()];
                let mut expected = forward.clone();
                let first = (!expected.is_empty()).then(|| expected.remove(0));
                let last = expected.pop();
                assert_eq!(from_ends, [first, last, expected.first().cloned()]);
            }
        }
    }

    #[test]
    fn operands_stay_in_rank_order() {
        for (p, root, places) in places() {
            for (rank, place) in places.iter().enumerate() {
                let mut held = rank..rank + 1;
                for child in place.children().rev() {
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
            // Time at which a rank has the data, if they are sent to one child after the other.
            let mut arrival = vec![None; p];
            arrival[root] = Some(0);
            for _ in 0..p {
                for (rank, place) in places.iter().enumerate() {
                    for (turn, child) in place.children().enumerate() {
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
