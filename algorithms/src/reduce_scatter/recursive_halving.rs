//! Recursive-halving reduce-scatter of blocks that may differ in length.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  a commutative operator. Any number of ranks, any lengths, also 0.
//! Shapes: input `[n]`, output `[own block]`; scratch `[2 n]` or less.
//! Cost:   for equal blocks that of `reduce_scatter_block.recursive_halving`, exact for every p: for powers of two
//!         log2(p)*alpha + (n - n/p)*(beta + gamma)
//!         (n = bytes of the input, p = ranks; alpha in s, beta and gamma in s/byte).
//!
//! The ranks, not the bytes, are halved. Where one rank has most of the data, everything goes to its half in each round, at
//! most n bytes: log2(p)*(alpha + n*(beta + gamma)), no more than in a binomial tree.
//!
//! For three ranks with blocks of 4, 0 and 2 elements, `b:r,s` = block `b`, combined from ranks `r` and `s`:
//!
//! ```text
//!             rank 0              rank 1          rank 2
//! fold        0-2:0,1             6 elements ->   0-2:2
//! round 0     0-1:all (4)                         2:all (2)     0 <-> 2
//! unfold      0:all               nothing                       block 1 is empty
//! ```

use crate::patterns::blocks::Blocks;
use crate::patterns::recursive_halving;
use crate::{Algorithm, Arguments, Collective, Need, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce_scatter.recursive_halving";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::ReduceScatter,
    summary: "ranks halved, each half takes the other's share of its blocks (small and medium sizes)",
    source: "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521",
    needs: &[Need::Commutative],
    parameters: &[],
    cost: recursive_halving::reduce_scatter_cost,
    scratch: recursive_halving::reduce_scatter_kept,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        input_blocks,
        ..
    } = arguments;
    let blocks = Blocks::new(input_blocks);
    recursive_halving::reduce_scatter(transport, input, output, |index| blocks.get(index))
}
