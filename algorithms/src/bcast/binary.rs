//! Pipelined binary-tree broadcast: segments follow each other down a tree, each rank sends them to two others.
//!
//! Source: Pjesivac-Grbovic et al., Cluster Computing 10(2):127-143, 2007, doi:10.1007/s10586-007-0012-0.
//! Needs:  nothing. Any root.
//! Shapes: output `[n]`, which on the root holds the data; no scratch.
//! Cost:   2(m-1) + f rounds; 2(n-s) + fs bytes; for two ranks m rounds and n bytes
//!         = (2(m-1) + f)*alpha + (2(n-s) + fs)*beta
//!         (n = bytes, p = ranks, s = bytes of a segment, at most n, m = ceil(n/s), f = rounds in which the first segment
//!         reaches the last rank, at most 2 floor(log2 p); alpha in s, beta in s/byte); exact for every p where a whole
//!         number of elements fills a segment.
//!
//! Twice the volume over the busiest link, but a start-up that grows with `log2(p)` only: between the binomial tree's
//! sizes and the chain's. `segment_bytes` weighs the time to fill the tree against the start-up of the messages.
//!
//! For six ranks and root 0; `i:j` = segment i to rank j:
//!
//! ```text
//!           0           round    0     1     2     3     4     5
//!         /   \         rank 0   1:1   1:2   2:1   2:2   ...
//!        1     2        rank 1         1:3   1:4   2:3   2:4   ...
//!       / \   /         rank 2               1:5         2:5   ...
//!      3   4 5
//! ```

use crate::patterns::pipeline::{self, Neighbours, SEGMENT_BYTES};
use crate::schedule::{absolute, binary_children, binary_fill, binary_parent, binary_rate, relative};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "bcast.binary";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Bcast,
    summary: "segments down a binary tree, many under way (medium sizes)",
    source: "Pjesivac-Grbovic et al. 2007, doi:10.1007/s10586-007-0012-0",
    needs: &[],
    parameters: &[SEGMENT_BYTES],
    cost,
    scratch: crate::scratch::none,
};

fn cost(setting: &Setting<'_>) -> Cost {
    pipeline::cost_by_segment(setting, |p, n_bytes, segment| {
        let (rate, fill) = (binary_rate(p), binary_fill(p));
        Cost {
            rounds: (rate * (n_bytes.div_ceil(segment) - 1) + fill) as f64,
            bytes_sent: rate as f64 * (n_bytes - segment) as f64 + fill as f64 * segment as f64,
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
    let p = transport.size();
    let own = relative(transport.rank(), root, p);
    let neighbours = Neighbours {
        parent: binary_parent(own),
        children: binary_children(own, p),
    };
    let segment = pipeline::call_segment(transport, parameters);
    let neighbours = neighbours.map(|relative| absolute(relative, root, p));
    pipeline::broadcast(transport, output, segment, neighbours)
}
