//! Pipelined-chain scan: the prefix passes from each rank to the next, cut into segments that follow each other
//! closely.
//!
//! Source: linear pipelines for scans of long vectors: Sanders and Traeff, EuroPVM/MPI 2006, LNCS 4192:49-57,
//!         doi:10.1007/11846802_15.
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[n]`, output `[n]`; scratch `[4 s]` except on rank 0.
//! Cost:   m + p - 2 rounds; n + (p-2)s bytes sent, as many combined, on the last rank
//!         = (m + p - 2)*alpha + (n + (p-2)s)*(beta + gamma)
//!         (n = bytes per rank, p = ranks, s = bytes of a segment, at most n, m = ceil(n/s); alpha in s, beta and gamma
//!         in s/byte). Each term is exact where a whole number of elements fills a segment; the sum is an upper bound,
//!         since the combination of a segment overlaps the messages of others.
//!
//! For `n` much larger than `p*s`, `n` bytes over one link, whatever `p`: for large sizes. `segment_bytes` weighs the
//! time to fill the pipeline, `p-2` segments, against the start-up of `m` messages.
//!
//! Segments 1 to 3 on five ranks; `ri` = receives and combines segment i, `si` = sends it on:
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
//! Receives are posted several segments ahead and sends are completed late: the link is never idle while a rank
//! combines, nor while a message's latency passes.

use crate::overlap::Overlap;
use crate::patterns::pipeline::{self, SEGMENT_BYTES};
use crate::schedule::segments;
use crate::{Algorithm, Arguments, Collective, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "scan.pipelined_chain";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Scan,
    summary: "prefix from rank to rank in segments, many under way (large sizes)",
    source: "Sanders and Traeff 2006, doi:10.1007/11846802_15",
    needs: &[],
    parameters: &[SEGMENT_BYTES],
    cost: pipeline::combining_chain_cost,
    scratch,
};

/// Segments that may be on their way to a rank or be combined by it. More than two, so that the handshake of a
/// rendezvous, which large segments need, is over when its segment's turn comes.
const AHEAD: usize = 4;

fn scratch(setting: &Setting<'_>) -> usize {
    let ahead = if setting.p_ranks < 2 {
        0
    } else {
        pipeline::slots_bytes(setting)
    };
    crate::scratch::kept(ahead)
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
        (None, None) => {
            transport.copy(input, output);
            Ok(())
        }
        (None, Some(next)) => start(transport, input, output, segment, next),
        (Some(previous), next) => pass_on(transport, input, output, segment, previous, next),
    }
}

/// Rank 0: its input is its prefix.
fn start<T: Transport>(
    transport: &mut T,
    input: &[u8],
    output: &mut [u8],
    segment: usize,
    next: usize,
) -> Result<(), TransportError> {
    let mut overlap = Overlap::new(transport);
    for range in segments(input.len(), segment) {
        overlap.send(next, &input[range.clone()])?;
        overlap.transport().copy(&input[range.clone()], &mut output[range]);
    }
    overlap.finish()
}

/// Every other rank: combines each segment of the prefix from the left with its own and passes it on.
fn pass_on<T: Transport>(
    transport: &mut T,
    input: &[u8],
    output: &mut [u8],
    segment: usize,
    previous: usize,
    next: Option<usize>,
) -> Result<(), TransportError> {
    let ranges = segments(input.len(), segment);
    let ahead = ranges.len().min(AHEAD);
    let slot_bytes = segment.min(input.len());
    if ahead == 0 {
        return Ok(());
    }
    let mut scratch = transport.take_scratch(ahead * slot_bytes)?;
    let mut overlap = Overlap::new(transport);
    let mut to_post = ranges.clone();
    for (slot, range) in scratch.chunks_exact_mut(slot_bytes).zip(to_post.by_ref().take(ahead)) {
        overlap.receive(previous, &mut slot[..range.len()])?;
    }
    let mut rest = output;
    for range in ranges {
        let (combined, after) = rest.split_at_mut(range.len());
        rest = after;
        // Before the wait: the copy costs nothing while the segment is still on its way.
        overlap.transport().copy(&input[range], combined);
        let slot = overlap.received()?;
        overlap.transport().reduce_local(slot, combined)?;
        if let Some(next) = next {
            overlap.send(next, combined)?;
        }
        if let Some(range) = to_post.next() {
            overlap.receive(previous, &mut slot[..range.len()])?;
        }
    }
    overlap.finish()?;
    transport.give_scratch(scratch);
    Ok(())
}
