//! Ring allgather: every rank passes on to the right what came from the left.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing.
//! Shapes: input `[b]`, output `[p * b]`; no scratch.
//! Cost:   p-1 rounds of n/p bytes
//!         = (p-1)*(alpha + n/p*beta)
//!         (n = p * b = bytes of the result, p = ranks; alpha in s, beta in s/byte); exact for every p.
//!
//! The least volume, between neighbours only: for large sizes. For three ranks, letters are the blocks of ranks 0 to 2:
//!
//! ```text
//!          rank 0   rank 1   rank 2
//! start    a        b        c
//! step 0   a c      a b      b c
//! step 1   a b c    a b c    a b c
//! ```

use crate::patterns::{costs, ring};
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgather.ring";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgather,
    summary: "blocks from neighbour to neighbour (large sizes)",
    source: "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521",
    needs: &[],
    parameters: &[],
    cost: costs::block_by_block,
    scratch: crate::scratch::none,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let block_bytes = input.len();
    let block_of = |index: usize| index * block_bytes..(index + 1) * block_bytes;
    transport.copy(input, &mut output[block_of(transport.rank())]);
    ring::allgather(transport, output, block_of, None)
}
