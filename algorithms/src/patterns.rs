//! Communication patterns over a transport that several rows share. They have no rows of their own.

pub(crate) mod alltoall;
pub(crate) mod binomial;
pub(crate) mod blocks;
pub(crate) mod circulant;
pub(crate) mod costs;
pub(crate) mod doubling;
pub(crate) mod few;
pub(crate) mod halving;
pub(crate) mod k_nomial;
pub(crate) mod lanes;
pub(crate) mod lent;
pub(crate) mod pairwise;
pub(crate) mod pipeline;
pub(crate) mod recursive_halving;
pub(crate) mod ring;
pub(crate) mod subtree;
pub(crate) mod two_level;
pub(crate) mod two_tree;

use std::ops::Range;

/// A piece of a buffer that is sent and one that is received meanwhile; they do not overlap.
#[inline]
pub(crate) fn two(data: &mut [u8], outgoing: Range<usize>, incoming: Range<usize>) -> (&[u8], &mut [u8]) {
    if outgoing.end <= incoming.start {
        let (below, above) = data.split_at_mut(incoming.start);
        (&below[outgoing], &mut above[..incoming.len()])
    } else {
        let (below, above) = data.split_at_mut(outgoing.start);
        (&above[..outgoing.len()], &mut below[incoming])
    }
}
