//! A block from each rank to each other, straight.

use std::ops::Range;

use super::subtree::take_end;
use crate::overlap::{Overlap, exchange};
use crate::schedule::{blocks_downward, relative};
use crate::{Transport, TransportError};

/// All messages at once, as many as fit the window: sends `blocks`, a rank and its data each, which are those of the
/// ranks to the right, nearest first; receives `length` bytes from each other rank where they belong in `output`; and
/// copies `own` there.
///
/// In step `d` every rank sends `d` ranks to the right, so that no rank gets two blocks at once.
pub(crate) fn linear<'d, T: Transport>(
    transport: &mut T,
    blocks: impl Iterator<Item = (usize, &'d [u8])>,
    own: &[u8],
    output: &'d mut [u8],
    length: impl Fn(usize) -> usize,
) -> Result<(), TransportError> {
    let (rank, p) = (transport.rank(), transport.size());
    let before: usize = (0..rank).map(&length).sum();
    let (mut below, from_own) = output.split_at_mut(before);
    let (own_place, mut above) = from_own.split_at_mut(own.len());
    let mut overlap = Overlap::new(transport);
    for (distance, (to, block)) in (1..p).zip(blocks) {
        // Blocks come from ranks `rank - 1` down to 0, then from `p - 1` down to `rank + 1`.
        let from = relative(rank, distance, p);
        let side = if from < rank { &mut below } else { &mut above };
        let place = take_end(side, length(from));
        if !place.is_empty() {
            overlap.receive(from, place)?;
        }
        if !block.is_empty() {
            overlap.send(to, block)?;
        }
    }
    overlap.transport().copy(own, own_place);
    overlap.finish()
}

/// One exchange after the other: in step `d`, a block to `d` ranks to the right and one from `d` ranks to the left.
///
/// `outgoing` are the places of the blocks in `input`, by rank, from the rank's own one upwards.
pub(crate) fn pairwise<T: Transport>(
    transport: &mut T,
    input: &[u8],
    outgoing: impl Iterator<Item = (usize, Range<usize>)>,
    output: &mut [u8],
    length: impl Fn(usize) -> usize,
) -> Result<(), TransportError> {
    let (rank, p) = (transport.rank(), transport.size());
    for ((to, sent), (from, received)) in outgoing.zip(blocks_downward(rank, p, length)) {
        let (sent, received) = (&input[sent], &mut output[received]);
        if to == rank {
            transport.copy(sent, received);
        } else {
            exchange(transport, to, sent, from, received)?;
        }
    }
    Ok(())
}
