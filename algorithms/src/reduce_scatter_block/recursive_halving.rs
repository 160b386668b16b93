//! Recursive-halving reduce-scatter: partners half, a quarter, ... of the ranks away exchange the halves of their data.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  a commutative operator. Any number of ranks.
//! Shapes: input `[p * b]`, output `[b]`; scratch `[n]` or less, `[2 n]` or less on ranks that another is folded into.
//! Cost:   k rounds, n - b bytes sent and combined where p is a power of two, p = 2^k
//!         = k*alpha + (n - b)*(beta + gamma);
//!         else, with k = floor(log2 p), f = p - 2^k:
//!         (k + 2)*alpha + (n + B*b + b)*beta + (n + B*b)*gamma, B = sum over i = 0..k-1 of 2^i + min(2^i, f)
//!         (n = p * b = bytes of the input, p = ranks; alpha in s, beta and gamma in s/byte); exact for every p.
//!
//! The least volume in logarithmically many rounds for powers of two: for small and medium sizes. Far partners come first, so
//! that what goes is one piece of memory and each rank ends with its own block; near partners first would keep the operands'
//! order, but leave the blocks in bit-reversed order, and to sort them costs a round or a copy of everything.
//!
//! If `p` is no power of two, neighbours are folded first ([`crate::schedule::fold`]): one of the two works on the blocks of
//! both. Example with five ranks; `b:r,s` = block `b`, combined from ranks `r` and `s`:
//!
//! ```text
//!             rank 0        rank 1   rank 2        rank 3       rank 4
//! fold        0-4:0,1       ->0      0-4:2         0-4:3        0-4:4
//! round 0     0-2:0,1,3              0-2:2,4       3-4:0,1,3    3-4:2,4     0 <-> 3, 2 <-> 4
//! round 1     0-1:all                2:all         3:all        4:all       0 <-> 2, 3 <-> 4
//! unfold      0:all         1:all                                           0 -> 1
//! ```

use crate::patterns::recursive_halving;
use crate::{Algorithm, Arguments, Collective, Need, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce_scatter_block.recursive_halving";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::ReduceScatterBlock,
    summary: "ranks halved, each half takes the other's share of its blocks (small and medium sizes)",
    source: "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521",
    needs: &[Need::Commutative],
    parameters: &[],
    cost: recursive_halving::reduce_scatter_cost,
    scratch: recursive_halving::reduce_scatter_kept,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let bytes = output.len();
    recursive_halving::reduce_scatter(transport, input, output, |index| index * bytes..(index + 1) * bytes)
}
