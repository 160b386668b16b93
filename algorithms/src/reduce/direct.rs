//! Direct reduce: block `r` of every rank straight to rank `r`, which combines it, and the result straight to the root.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521 (the pairwise exchange; here
//!         its messages do not wait for each other); reduce-scatter followed by gather: Rabenseifner, ICCS 2004, LNCS
//!         3036:1-9, doi:10.1007/978-3-540-24685-5_1.
//! Needs:  nothing; operands are combined in rank order, so the operator need not be commutative. Any root, any count.
//! Shapes: input `[n]`, output `[n]` on the root; scratch `10 [ceil(n / p)]` or less.
//! Cost:   2(p-1) rounds; 2n(p-1)/p bytes sent; n(p-1)/p bytes combined on the slowest rank, the root
//!         = 2(p-1)*alpha + 2n(p-1)/p*beta + n(p-1)/p*gamma
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte). Each term is exact where p divides the count;
//!         the sum is an upper bound, since a block comes in while another one is combined.
//!
//! Volume and messages of the ring, but every block takes two hops instead of `p`: where a message is long under way and a
//! rank can have many of them there. For three ranks and root 0, `b:r,s` = block `b`, combined from ranks `r` and `s`:
//!
//! ```text
//!                rank 0            rank 1            rank 2
//! sends          1:0 ->1 2:0 ->2   2:1 ->2 0:1 ->0   0:2 ->0 1:2 ->1
//! has            0:0,1,2           1:0,1,2           2:0,1,2
//! sends                            1 ->0             2 ->0
//! ```

use crate::patterns::costs;
use crate::patterns::pairwise::{self, MANY_AHEAD};
use crate::reduce::ring::collect;
use crate::schedule::{Division, elements, in_bytes};
use crate::{Algorithm, Arguments, Collective, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce.direct";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Reduce,
    summary: "each block straight to its rank and on to the root, many under way (long latencies)",
    source: "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521; \
             Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1",
    needs: &[],
    parameters: &[],
    cost: costs::combined_and_collected,
    scratch,
};

fn scratch(setting: &Setting<'_>) -> usize {
    crate::scratch::blocks(setting, 1 + pairwise::scratch_blocks::<MANY_AHEAD>(setting.p_ranks))
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input, output, root, ..
    } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    let element_bytes = transport.element_bytes();
    let blocks = Division::new(elements(input.len(), element_bytes), p);
    let block_of = |index: usize| in_bytes(blocks.block(index), element_bytes);
    if input.is_empty() {
        return Ok(());
    }
    if rank == root {
        pairwise::reduce_scatter::<T, MANY_AHEAD>(transport, input, &mut output[block_of(rank)], block_of)?;
        return collect(transport, output, block_of);
    }
    let block_bytes = block_of(rank).len();
    let slots_bytes = pairwise::scratch_bytes::<MANY_AHEAD>(rank, p, block_bytes);
    let mut scratch = transport.take_scratch(block_bytes + slots_bytes)?;
    let (result, slots) = scratch.split_at_mut(block_bytes);
    let slots = &mut slots[..slots_bytes];
    pairwise::reduce_scatter_in::<T, MANY_AHEAD>(transport, input, result, slots, block_of)?;
    if !result.is_empty() {
        transport.send(root, result)?;
    }
    transport.give_scratch(scratch);
    Ok(())
}
