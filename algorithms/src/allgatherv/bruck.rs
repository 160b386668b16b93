//! Bruck's allgatherv: each rank sends what it holds 1, 2, 4, ... ranks to the left.
//!
//! Source: Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 8(11):1143-1156, 1997, doi:10.1109/71.642949.
//! Needs:  nothing.
//! Shapes: input `[b_rank]`, output `[n]`, n the sum of all b; no scratch.
//! Cost:   of equal blocks, ceil(log2 p) rounds, n(p-1)/p bytes
//!         = ceil(log2 p)*alpha + n(p-1)/p*beta
//!         (n = bytes of the result, p = ranks; alpha in s, beta in s/byte); exact for every p. The final rotation
//!         within the output is not counted. Of others, as many rounds, and n less the shortest block at least.
//!
//! The fewest rounds: for small sizes, and for blocks of lengths so different that a ring would wait for the longest.
//!
//! Blocks lie in the order of ranks from the rank's own one on, and are rotated to their places at the end (but among two or three
//! ranks, where each message is one block). For five ranks, rank 2 without data:
//!
//! ```text
//!              rank 0   rank 1   rank 2   rank 3   rank 4
//! start        aa       b                 d        e
//! distance 1   aab      b        d        de       eaa
//! distance 2   aabd     bde      deaa     deaab    eaab
//! distance 4   aabde    bdeaa    deaab    deaab    eaabd    one block only, none from rank 2
//! rotated      aabde    aabde    aabde    aabde    aabde
//! ```

use std::ops::Range;

use crate::overlap::exchange;
use crate::patterns::{costs, few};
use crate::schedule::{absolute, relative};
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgatherv.bruck";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgatherv,
    summary: "all blocks held go 1, 2, 4, ... ranks to the left (small sizes)",
    source: "Bruck et al. 1997, doi:10.1109/71.642949",
    needs: &[],
    parameters: &[],
    cost: costs::blocks_by_doubling,
    scratch: crate::scratch::none,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        output_blocks,
        ..
    } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    let bytes_of = |ranks: Range<usize>| -> usize { ranks.map(|rank| output_blocks[rank % p]).sum() };
    if p <= few::MOST_RANKS {
        let begin = |rank: usize| bytes_of(0..rank);
        let block = |rank: usize| begin(rank)..begin(rank) + output_blocks[rank];
        transport.copy(input, &mut output[block(rank)]);
        return few::allgather(transport, output, block);
    }
    transport.copy(input, &mut output[..input.len()]);
    let (mut held, mut held_bytes) = (1, input.len());
    while held < p {
        let blocks = held.min(p - held);
        let (have, missing) = output.split_at_mut(held_bytes);
        let sent = &have[..bytes_of(rank..rank + blocks)];
        let received = &mut missing[..bytes_of(rank + held..rank + held + blocks)];
        held_bytes += received.len();
        exchange(
            transport,
            relative(rank, held, p),
            sent,
            absolute(held, rank, p),
            received,
        )?;
        held += blocks;
    }
    output.rotate_right(bytes_of(0..rank));
    Ok(())
}
