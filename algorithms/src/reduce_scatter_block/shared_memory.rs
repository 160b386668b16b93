//! Reduce-scatter in shared memory: each rank writes a part of each block and combines the parts of its own.
//!
//! Source: Li, Hoefler and Snir, HPDC 2013, doi:10.1145/2462902.2462903.
//! Needs:  all ranks on one node; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[p*b]`, output `[b]`; no scratch.
//! Cost:   ceil(b/t) rounds, t = s/p rounded down to 16 bytes; the others' blocks in, one operand out
//!         = ceil(b/t)*alpha + n*beta + (p-1)b*gamma
//!         (b = bytes of a block, n = p*b, p = ranks, s = `segment_bytes`; alpha in s, beta and gamma in s/byte); exact for
//!         every p > 1 where elements fill parts.

use std::ops::Range;

use crate::shared_memory::{SEGMENT_BYTES, Steps, cost_part, part, steps};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce_scatter_block.shared_memory";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::ReduceScatterBlock,
    summary: "each rank writes parts of all blocks and combines those of its own (shared memory)",
    source: "Li, Hoefler and Snir 2013, doi:10.1145/2462902.2462903",
    needs: &[Need::OneNode],
    parameters: &[SEGMENT_BYTES],
    cost,
    scratch: crate::scratch::shared,
};

pub(crate) fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if p_ranks == 1 {
        return Cost::ZERO;
    }
    let block = n_bytes / p_ranks;
    Cost {
        rounds: steps(block, cost_part(setting.parameters, p_ranks)),
        bytes_sent: n_bytes as f64,
        bytes_reduced: ((p_ranks - 1) * block) as f64,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        parameters,
        ..
    } = arguments;
    let block = output.len();
    if block == 0 {
        return Ok(());
    }
    let of = |rank: usize| rank * block..(rank + 1) * block;
    combine(transport, (input, output), parameters, block, of)
}

/// Combines the parts of each rank's `block` of the input, the longest of which has `longest` bytes.
pub(crate) fn combine<T: Transport>(
    transport: &mut T,
    (input, output): (&[u8], &mut [u8]),
    parameters: &[u64],
    longest: usize,
    block: impl Fn(usize) -> Range<usize>,
) -> Result<(), TransportError> {
    let (rank, p) = (transport.rank(), transport.size());
    if p == 1 {
        transport.copy(input, output);
        return Ok(());
    }
    let part = part(parameters, p, transport.element_bytes());
    let mut steps = Steps::begin(transport, p * part)?;
    let all = steps.all();
    for first in (0..longest).step_by(part) {
        let of = |rank: usize| {
            let block = &input[block(rank)];
            let begin = first.min(block.len());
            &block[begin..(begin + part).min(block.len())]
        };
        steps.next(all)?;
        for other in (0..p).filter(|&other| other != rank && !of(other).is_empty()) {
            steps.put(other * part, of(other));
        }
        steps.publish();
        steps.wait(all)?;
        let own = of(rank);
        if !own.is_empty() {
            let output = &mut output[first..][..own.len()];
            steps.fold(p - 1, rank * part, own, output)?;
        }
    }
    steps.end();
    Ok(())
}
