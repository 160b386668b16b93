//! Blocks of any lengths in the order of a walk round the ring.
//!
//! Each step costs one addition, where the sum of all lengths before a block would make a call quadratic in the number
//! of ranks.

use std::ops::Range;

/// Each of `p` blocks, from `first` upwards and on from block 0, with its place in the buffer that they fill.
///
/// ```
/// # use kilter_algorithms::schedule::blocks_upward;
/// let lengths = [2, 3, 0];
/// assert!(blocks_upward(1, 3, |block| lengths[block]).eq([(1, 2..5), (2, 5..5), (0, 0..2)]));
/// ```
pub fn blocks_upward(
    first: usize,
    p: usize,
    length: impl Fn(usize) -> usize,
) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut start: usize = (0..first).map(&length).sum();
    (0..p).map(move |step| {
        let block = if step + first < p {
            step + first
        } else {
            step + first - p
        };
        if block == 0 {
            start = 0;
        }
        let range = start..start + length(block);
        start = range.end;
        (block, range)
    })
}

/// Each of `p` blocks, from `first` downwards and on from block `p - 1`, with its place in the buffer that they fill.
///
/// ```
/// # use kilter_algorithms::schedule::blocks_downward;
/// let lengths = [2, 3, 1];
/// assert!(blocks_downward(1, 3, |block| lengths[block]).eq([(1, 2..5), (0, 0..2), (2, 5..6)]));
/// ```
pub fn blocks_downward(
    first: usize,
    p: usize,
    length: impl Fn(usize) -> usize,
) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut end: usize = (0..=first).map(&length).sum();
    let total = end + (first + 1..p).map(&length).sum::<usize>();
    (0..p).map(move |step| {
        let block = if step <= first { first - step } else { first + p - step };
        if block + 1 == p {
            end = total;
        }
        let range = end - length(block)..end;
        end = range.start;
        (block, range)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn walks_meet_every_block_in_its_place(
            (lengths, first) in prop::collection::vec(0_usize..50, 1..40)
                .prop_flat_map(|lengths| { let p = lengths.len(); (Just(lengths), 0..p) })
        ) {
            let p = lengths.len();
            let place = |block: usize| {
                let start: usize = lengths[..block].iter().sum();
                (block, start..start + lengths[block])
            };
            let up = (0..p).map(|step| place((first + step) % p));
            prop_assert!(blocks_upward(first, p, |block| lengths[block]).eq(up));
            let down = (0..p).map(|step| place((first + p - step) % p));
            prop_assert!(blocks_downward(first, p, |block| lengths[block]).eq(down));
        }
    }
}
