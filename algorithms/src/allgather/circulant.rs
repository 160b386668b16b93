//! Circulant allgather: all blocks that the receiver lacks go down distances that grow to half the ranks.
//!
//! Source: Traeff, arXiv:2410.14234, 2024, doi:10.48550/arXiv.2410.14234.
//! Needs:  nothing.
//! Shapes: input `[b]`, output `[p * b]`; no scratch.
//! Cost:   ceil(log2 p) rounds, n(p-1)/p bytes
//!         = ceil(log2 p)*alpha + n(p-1)/p*beta
//!         (n = p * b = bytes of the result, p = ranks; alpha in s, beta in s/byte); exact for every p. The final rotation
//!         within the output is not counted.
//!
//! The fewest rounds and the least volume for every `p`, as Bruck's algorithm, whose distances are powers of two: here no
//! message has more than half of the blocks, and the rounds are those of the reduce-scatter, back
//! ([`crate::reduce_scatter_block`]).
//!
//! Blocks lie in the order of ranks from the rank's own one on, and are rotated to their places at the end (but among two or three
//! ranks, where each message is one block). For five ranks, letters are the blocks of ranks 0 to 4:
//!
//! ```text
//!              rank 0   rank 1   rank 2   rank 3   rank 4
//! start        a        b        c        d        e
//! distance 1   ab       bc       cd       de       ea
//! distance 2   abc      bcd      cde      dea      eab     one block
//! distance 3   abcde    bcdea    cdeab    deabc    eabcd   two blocks
//! rotated      abcde    abcde    abcde    abcde    abcde
//! ```

use crate::patterns::circulant::{Turned, allgather};
use crate::patterns::{costs, few};
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgather.circulant";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgather,
    summary: "blocks over a circulant graph, distances halve the ranks (small and medium sizes)",
    source: "Traeff 2024, doi:10.48550/arXiv.2410.14234",
    needs: &[],
    parameters: &[],
    cost: costs::blocks_by_doubling,
    scratch: crate::scratch::none,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p, block_bytes) = (transport.rank(), transport.size(), input.len());
    if p <= few::MOST_RANKS {
        let block = |rank: usize| rank * block_bytes..(rank + 1) * block_bytes;
        transport.copy(input, &mut output[block(rank)]);
        return few::allgather(transport, output, block);
    }
    transport.copy(input, &mut output[..block_bytes]);
    let turned = Turned::new(rank, p, |rank| rank * block_bytes);
    allgather(transport, output, &turned)?;
    output.rotate_right(rank * block_bytes);
    Ok(())
}
