//! Two-tree broadcast: even segments go down one tree, odd ones down another, in which no rank is inner twice.
//!
//! Source: Sanders, Speck and Traeff, Parallel Computing 35(12):581-594, 2009, doi:10.1016/j.parco.2009.09.001.
//! Needs:  nothing. Any root.
//! Shapes: output `[n]`, which on the root holds the data; no scratch.
//! Cost:   about m + 2d rounds and n + 2ds bytes, d = floor(log2(p-1)) + 1
//!         = (m + 2d)*alpha + (n + 2ds)*beta
//!         (n = bytes, p = ranks, s = bytes of a segment, at most n, m = ceil(n/s); alpha in s, beta in s/byte). The cost
//!         function follows each segment and is exact where a whole number of elements fills a segment.
//!
//! The volume of the chain with the latencies of a tree: for sizes where the chain is still filling while the binary tree
//! already sends everything twice. `segment_bytes` weighs the time to fill the trees against the start-up of the messages.
//!
//! For eight ranks and root 0 ([`crate::schedule::two_tree_node`]):
//!
//! ```text
//! even segments     0          odd segments     0
//!                   4                           5
//!                 /   \                       /   \
//!                2     6                     3     7
//!               / \   / \                   / \   / \
//!              1   3 5   7                 2   4 6   1
//! ```

use crate::patterns::pipeline::{self, SEGMENT_BYTES};
use crate::patterns::two_tree;
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "bcast.two_tree";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Bcast,
    summary: "segments down two trees in turn, each rank inner in one (medium and large sizes)",
    source: "Sanders, Speck and Traeff 2009, doi:10.1016/j.parco.2009.09.001",
    needs: &[],
    parameters: &[SEGMENT_BYTES],
    cost,
    scratch: crate::scratch::none,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let segment = pipeline::cost_segment(setting.n_bytes, setting.parameters);
    two_tree::broadcast_cost(setting.p_ranks, setting.n_bytes, segment)
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        output,
        root,
        parameters,
        ..
    } = arguments;
    let segment = pipeline::call_segment(transport, parameters);
    two_tree::broadcast(transport, output, segment, root)
}
