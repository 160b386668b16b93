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
use crate::patterns::subtree::take_start;
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

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
    cost,
    scratch: crate::scratch::none,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let messages = (p_ranks - 1) as f64;
    Cost {
        rounds: messages,
        bytes_sent: messages * (n_bytes as f64 / p_ranks as f64),
        bytes_reduced: 0.0,
    }
}

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
