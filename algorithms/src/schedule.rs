//! Partners, data and rounds of communication patterns: pure functions, without a transport.
//!
//! Counts and ranges are in elements or in bytes, as the caller likes; ranks are those of the communicator unless a
//! function says *relative*: relative to the root, which is relative rank 0.

mod binary;
pub mod circulant;
mod grouping;
mod halving;
mod ring_order;
mod splitting;
#[cfg(test)]
mod trees;
mod two_tree;

use std::ops::Range;

pub use binary::{binary_children, binary_drain, binary_fill, binary_parent, binary_rate};
pub use circulant::Circulant;
pub use grouping::{Grouping, largest_group};
pub use halving::Halving;
pub use ring_order::{blocks_downward, blocks_upward};
pub use splitting::{Splitting, splitting_rounds};
pub use two_tree::{TwoTreeNode, two_tree_node, two_tree_top};

/// The `index`-th of `parts` consecutive blocks of `count` elements, as equal as can be: the first `count % parts`
/// blocks have one element more. Blocks are empty where `count < parts`.
///
/// ```
/// # use kilter_algorithms::schedule::block;
/// assert_eq!((0..4).map(|i| block(10, 4, i)).collect::<Vec<_>>(), [0..3, 3..6, 6..8, 8..10]);
/// ```
#[inline]
#[must_use]
pub fn block(count: usize, parts: usize, index: usize) -> Range<usize> {
    Division::new(count, parts).block(index)
}

/// All of these blocks, from one division: it takes as long as a tenth of a message of few bytes.
#[derive(Debug, Clone, Copy)]
pub struct Division {
    quotient: usize,
    remainder: usize,
}

impl Division {
    /// `count` elements in `parts` blocks.
    #[inline]
    #[must_use]
    pub fn new(count: usize, parts: usize) -> Division {
        if parts.is_power_of_two() {
            let quotient = count >> parts.trailing_zeros();
            let remainder = count & (parts - 1);
            return Division { quotient, remainder };
        }
        Division {
            quotient: count / parts,
            remainder: count % parts,
        }
    }

    /// The `index`-th.
    #[inline]
    #[must_use]
    pub fn block(self, index: usize) -> Range<usize> {
        let start = index * self.quotient + index.min(self.remainder);
        start..start + self.quotient + usize::from(index < self.remainder)
    }
}

/// The number of elements of `element_bytes` bytes, at least 1, in `bytes` bytes.
#[inline]
#[must_use]
pub fn elements(bytes: usize, element_bytes: usize) -> usize {
    Division::new(bytes, element_bytes).quotient
}

/// `range` in units of `element_bytes` bytes.
#[inline]
#[must_use]
pub fn in_bytes(range: Range<usize>, element_bytes: usize) -> Range<usize> {
    range.start * element_bytes..range.end * element_bytes
}

/// `length` cut into segments of `segment`, the last one shorter where it does not divide. No segment is empty.
///
/// # Panics
/// If `segment` is 0.
#[inline]
pub fn segments(length: usize, segment: usize) -> impl ExactSizeIterator<Item = Range<usize>> + Clone {
    (0..length.div_ceil(segment)).map(move |index| index * segment..((index + 1) * segment).min(length))
}

/// Bytes of a segment of about `segment_bytes`: the largest whole number of elements that fits, at least one.
#[inline]
#[must_use]
pub fn whole_elements(segment_bytes: usize, element_bytes: usize) -> usize {
    if element_bytes.is_power_of_two() {
        return segment_bytes.max(element_bytes) & !(element_bytes - 1);
    }
    (segment_bytes / element_bytes).max(1) * element_bytes
}

/// `floor(log2(p))` for `p >= 1`.
#[inline]
#[must_use]
pub fn floor_log2(p: usize) -> u32 {
    p.max(1).ilog2()
}

/// `ceil(log2(p))` for `p >= 1`: the rounds in which one rank's data can reach `p` ranks.
#[inline]
#[must_use]
pub fn ceil_log2(p: usize) -> u32 {
    usize::BITS - p.max(1).wrapping_sub(1).leading_zeros()
}

/// The right neighbour on the ring of `p` ranks.
#[inline]
#[must_use]
pub fn ring_next(rank: usize, p: usize) -> usize {
    if rank + 1 == p { 0 } else { rank + 1 }
}

/// The left neighbour on the ring of `p` ranks.
#[inline]
#[must_use]
pub fn ring_previous(rank: usize, p: usize) -> usize {
    if rank == 0 { p - 1 } else { rank - 1 }
}

/// The block that `rank` sends in step `step` of a ring reduce-scatter (`0..p-1`) in which rank `r` ends with block
/// `r`; what it receives and combines in that step is what it sends in the next, `ring_block(rank, p, step + 1)`.
#[inline]
#[must_use]
pub fn ring_block(rank: usize, p: usize, step: usize) -> usize {
    relative(rank, step, p).checked_sub(1).unwrap_or(p - 1)
}

/// `rank` relative to `root`: `(rank - root) mod p`.
#[inline]
#[must_use]
pub fn relative(rank: usize, root: usize, p: usize) -> usize {
    // No division: it costs as much as a message's way through half of the library.
    if rank >= root { rank - root } else { rank + p - root }
}

/// The inverse of [`relative`].
#[inline]
#[must_use]
pub fn absolute(relative: usize, root: usize, p: usize) -> usize {
    if relative + root < p {
        relative + root
    } else {
        relative + root - p
    }
}

/// Role of a rank in a recursive doubling over any number of ranks (see [`fold`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Takes part with this number, `0..group`; if it has a partner, that one's data is combined on its right side
    /// first, and it gets the result last.
    Active {
        /// Its number among the active ranks, in rank order.
        number: usize,
        /// The rank folded into it, its right neighbour.
        folded: Option<usize>,
    },
    /// Sends its data to this rank, its left neighbour, and gets the result from it.
    Folded {
        /// Destination of its data.
        into: usize,
    },
}

/// Folds `p` ranks to the largest power of two of active ranks, `2^floor(log2(p))`, and keeps their order.
///
/// Neighbours are folded, `1` into `0`, `3` into `2`, until enough ranks are; so the data of the active ranks, in the
/// order of their numbers, still covers the ranks in rank order, which an operator that is not commutative needs:
///
/// ```text
/// p = 5:   rank    0   1   2   3   4
///                  | <-'   |   |   |
///          number  0       1   2   3
/// ```
#[inline]
#[must_use]
pub fn fold(rank: usize, p: usize) -> Fold {
    let folded_ranks = p - (1 << floor_log2(p));
    if rank >= 2 * folded_ranks {
        Fold::Active {
            number: rank - folded_ranks,
            folded: None,
        }
    } else if rank.is_multiple_of(2) {
        Fold::Active {
            number: rank / 2,
            folded: Some(rank + 1),
        }
    } else {
        Fold::Folded { into: rank - 1 }
    }
}

/// The rank of the active rank with this number (see [`fold`]).
#[inline]
#[must_use]
pub fn fold_rank(number: usize, p: usize) -> usize {
    let folded_ranks = p - (1 << floor_log2(p));
    if number < folded_ranks {
        2 * number
    } else {
        number + folded_ranks
    }
}

/// [`fold`], but with the rank `kept` active in any case: its left neighbour is folded into it where it would be folded
/// itself. Numbers, and the ranks that a number stands for, stay the same.
#[inline]
#[must_use]
pub fn fold_around(kept: usize, rank: usize, p: usize) -> Fold {
    match (fold(kept, p), fold(rank, p)) {
        (Fold::Folded { into }, _) if rank == into => Fold::Folded { into: kept },
        (Fold::Folded { into }, _) if rank == kept => Fold::Active {
            number: into / 2,
            folded: Some(into),
        },
        (_, usual) => usual,
    }
}

/// The rank of the active rank with this number (see [`fold_around`]).
#[inline]
#[must_use]
pub fn fold_rank_around(kept: usize, number: usize, p: usize) -> usize {
    match fold(kept, p) {
        Fold::Folded { into } if fold_rank(number, p) == into => kept,
        _ => fold_rank(number, p),
    }
}

/// The ranks that the active ranks with these numbers stand for (see [`fold`]): themselves and those folded into them.
#[inline]
#[must_use]
pub fn fold_run(numbers: Range<usize>, p: usize) -> Range<usize> {
    let begin = |number| {
        if number == 1 << floor_log2(p) {
            p
        } else {
            fold_rank(number, p)
        }
    };
    begin(numbers.start)..begin(numbers.end)
}

/// The numbers of the `2^round` active ranks whose data an active rank holds before this round of a recursive doubling.
#[inline]
#[must_use]
pub fn doubling_group(number: usize, round: u32) -> Range<usize> {
    let first = number >> round << round;
    first..first + (1 << round)
}

/// The partners, as ranks, of the active rank with this number in the rounds of a recursive doubling.
///
/// Before round `k` a rank holds the combination of the `2^k` active ranks whose numbers share all but the lowest `k`
/// bits with its own; so all of its partner's operands lie on one side of all of its own.
#[inline]
pub fn doubling_partners(number: usize, p: usize) -> impl Iterator<Item = usize> {
    (0..floor_log2(p)).map(move |bit| fold_rank(number ^ (1 << bit), p))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn blocks_are_consecutive_and_equal_to_one(count in 0_usize..10_000, parts in 1_usize..200) {
            let blocks: Vec<_> = (0..parts).map(|index| block(count, parts, index)).collect();
            prop_assert_eq!(blocks[0].start, 0);
            prop_assert_eq!(blocks[parts - 1].end, count);
            prop_assert!(blocks.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].len() >= pair[1].len()));
            prop_assert!(blocks[0].len() - blocks[parts - 1].len() <= 1);
        }

        #[test]
        fn segments_cover_once(length in 0_usize..10_000, segment in 1_usize..3_000) {
            let all: Vec<_> = segments(length, segment).collect();
            prop_assert_eq!(all.iter().map(Range::len).sum::<usize>(), length);
            prop_assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].len() == segment));
            prop_assert!(all.iter().all(|range| !range.is_empty() && range.len() <= segment));
        }

        #[test]
        fn whole_elements_fit_or_are_one(segment in 0_usize..100_000, element in 1_usize..5_000) {
            let bytes = whole_elements(segment, element);
            prop_assert_eq!(bytes % element, 0);
            prop_assert!(bytes == element || (bytes <= segment && bytes + element > segment));
        }

        #[test]
        fn folding_keeps_the_order_of_ranks(p in 1_usize..300) {
            let mut covered = Vec::new();
            for number in 0..1 << floor_log2(p) {
                let rank = fold_rank(number, p);
                let Fold::Active { number: own, folded } = fold(rank, p) else {
                    panic!("rank {rank} of {p} is not active")
                };
                prop_assert_eq!(own, number);
                covered.push(rank);
                if let Some(folded) = folded {
                    prop_assert_eq!(fold(folded, p), Fold::Folded { into: rank });
                    covered.push(folded);
                }
                prop_assert_eq!(fold_run(0..number + 1, p), 0..covered.len());
                prop_assert_eq!(fold_run(number..number + 1, p).start, rank);
            }
            prop_assert_eq!(covered, (0..p).collect::<Vec<_>>());
        }

        #[test]
        fn folding_around_a_rank_turns_its_pair_only((p, kept) in (1_usize..300).prop_flat_map(|p| (Just(p), 0..p))) {
            for rank in 0..p {
                match fold_around(kept, rank, p) {
                    Fold::Active { number, folded } => {
                        prop_assert_eq!(fold_rank_around(kept, number, p), rank);
                        prop_assert!(fold_run(number..number + 1, p).contains(&rank));
                        if let Some(folded) = folded {
                            prop_assert_eq!(fold_around(kept, folded, p), Fold::Folded { into: rank });
                            prop_assert!(fold_run(number..number + 1, p).contains(&folded));
                        }
                    }
                    Fold::Folded { into } => {
                        prop_assert!(rank != kept);
                        let pair = (rank.min(into), rank.max(into));
                        prop_assert_eq!(fold(pair.1, p), Fold::Folded { into: pair.0 });
                    }
                }
            }
        }

        #[test]
        fn doubling_brings_all_numbers_together(p in 1_usize..300) {
            // The numbers that each active rank holds: a range, which every round keeps consecutive.
            let active = 1 << floor_log2(p);
            let mut held: Vec<_> = (0..active).map(|number| number..number + 1).collect();
            for round in 0..floor_log2(p) as usize {
                let before = held.clone();
                for (number, range) in held.iter_mut().enumerate() {
                    prop_assert_eq!(&*range, &doubling_group(number, round as u32));
                    let partner = doubling_partners(number, p).nth(round).expect("a partner in each round");
                    let Fold::Active { number: partner, .. } = fold(partner, p) else {
                        panic!("partner {partner} of {p} is not active")
                    };
                    let other = &before[partner];
                    *range = if partner < number {
                        prop_assert_eq!(other.end, range.start);
                        other.start..range.end
                    } else {
                        prop_assert_eq!(range.end, other.start);
                        range.start..other.end
                    };
                }
            }
            prop_assert!(held.iter().all(|range| *range == (0..active)));
        }
    }

    #[test]
    fn relative_ranks_invert() {
        for p in 1..20 {
            for root in 0..p {
                assert_eq!(relative(root, root, p), 0);
                assert!((0..p).all(|rank| absolute(relative(rank, root, p), root, p) == rank));
            }
        }
    }

    #[test]
    fn ring_passes_each_block_round_to_its_rank() {
        for p in 1..20 {
            for rank in 0..p {
                assert_eq!(ring_previous(ring_next(rank, p), p), rank);
                // The block that the left neighbour sends in a step is the one that this rank combines in it and sends in the next.
                for step in 0..p {
                    assert_eq!(
                        ring_block(ring_previous(rank, p), p, step),
                        ring_block(rank, p, step + 1)
                    );
                }
                assert_eq!(
                    ring_block(rank, p, p - 1),
                    rank,
                    "the last block combined is the rank's own"
                );
            }
        }
    }

    #[test]
    fn logarithms() {
        let expected = [
            (1, 0, 0),
            (2, 1, 1),
            (3, 1, 2),
            (4, 2, 2),
            (5, 2, 3),
            (8, 3, 3),
            (9, 3, 4),
            (64, 6, 6),
        ];
        for (p, floor, ceil) in expected {
            assert_eq!((floor_log2(p), ceil_log2(p)), (floor, ceil), "p = {p}");
        }
    }
}
