//! Pairwise reduce-scatter: each rank sends every other one its block, which combines them all.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing; operands are combined in rank order, so the operator need not be commutative.
//! Shapes: input `[p * b]`, output `[b]`; scratch `[3 b]` or less.
//! Cost:   p-1 messages of b bytes, all combined, on every rank
//!         = (p-1)*(alpha + b*(beta + gamma))
//!         (b = bytes of a block, p = ranks; alpha in s, beta and gamma in s/byte). Each term is exact for every p; the sum
//!         is an upper bound, since a block comes in while another one is combined.
//!
//! As little volume as the ring, but no message waits for a combination: for few ranks, for large blocks, and for operators
//! that are slow or not commutative. In step `d` a rank sends to the one `d` to its right, so that all ranks' links are busy
//! with one message each way.
//!
//! For five ranks, letters are the operands of ranks 0 to 4 for the block of the rank that has them. Operands of lower
//! ranks are combined apart from those of higher ones; the last row is one combination more:
//!
//! ```text
//! distance   rank 0   rank 1   rank 2   rank 3   rank 4
//!    0       a        b        c        d        e
//!    1       a|e      ab       bc       cd       de
//!    2       a|de     ab|e     abc      bcd      cde
//!    3       a|cde    ab|de    abc|e    abcd     bcde
//!    4       a|bcde   ab|cde   abc|de   abcd|e   abcde
//! end        abcde    abcde    abcde    abcde    abcde
//! ```

use crate::patterns::costs;
use crate::patterns::pairwise::{self, FEW_AHEAD};
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce_scatter_block.pairwise";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::ReduceScatterBlock,
    summary: "each block straight to its rank, several under way (few ranks or large sizes)",
    source: "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521",
    needs: &[],
    parameters: &[],
    cost: costs::combined_block_by_block,
    scratch: pairwise::reduce_scatter_kept::<FEW_AHEAD>,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let bytes = output.len();
    pairwise::reduce_scatter::<T, FEW_AHEAD>(transport, input, output, |index| index * bytes..(index + 1) * bytes)
}
