//! Ring reduce-scatter: each block goes once round the ring and is combined with every rank's operand on its way.
//!
//! Source: Patarasuk and Yuan, JPDC 69(2):117-124, 2009, doi:10.1016/j.jpdc.2008.09.002.
//! Needs:  a commutative operator.
//! Shapes: input `[p * b]`, output `[b]`; scratch `[2 b]`.
//! Cost:   p-1 rounds of b bytes, all combined, on every rank
//!         = (p-1)*(alpha + b*(beta + gamma))
//!         (b = bytes of a block, p = ranks; alpha in s, beta and gamma in s/byte); exact for every p.
//!
//! The least volume possible, whatever `p`, between neighbours only: for large sizes. For five ranks, `b:r..s` = block `b`,
//! combined from ranks `r..s`:
//!
//! ```text
//! step   rank 0     rank 1     rank 2     rank 3     rank 4     each sends to the right, then combines what came
//!   0    4:0        0:1        1:2        2:3        3:4        sends
//!   1    3:4,0      4:0,1      0:1,2      1:2,3      2:3,4      sends
//!   2    2:3,4,0    3:4,0,1    4:0,1,2    0:1,2,3    1:2,3,4    sends
//!   3    1:2..4,0   2:3,4,0,1  3:4,0..2   4:0..3     0:1..4     sends
//!   4    0:all      1:all      2:all      3:all      4:all
//! ```
//!
//! Blocks start with different ranks' operands: hence the need.

use crate::patterns::{costs, ring};
use crate::{Algorithm, Arguments, Collective, Need, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce_scatter_block.ring";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::ReduceScatterBlock,
    summary: "each block once round the ring, combined on its way (large sizes)",
    source: "Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002",
    needs: &[Need::Commutative],
    parameters: &[],
    cost: costs::combined_block_by_block,
    scratch: crate::scratch::two_blocks,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    if input.is_empty() {
        return Ok(());
    }
    let bytes = output.len();
    let mut scratch = transport.take_scratch(2 * bytes)?;
    ring::reduce_scatter_own(transport, input, output, &mut scratch[..2 * bytes], |index| {
        index * bytes..(index + 1) * bytes
    })?;
    transport.give_scratch(scratch);
    Ok(())
}
