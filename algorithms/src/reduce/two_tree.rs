//! Two-tree reduce: even segments come up one tree, odd ones up another, in which no rank is inner twice.
//!
//! Source: Sanders, Speck and Traeff, Parallel Computing 35(12):581-594, 2009, doi:10.1016/j.parco.2009.09.001.
//! Needs:  a commutative operator. Any root.
//! Shapes: input `[n]`, output `[n]` on the root; scratch `[n/2 + 5 s]` at most.
//! Cost:   about m + 2d rounds, n + 2ds bytes sent, as many combined, d = floor(log2(p-1)) + 1
//!         = (m + 2d)*alpha + (n + 2ds)*(beta + gamma)
//!         (n = bytes per rank, p = ranks, s = bytes of a segment, at most n, m = ceil(n/s); alpha in s, beta and gamma in
//!         s/byte). The cost function follows each segment; each term is exact where a whole number of elements fills a
//!         segment, their sum an upper bound, since the combination of a segment overlaps the messages of others.
//!
//! The volume of the chain with the latencies of a tree, as in [`crate::bcast`]'s two trees, upside down. Neighbours in the
//! trees are no neighbours in rank: hence the need.

use crate::patterns::pipeline::{self, SEGMENT_BYTES};
use crate::patterns::two_tree;
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce.two_tree";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Reduce,
    summary: "segments up two trees in turn, each rank inner in one (medium and large sizes)",
    source: "Sanders, Speck and Traeff 2009, doi:10.1016/j.parco.2009.09.001",
    needs: &[Need::Commutative],
    parameters: &[SEGMENT_BYTES],
    cost,
    scratch: two_tree::reduce_kept,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let segment = pipeline::cost_segment(setting.n_bytes, setting.parameters);
    two_tree::reduce_cost(setting.p_ranks, setting.n_bytes, segment)
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        root,
        parameters,
        ..
    } = arguments;
    let segment = pipeline::call_segment(transport, parameters);
    two_tree::reduce(transport, input, output, segment, root)
}
