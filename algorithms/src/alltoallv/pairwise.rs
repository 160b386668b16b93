//! Pairwise alltoallv: one exchange after the other.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing.
//! Shapes: input `[sum of b_to]`, output `[sum of b_from]`, lengths of both known; no scratch.
//! Cost:   of equal blocks, p-1 rounds of n/p bytes
//!         = (p-1)*(alpha + n/p*beta)
//!         (n = p * b = bytes of the input, p = ranks; alpha in s, beta in s/byte); exact for every p. Of others, at
//!         least the longest block of each step.
//!
//! At any time each rank sends one block and receives one, so that links and memory are shared by few: for large blocks
//! of about equal lengths. A step is the same distance for all ranks, never an exclusive or: so the place of the next
//! block is one addition away. For three ranks, block `ij` goes from rank i to rank j:
//!
//! ```text
//! step     rank 0     rank 1     rank 2
//! start    00 01 02   10 11 12   20 21 22
//! d = 1    00 .. 20   01 11 ..   .. 12 22     01, 12 and 20 go right by one
//! d = 2    00 10 20   01 11 21   02 12 22     02, 10 and 21 go right by two
//! ```

use crate::patterns::{alltoall, costs};
use crate::schedule::blocks_upward;
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "alltoallv.pairwise";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Alltoallv,
    summary: "one exchange of blocks after the other (large sizes)",
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
        input_blocks,
        output_blocks,
        ..
    } = arguments;
    let outgoing = blocks_upward(transport.rank(), transport.size(), |to| input_blocks[to]);
    alltoall::pairwise(transport, input, outgoing, output, |from| output_blocks[from])
}
