//! Allgather among two or three ranks, where all messages of Bruck's and of the circulant way are a rank's own block.
//!
//! With more ranks blocks lie in the order of ranks from the rank's own one on, so that each message is one piece, and are rotated to
//! their places at the end. Here each message is one piece in the order of ranks, too, and the rotation, which for long blocks took
//! a third of the call, is not needed.

use std::ops::Range;

use super::two;
use crate::overlap::exchange;
use crate::schedule::{absolute, relative};
use crate::{Transport, TransportError};

/// The most ranks for [`allgather`].
pub(crate) const MOST_RANKS: usize = 3;

/// Gives every rank the others' blocks of `data`, which is in the order of ranks; at the start each has its own. The messages are those of
/// [`super::circulant::allgather`] among so few ranks.
pub(crate) fn allgather<T: Transport>(
    transport: &mut T,
    data: &mut [u8],
    block_of: impl Fn(usize) -> Range<usize>,
) -> Result<(), TransportError> {
    let (rank, p) = (transport.rank(), transport.size());
    debug_assert!(p <= MOST_RANKS, "{p} ranks");
    for distance in 1..p {
        let from = absolute(distance, rank, p);
        let (own, received) = two(data, block_of(rank), block_of(from));
        exchange(transport, relative(rank, distance, p), own, from, received)?;
    }
    Ok(())
}
