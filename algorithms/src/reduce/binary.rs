//! Pipelined binary-tree reduce: segments follow each other up a tree, each rank combines those of two others.
//!
//! Source: Pjesivac-Grbovic et al., Cluster Computing 10(2):127-143, 2007, doi:10.1007/s10586-007-0012-0.
//! Needs:  a commutative operator. Any root.
//! Shapes: input `[n]`, output `[n]` on the root; scratch `[n + 4 s]` on inner ranks, `[4 s]` on the root.
//! Cost:   2(m-1) + f rounds; 2(n-s) + fs bytes sent, as many combined; for two ranks m rounds and n bytes
//!         = (2(m-1) + f)*alpha + (2(n-s) + fs)*(beta + gamma)
//!         (n = bytes per rank, p = ranks, s = bytes of a segment, at most n, m = ceil(n/s), f = 2 floor(log2 p), one
//!         less where p is a power of two; alpha in s, beta and gamma in s/byte). Each term is exact where a whole
//!         number of elements fills a segment; the sum is an upper bound, since the combination of a segment overlaps
//!         the messages of others.
//!
//! Twice the volume over the busiest link, but a start-up that grows with `log2(p)` only: between the binomial tree's
//! sizes and the chain's. For six ranks and root 0; `i:j` = segment i from rank j:
//!
//! ```text
//!           0           round    0     1     2     3     4     5
//!         /   \         rank 1   1:3   1:4   2:3   2:4   ...
//!        1     2        rank 2   1:5   2:5   3:5   ...
//!       / \   /         rank 0               1:1   1:2   2:1   2:2   ...
//!      3   4 5
//! ```
//!
//! Neighbours in the tree are no neighbours in rank: hence the need.

use crate::patterns::pipeline::{self, Neighbours, SEGMENT_BYTES};
use crate::schedule::{absolute, binary_children, binary_drain, binary_parent, binary_rate, relative};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce.binary";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Reduce,
    summary: "segments up a binary tree, many under way (medium sizes)",
    source: "Pjesivac-Grbovic et al. 2007, doi:10.1007/s10586-007-0012-0",
    needs: &[Need::Commutative],
    parameters: &[SEGMENT_BYTES],
    cost,
    scratch,
};

fn cost(setting: &Setting<'_>) -> Cost {
    pipeline::cost_by_segment(setting, |p, n_bytes, segment| {
        let (rate, drain) = (binary_rate(p), binary_drain(p));
        let bytes = rate as f64 * (n_bytes - segment) as f64 + drain as f64 * segment as f64;
        Cost {
            rounds: (rate * (n_bytes.div_ceil(segment) - 1) + drain) as f64,
            bytes_sent: bytes,
            bytes_reduced: bytes,
        }
    })
}

fn scratch(setting: &Setting<'_>) -> usize {
    let slots = pipeline::slots_bytes(setting);
    crate::scratch::kept(match setting.p_ranks {
        0..=2 => 0,
        // The root alone has two children.
        3 => slots,
        _ => setting.n_bytes.saturating_add(slots),
    })
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
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
    pipeline::reduce(transport, input, output, segment, neighbours)
}
