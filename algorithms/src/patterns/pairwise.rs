//! Blocks straight to the ranks that want them, at distance 1, 2, 3, ...

use std::ops::Range;

use crate::overlap::{Overlap, SHORT_BYTES, WINDOW};
use crate::patterns::lent;
use crate::schedule::{absolute, relative};
use crate::{Setting, Transport, TransportError, scratch};

/// Blocks that may be on their way to a rank or be combined by it, where scratch matters.
pub(crate) const FEW_AHEAD: usize = 2;

/// The same where latency matters: as many as can be under way.
pub(crate) const MANY_AHEAD: usize = WINDOW;

/// Combines block `r` of all ranks' inputs in `result` on rank `r`, in rank order.
///
/// Operands come from the left neighbour, from its left neighbour and so on to rank 0, then from the last rank down: those
/// of lower ranks are combined below the own one, those of higher ranks apart from them, and both at the end. That is as
/// many combinations as in any other order. `AHEAD` blocks may be on their way or be combined; scratch has one more.
pub(crate) fn reduce_scatter<T: Transport, const AHEAD: usize>(
    transport: &mut T,
    input: &[u8],
    result: &mut [u8],
    block_of: impl Fn(usize) -> Range<usize>,
) -> Result<(), TransportError> {
    let bytes = scratch_bytes::<AHEAD>(transport.rank(), transport.size(), result.len());
    let mut scratch = lent::take(transport, bytes)?;
    reduce_scatter_in::<T, AHEAD>(transport, input, result, &mut scratch, block_of)?;
    lent::give(transport, scratch);
    Ok(())
}

/// Bytes of scratch for blocks that are received and not combined yet. What comes from the highest rank is received in the
/// result; the highest rank itself combines there from the start.
fn slots_bytes<const AHEAD: usize>(rank: usize, p: usize, block_bytes: usize) -> usize {
    let staged = if rank == p - 1 { p - 1 } else { p.saturating_sub(2) };
    staged.min(AHEAD) * block_bytes
}

/// Bytes of scratch that [`reduce_scatter_in`] needs on a rank whose block has so many.
pub(crate) fn scratch_bytes<const AHEAD: usize>(rank: usize, p: usize, block_bytes: usize) -> usize {
    let lower = if (1..p - 1).contains(&rank) { block_bytes } else { 0 };
    slots_bytes::<AHEAD>(rank, p, block_bytes) + lower
}

/// The most blocks of scratch that any rank needs for [`reduce_scatter`].
pub(crate) fn scratch_blocks<const AHEAD: usize>(p: usize) -> usize {
    // The first, one in the middle and the last differ, all in the middle are alike.
    let ranks = [0, 1, p.saturating_sub(1)].into_iter().filter(|&rank| rank < p);
    ranks.map(|rank| scratch_bytes::<AHEAD>(rank, p, 1)).max().unwrap_or(0)
}

/// Scratch of [`reduce_scatter`] as rows state it.
pub(crate) fn reduce_scatter_kept<const AHEAD: usize>(setting: &Setting<'_>) -> usize {
    scratch::blocks(setting, scratch_blocks::<AHEAD>(setting.p_ranks))
}

/// [`reduce_scatter`] with scratch of the caller's.
pub(crate) fn reduce_scatter_in<T: Transport, const AHEAD: usize>(
    transport: &mut T,
    input: &[u8],
    result: &mut [u8],
    scratch: &mut [u8],
    block_of: impl Fn(usize) -> Range<usize>,
) -> Result<(), TransportError> {
    let (rank, p) = (transport.rank(), transport.size());
    let own = &input[block_of(rank)];
    let highest = p - 1;
    if p == 1 {
        transport.copy(own, result);
        return Ok(());
    }
    let bytes = result.len();
    if p == 2 && (1..=SHORT_BYTES).contains(&bytes) {
        let other = 1 - rank;
        let block = &input[block_of(other)];
        if (1..=SHORT_BYTES).contains(&block.len()) {
            return of_two_short(transport, (own, result), (other, block), scratch);
        }
    }
    let (slots_bytes, all_bytes) = (
        slots_bytes::<AHEAD>(rank, p, bytes),
        scratch_bytes::<AHEAD>(rank, p, bytes),
    );
    let lower_bytes = all_bytes - slots_bytes;
    let (slots, rest) = scratch.split_at_mut(slots_bytes);
    let (mut lower, mut place_for_higher) = match rank {
        0 => (None, Some(result)),
        _ if rank == highest => (Some(result), None),
        _ => (Some(&mut rest[..lower_bytes]), Some(result)),
    };
    let mut higher = None;

    let mut overlap = Overlap::new(transport);
    // Before the waits: the copy costs nothing while the operands are still on their way.
    if let Some(lower) = lower.as_deref_mut() {
        overlap.transport().copy(own, lower);
    }
    let mut slots = slots.chunks_exact_mut(bytes.max(1));
    let mut free: [Option<&mut [u8]>; AHEAD] = std::array::from_fn(|_| slots.next());
    let mut to_start = 1..p;
    for step in 0..p {
        // Step 0 combines nothing, it only fills the pipeline.
        if step > 0 && bytes > 0 {
            let from = relative(rank, step, p);
            let received = overlap.received()?;
            if from == highest {
                higher = Some(received);
            } else {
                let into = if from < rank { &mut lower } else { &mut higher };
                if let Some(into) = into.as_deref_mut() {
                    overlap.transport().reduce_local(received, into)?;
                }
                if let Some(empty) = free.iter_mut().find(|slot| slot.is_none()) {
                    *empty = Some(received);
                }
            }
        }
        for next in to_start.by_ref().take(if step == 0 { AHEAD } else { 1 }) {
            if bytes > 0 {
                let from = relative(rank, next, p);
                let place = if from == highest {
                    place_for_higher.take()
                } else {
                    free.iter_mut().find_map(Option::take)
                };
                debug_assert!(
                    place.is_some(),
                    "rank {rank} has no room for the block from rank {from}"
                );
                if let Some(place) = place {
                    overlap.receive(from, place)?;
                }
            }
            let to = absolute(next, rank, p);
            let block = &input[block_of(to)];
            if !block.is_empty() {
                overlap.send(to, block)?;
            }
        }
    }
    if let Some(higher) = higher {
        overlap
            .transport()
            .reduce_local(lower.as_deref().unwrap_or(own), higher)?;
    }
    overlap.finish()
}

/// [`reduce_scatter_in`] between two ranks, of a few bytes: one exchange, and nothing to do meanwhile, so that requests would only cost.
fn of_two_short<T: Transport>(
    transport: &mut T,
    (own, result): (&[u8], &mut [u8]),
    (other, block): (usize, &[u8]),
    scratch: &mut [u8],
) -> Result<(), TransportError> {
    if transport.rank() == 0 {
        transport.sendrecv(other, block, other, result)?;
        return transport.reduce_local(own, result);
    }
    let received = &mut scratch[..result.len()];
    transport.copy(own, result);
    transport.sendrecv(other, block, other, received)?;
    transport.reduce_local(received, result)
}

/// Gives every rank each other's block of `data`, straight from rank to rank; at the start each has its own.
pub(crate) fn allgather<T: Transport>(
    transport: &mut T,
    data: &mut [u8],
    block_of: impl Fn(usize) -> Range<usize>,
) -> Result<(), TransportError> {
    let (rank, p) = (transport.rank(), transport.size());
    let own_range = block_of(rank);
    let (mut below, from_own) = data.split_at_mut(own_range.start);
    let (own, mut above) = from_own.split_at_mut(own_range.len());
    let own: &[u8] = own;
    let mut overlap = Overlap::new(transport);
    for distance in 1..p {
        // From the left neighbour down to rank 0, then from the last rank down: each time the last block that is left.
        let from = relative(rank, distance, p);
        let (rest, offset) = if from < rank {
            (&mut below, 0)
        } else {
            (&mut above, own_range.end)
        };
        let (before, block) = std::mem::take(rest).split_at_mut(block_of(from).start - offset);
        *rest = before;
        if !block.is_empty() {
            overlap.receive(from, block)?;
        }
        if !own.is_empty() {
            overlap.send(absolute(distance, rank, p), own)?;
        }
    }
    overlap.finish()
}
