//! Scan in shared memory: each rank writes its input and combines the lower ranks' with its own.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[n]`, output `[n]`; no scratch.
//! Cost:   ceil(n/s) rounds; the last rank but one copies twice, the last one combines p - 1 times
//!         = ceil(n/s)*alpha + 2n*beta + (p-1)n*gamma
//!         (n = bytes per rank, p = ranks, s = `segment_bytes`; alpha in s, beta and gamma in s/byte); exact for every p > 1.
//!
//! One wait for all ranks, and none for rank 0: for small sizes and few ranks.

use crate::patterns::costs;
use crate::shared_memory::{Ranks, SEGMENT_BYTES, Steps, segment};
use crate::{Algorithm, Arguments, Collective, Need, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "scan.shared_memory";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Scan,
    summary: "each rank writes its input and combines those of lower ranks (shared memory)",
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
    let (rank, p) = (transport.rank(), transport.size());
    if p == 1 || input.is_empty() {
        transport.copy(input, output);
        return Ok(());
    }
    let element_bytes = transport.element_bytes();
    let segment = segment(parameters, element_bytes);
    let mut steps = Steps::begin(transport, element_bytes)?;
    for (input, output) in input.chunks(segment).zip(output.chunks_mut(segment)) {
        steps.next(Ranks::Between(rank + 1, p))?;
        if rank + 1 < p {
            steps.put(0, input);
        }
        steps.publish();
        if rank > 0 {
            steps.wait(Ranks::Between(0, rank))?;
        }
        steps.fold(rank, 0, input, output)?;
    }
    steps.end();
    Ok(())
}
