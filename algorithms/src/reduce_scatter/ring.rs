//! Ring reduce-scatter of blocks that may differ in length.
//!
//! Source: Patarasuk and Yuan, JPDC 69(2):117-124, 2009, doi:10.1016/j.jpdc.2008.09.002.
//! Needs:  a commutative operator. Any lengths, also 0.
//! Shapes: input `[n]`, output `[own block]`; scratch `[2 * longest block]`.
//! Cost:   for equal blocks p-1 rounds of n/p bytes, all combined, on every rank
//!         = (p-1)*(alpha + n/p*(beta + gamma))
//!         (n = bytes of the input, p = ranks; alpha in s, beta and gamma in s/byte); exact for every p.
//!
//! The schedule of `reduce_scatter_block.ring`. A block passes p-1 links one after the other, so a single long one costs as
//! much as p-1 rounds of its length: for blocks of similar lengths. For three ranks with blocks of 4, 0 and 2 elements,
//! `b:r,s` = block `b`, combined from ranks `r` and `s`:
//!
//! ```text
//! step   rank 0        rank 1        rank 2        each sends to the right, then combines what came
//!   0    2:0           0:1           nothing       sends
//!   1    nothing       2:0,1         0:1,2         sends
//!   2    0:all (4)     nothing       2:all (2)
//! ```

use crate::patterns::blocks::Blocks;
use crate::patterns::{costs, ring};
use crate::{Algorithm, Arguments, Collective, Need, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce_scatter.ring";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::ReduceScatter,
    summary: "each block once round the ring, combined on its way (large sizes)",
    source: "Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002",
    needs: &[Need::Commutative],
    parameters: &[],
    cost: costs::combined_block_by_block,
    scratch: crate::scratch::two_blocks,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        input_blocks,
        ..
    } = arguments;
    if input.is_empty() {
        return Ok(());
    }
    let blocks = Blocks::new(input_blocks);
    let mut scratch = transport.take_scratch(2 * blocks.longest())?;
    ring::reduce_scatter_own(
        transport,
        input,
        output,
        &mut scratch[..2 * blocks.longest()],
        |index| blocks.get(index),
    )?;
    transport.give_scratch(scratch);
    Ok(())
}
