//! Circulant broadcast: in every round every rank passes a block on to another one, over distances that halve the ranks.
//!
//! Source: Traeff, arXiv:2312.11236, 2023, doi:10.48550/arXiv.2312.11236; Traeff, arXiv:2205.10072, 2022,
//!         doi:10.48550/arXiv.2205.10072.
//! Needs:  nothing. Any root.
//! Shapes: output `[n]`, which on the root holds the data; no scratch.
//! Cost:   m - 1 + q rounds, the fewest possible; (m - 1 + q)s bytes for m > 1, q*n for m = 1; n for two ranks, and n + s
//!         for three ranks and m = 2
//!         = (m - 1 + q)*(alpha + s*beta)
//!         (n = bytes, p = ranks, q = ceil(log2 p), s = bytes of a segment, at most n, m = ceil(n/s); alpha in s, beta in
//!         s/byte); exact for every p and root where a whole number of elements fills a segment.
//!
//! A pipeline that fills in `q - 1` rounds rather than a chain's `p - 2`, at the full rate of the links: for medium and
//! large sizes and many ranks. `segment_bytes` weighs the time to fill against the start-up of the messages: the best is
//! about `sqrt(n*alpha / ((q - 1)*beta))`.
//!
//! The schedule ([`crate::schedule::circulant`]) says which block a rank sends in which round. Example: blocks 0 to 2 on
//! five ranks, root 0. `i:j` = block `i` to rank `j`. Rounds use the distances 1, 2 and 3 in turn; here the first round, of
//! distance 1, is left out:
//!
//! ```text
//! round      0     1     2     3     4
//! distance   2     3     1     2     3
//! rank 0     0:2   1:3   2:1   2:2   2:3
//! rank 1                             2:4
//! rank 2                 0:3   0:4
//! rank 3                 1:4         0:1
//! rank 4                       1:1   1:2
//! ```

use crate::overlap::exchange;
use crate::patterns::pipeline::{self, SEGMENT_BYTES};
use crate::patterns::two;
use crate::schedule::{Circulant, ceil_log2, relative};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "bcast.circulant";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Bcast,
    summary: "segments over a circulant graph, in the fewest rounds (medium and large sizes)",
    source: "Traeff 2023, doi:10.48550/arXiv.2312.11236; Traeff 2022, doi:10.48550/arXiv.2205.10072",
    needs: &[],
    parameters: &[SEGMENT_BYTES],
    cost,
    scratch: crate::scratch::none,
};

pub(crate) fn cost(setting: &Setting<'_>) -> Cost {
    pipeline::cost_by_segment(setting, |p, n_bytes, segment| {
        let segments = n_bytes.div_ceil(segment);
        let rounds = segments - 1 + ceil_log2(p) as usize;
        let bytes_sent = match (p, segments) {
            // Few ranks: the short last block is on every way.
            (2, _) => n_bytes,
            (3, 2) => n_bytes + segment,
            _ => rounds * segment,
        };
        Cost {
            rounds: rounds as f64,
            bytes_sent: bytes_sent as f64,
            bytes_reduced: 0.0,
        }
    })
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        output,
        root,
        parameters,
        ..
    } = arguments;
    let (rank, p, n_bytes) = (transport.rank(), transport.size(), output.len());
    if n_bytes == 0 {
        return Ok(());
    }
    let segment = pipeline::call_segment(transport, parameters);
    let bytes_of = |block: Option<usize>| {
        let start = block.map_or(0, |block| block * segment);
        start..block.map_or(0, |_| (start + segment).min(n_bytes))
    };
    let graph = Circulant::new(p);
    for round in graph.broadcast(relative(rank, root, p), n_bytes.div_ceil(segment)) {
        let (sent, received) = two(output, bytes_of(round.sent), bytes_of(round.received));
        let (to, from) = ((rank + round.skip) % p, (rank + p - round.skip) % p);
        exchange(transport, to, sent, from, received)?;
    }
    Ok(())
}
