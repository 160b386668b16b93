//! Ring allgatherv: every rank passes on to the right what came from the left.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing.
//! Shapes: input `[b_rank]`, output `[n]`, n the sum of all b; no scratch.
//! Cost:   of equal blocks, p-1 rounds of n/p bytes
//!         = (p-1)*(alpha + n/p*beta)
//!         (n = bytes of the result, p = ranks; alpha in s, beta in s/byte); exact for every p. Of others, between
//!         (p-1)*alpha + (n - b)*beta of the shortest b and (p-1)*(alpha + b*beta) of the longest: a long block
//!         is passed on from rank to rank while the others wait.
//!
//! The least volume, between neighbours only: for large blocks of about equal lengths. For three ranks, rank 1 without
//! data:
//!
//! ```text
//!          rank 0   rank 1   rank 2
//! start    aaa               c
//! step 0   aaac     aaa      c         0 -> 1, 2 -> 0
//! step 1   aaac     aaac     aaac      0 -> 1, 1 -> 2
//! ```

use crate::overlap::exchange;
use crate::patterns::{costs, two};
use crate::schedule::{blocks_downward, ring_next, ring_previous};
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgatherv.ring";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgatherv,
    summary: "blocks from neighbour to neighbour (large sizes)",
    source: "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521",
    needs: &[],
    parameters: &[],
    cost: costs::block_by_block,
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
    let (next, previous) = (ring_next(rank, p), ring_previous(rank, p));
    let mut blocks = blocks_downward(rank, p, |rank| output_blocks[rank]).map(|(_, range)| range);
    let mut held = blocks.next().unwrap_or_default();
    transport.copy(input, &mut output[held.clone()]);
    for incoming in blocks {
        let (sent, received) = two(output, held, incoming.clone());
        exchange(transport, next, sent, previous, received)?;
        held = incoming;
    }
    Ok(())
}
