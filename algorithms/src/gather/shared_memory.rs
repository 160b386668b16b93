//! Gather in shared memory: each rank writes its block, and the root copies all.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node. Any root.
//! Shapes: input `[b]`; output `[p*b]` on the root; no scratch.
//! Cost:   ceil(b/s) rounds; the others' first copy, then the root's
//!         = ceil(b/s)*alpha + (min(b, s) + (p-1)b)*beta
//!         (b = bytes of a block, p = ranks, s = `segment_bytes`; alpha in s, beta in s/byte); exact for every p > 1.
//!
//! The others write a segment while the root copies the one before.

use crate::shared_memory::{Ranks, SEGMENT_BYTES, Steps, steps, used};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "gather.shared_memory";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Gather,
    summary: "each rank writes its block, the root copies all (shared memory)",
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
    let (block, segment) = (n_bytes / p_ranks, used(setting.parameters));
    Cost {
        rounds: steps(block, segment),
        bytes_sent: (block.min(segment) + (p_ranks - 1) * block) as f64,
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
    let (rank, p, block) = (transport.rank(), transport.size(), input.len());
    if block == 0 {
        return Ok(());
    }
    if rank == root {
        transport.copy(input, &mut output[rank * block..][..block]);
    }
    if p == 1 {
        return Ok(());
    }
    // Bytes are copied and never combined, so that elements may be cut.
    let segment = used(parameters);
    let mut steps = Steps::begin(transport, 0)?;
    let all = steps.all();
    for (index, input) in input.chunks(segment).enumerate() {
        if rank != root {
            steps.next(Ranks::One(root))?;
            steps.put(0, input);
            steps.publish();
            continue;
        }
        steps.next(Ranks::None)?;
        steps.publish();
        steps.wait(all)?;
        for other in (0..p).filter(|&other| other != rank) {
            steps.get(other, 0, &mut output[other * block + index * segment..][..input.len()]);
        }
    }
    steps.end();
    Ok(())
}
