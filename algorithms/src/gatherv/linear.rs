//! Linear gatherv: every rank sends its block straight to the root.
//!
//! Source: Traeff, Gropp and Thakur, IEEE TPDS 21(5):698-709, 2010, doi:10.1109/TPDS.2009.120 (guideline 35).
//! Needs:  nothing. Any root.
//! Shapes: input `[b_rank]`, output `[n]` on the root, n the sum of all b; no scratch.
//! Cost:   of equal blocks, p-1 rounds; n(p-1)/p bytes, at the root
//!         = (p-1)*alpha + n(p-1)/p*beta
//!         (n = bytes at the root, p = ranks; alpha in s, beta in s/byte); exact for every p. Of others, n less the
//!         root's own block, and a round less for each empty one.
//!
//! Every byte crosses one link, once, and goes where it belongs, and the root, which alone knows the lengths, need tell
//! nobody: for all but small blocks. For five ranks, root 1, rank 3 without data:
//!
//! ```text
//! round    0        1        2
//!          0 -> 1   2 -> 1   4 -> 1
//! ```

use crate::overlap::Overlap;
use crate::patterns::costs;
use crate::patterns::subtree::take_start;
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "gatherv.linear";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Gatherv,
    summary: "each block straight to the root",
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
        root,
        ..
    } = arguments;
    let rank = transport.rank();
    if rank != root {
        return if input.is_empty() {
            Ok(())
        } else {
            transport.send(root, input)
        };
    }
    let mut overlap = Overlap::new(transport);
    let mut rest = output;
    for (from, &bytes) in output_blocks.iter().enumerate() {
        let block = take_start(&mut rest, bytes);
        if from == rank {
            overlap.transport().copy(input, block);
        } else if bytes > 0 {
            overlap.receive(from, block)?;
        }
    }
    overlap.finish()
}
