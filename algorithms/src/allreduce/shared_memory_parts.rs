//! Allreduce in shared memory where each rank combines a part and the others copy it.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[n]`, output `[n]`; no scratch.
//! Cost:   2 ceil(n/pt) rounds, t = s/p rounded down to 16 bytes; (2 + 1/p)n bytes copied, n(p-1)/p combined
//!         = 2 ceil(n/pt)*alpha + (2 + 1/p)n*beta + n(p-1)/p*gamma
//!         (n = bytes per rank, p = ranks, s = `segment_bytes`; alpha in s, beta and gamma in s/byte); exact for every p > 1
//!         where p divides n and elements fill parts.
//!
//! A segment takes two steps. In the first, every rank writes its input and combines its part of all ranks' inputs in its
//! output; in the second, it writes that part and copies the others'. So a byte is combined `p - 1` times in all and not by
//! each rank: for large sizes.

use crate::schedule::{block, in_bytes};
use crate::shared_memory::{SEGMENT_BYTES, Steps, cost_part, part, steps};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allreduce.shared_memory_parts";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allreduce,
    summary: "each rank combines a part, the others copy it (shared memory, large sizes)",
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
    let (p, n) = (p_ranks as f64, n_bytes as f64);
    Cost {
        rounds: 2.0 * steps(n_bytes, p_ranks * cost_part(setting.parameters, p_ranks)),
        bytes_sent: 2.0 * n + n / p,
        bytes_reduced: (p - 1.0) * n / p,
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
    if p == 1 || input.is_empty() {
        transport.copy(input, output);
        return Ok(());
    }
    let element_bytes = transport.element_bytes();
    let segment = p * part(parameters, p, element_bytes);
    let mut steps = Steps::begin(transport, segment)?;
    let all = steps.all();
    for (input, output) in input.chunks(segment).zip(output.chunks_mut(segment)) {
        let part = |rank| in_bytes(block(input.len() / element_bytes, p, rank), element_bytes);
        let own = part(rank);
        steps.next(all)?;
        steps.put(0, input);
        steps.publish();
        steps.wait(all)?;
        steps.fold(p - 1, own.start, &input[own.clone()], &mut output[own.clone()])?;
        steps.next(all)?;
        steps.put(own.start, &output[own]);
        steps.publish();
        steps.wait(all)?;
        for other in (0..p).filter(|&other| other != rank) {
            let part = part(other);
            steps.get(other, part.start, &mut output[part]);
        }
    }
    steps.end();
    Ok(())
}
