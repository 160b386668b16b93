//! Circulant reduce-scatter: in each round half of what a rank holds goes up to ranks that are nearer to where it belongs.
//!
//! Source: Traeff, arXiv:2410.14234, 2024, doi:10.48550/arXiv.2410.14234.
//! Needs:  a commutative operator.
//! Shapes: input `[p * b]`, output `[b]`; scratch `[p * b]`.
//! Cost:   ceil(log2 p) rounds; n(p-1)/p bytes sent, all combined
//!         = ceil(log2 p)*alpha + n(p-1)/p*(beta + gamma)
//!         (n = p * b = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte); exact for every p.
//!
//! The fewest rounds, the least volume and the least computation at once, for every `p`: for all sizes for which
//! messages between far ranks are no slower.
//!
//! On rank `r` blocks are numbered from its own on. The rounds are those of the circulant allgather, back
//! ([`crate::schedule::circulant`]). For five ranks and rank 0, `b:r,s` = block `b`, combined from ranks `r` and `s`:
//!
//! ```text
//! distance 3   blocks 3 and 4 go to rank 3; from rank 2 come 0:2 and 1:2      holds 0:0,2   1:0,2   2:0
//! distance 2   block 2 goes to rank 2; from rank 3 comes 0:3,1                holds 0:0-3   1:0,2
//! distance 1   block 1 goes to rank 1; from rank 4 comes 0:4                  holds 0:all
//! ```

use crate::patterns::circulant::{self, Turned};
use crate::schedule::ceil_log2;
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce_scatter_block.circulant";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::ReduceScatterBlock,
    summary: "blocks over a circulant graph, distances halve the ranks (all sizes)",
    source: "Traeff 2024, doi:10.48550/arXiv.2410.14234",
    needs: &[Need::Commutative],
    parameters: &[],
    cost,
    scratch,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let bytes = (p_ranks - 1) as f64 * (n_bytes as f64 / p_ranks as f64);
    Cost {
        rounds: f64::from(ceil_log2(p_ranks)),
        bytes_sent: bytes,
        bytes_reduced: bytes,
    }
}

fn scratch(setting: &Setting<'_>) -> usize {
    let p = setting.p_ranks;
    // Half of the blocks, rounded up, are held, and the other half comes.
    if p <= 2 { 0 } else { crate::scratch::blocks(setting, p) }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p, block_bytes) = (transport.rank(), transport.size(), output.len());
    if block_bytes == 0 {
        return Ok(());
    }
    let turned = Turned::new(rank, p, |rank| rank * block_bytes);
    let spare_bytes = circulant::spare_bytes(p, block_bytes);
    if p <= 2 {
        // Nothing but the result is ever held.
        let mut spare = [];
        return circulant::reduce_scatter(transport, input, output, &mut spare, &turned);
    }
    let held_bytes = p.div_ceil(2) * block_bytes;
    let mut scratch = transport.take_scratch(held_bytes + spare_bytes)?;
    let (held, rest) = scratch.split_at_mut(held_bytes);
    circulant::reduce_scatter(transport, input, held, &mut rest[..spare_bytes], &turned)?;
    transport.copy(&held[..block_bytes], output);
    transport.give_scratch(scratch);
    Ok(())
}
