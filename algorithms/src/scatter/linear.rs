//! Linear scatter: the root sends every rank its block.
//!
//! Source: Traeff, Gropp and Thakur, IEEE TPDS 21(5):698-709, 2010, doi:10.1109/TPDS.2009.120 (guideline 35).
//! Needs:  nothing. Any root.
//! Shapes: input `[p * b]` on the root, output `[b]`; no scratch.
//! Cost:   p-1 rounds; n(p-1)/p bytes, at the root
//!         = (p-1)*alpha + n(p-1)/p*beta
//!         (n = p * b = bytes at the root, p = ranks; alpha in s, beta in s/byte); exact for every p.
//!
//! Every byte crosses one link, once: for large blocks. For five ranks and root 1:
//!
//! ```text
//! round    0        1        2        3
//!          1 -> 0   1 -> 2   1 -> 3   1 -> 4
//! ```

use crate::overlap::{Overlap, SHORT_BYTES, send_each};
use crate::patterns::costs;
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "scatter.linear";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Scatter,
    summary: "each block straight from the root (large blocks)",
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
    if output.is_empty() {
        return Ok(());
    }
    if rank != root {
        return transport.recv(root, output);
    }
    let p = transport.size();
    let bytes = output.len();
    let block = |rank: usize| &input[rank * bytes..][..bytes];
    let mut others = (0..rank).chain(rank + 1..p).map(|to| (to, block(to)));
    // A long message is under way while the root copies its own block; a short one has left when its call returns.
    if p == 2 && bytes <= SHORT_BYTES {
        send_each(transport, others)?;
        transport.copy(block(rank), output);
        return Ok(());
    }
    let mut overlap = Overlap::new(transport);
    others.try_for_each(|(to, block)| overlap.send(to, block))?;
    overlap.transport().copy(block(rank), output);
    overlap.finish()
}
