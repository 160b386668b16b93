//! Blocks between the ranks of a [`Circulant`] graph, all that travel the same way in one message.
//!
//! On rank `r` blocks are numbered from its own on: number `j` is the block of rank `r + j` (modulo `p`), so every round's
//! message is one run of numbers. [`Turned`] says where such a run lies.

use std::ops::Range;

use super::two;
use crate::overlap::exchange;
use crate::schedule::Circulant;
use crate::{Transport, TransportError};

/// A buffer of `p` blocks, of any lengths, turned so that this rank's own comes first.
pub(crate) struct Turned<F> {
    rank: usize,
    p: usize,
    /// Beginning of a rank's block in a buffer in rank order; for `p`, the buffer's end.
    start: F,
}

impl<F: Fn(usize) -> usize> Turned<F> {
    /// The view of `rank`.
    pub(crate) fn new(rank: usize, p: usize, start: F) -> Turned<F> {
        Turned { rank, p, start }
    }

    /// Beginning of number `number`, up to `p`.
    pub(crate) fn offset(&self, number: usize) -> usize {
        let own = (self.start)(self.rank);
        let rank = self.rank + number;
        if rank <= self.p {
            (self.start)(rank) - own
        } else {
            (self.start)(self.p) - own + (self.start)(rank - self.p)
        }
    }

    fn bytes(&self, numbers: Range<usize>) -> Range<usize> {
        self.offset(numbers.start)..self.offset(numbers.end)
    }

    /// The same run in a buffer in rank order: one piece, or two where it goes over the end.
    fn pieces(&self, numbers: Range<usize>) -> [Range<usize>; 2] {
        let Range { start, end } = self.bytes(numbers);
        let (own, n) = ((self.start)(self.rank), (self.start)(self.p));
        let above = n - own;
        [
            own + start.min(above)..own + end.min(above),
            start.max(above) - above..end.max(above) - above,
        ]
    }
}

/// Gives every rank all blocks: `data` is turned, and number 0 is there.
///
/// Round `k` of `q` takes the first `s[k+1] - s[k]` numbers `s[k]` ranks down, where they are numbers `s[k]` and up.
pub(crate) fn allgather<T: Transport>(
    transport: &mut T,
    data: &mut [u8],
    turned: &Turned<impl Fn(usize) -> usize>,
) -> Result<(), TransportError> {
    let &Turned { rank, p, .. } = turned;
    let graph = Circulant::new(p);
    for round in 0..graph.rounds() {
        let (near, far) = (graph.skip(round), graph.skip(round + 1));
        let (sent, received) = two(data, turned.bytes(0..far - near), turned.bytes(near..far));
        exchange(transport, (rank + p - near) % p, sent, (rank + near) % p, received)?;
    }
    Ok(())
}

/// Bytes that [`reduce_scatter`] needs in `spare`: the longest run of numbers sent in its first round, of whatever rank.
pub(crate) fn spare_bytes(p: usize, longest_block: usize) -> usize {
    p / 2 * longest_block
}

/// Combines each rank's own block of all ranks' inputs; the operator must be commutative. The way of [`allgather`], back.
///
/// `input` is in rank order. `held` is turned, of at least the first `ceil(p / 2)` numbers; of it number 0 is the
/// result. `spare` has [`spare_bytes`].
///
/// In the first round half of the numbers go out straight from the input, and what comes is combined with the other half
/// where it came. Only a run that goes over the end of the input is put together first, and where `p` is odd one number
/// has no counterpart and is copied.
pub(crate) fn reduce_scatter<T: Transport>(
    transport: &mut T,
    input: &[u8],
    held: &mut [u8],
    spare: &mut [u8],
    turned: &Turned<impl Fn(usize) -> usize>,
) -> Result<(), TransportError> {
    let &Turned { rank, p, .. } = turned;
    let graph = Circulant::new(p);
    let Some(first) = graph.rounds().checked_sub(1) else {
        transport.copy(input, &mut held[..input.len()]);
        return Ok(());
    };
    let near = graph.skip(first);
    let outgoing = match turned.pieces(near..p) {
        [one, none] | [none, one] if none.is_empty() => &input[one],
        [low, high] => {
            let staged = &mut spare[..low.len() + high.len()];
            let (begin, end) = staged.split_at_mut(low.len());
            transport.copy(&input[low], begin);
            transport.copy(&input[high], end);
            staged
        }
    };
    let incoming = turned.bytes(0..p - near);
    exchange(
        transport,
        (rank + near) % p,
        outgoing,
        (rank + p - near) % p,
        &mut held[incoming],
    )?;
    let mut done = 0;
    for piece in turned.pieces(0..p - near) {
        let own = &input[piece];
        if !own.is_empty() {
            transport.reduce_local(own, &mut held[done..done + own.len()])?;
        }
        done += own.len();
    }
    for piece in turned.pieces(p - near..near) {
        let own = &input[piece];
        transport.copy(own, &mut held[done..done + own.len()]);
        done += own.len();
    }
    for round in (0..first).rev() {
        let (near, far) = (graph.skip(round), graph.skip(round + 1));
        let incoming = turned.bytes(0..far - near);
        let received = &mut spare[incoming.clone()];
        let outgoing = &held[turned.bytes(near..far)];
        exchange(transport, (rank + near) % p, outgoing, (rank + p - near) % p, received)?;
        if !received.is_empty() {
            transport.reduce_local(received, &mut held[incoming])?;
        }
    }
    Ok(())
}
