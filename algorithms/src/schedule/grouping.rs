//! The k-nomial tree made by grouping the ranks: [`super::Splitting`] from below.
//!
//! Splitting makes parts of equal length; grouping makes groups of `radix` ranks that follow each other, groups of as many groups, and so on.
//! `radix` ranks of a node in order, or a power of it, are one group, so that the first levels stay on the node. Ranks that are left over
//! make a smaller last group. Subtrees are runs of ranks for any root, as there.

use std::ops::Range;

/// A rank's place in the tree.
///
/// The leader of a group is the root, or its lowest rank where it has no root. For eleven ranks, radix 3 and root 4:
///
/// ```text
/// 0 1 2 | 3 4 5 | 6 7 8 | 9 10      4 leads 3 and 5; 0, 6 and 9 lead the other groups
/// 0 1 2   3 4 5   6 7 8 | 9 10      4 leads 0 and 6
/// 0 1 2   3 4 5   6 7 8   9 10      4 leads 9
/// ```
#[derive(Debug, Clone)]
pub struct Grouping {
    /// The rank's parent; none for the root.
    pub parent: Option<usize>,
    /// The ranks of its subtree.
    pub subtree: Range<usize>,
    rank: usize,
    radix: usize,
    p: usize,
    levels: u32,
}

/// The group of so many ranks that a rank is in; the last one may be shorter.
#[inline]
fn group(rank: usize, span: usize, p: usize) -> Range<usize> {
    // A call of few bytes would feel a division on each level.
    let start = if span.is_power_of_two() {
        rank & !(span - 1)
    } else {
        rank / span * span
    };
    start..start.saturating_add(span).min(p)
}

impl Grouping {
    /// The place of `rank` among `p` ranks; `radix` is at least 2.
    #[inline]
    #[must_use]
    pub fn new(rank: usize, root: usize, p: usize, radix: usize) -> Grouping {
        let (mut parent, mut subtree, mut span, mut levels) = (None, rank..rank + 1, 1_usize, 0);
        while subtree.len() < p {
            span = span.saturating_mul(radix);
            let around = group(rank, span, p);
            let leader = if around.contains(&root) { root } else { around.start };
            if leader != rank {
                parent = Some(leader);
                break;
            }
            subtree = around;
            levels += 1;
        }
        Grouping {
            parent,
            subtree,
            rank,
            radix,
            p,
            levels,
        }
    }

    /// The levels on which the rank leads a group, the smallest group first. A group of left-over ranks may have this rank alone.
    #[must_use]
    pub fn levels(&self) -> Range<u32> {
        0..self.levels
    }

    /// The ranks of each child's subtree on a level; the child is the lowest of them. From first to last, each lies directly beside the rank,
    /// those of the levels below and those before.
    pub fn children_on(&self, level: u32) -> impl Iterator<Item = Range<usize>> + '_ {
        let span = self.radix.saturating_pow(level);
        let own = group(self.rank, span, self.p);
        let around = group(self.rank, span.saturating_mul(self.radix), self.p);
        let below = (around.start..own.start).step_by(span).rev();
        let above = (own.end..around.end).step_by(span);
        below.chain(above).map(move |start| group(start, span, self.p))
    }

    /// The ranks of each child's subtree on all levels, smallest first.
    pub fn children(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.levels().flat_map(|level| self.children_on(level))
    }
}

/// The ranks of the largest subtree that is not the root's; 0 for a rank alone.
#[must_use]
pub fn largest_group(p: usize, radix: usize) -> usize {
    let spans = std::iter::successors(Some(1_usize), |span| span.checked_mul(radix));
    spans.take_while(|span| *span < p).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{splitting_rounds, trees};

    fn places() -> impl Iterator<Item = (usize, usize, usize, Vec<Grouping>)> {
        trees::places(Grouping::new)
    }

    #[test]
    fn every_rank_but_the_root_is_the_child_of_its_parent() {
        trees::assert_parents(places().map(|(p, root, radix, places)| {
            let seen = places
                .iter()
                .map(|place| (place.parent, place.subtree.clone(), place.children().collect()));
            (p, root, radix, seen.collect())
        }));
    }

    #[test]
    fn no_subtree_but_the_roots_is_larger_than_the_largest_group() {
        for (p, root, radix, places) in places() {
            let mut others = places.iter().filter(|place| place.parent.is_some());
            assert!(
                others.all(|place| place.subtree.len() <= largest_group(p, radix)),
                "p = {p}, root {root}, radix {radix}"
            );
        }
    }

    /// So operands stay in order.
    #[test]
    fn children_lie_beside_what_is_there_already() {
        for (p, root, radix, places) in places() {
            for (rank, place) in places.iter().enumerate() {
                let mut held = rank..rank + 1;
                for child in place.children() {
                    held = if child.end == held.start {
                        child.start..held.end
                    } else {
                        assert_eq!(held.end, child.start, "rank {rank} of {p}, root {root}, radix {radix}");
                        held.start..child.end
                    };
                }
                assert_eq!(held, place.subtree);
            }
        }
    }

    /// Time at which a rank has combined its subtree, if its children's data come one after the other.
    fn ready(places: &[Grouping], rank: usize) -> usize {
        let children = places[rank].children();
        children.fold(0, |at, child| at.max(ready(places, child.start)) + 1)
    }

    #[test]
    fn a_reduction_takes_the_rounds_of_splitting_for_every_root() {
        for (p, root, radix, places) in places() {
            let rounds = splitting_rounds(p, radix);
            assert_eq!(ready(&places, root), rounds, "p = {p}, root {root}, radix {radix}");
            assert!(places[root].children().count() <= rounds);
        }
    }

    #[test]
    fn the_example_of_the_documentation() {
        let children = |rank| -> Vec<_> { Grouping::new(rank, 4, 11, 3).children().collect() };
        assert_eq!(children(4), [3..4, 5..6, 0..3, 6..9, 9..11]);
        assert_eq!(children(6), [7..8, 8..9]);
    }
}
