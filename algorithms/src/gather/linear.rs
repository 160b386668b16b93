//! Linear gather: every rank sends its block straight to the root.
//!
//! Source: Traeff, Gropp and Thakur, IEEE TPDS 21(5):698-709, 2010, doi:10.1109/TPDS.2009.120 (guideline 35: a gather is to
//!         cost no more than `p` receives).
//! Needs:  nothing. Any root.
//! Shapes: input `[b]`, output `[p * b]` on the root; no scratch.
//! Cost:   p-1 rounds; n(p-1)/p bytes, at the root
//!         = (p-1)*alpha + n(p-1)/p*beta
//!         (n = p * b = bytes at the root, p = ranks; alpha in s, beta in s/byte); exact for every p.
//!
//! Every byte crosses one link, once, and goes where it belongs: for large blocks. For five ranks and root 1:
//!
//! ```text
//! round    0        1        2        3
//!          0 -> 1   2 -> 1   3 -> 1   4 -> 1
//! ```

use crate::overlap::{SHORT_BYTES, receive_each};
use crate::patterns::blocks::equal_blocks_mut;
use crate::patterns::costs;
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "gather.linear";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Gather,
    summary: "each block straight to the root (large blocks)",
    source: "Traeff, Gropp and Thakur 2010, doi:10.1109/TPDS.2009.120",
    needs: &[],
    parameters: &[],
    cost: costs::block_by_block,
    scratch: crate::scratch::none,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input, output, root, ..
    } = arguments;
    let rank = transport.rank();
    if input.is_empty() {
        return Ok(());
    }
    if rank != root {
        return transport.send(root, input);
    }
    let bytes = input.len();
    let (below, from_own) = output.split_at_mut(rank * bytes);
    let (own, above) = from_own.split_at_mut(bytes);
    let others = (0..rank)
        .zip(equal_blocks_mut(below, bytes))
        .chain((rank + 1..).zip(equal_blocks_mut(above, bytes)));
    receive_each(transport, bytes <= SHORT_BYTES, others, |transport| {
        transport.copy(input, own);
    })
}
