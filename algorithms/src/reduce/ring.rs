//! Ring reduce: a reduce-scatter on the ring, then every rank sends its block of the result to the root.
//!
//! Source: Patarasuk and Yuan, JPDC 69(2):117-124, 2009, doi:10.1016/j.jpdc.2008.09.002 (the reduce-scatter);
//!         reduce-scatter followed by gather: Rabenseifner, ICCS 2004, LNCS 3036:1-9, doi:10.1007/978-3-540-24685-5_1.
//! Needs:  a commutative operator. Any count, also 0 and less than `p`.
//! Shapes: input `[n]`, output `[n]` on the root; scratch `2 [ceil(n / p)]` there, `3 [ceil(n / p)]` elsewhere.
//! Cost:   2(p-1) rounds; 2n(p-1)/p bytes sent; n(p-1)/p bytes reduced on the slowest rank, the root
//!         = 2(p-1)*alpha + 2n(p-1)/p*beta + n(p-1)/p*gamma
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte); exact where p divides the count.
//!
//! Bandwidth-optimal but for the root's link: where a binomial tree moves all `n` bytes `log2(p)` times one after the
//! other, here each link carries `n(p-1)/p` bytes once, and the root receives as much again.
//!
//! The input is cut into `p` blocks. The partial result of block `b` starts on rank `b+1`, goes once round the ring,
//! and each rank adds its own share, so that it is complete on rank `b`. For five ranks, `b:r..s` = block `b`, combined
//! from ranks `r..s`:
//!
//! ```text
//! step   rank 0     rank 1     rank 2     rank 3     rank 4     each sends to the right, then combines what came
//!   0    4:0        0:1        1:2        2:3        3:4        sends
//!   1    3:4,0      4:0,1      0:1,2      1:2,3      2:3,4      sends
//!   2    2:3,4,0    3:4,0,1    4:0,1,2    0:1,2,3    1:2,3,4    sends
//!   3    1:2..4,0   2:3,4,0,1  3:4,0..2   4:0..3     0:1..4     sends
//!   4    0:all      1:all      2:all      3:all      4:all      each sends its block to the root
//! ```
//!
//! Blocks start with different ranks' operands (block 4's combination begins with rank 0, block 0's with rank 1): hence
//! the need.

use crate::overlap::Overlap;
use crate::patterns::{costs, ring};
use crate::schedule::{Division, elements, in_bytes};
use crate::{Algorithm, Arguments, Collective, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce.ring";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Reduce,
    summary: "reduce-scatter on the ring, then each block straight to the root (large sizes)",
    source: "Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002; \
             Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1",
    needs: &[Need::Commutative],
    parameters: &[],
    cost: costs::combined_and_collected,
    scratch,
};

fn scratch(setting: &Setting<'_>) -> usize {
    let blocks = if setting.p_ranks < 2 { 0 } else { 3 };
    crate::scratch::blocks(setting, blocks)
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input, output, root, ..
    } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    let element_bytes = transport.element_bytes();
    let blocks = Division::new(elements(input.len(), element_bytes), p);
    let block_of = |index: usize| in_bytes(blocks.block(index), element_bytes);
    if p == 1 {
        transport.copy(input, output);
        return Ok(());
    }

    // Block 0 is the largest.
    let block_bytes = block_of(0).len();
    let own = block_of(rank);
    let result_bytes = if rank == root { 0 } else { own.len() };
    let mut scratch = transport.take_scratch(2 * block_bytes + result_bytes)?;
    let (slots, rest) = scratch.split_at_mut(2 * block_bytes);
    if rank == root {
        ring::reduce_scatter_own(transport, input, &mut output[own], slots, block_of)?;
        collect(transport, output, block_of)?;
    } else {
        let result = &mut rest[..result_bytes];
        ring::reduce_scatter_own(transport, input, result, slots, block_of)?;
        if !result.is_empty() {
            transport.send(root, result)?;
        }
    }
    transport.give_scratch(scratch);
    Ok(())
}

/// The root's part of the gather: receives are posted ahead, since all ranks send at the same time.
pub(crate) fn collect<T: Transport>(
    transport: &mut T,
    output: &mut [u8],
    block_of: impl Fn(usize) -> std::ops::Range<usize>,
) -> Result<(), TransportError> {
    let (rank, p) = (transport.rank(), transport.size());
    let mut overlap = Overlap::new(transport);
    let mut rest = output;
    for from in 0..p {
        let (target, after) = rest.split_at_mut(block_of(from).len());
        rest = after;
        if from != rank && !target.is_empty() {
            overlap.receive(from, target)?;
        }
    }
    overlap.finish()
}
