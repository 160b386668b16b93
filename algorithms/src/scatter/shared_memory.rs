//! Scatter in shared memory: the root writes a part of each block, the others copy theirs.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node. Any root.
//! Shapes: input `[p*b]` on the root; output `[b]`; no scratch.
//! Cost:   ceil(b/t) rounds, t = s/p rounded down to 16 bytes; the root's copies of all blocks but its own, then the others' of
//!         the last parts, l bytes
//!         = ceil(b/t)*alpha + ((p-1)(b-l) + max(t, (p-1)l) + l)*beta, where t counts only if it is not the last part
//!         (b = bytes of a block, p = ranks, s = `segment_bytes`; alpha in s, beta in s/byte); exact for every p > 1.
//!
//! The root writes parts while the others copy those before.

use crate::shared_memory::{Ranks, SEGMENT_BYTES, Steps, cost_part, steps};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "scatter.shared_memory";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Scatter,
    summary: "the root writes parts of all blocks, the others copy theirs (shared memory)",
    source: "Li, Hoefler and Snir 2013, doi:10.1145/2462902.2462903",
    needs: &[Need::OneNode],
    parameters: &[SEGMENT_BYTES],
    cost,
    scratch: crate::scratch::shared,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    let block = n_bytes / p_ranks;
    if p_ranks == 1 || block == 0 {
        return Cost::ZERO;
    }
    let part = cost_part(setting.parameters, p_ranks);
    let last = block - (block - 1) / part * part;
    // Bytes that a rank still has to copy when the root begins with the last parts.
    let before = if block > part { part } else { 0 };
    Cost {
        rounds: steps(block, part),
        bytes_sent: ((p_ranks - 1) * (block - last) + before.max((p_ranks - 1) * last) + last) as f64,
        bytes_reduced: 0.0,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        root,
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
    // Bytes are copied and never combined, so that elements may be cut.
    let part = cost_part(parameters, p);
    let mut steps = Steps::begin(transport, p * part)?;
    let all = steps.all();
    for (index, output) in output.chunks_mut(part).enumerate() {
        if rank == root {
            steps.next(all)?;
            for other in (0..p).filter(|&other| other != rank) {
                steps.put(other * part, &input[other * block + index * part..][..output.len()]);
            }
            steps.publish();
        } else {
            steps.next(Ranks::None)?;
            steps.publish();
            steps.wait(Ranks::One(root))?;
            steps.get(root, rank * part, output);
        }
    }
    steps.end();
    if rank == root {
        transport.copy(&input[rank * block..][..block], output);
    }
    Ok(())
}
