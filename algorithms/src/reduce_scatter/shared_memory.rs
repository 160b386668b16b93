//! Reduce-scatter of blocks that may differ in length, in shared memory: each rank writes a part of each block and combines the parts of its own.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node; operands stay in rank order, so the operator need not be commutative. Any lengths, also 0.
//! Shapes: input `[n]`, output `[own block]`; no scratch.
//! Cost:   as `reduce_scatter_block.shared_memory` for equal blocks of b = n/p bytes
//!         = ceil(b/t)*alpha + n*beta + (p-1)b*gamma
//!         (n = bytes of the input, p = ranks, t = s/p rounded down to 16 bytes, s = `segment_bytes`; alpha in s, beta and gamma in s/byte).
//!
//! The steps are as many as the longest block has parts, since every rank publishes every epoch.

use crate::patterns::blocks::Blocks;
use crate::reduce_scatter_block::shared_memory::{combine, cost};
use crate::shared_memory::SEGMENT_BYTES;
use crate::{Algorithm, Arguments, Collective, Need, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce_scatter.shared_memory";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::ReduceScatter,
    summary: "each rank writes parts of all blocks and combines those of its own (shared memory)",
    source: "Li, Hoefler and Snir 2013, doi:10.1145/2462902.2462903",
    needs: &[Need::OneNode],
    parameters: &[SEGMENT_BYTES],
    cost,
    scratch: crate::scratch::shared,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        input_blocks,
        parameters,
        ..
    } = arguments;
    if input.is_empty() {
        return Ok(());
    }
    let blocks = Blocks::new(input_blocks);
    combine(transport, (input, output), parameters, blocks.longest(), |rank| {
        blocks.get(rank)
    })
}
