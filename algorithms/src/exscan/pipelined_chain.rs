//! Pipelined-chain exclusive scan: the prefix passes from each rank to the next, cut into segments that follow each other
//! closely.
//!
//! Source: linear pipelines for scans of long vectors: Sanders and Traeff, EuroPVM/MPI 2006, LNCS 4192:49-57,
//!         doi:10.1007/11846802_15.
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[n]`, output `[n]` except on rank 0; scratch `[n]` on ranks that are neither the first nor the last.
//! Cost:   m + p - 2 rounds; n + (p-2)s bytes sent; n + (p-3)s bytes combined, if p > 2, before the last rank has its
//!         prefix
//!         = (m + p - 2)*alpha + (n + (p-2)s)*beta + (n + (p-3)s)*gamma
//!         (n = bytes per rank, p = ranks, s = bytes of a segment, at most n, m = ceil(n/s); alpha in s, beta and gamma
//!         in s/byte). Each term is exact where a whole number of elements fills a segment; the sum is an upper bound,
//!         since the combination of a segment overlaps the messages of others.
//!
//! For `n` much larger than `p*s`, `n` bytes over one link, whatever `p`: for large sizes. `segment_bytes` weighs the
//! time to fill the pipeline, `p-2` segments, against the start-up of `m` messages.
//!
//! Segments 1 to 3 on five ranks; `ri` = receives segment i, `si` = combines it with its own and sends that on:
//!
//! ```text
//! round    0    1      2         3         4         5
//! rank 0   s1   s2     s3
//! rank 1   r1   r2 s1  r3 s2     s3
//! rank 2        r1     r2 s1     r3 s2     s3
//! rank 3               r1        r2 s1     r3 s2     s3
//! rank 4                         r1        r2        r3
//! ```
//!
//! Segments are received where they stay, several posted ahead. The combinations that go on have a place of their own each,
//! so that no segment waits until an earlier one is sent.

use crate::overlap::Overlap;
use crate::patterns::pipeline::{self, Neighbours, SEGMENT_BYTES};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "exscan.pipelined_chain";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Exscan,
    summary: "prefix from rank to rank in segments, many under way (large sizes)",
    source: "Sanders and Traeff 2006, doi:10.1007/11846802_15",
    needs: &[],
    parameters: &[SEGMENT_BYTES],
    cost,
    scratch: crate::scratch::one_volume_inside,
};

/// Segments that may be on their way to a rank, as in the inclusive scan.
const AHEAD: usize = 4;

fn cost(setting: &Setting<'_>) -> Cost {
    pipeline::cost_by_segment(setting, |p, n_bytes, segment| {
        let hops = p - 2;
        let after = |segments: usize| n_bytes as f64 + segments as f64 * segment as f64;
        Cost {
            rounds: (n_bytes.div_ceil(segment) + hops) as f64,
            bytes_sent: after(hops),
            bytes_reduced: hops.checked_sub(1).map_or(0.0, after),
        }
    })
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        parameters,
        ..
    } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    let segment = pipeline::call_segment(transport, parameters);
    let next = (rank + 1 < p).then_some(rank + 1);
    match (rank.checked_sub(1), next) {
        _ if input.is_empty() => Ok(()),
        (None, None) => Ok(()),
        (None, Some(next)) => pipeline::send(transport, input, segment, next),
        (Some(previous), None) => {
            let end = Neighbours {
                parent: Some(previous),
                children: [None; 2],
            };
            pipeline::broadcast(transport, output, segment, end)
        }
        (Some(previous), Some(next)) => pass_on(transport, input, output, segment, previous, next),
    }
}

/// A rank in the middle: keeps each segment of the prefix from the left and passes it on, combined with its own.
fn pass_on<T: Transport>(
    transport: &mut T,
    input: &[u8],
    output: &mut [u8],
    segment: usize,
    previous: usize,
    next: usize,
) -> Result<(), TransportError> {
    let mut scratch = transport.take_scratch(input.len())?;
    let mut overlap = Overlap::new(transport);
    let mut to_post = output.chunks_mut(segment);
    for chunk in to_post.by_ref().take(AHEAD) {
        overlap.receive(previous, chunk)?;
    }
    let next_prefix = scratch[..input.len()].chunks_mut(segment);
    for (own, combined) in input.chunks(segment).zip(next_prefix) {
        // Before the wait: the copy costs nothing while the segment is still on its way.
        overlap.transport().copy(own, combined);
        let prefix = overlap.received()?;
        if let Some(chunk) = to_post.next() {
            overlap.receive(previous, chunk)?;
        }
        overlap.transport().reduce_local(prefix, combined)?;
        overlap.send(next, combined)?;
    }
    overlap.finish()?;
    transport.give_scratch(scratch);
    Ok(())
}
