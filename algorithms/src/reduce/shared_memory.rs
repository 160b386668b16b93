//! Reduce in shared memory: all write segments, the root combines them.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node; operands stay in rank order, so the operator need not be commutative. Any root.
//! Shapes: input `[n]`; output `[n]` on the root; no scratch.
//! Cost:   ceil(n/s) rounds; the others' first copy, then the root's of one operand
//!         = ceil(n/s)*alpha + (min(n, s) + n)*beta + (p-1)n*gamma
//!         (n = bytes per rank, p = ranks, s = `segment_bytes`; alpha in s, beta and gamma in s/byte); exact for every p > 1.
//!
//! The others write a segment while the root combines the one before, and leave at once: for small sizes and few ranks.

use crate::patterns::costs;
use crate::shared_memory::{Ranks, SEGMENT_BYTES, Steps, segment};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce.shared_memory";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Reduce,
    summary: "all write segments, the root combines them (shared memory)",
    source: "Li, Hoefler and Snir 2013, doi:10.1145/2462902.2462903",
    needs: &[Need::OneNode],
    parameters: &[SEGMENT_BYTES],
    cost,
    scratch: crate::scratch::shared,
};

fn cost(setting: &Setting<'_>) -> Cost {
    Cost {
        bytes_reduced: (setting.p_ranks - 1) as f64 * setting.n_bytes as f64,
        ..costs::all_through_a_slot(setting)
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
    let (rank, p) = (transport.rank(), transport.size());
    if p == 1 || input.is_empty() {
        transport.copy(input, output);
        return Ok(());
    }
    let element_bytes = transport.element_bytes();
    let segment = segment(parameters, element_bytes);
    let mut steps = Steps::begin(transport, element_bytes)?;
    let all = steps.all();
    if rank == root {
        for (input, output) in input.chunks(segment).zip(output.chunks_mut(segment)) {
            steps.next(Ranks::None)?;
            steps.publish();
            steps.wait(all)?;
            steps.fold(p - 1, 0, input, output)?;
        }
    } else {
        for input in input.chunks(segment) {
            steps.next(Ranks::One(root))?;
            steps.put(0, input);
            steps.publish();
        }
    }
    steps.end();
    Ok(())
}
