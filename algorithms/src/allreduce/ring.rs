//! Ring allreduce: a reduce-scatter on the ring, then an allgather on the ring.
//!
//! Source: Patarasuk and Yuan, JPDC 69(2):117-124, 2009, doi:10.1016/j.jpdc.2008.09.002.
//! Needs:  a commutative operator. Any count, also 0 and less than `p`.
//! Shapes: input `[n]`, output `[n]`; no scratch.
//! Cost:   2(p-1) rounds; 2n(p-1)/p bytes sent; n(p-1)/p bytes combined, on every rank
//!         = 2(p-1)*alpha + 2n(p-1)/p*beta + n(p-1)/p*gamma
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte); exact where p divides the count.
//!
//! The least volume and the least computation possible, whatever `p`, between neighbours only: for large sizes.
//!
//! The input is cut into `p` blocks. For three ranks, `b:r,s` = block `b`, combined from ranks `r` and `s`:
//!
//! ```text
//!                  rank 0     rank 1     rank 2     each sends to the right, then combines what came
//! reduce-scatter   2:0        0:1        1:2
//!                  1:2,0      2:0,1      0:1,2
//!                  0:all      1:all      2:all      complete
//! allgather        0          1          2          each sends to the right
//!                  2          0          1
//! ```
//!
//! Blocks start with different ranks' operands: hence the need. Every block is received where it belongs in the output.

use crate::patterns::{costs, ring};
use crate::schedule::{Division, elements, in_bytes};
use crate::{Algorithm, Arguments, Collective, Need, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allreduce.ring";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allreduce,
    summary: "reduce-scatter and allgather on the ring (large sizes)",
    source: "Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002",
    needs: &[Need::Commutative],
    parameters: &[],
    cost: costs::combined_and_collected,
    scratch: crate::scratch::none,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let p = transport.size();
    let element_bytes = transport.element_bytes();
    let blocks = Division::new(elements(input.len(), element_bytes), p);
    let block_of = |index: usize| in_bytes(blocks.block(index), element_bytes);
    if p == 1 {
        transport.copy(input, output);
        return Ok(());
    }
    ring::reduce_scatter(transport, input, output, block_of)?;
    ring::allgather(transport, output, block_of, None)
}
