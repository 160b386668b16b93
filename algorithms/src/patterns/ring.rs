//! Blocks round the ring.

use std::ops::Range;

use super::two;
use crate::overlap::exchange;
use crate::schedule::{relative, ring_block, ring_next, ring_previous};
use crate::{Transport, TransportError};

/// Gives every rank all blocks of `data`, of which it has its own. `has_all` is a rank that has all blocks already, if
/// there is one: it receives none.
///
/// In step `s` rank `r` passes on the block that came from `s` ranks to the left:
///
/// ```text
/// step   rank 0   rank 1   rank 2        three ranks: blocks sent to the right
///   0    0        1        2
///   1    2        0        1
/// ```
pub(crate) fn allgather<T: Transport>(
    transport: &mut T,
    data: &mut [u8],
    block_of: impl Fn(usize) -> Range<usize>,
    has_all: Option<usize>,
) -> Result<(), TransportError> {
    let (rank, p) = (transport.rank(), transport.size());
    let (next, previous) = (ring_next(rank, p), ring_previous(rank, p));
    for step in 0..p - 1 {
        let mut outgoing = block_of(relative(rank, step, p));
        let mut incoming = block_of(relative(rank, step + 1, p));
        if has_all == Some(next) {
            outgoing.end = outgoing.start;
        }
        if has_all == Some(rank) {
            incoming.end = incoming.start;
        }
        let (sent, received) = two(data, outgoing, incoming);
        exchange(transport, next, sent, previous, received)?;
    }
    Ok(())
}

/// Combines block `r` of all ranks' inputs into block `r` of `data` on rank `r`; the other blocks of `data` are left with
/// partial results. The operator must be commutative: block `r` begins with the operand of rank `r + 1`.
pub(crate) fn reduce_scatter<T: Transport>(
    transport: &mut T,
    input: &[u8],
    data: &mut [u8],
    block_of: impl Fn(usize) -> Range<usize>,
) -> Result<(), TransportError> {
    let (rank, p) = (transport.rank(), transport.size());
    for step in 0..p - 1 {
        let (outgoing, incoming) = (
            block_of(ring_block(rank, p, step)),
            block_of(ring_block(rank, p, step + 1)),
        );
        let own = &input[incoming.clone()];
        let (held, received) = two(data, outgoing.clone(), incoming);
        let sent = if step == 0 { &input[outgoing] } else { held };
        exchange(transport, ring_next(rank, p), sent, ring_previous(rank, p), received)?;
        if !received.is_empty() {
            transport.reduce_local(own, received)?;
        }
    }
    Ok(())
}

/// Combines block `r` of all ranks' inputs in `result` on rank `r`, as [`reduce_scatter`], with room for no more than two
/// blocks: `scratch` is twice as long as the longest one.
pub(crate) fn reduce_scatter_own<T: Transport>(
    transport: &mut T,
    input: &[u8],
    result: &mut [u8],
    scratch: &mut [u8],
    block_of: impl Fn(usize) -> Range<usize>,
) -> Result<(), TransportError> {
    let (rank, p) = (transport.rank(), transport.size());
    if p == 1 {
        transport.copy(&input[block_of(rank)], result);
        return Ok(());
    }
    let (mut held, mut spare) = scratch.split_at_mut(scratch.len() / 2);
    for step in 0..p - 1 {
        let (outgoing, incoming) = (
            block_of(ring_block(rank, p, step)),
            block_of(ring_block(rank, p, step + 1)),
        );
        let sent = if step == 0 {
            &input[outgoing]
        } else {
            &held[..outgoing.len()]
        };
        // The last block is the own one.
        let received = if step + 2 == p {
            &mut *result
        } else {
            &mut spare[..incoming.len()]
        };
        exchange(transport, ring_next(rank, p), sent, ring_previous(rank, p), received)?;
        if !received.is_empty() {
            transport.reduce_local(&input[incoming], received)?;
        }
        std::mem::swap(&mut held, &mut spare);
    }
    Ok(())
}
