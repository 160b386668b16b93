//! Broadcast in shared memory: the root writes segments, all others copy them.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node. Any root.
//! Shapes: output `[n]`, which on the root holds the data; no scratch.
//! Cost:   ceil(n/s) rounds; the root's first copy, then all of the others'
//!         = ceil(n/s)*alpha + (min(n, s) + n)*beta
//!         (n = bytes, s = `segment_bytes`; alpha in s, beta in s/byte); exact for every p > 1.
//!
//! The root writes a segment while the others copy the one before.

use crate::patterns::costs;
use crate::shared_memory::{Ranks, SEGMENT_BYTES, Steps, used};
use crate::{Algorithm, Arguments, Collective, Need, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "bcast.shared_memory";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Bcast,
    summary: "the root writes segments, all others copy them (shared memory)",
    source: "Li, Hoefler and Snir 2013, doi:10.1145/2462902.2462903",
    needs: &[Need::OneNode],
    parameters: &[SEGMENT_BYTES],
    cost: costs::all_through_a_slot,
    scratch: crate::scratch::shared,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        output,
        root,
        parameters,
        ..
    } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    if p == 1 || output.is_empty() {
        return Ok(());
    }
    // Bytes are copied and never combined, so that elements may be cut.
    let segment = used(parameters);
    let mut steps = Steps::begin(transport, 0)?;
    let all = steps.all();
    for output in output.chunks_mut(segment) {
        if rank == root {
            steps.next(all)?;
            steps.put(0, output);
            steps.publish();
        } else {
            steps.next(Ranks::None)?;
            steps.publish();
            steps.wait(Ranks::One(root))?;
            steps.get(root, 0, output);
        }
    }
    steps.end();
    Ok(())
}
