//! The k-nomial tree made by splitting the ranks: [`super::Halving`] with a radix.
//!
//! As there, the ranks themselves are split and not their distances to the root, so that every subtree is one run of
//! ranks for any root. A larger radix makes the tree flatter: fewer levels, more messages of a parent one after the
//! other (Chan et al. 2007, doi:10.1002/cpe.1206, for two; k-nomial trees as such in many libraries).

use std::ops::Range;

/// More splits than any number of ranks that fits in memory allows.
const LEVELS: usize = usize::BITS as usize;

/// A rank's place in the tree.
///
/// A run of ranks is split into `radix` parts whose lengths differ by at most one, until one rank is left; the leader of
/// the whole is the root, of a part without it the lowest rank. The leader's own part is one of the longer ones, and the
/// shorter of the others lie next to it; so the lengths met on a level are the same for every root. For eleven ranks,
/// radix 3 and root 5:
///
/// ```text
/// 0 1 2 3 | 4 5 6 7 | 8 9 10     5 leads all: its children are 0 and 8 with their parts, then 7 and 6, then 4
/// 0 1|2|3   4 5|6|7   8|9|10     0 leads 0 1 2 3: its children are 3 and 2, then 1
/// 0|1       4|5
/// ```
#[derive(Debug, Clone)]
pub struct Splitting {
    /// The rank's parent; none for the root.
    pub parent: Option<usize>,
    /// The ranks of its subtree.
    pub subtree: Range<usize>,
    rank: usize,
    radix: usize,
    /// The runs it leads, longest first: its subtree, its own part of that, ... as far as they have others to split off.
    runs: [Range<usize>; LEVELS],
    run_count: usize,
}

/// A run of ranks, split: lengths of the parts, and how many of them lie on each side of the leader's.
struct Split {
    own: Range<usize>,
    /// Ranks in a shorter part; a longer one has one more. 0 if there are no shorter ones.
    short: usize,
    short_below: usize,
    short_above: usize,
    long_below: usize,
    long_above: usize,
}

impl Split {
    fn new(run: &Range<usize>, leader: usize, radix: usize) -> Split {
        let (short, longer) = (run.len() / radix, run.len() % radix);
        // The leader's part is one of the longer ones, if there are any.
        let other_long = longer.saturating_sub(1);
        let own_length = short + usize::from(longer > 0);
        let other_short = if short == 0 { 0 } else { radix - 1 - other_long };
        // As few parts below the leader's as will do, longer ones first: whatever its rank, its part then reaches it.
        let others = other_long + other_short;
        let below = |parts: usize| parts * short + parts.min(other_long);
        let parts = (0..others)
            .find(|&parts| run.start + below(parts) + own_length > leader)
            .unwrap_or(others);
        let long_below = parts.min(other_long);
        let start = run.start + below(parts);
        Split {
            own: start..start + own_length,
            short,
            short_below: parts - long_below,
            short_above: other_short - (parts - long_below),
            long_below,
            long_above: other_long - long_below,
        }
    }

    fn others(&self) -> usize {
        self.short_below + self.short_above + self.long_below + self.long_above
    }

    /// The other parts, shorter ones first, and from the leader's own outwards.
    fn other(&self, index: usize) -> Range<usize> {
        let below = |end: usize, length: usize| end - length..end;
        let (mut index, long) = (index, self.short + 1);
        if index < self.short_below {
            return below(self.own.start - index * self.short, self.short);
        }
        index -= self.short_below;
        if index < self.short_above {
            let start = self.own.end + index * self.short;
            return start..start + self.short;
        }
        index -= self.short_above;
        if index < self.long_below {
            return below(self.own.start - self.short_below * self.short - index * long, long);
        }
        index -= self.long_below;
        let start = self.own.end + self.short_above * self.short + index * long;
        start..start + long
    }
}

impl Splitting {
    /// The place of `rank` among `p` ranks; `radix` is at least 2.
    #[must_use]
    pub fn new(rank: usize, root: usize, p: usize, radix: usize) -> Splitting {
        let mut place = Splitting {
            parent: None,
            subtree: 0..p,
            rank,
            radix,
            runs: [const { 0..0 }; LEVELS],
            run_count: 0,
        };
        let (mut run, mut leader) = (0..p, root);
        while run.len() > 1 {
            let split = Split::new(&run, leader, radix);
            if split.own.contains(&rank) {
                if rank == leader {
                    place.runs[place.run_count] = run;
                    place.run_count += 1;
                }
                run = split.own;
                continue;
            }
            let Some(part) = (0..split.others())
                .map(|index| split.other(index))
                .find(|part| part.contains(&rank))
            else {
                break;
            };
            place.parent = Some(leader);
            place.subtree = part.clone();
            leader = part.start;
            run = part;
        }
        place
    }

    /// The ranks of each child's subtree, largest first; the child is the lowest of them. From last to first, each lies
    /// directly beside the rank and those before.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = Range<usize>> + '_ {
        self.levels().flatten()
    }

    /// The same level by level: the other parts of each run that it leads.
    pub fn levels(&self) -> impl DoubleEndedIterator<Item = impl DoubleEndedIterator<Item = Range<usize>>> {
        self.runs[..self.run_count].iter().map(|run| {
            let split = Split::new(run, self.rank, self.radix);
            (0..split.others()).rev().map(move |index| split.other(index))
        })
    }
}

/// The messages that a root of `p` ranks sends, or gets, one after the other: the rounds of the tree, since no other
/// rank has more to do after its data came, or before it goes.
#[must_use]
pub fn splitting_rounds(p: usize, radix: usize) -> usize {
    let (mut ranks, mut rounds) = (p, 0);
    while ranks > 1 {
        rounds += ranks.min(radix) - 1;
        ranks = ranks.div_ceil(radix);
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Halving, trees};

    fn places() -> impl Iterator<Item = (usize, usize, usize, Vec<Splitting>)> {
        trees::places(Splitting::new)
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

    /// Messages are one piece of memory, and a rank's data is, at any time.
    #[test]
    fn children_lie_beside_what_is_there_already() {
        for (p, root, radix, places) in places() {
            for (rank, place) in places.iter().enumerate() {
                let mut held = rank..rank + 1;
                let mut last = 0;
                for child in place.children().rev() {
                    assert!(!child.is_empty() && child.len() >= last, "p = {p}, radix {radix}");
                    last = child.len();
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

    #[test]
    fn rounds_are_those_of_the_root_for_every_root() {
        for (p, root, radix, places) in places() {
            assert_eq!(places[root].children().count(), splitting_rounds(p, radix));
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
            let rounds = splitting_rounds(p, radix);
            assert!(arrival.iter().all(|at| at.is_some_and(|at| at <= rounds)), "p = {p}");
        }
    }

    #[test]
    fn radix_two_has_the_rounds_of_halving_and_a_large_one_is_flat() {
        for (p, root, radix, places) in places() {
            let children = places[root].children().count();
            match radix {
                2 => assert_eq!(children, Halving::new(root, root, p).children().len()),
                _ if radix >= p => assert_eq!(children, p - 1),
                _ => {}
            }
        }
    }

    #[test]
    fn the_example_of_the_documentation() {
        let children = |rank| -> Vec<_> { Splitting::new(rank, 5, 11, 3).children().collect() };
        assert_eq!(children(5), [0..4, 8..11, 7..8, 6..7, 4..5]);
        assert_eq!(children(0), [3..4, 2..3, 1..2]);
    }
}
