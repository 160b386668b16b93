//! Reduce-scatter in shared memory: each rank writes a part of each block and combines the parts of its own.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[p*b]`, output `[b]`; no scratch.
//! Cost:   ceil(b/t) rounds, t = s/p rounded down to 16 bytes; the others' blocks in, one operand out
//!         = ceil(b/t)*alpha + n*beta + (p-1)b*gamma
//!         (b = bytes of a block, n = p*b, p = ranks, s = `segment_bytes`; alpha in s, beta and gamma in s/byte); exact for
//!         every p > 1 where elements fill parts.

use crate::shared_memory::{SEGMENT_BYTES, Steps, cost_part, part, steps};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce_scatter_block.shared_memory";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::ReduceScatterBlock,
    summary: "each rank writes parts of all blocks and combines those of its own (shared memory)",
    source: "Li, Hoefler and Snir 2013, doi:10.1145/2462902.2462903",
    needs: &[Need::OneNode],
    parameters: &[SEGMENT_BYTES],
    cost,
    scratch: crate::scratch::shared,
};

pub(crate) fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if p_ranks == 1 {
        return Cost::ZERO;
    }
    let block = n_bytes / p_ranks;
    Cost {
        rounds: steps(block, cost_part(setting.parameters, p_ranks)),
        bytes_sent: n_bytes as f64,
        bytes_reduced: ((p_ranks - 1) * block) as f64,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        parameters,
        ..
    } = arguments;
    let (rank, p, block) = (transport.rank(), transport.size(), output.len());
    if block == 0 {
        return Ok(());
    }
    if p == 1 {
        transport.copy(input, output);
        return Ok(());
    }
    let part = part(parameters, p, transport.element_bytes());
    let mut steps = Steps::begin(transport, p * part)?;
    let all = steps.all();
    for (index, output) in output.chunks_mut(part).enumerate() {
        let of = |rank: usize| &input[rank * block + index * part..][..output.len()];
        steps.next(all)?;
        for other in (0..p).filter(|&other| other != rank) {
            steps.put(other * part, of(other));
        }
        steps.publish();
        steps.wait(all)?;
        let own = of(rank);
        steps.fold(p - 1, rank * part, own, output)?;
    }
    steps.end();
    Ok(())
}
