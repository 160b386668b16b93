//! Linear scatterv: the root sends every rank its block.
//!
//! Source: Traeff, Gropp and Thakur, IEEE TPDS 21(5):698-709, 2010, doi:10.1109/TPDS.2009.120 (guideline 35).
//! Needs:  nothing. Any root.
//! Shapes: input `[n]` on the root, n the sum of all b, output `[b_rank]`; no scratch.
//! Cost:   of equal blocks, p-1 rounds; n(p-1)/p bytes, at the root
//!         = (p-1)*alpha + n(p-1)/p*beta
//!         (n = bytes at the root, p = ranks; alpha in s, beta in s/byte); exact for every p. Of others, n less the
//!         root's own block, and a round less for each empty one.
//!
//! Every byte crosses one link, once, and the root, which alone knows the lengths, need tell nobody: for all but small
//! blocks. For five ranks, root 1, rank 3 without data:
//!
//! ```text
//! round    0        1        2
//!          1 -> 0   1 -> 2   1 -> 4
//! ```

use crate::overlap::Overlap;
use crate::patterns::costs;
use crate::schedule::blocks_upward;
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "scatterv.linear";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Scatterv,
    summary: "each block straight from the root",
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
        root,
        ..
    } = arguments;
    let rank = transport.rank();
    if rank != root {
        return if output.is_empty() {
            Ok(())
        } else {
            transport.recv(root, output)
        };
    }
    let mut own = &[][..];
    let mut overlap = Overlap::new(transport);
    for (to, range) in blocks_upward(0, input_blocks.len(), |to| input_blocks[to]) {
        if to == rank {
            own = &input[range];
        } else if !range.is_empty() {
            overlap.send(to, &input[range])?;
        }
    }
    overlap.transport().copy(own, output);
    overlap.finish()
}
