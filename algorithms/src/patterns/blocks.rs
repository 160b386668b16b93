//! Offsets of blocks in buffers.

use std::cell::Cell;
use std::ops::Range;

use super::subtree::take_start;

/// `data` in blocks of `bytes`, one after the other. As `chunks_exact_mut`, without its division, which costs as much as a part of a
/// message of few bytes.
#[inline]
pub(crate) fn equal_blocks_mut(mut data: &mut [u8], bytes: usize) -> impl Iterator<Item = &mut [u8]> {
    std::iter::from_fn(move || (data.len() >= bytes.max(1)).then(|| take_start(&mut data, bytes)))
}

/// Consecutive blocks with given lengths. The place of one block is found from that of the last one asked for, so that a
/// walk from neighbour to neighbour, or in halves, takes no longer than one pass over the lengths, and no memory.
pub(crate) struct Blocks<'a> {
    lengths: &'a [usize],
    /// A block, and where it starts.
    last: Cell<(usize, usize)>,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(lengths: &'a [usize]) -> Blocks<'a> {
        Blocks {
            lengths,
            last: Cell::new((0, 0)),
        }
    }

    /// The block of this index.
    pub(crate) fn get(&self, index: usize) -> Range<usize> {
        let (mut at, mut start) = self.last.get();
        // From whichever is nearer: the last one asked for or the first one.
        if index < at - index.min(at) {
            (at, start) = (0, 0);
        }
        while at < index {
            start += self.lengths[at];
            at += 1;
        }
        while at > index {
            at -= 1;
            start -= self.lengths[at];
        }
        self.last.set((at, start));
        start..start + self.lengths[at]
    }

    /// The length of the longest one.
    pub(crate) fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Blocks;

    proptest! {
        #[test]
        fn a_block_starts_where_those_before_it_end(
            lengths in prop::collection::vec(0_usize..50, 1..40),
            asked in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        ) {
            let blocks = Blocks::new(&lengths);
            for index in asked {
                let index = index.index(lengths.len());
                let start: usize = lengths[..index].iter().sum();
                prop_assert_eq!(blocks.get(index), start..start + lengths[index]);
            }
            prop_assert_eq!(blocks.longest(), lengths.iter().copied().max().unwrap_or(0));
        }
    }
}
