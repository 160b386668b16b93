//! Direct allreduce: block `r` of every rank straight to rank `r`, which combines it, and the result straight back to all.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521 (the pairwise exchange; here
//!         its messages do not wait for each other).
//! Needs:  nothing; operands are combined in rank order, so the operator need not be commutative. Any count.
//! Shapes: input `[n]`, output `[n]`; scratch `9 [ceil(n / p)]` or less.
//! Cost:   2(p-1) rounds; 2n(p-1)/p bytes sent; n(p-1)/p bytes combined, on every rank
//!         = 2(p-1)*alpha + 2n(p-1)/p*beta + n(p-1)/p*gamma
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte). Each term is exact where p divides the count;
//!         the sum is an upper bound, since a block comes in while another one is combined.
//!
//! Volume and messages of the ring, but every block takes two hops instead of `2(p-1)`: where a message is long under way and
//! a rank can have many of them there. For three ranks, `b:r,s` = block `b`, combined from ranks `r` and `s`:
//!
//! ```text
//!                rank 0            rank 1            rank 2
//! sends          1:0 ->1 2:0 ->2   2:1 ->2 0:1 ->0   0:2 ->0 1:2 ->1
//! has            0:0,1,2           1:0,1,2           2:0,1,2
//! sends          0 ->1 0 ->2       1 ->2 1 ->0       2 ->0 2 ->1
//! ```

use crate::patterns::costs;
use crate::patterns::pairwise::{self, MANY_AHEAD};
use crate::schedule::{Division, elements, in_bytes};
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allreduce.direct";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allreduce,
    summary: "each block straight to its rank and back, many under way (long latencies)",
    source: "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521",
    needs: &[],
    parameters: &[],
    cost: costs::combined_and_collected,
    scratch: pairwise::reduce_scatter_kept::<MANY_AHEAD>,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    let element_bytes = transport.element_bytes();
    let blocks = Division::new(elements(input.len(), element_bytes), p);
    let block_of = |index: usize| in_bytes(blocks.block(index), element_bytes);
    if input.is_empty() {
        return Ok(());
    }
    pairwise::reduce_scatter::<T, MANY_AHEAD>(transport, input, &mut output[block_of(rank)], block_of)?;
    pairwise::allgather(transport, output, block_of)
}
