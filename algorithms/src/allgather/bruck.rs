//! Bruck's allgather: each rank sends what it holds 1, 2, 4, ... ranks to the left.
//!
//! Source: Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 8(11):1143-1156, 1997, doi:10.1109/71.642949.
//! Needs:  nothing.
//! Shapes: input `[b]`, output `[p * b]`; no scratch.
//! Cost:   ceil(log2 p) rounds, n(p-1)/p bytes
//!         = ceil(log2 p)*alpha + n(p-1)/p*beta
//!         (n = p * b = bytes of the result, p = ranks; alpha in s, beta in s/byte); exact for every p. The final rotation
//!         within the output is not counted.
//!
//! The fewest rounds and the least volume for every `p`: for small sizes.
//!
//! Blocks lie in the order of ranks from the rank's own one on, and are rotated to their places at the end (but among two or three
//! ranks, where each message is one block). For five ranks, letters are the blocks of ranks 0 to 4:
//!
//! ```text
//!              rank 0   rank 1   rank 2   rank 3   rank 4
//! start        a        b        c        d        e
//! distance 1   ab       bc       cd       de       ea
//! distance 2   abcd     bcde     cdea     deab     eabc
//! distance 4   abcde    bcdea    cdeab    deabc    eabcd   one block only
//! rotated      abcde    abcde    abcde    abcde    abcde
//! ```

use crate::patterns::{costs, few};
use crate::schedule::{absolute, relative};
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgather.bruck";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgather,
    summary: "all blocks held go 1, 2, 4, ... ranks to the left (small sizes)",
    source: "Bruck et al. 1997, doi:10.1109/71.642949",
    needs: &[],
    parameters: &[],
    cost: costs::blocks_by_doubling,
    scratch: crate::scratch::none,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    if input.is_empty() {
        return Ok(());
    }
    if p <= few::MOST_RANKS {
        let block = |rank: usize| rank * input.len()..(rank + 1) * input.len();
        transport.copy(input, &mut output[block(rank)]);
        return few::allgather(transport, output, block);
    }
    transport.copy(input, &mut output[..input.len()]);
    let mut held = 1;
    while held < p {
        let blocks = held.min(p - held);
        let (have, missing) = output.split_at_mut(held * input.len());
        let (sent, received) = (&have[..blocks * input.len()], &mut missing[..blocks * input.len()]);
        transport.sendrecv(relative(rank, held, p), sent, absolute(held, rank, p), received)?;
        held += blocks;
    }
    output.rotate_right(rank * input.len());
    Ok(())
}
