//! Linear alltoallv: every rank sends each other rank its block, all messages at once.
//!
//! Source: Traeff, Gropp and Thakur, IEEE TPDS 21(5):698-709, 2010, doi:10.1109/TPDS.2009.120 (guideline 35).
//! Needs:  nothing.
//! Shapes: input `[sum of b_to]`, output `[sum of b_from]`, lengths of both known; no scratch.
//! Cost:   of equal blocks, p-1 rounds of n/p bytes
//!         = (p-1)*(alpha + n/p*beta)
//!         (n = p * b = bytes of the input, p = ranks; alpha in s, beta in s/byte); exact for every p. Of others, a
//!         rank's messages are those of its blocks that are not empty.
//!
//! A long block delays only those that wait for it: for blocks of different lengths. In step `d` a rank sends `d` ranks
//! to the right, so that no rank gets two blocks at once. For three ranks, block `ij` goes from rank i to rank j:
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
pub(crate) const ID: &str = "alltoallv.linear";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Alltoallv,
    summary: "each block straight from rank to rank, many under way (blocks that differ)",
    source: "Traeff, Gropp and Thakur 2010, doi:10.1109/TPDS.2009.120",
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
    let (rank, p) = (transport.rank(), transport.size());
    let mut blocks = blocks_upward(rank, p, |to| input_blocks[to]).map(|(to, range)| (to, &input[range]));
    let own = blocks.next().map_or(&[][..], |(_, own)| own);
    alltoall::linear(transport, blocks, own, output, |from| output_blocks[from])
}
