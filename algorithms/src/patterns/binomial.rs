//! Data down and up the tree of [`Halving`].

use std::ops::Range;

use super::subtree;
use crate::schedule::Halving;
use crate::{Transport, TransportError};

/// Sends each child the part of `data` that `bytes_of` says for the ranks of its subtree, if there is any.
pub(crate) fn send_to_children<T: Transport>(
    transport: &mut T,
    place: &Halving,
    data: &[u8],
    bytes_of: impl Fn(Range<usize>) -> Range<usize>,
) -> Result<(), TransportError> {
    subtree::send(transport, place.children().map(std::iter::once), data, bytes_of)
}

/// Gives every rank its block of the root's `data`, where it lies in the root's, and those of its subtree.
pub(crate) fn scatter_in_place<T: Transport>(
    transport: &mut T,
    place: &Halving,
    data: &mut [u8],
    block_of: impl Fn(usize) -> Range<usize>,
) -> Result<(), TransportError> {
    let blocks_of = |ranks: Range<usize>| block_of(ranks.start).start..block_of(ranks.end - 1).end;
    if let Some(parent) = place.parent {
        let blocks = &mut data[blocks_of(place.subtree.clone())];
        if !blocks.is_empty() {
            transport.recv(parent, blocks)?;
        }
    }
    send_to_children(transport, place, data, blocks_of)
}

/// Collects the blocks of this rank's subtree in `blocks`, in rank order; each rank gives its `input`.
pub(crate) fn collect<T: Transport>(
    transport: &mut T,
    place: &Halving,
    input: &[u8],
    blocks: &mut [u8],
) -> Result<(), TransportError> {
    let bytes = input.len();
    let children = place.children().rev();
    let before = (transport.rank() - place.subtree.start) * bytes;
    let parts = children.map(|child| (child.start, child.len() * bytes));
    subtree::collect(transport, parts, before, input, blocks)
}

/// Combines the inputs of this rank's subtree, in rank order, into `result`.
///
/// `spare` is as long as `result`; it may be empty on a rank other than the root that has one child.
pub(crate) fn reduce<T: Transport>(
    transport: &mut T,
    place: &Halving,
    input: &[u8],
    result: &mut [u8],
    spare: &mut [u8],
) -> Result<(), TransportError> {
    let rank = transport.rank();
    let children = place.children();
    if children.len() == 0 {
        transport.copy(input, result);
        return Ok(());
    }
    let (mut held, mut spare) = (result, spare);
    // A combination with higher ranks lands in the buffer that their data came in. Started in the right one of the two,
    // the data ends in `result` without a copy.
    if children.clone().filter(|child| child.start > rank).count() % 2 == 1 {
        std::mem::swap(&mut held, &mut spare);
    }
    let mut is_first = true;
    for child in children.rev() {
        transport.recv(child.start, spare)?;
        if child.start < rank {
            if is_first {
                transport.copy(input, held);
            }
            transport.reduce_local(spare, held)?;
        } else {
            transport.reduce_local(if is_first { input } else { held }, spare)?;
            std::mem::swap(&mut held, &mut spare);
        }
        is_first = false;
    }
    Ok(())
}
