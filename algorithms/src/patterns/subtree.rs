//! Blocks down and up a tree whose subtrees are runs of consecutive ranks.

use std::ops::Range;

use crate::overlap::{SHORT_BYTES, receive_each, send_each};
use crate::{Transport, TransportError};

/// Sends each child the part of `data` that `bytes_of` says for the ranks of its subtree, if there is any. Children are
/// given level by level, by their subtrees, of which they are the lowest ranks, largest first.
///
/// The messages of a level go out at once, those of the next one after them: they would take a share of the link from blocks that have a longer
/// way to go.
pub(crate) fn send<T: Transport>(
    transport: &mut T,
    levels: impl Iterator<Item = impl Iterator<Item = Range<usize>>>,
    data: &[u8],
    bytes_of: impl Fn(Range<usize>) -> Range<usize>,
) -> Result<(), TransportError> {
    for children in levels {
        let parts = children.map(|child| (child.start, &data[bytes_of(child)]));
        send_each(transport, parts.filter(|(_, part)| !part.is_empty()))?;
    }
    Ok(())
}

/// Collects in `blocks`, in rank order, this rank's `input`, `before` bytes from the beginning, and its children's data.
///
/// Children are given with the bytes that come from them, each directly beside those that have their place already.
pub(crate) fn collect<T: Transport>(
    transport: &mut T,
    children: impl Iterator<Item = (usize, usize)>,
    before: usize,
    input: &[u8],
    blocks: &mut [u8],
) -> Result<(), TransportError> {
    let rank = transport.rank();
    let is_short = blocks.len() <= SHORT_BYTES;
    let (mut low, rest) = blocks.split_at_mut(before);
    let (own, mut high) = rest.split_at_mut(input.len());
    let parts = children.map(|(child, bytes)| {
        let target = if child < rank {
            take_end(&mut low, bytes)
        } else {
            take_start(&mut high, bytes)
        };
        (child, target)
    });
    let messages = parts.filter(|(_, target)| !target.is_empty());
    receive_each(transport, is_short, messages, |transport| transport.copy(input, own))
}

/// The last `bytes` of `data`, which ends before them from now on.
#[inline]
pub(crate) fn take_end<'d>(data: &mut &'d mut [u8], bytes: usize) -> &'d mut [u8] {
    let all = std::mem::take(data);
    let (rest, taken) = all.split_at_mut(all.len() - bytes);
    *data = rest;
    taken
}

/// The first `bytes` of `data`, which begins behind them from now on.
#[inline]
pub(crate) fn take_start<'d>(data: &mut &'d mut [u8], bytes: usize) -> &'d mut [u8] {
    let (taken, rest) = std::mem::take(data).split_at_mut(bytes);
    *data = rest;
    taken
}

/// Bytes of a length that is told to another rank.
pub(crate) const LENGTH_BYTES: usize = size_of::<u64>();

/// The message that tells a length.
pub(crate) fn told(bytes: usize) -> [u8; LENGTH_BYTES] {
    (bytes as u64).to_ne_bytes()
}

/// The `index`-th of the lengths in a message. A length that this machine cannot address becomes the largest one, which
/// no scratch can have.
pub(crate) fn heard(message: &[u8], index: usize) -> usize {
    let mut word = [0; LENGTH_BYTES];
    word.copy_from_slice(&message[index * LENGTH_BYTES..][..LENGTH_BYTES]);
    usize::try_from(u64::from_ne_bytes(word)).unwrap_or(usize::MAX)
}
