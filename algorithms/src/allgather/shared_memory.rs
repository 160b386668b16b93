//! Allgather in shared memory: each rank writes its block, and copies all others'.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node.
//! Shapes: input `[b]`, output `[p*b]`; no scratch.
//! Cost:   ceil(b/s) rounds; each rank's block in, the others' out
//!         = ceil(b/s)*alpha + n*beta
//!         (n = p*b bytes, p = ranks, s = `segment_bytes`; alpha in s, beta in s/byte); exact for every p > 1.

use crate::shared_memory::{SEGMENT_BYTES, Steps, steps, used};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgather.shared_memory";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgather,
    summary: "each rank writes its block and copies all others' (shared memory)",
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
    Cost {
        rounds: steps(n_bytes / p_ranks, used(setting.parameters)),
        bytes_sent: n_bytes as f64,
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
    let (rank, p, block) = (transport.rank(), transport.size(), input.len());
    if block == 0 {
        return Ok(());
    }
    transport.copy(input, &mut output[rank * block..][..block]);
    if p == 1 {
        return Ok(());
    }
    // Bytes are copied and never combined, so that elements may be cut.
    let segment = used(parameters);
    let mut steps = Steps::begin(transport, 0)?;
    let all = steps.all();
    for (index, input) in input.chunks(segment).enumerate() {
        steps.next(all)?;
        steps.put(0, input);
        steps.publish();
        steps.wait(all)?;
        for other in (0..p).filter(|&other| other != rank) {
            steps.get(other, 0, &mut output[other * block + index * segment..][..input.len()]);
        }
    }
    steps.end();
    Ok(())
}
