//! Barrier in shared memory: each rank sets its flag and waits for all others'.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node.
//! Shapes: no data, no scratch.
//! Cost:   alpha (a round is a step in shared memory, see [`crate::shared_memory`]; alpha in s); exact for every p > 1.
//!
//! A rank reads `p - 1` flags, each on a cache line of its own: for the ranks of a node.

use crate::shared_memory::{Ranks, Steps};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "barrier.shared_memory";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Barrier,
    summary: "each rank sets its flag and waits for all others' (shared memory)",
    source: "Li, Hoefler and Snir 2013, doi:10.1145/2462902.2462903",
    needs: &[Need::OneNode],
    parameters: &[],
    cost,
    scratch: crate::scratch::shared,
};

fn cost(setting: &Setting<'_>) -> Cost {
    if setting.p_ranks == 1 {
        return Cost::ZERO;
    }
    Cost {
        rounds: 1.0,
        ..Cost::ZERO
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let _ = arguments;
    if transport.size() == 1 {
        return Ok(());
    }
    let mut steps = Steps::begin(transport, 0)?;
    // Nothing is written, so nobody has to have read anything.
    let all = steps.all();
    steps.next(Ranks::None)?;
    steps.publish();
    steps.wait(all)?;
    steps.end();
    Ok(())
}
