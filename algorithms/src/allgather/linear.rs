//! Linear allgather: every rank sends its block to every other.
//!
//! Source: Traeff, Gropp and Thakur, IEEE TPDS 21(5):698-709, 2010, doi:10.1109/TPDS.2009.120 (guideline 35).
//! Needs:  nothing.
//! Shapes: input `[b]`, output `[p * b]`; no scratch.
//! Cost:   p-1 rounds of n/p bytes
//!         = (p-1)*(alpha + n/p*beta)
//!         (n = p * b = bytes of the result, p = ranks; alpha in s, beta in s/byte); exact for every p.
//!
//! As much volume as the ring, but no rank waits for what another one has received: for few ranks that are all as near.
//! In step `d` a rank sends `d` ranks to the right, so that no rank gets two blocks at once. For three ranks, letters are
//! the blocks of ranks 0 to 2:
//!
//! ```text
//!          rank 0   rank 1   rank 2
//! start    a        b        c
//! step 1   a c      a b      b c       0 -> 1, 1 -> 2, 2 -> 0
//! step 2   a b c    a b c    a b c     0 -> 2, 1 -> 0, 2 -> 1
//! ```

use crate::overlap::Overlap;
use crate::patterns::costs;
use crate::schedule::{absolute, relative};
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgather.linear";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgather,
    summary: "each block straight from rank to rank (few ranks)",
    source: "Traeff, Gropp and Thakur 2010, doi:10.1109/TPDS.2009.120",
    needs: &[],
    parameters: &[],
    cost: costs::block_by_block,
    scratch: crate::scratch::none,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    if input.is_empty() {
        return Ok(());
    }
    let (below, from_own) = output.split_at_mut(rank * input.len());
    let (own, above) = from_own.split_at_mut(input.len());
    if p == 2 {
        let (other, block) = if rank == 0 { (1, above) } else { (0, below) };
        transport.copy(input, own);
        return transport.sendrecv(other, input, other, block);
    }
    // Blocks in the order in which they come: of ranks `rank - 1` down to 0, then of `p - 1` down to `rank + 1`.
    let blocks = below
        .chunks_exact_mut(input.len())
        .rev()
        .chain(above.chunks_exact_mut(input.len()).rev());
    let mut overlap = Overlap::new(transport);
    for (distance, block) in (1..p).zip(blocks) {
        overlap.receive(relative(rank, distance, p), block)?;
        overlap.send(absolute(distance, rank, p), input)?;
    }
    overlap.transport().copy(input, own);
    overlap.finish()
}
