//! Pairwise alltoall: one exchange after the other.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing.
//! Shapes: input `[p * b]`, output `[p * b]`; no scratch.
//! Cost:   p-1 rounds of n/p bytes
//!         = (p-1)*(alpha + n/p*beta)
//!         (n = p * b = bytes of the input, p = ranks; alpha in s, beta in s/byte); exact for every p.
//!
//! At any time each rank sends one block and receives one, so that few messages compete for links and memory: for large
//! sizes. If `p` is a power of two, ranks `r` and `r xor d` exchange blocks in step `d`, which uses both directions of a
//! link. Else each rank sends to the rank `d` places to its right and receives from the one `d` places to its left. Example
//! with three ranks; block `ij` goes from rank i to rank j:
//!
//! ```text
//! step     rank 0     rank 1     rank 2
//! start    00 01 02   10 11 12   20 21 22
//! d = 1    00 .. 20   01 11 ..   .. 12 22     01, 12 and 20 go right by one
//! d = 2    00 10 20   01 11 21   02 12 22     02, 10 and 21 go right by two
//! ```

use crate::overlap::exchange;
use crate::patterns::{alltoall, costs};
use crate::schedule::blocks_upward;
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "alltoall.pairwise";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Alltoall,
    summary: "one exchange of blocks after the other (large sizes)",
    source: "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521",
    needs: &[],
    parameters: &[],
    cost: costs::block_by_block,
    scratch: crate::scratch::none,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    let block_bytes = input.len() / p;
    if !p.is_power_of_two() {
        let outgoing = blocks_upward(rank, p, |_| block_bytes);
        return alltoall::pairwise(transport, input, outgoing, output, |_| block_bytes);
    }
    let block = |rank: usize| rank * block_bytes..(rank + 1) * block_bytes;
    transport.copy(&input[block(rank)], &mut output[block(rank)]);
    for partner in (1..p).map(|distance| rank ^ distance) {
        let (sent, received) = (&input[block(partner)], &mut output[block(partner)]);
        exchange(transport, partner, sent, partner, received)?;
    }
    Ok(())
}
