//! Alltoall in shared memory: each rank writes a part of each of its blocks and copies what is for it.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node.
//! Shapes: input `[p*b]`, output `[p*b]`; no scratch.
//! Cost:   ceil(b/t) rounds, t = s/p rounded down to 16 bytes; all blocks but the own in and out
//!         = ceil(b/t)*alpha + 2(p-1)b*beta
//!         (b = bytes of a block, p = ranks, s = `segment_bytes`; alpha in s, beta in s/byte); exact for every p > 1.

use crate::shared_memory::{SEGMENT_BYTES, Steps, cost_part, steps};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "alltoall.shared_memory";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Alltoall,
    summary: "each rank writes parts of its blocks and copies what is for it (shared memory)",
    source: "Li, Hoefler and Snir 2013, doi:10.1145/2462902.2462903",
    needs: &[Need::OneNode],
    parameters: &[SEGMENT_BYTES],
    cost,
    scratch: crate::scratch::shared,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if p_ranks == 1 {
        return Cost::ZERO;
    }
    let block = n_bytes / p_ranks;
    Cost {
        rounds: steps(block, cost_part(setting.parameters, p_ranks)),
        bytes_sent: (2 * (p_ranks - 1) * block) as f64,
        bytes_reduced: 0.0,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        parameters,
        ..
    } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    let block = input.len() / p;
    if block == 0 {
        return Ok(());
    }
    let own = rank * block..(rank + 1) * block;
    transport.copy(&input[own.clone()], &mut output[own]);
    if p == 1 {
        return Ok(());
    }
    // Bytes are copied and never combined, so that elements may be cut.
    let part = cost_part(parameters, p);
    let mut steps = Steps::begin(transport, p * part)?;
    let all = steps.all();
    for begin in (0..block).step_by(part) {
        let bytes = part.min(block - begin);
        steps.next(all)?;
        for other in (0..p).filter(|&other| other != rank) {
            steps.put(other * part, &input[other * block + begin..][..bytes]);
        }
        steps.publish();
        steps.wait(all)?;
        for other in (0..p).filter(|&other| other != rank) {
            steps.get(other, rank * part, &mut output[other * block + begin..][..bytes]);
        }
    }
    steps.end();
    Ok(())
}
