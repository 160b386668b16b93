//! Pairwise reduce-scatter of blocks that may differ in length.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing; operands are combined in rank order, so the operator need not be commutative. Any lengths, also 0.
//! Shapes: input `[n]`, output `[own block]`; scratch `[3 * own block]` or less.
//! Cost:   for equal blocks p-1 messages of n/p bytes, all combined, on every rank
//!         = (p-1)*(alpha + n/p*(beta + gamma))
//!         (n = bytes of the input, p = ranks; alpha in s, beta and gamma in s/byte). Each term is exact for every p; the
//!         sum is an upper bound, since a block comes in while another one is combined.
//!
//! The schedule of `reduce_scatter_block.pairwise`. A rank receives and combines p-1 times its own block, whatever the
//! others have; nobody forwards anything. For three ranks with blocks of 4, 0 and 2 elements, letters are the operands of
//! ranks 0 to 2 for the block of the rank that has them:
//!
//! ```text
//! distance   rank 0 (4)    rank 1 (0)   rank 2 (2)
//!    0       a                          c
//!    1       a|c                        bc            2 -> 0, 1 -> 2
//!    2       a|bc                       abc           1 -> 0, 0 -> 2
//! end        abc                        abc
//! ```

use crate::patterns::blocks::Blocks;
use crate::patterns::costs;
use crate::patterns::pairwise::{self, FEW_AHEAD};
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce_scatter.pairwise";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::ReduceScatter,
    summary: "each block straight to its rank, several under way (few ranks or large sizes)",
    source: "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521",
    needs: &[],
    parameters: &[],
    cost: costs::combined_block_by_block,
    scratch: pairwise::reduce_scatter_kept::<FEW_AHEAD>,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        input_blocks,
        ..
    } = arguments;
    let blocks = Blocks::new(input_blocks);
    pairwise::reduce_scatter::<T, FEW_AHEAD>(transport, input, output, |index| blocks.get(index))
}
