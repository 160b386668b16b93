//! Allreduce in shared memory where each rank combines everything.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[n]`, output `[n]`; no scratch.
//! Cost:   ceil(n/s) rounds; 2n bytes copied, (p-1)n combined
//!         = ceil(n/s)*alpha + 2n*beta + (p-1)n*gamma
//!         (n = bytes per rank, p = ranks, s = `segment_bytes`; alpha in s, beta and gamma in s/byte); exact for every p > 1
//!         where elements fill segments.
//!
//! One wait for all: for small sizes and few ranks. Every rank writes a segment of its input into its slot, waits for all, and
//! combines the slots from the highest rank's down. [`super::shared_memory_parts`] divides the combining.

use crate::patterns::costs;
use crate::shared_memory::{SEGMENT_BYTES, Steps, segment};
use crate::{Algorithm, Arguments, Collective, Need, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allreduce.shared_memory";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allreduce,
    summary: "each rank writes its input and combines all (shared memory, small sizes)",
    source: "Li, Hoefler and Snir 2013, doi:10.1145/2462902.2462903",
    needs: &[Need::OneNode],
    parameters: &[SEGMENT_BYTES],
    cost: costs::combined_in_shared_memory,
    scratch: crate::scratch::shared,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        parameters,
        ..
    } = arguments;
    let p = transport.size();
    if p == 1 || input.is_empty() {
        transport.copy(input, output);
        return Ok(());
    }
    let element_bytes = transport.element_bytes();
    let segment = segment(parameters, element_bytes);
    let mut steps = Steps::begin(transport, element_bytes)?;
    let all = steps.all();
    for (input, output) in input.chunks(segment).zip(output.chunks_mut(segment)) {
        steps.next(all)?;
        steps.put(0, input);
        steps.publish();
        steps.wait(all)?;
        steps.fold(p - 1, 0, input, output)?;
    }
    steps.end();
    Ok(())
}
