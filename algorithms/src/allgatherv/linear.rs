//! Linear allgatherv: every rank sends its block to every other.
//!
//! Source: Traeff, Gropp and Thakur, IEEE TPDS 21(5):698-709, 2010, doi:10.1109/TPDS.2009.120 (guideline 35).
//! Needs:  nothing.
//! Shapes: input `[b_rank]`, output `[n]`, n the sum of all b; no scratch.
//! Cost:   of equal blocks, p-1 rounds of n/p bytes
//!         = (p-1)*(alpha + n/p*beta)
//!         (n = bytes of the result, p = ranks; alpha in s, beta in s/byte); exact for every p. Of others, at the rank
//!         with the longest block, (p-1)*(alpha + b*beta).
//!
//! No rank waits for what another one has received: for few ranks that are all as near. In step `d` a rank sends `d`
//! ranks to the right, so that no rank gets two blocks at once. For three ranks, rank 1 without data:
//!
//! ```text
//!          rank 0   rank 1   rank 2
//! start    aaa               c
//! d = 1    aaac     aaa      c         0 -> 1, 2 -> 0
//! d = 2    aaac     aaac     aaac      0 -> 2, 2 -> 1
//! ```

use crate::patterns::{alltoall, costs};
use crate::schedule::absolute;
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgatherv.linear";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgatherv,
    summary: "each block straight from rank to rank (few ranks)",
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
        output_blocks,
        ..
    } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    let blocks = (1..p).map(|distance| (absolute(distance, rank, p), input));
    alltoall::linear(transport, blocks, input, output, |from| output_blocks[from])
}
