//! Segments that follow each other along two trees, even ones along the first and odd ones along the second.
//!
//! A rank is inner in one tree at most, its own ([`Streams::own`]): only what comes there is handed on, and nothing ever waits
//! for what comes to a leaf. So no rank is held up by the other tree, whose segments may come a few latencies later, and the
//! colouring of edges in the paper, which is for rounds, is not needed.
//!
//! A slot of a second child is as long as a segment and holds only full ones before the last.

mod follow;

pub(crate) use follow::{broadcast_cost, reduce_cost};

use crate::overlap::{Overlap, WINDOW};
use crate::patterns::lent;
use crate::patterns::pipeline::cost_segment;
use crate::schedule::{TwoTreeNode, absolute, relative, two_tree_node, two_tree_top};
use crate::{Setting, Transport, TransportError, scratch};

/// Pairs of segments, one for each tree, for which receives are posted ahead.
const AHEAD: usize = WINDOW / 2;

/// Pairs by which the receives of a leaf may lag behind those of its own tree.
const LAG: usize = WINDOW - AHEAD;

/// The lane of what is handed on.
const OWN: usize = 0;
/// The lane of what ends here.
const LEAF: usize = 1;

/// Places of a relative rank other than 0 in both trees.
#[derive(Debug, Clone, Copy)]
struct Streams {
    /// The tree in which it is inner; the first where it is a leaf in both.
    own_tree: usize,
    own: TwoTreeNode,
    /// In the other tree, where it is a leaf.
    leaf_parent: usize,
}

impl Streams {
    fn of(relative: usize, p: usize) -> Streams {
        let nodes = [0, 1].map(|tree| two_tree_node(tree, relative, p));
        let own_tree = usize::from(nodes[1].is_inner());
        Streams {
            own_tree,
            own: nodes[own_tree],
            leaf_parent: nodes[1 - own_tree].parent,
        }
    }

    /// The lane of segment `k`.
    fn lane(&self, k: usize) -> usize {
        if k % 2 == self.own_tree { OWN } else { LEAF }
    }

    /// True if this many segments have a `j`-th of the own tree.
    fn has_own(&self, j: usize, segments: usize) -> bool {
        2 * j + self.own_tree < segments
    }
}

/// Scratch of [`reduce`] as rows state it: half of the volume where it is combined, and slots for a second child.
pub(crate) fn reduce_kept(setting: &Setting<'_>) -> usize {
    if setting.p_ranks < 3 {
        return 0;
    }
    let segment = cost_segment(setting.n_bytes, setting.parameters);
    let slots = segment.saturating_mul(1 + AHEAD);
    scratch::kept(setting.n_bytes.div_ceil(2).saturating_add(slots))
}

/// Gives every rank the root's `data`.
pub(crate) fn broadcast<T: Transport>(
    transport: &mut T,
    data: &mut [u8],
    segment: usize,
    root: usize,
) -> Result<(), TransportError> {
    let p = transport.size();
    let name = |rank| absolute(rank, root, p);
    let own_rank = relative(transport.rank(), root, p);
    if p < 2 || data.is_empty() {
        return Ok(());
    }
    let mut overlap = Overlap::<T, 2>::with_lanes(transport);
    if own_rank == 0 {
        let tops = [0, 1].map(|tree| name(two_tree_top(tree, p)));
        for (k, chunk) in data.chunks(segment).enumerate() {
            overlap.send(tops[k % 2], chunk)?;
        }
        return overlap.finish();
    }
    let streams = Streams::of(own_rank, p);
    let parents = [streams.own.parent, streams.leaf_parent].map(name);
    let segments = data.len().div_ceil(segment);
    let mut to_post = data.chunks_mut(segment).enumerate();
    for (k, chunk) in to_post.by_ref().take(2 * AHEAD) {
        let lane = streams.lane(k);
        overlap.receive_in(lane, parents[lane], chunk)?;
    }
    for j in 0..segments.div_ceil(2) {
        if streams.has_own(j, segments) {
            let chunk: &[u8] = overlap.received_in(OWN)?;
            for child in streams.own.children.into_iter().flatten() {
                overlap.send(name(child), chunk)?;
            }
        }
        if j >= LAG {
            overlap.received_in(LEAF)?;
        }
        for (k, chunk) in to_post.by_ref().take(2) {
            let lane = streams.lane(k);
            overlap.receive_in(lane, parents[lane], chunk)?;
        }
    }
    overlap.finish()
}

/// Combines the inputs of all ranks in the root's `output`; the operator must be commutative.
pub(crate) fn reduce<T: Transport>(
    transport: &mut T,
    input: &[u8],
    output: &mut [u8],
    segment: usize,
    root: usize,
) -> Result<(), TransportError> {
    let p = transport.size();
    if p < 2 {
        transport.copy(input, output);
        return Ok(());
    }
    if input.is_empty() {
        return Ok(());
    }
    match relative(transport.rank(), root, p) {
        0 => take(transport, input, output, segment, root),
        relative => contribute(transport, input, segment, relative, root),
    }
}

/// The root's part of [`reduce`].
fn take<T: Transport>(
    transport: &mut T,
    input: &[u8],
    output: &mut [u8],
    segment: usize,
    root: usize,
) -> Result<(), TransportError> {
    let p = transport.size();
    let tops = [0, 1].map(|tree| absolute(two_tree_top(tree, p), root, p));
    let mut overlap = Overlap::<T, 2>::with_lanes(transport);
    let mut to_post = output.chunks_mut(segment).enumerate();
    for (k, chunk) in to_post.by_ref().take(2 * AHEAD) {
        overlap.receive_in(k % 2, tops[k % 2], chunk)?;
    }
    for (k, own) in input.chunks(segment).enumerate() {
        let chunk = overlap.received_in(k % 2)?;
        overlap.transport().reduce_local(own, chunk)?;
        if let Some((k, next)) = to_post.next() {
            overlap.receive_in(k % 2, tops[k % 2], next)?;
        }
    }
    overlap.finish()
}

/// Any other rank's part of [`reduce`]: what comes from below in its own tree is combined and sent up, and to the other tree it
/// gives its input.
fn contribute<T: Transport>(
    transport: &mut T,
    input: &[u8],
    segment: usize,
    own_rank: usize,
    root: usize,
) -> Result<(), TransportError> {
    let p = transport.size();
    let name = |rank| absolute(rank, root, p);
    let streams = Streams::of(own_rank, p);
    let (parent, leaf_parent) = (name(streams.own.parent), name(streams.leaf_parent));
    let segments = input.len().div_ceil(segment);
    let slot_bytes = segment.min(input.len());
    // A first child's data is received where it is combined and sent from, a second one's in slots.
    let [first, second] = streams.own.children.map(|child| child.map(name));
    let combined_bytes = first.map_or(0, |_| segments.div_ceil(2) * slot_bytes);
    let slots_bytes = second.map_or(0, |_| AHEAD * slot_bytes);
    let mut scratch = lent::take(transport, combined_bytes + slots_bytes)?;
    let (combined, slots) = scratch.split_at_mut(combined_bytes);
    let mut overlap = Overlap::<T, 2>::with_lanes(transport);
    let own_length = |j: usize| chunk_bytes(2 * j + streams.own_tree, segment, input.len());
    let mut to_post = (0..).zip(combined.chunks_exact_mut(slot_bytes));
    let mut free = slots.chunks_exact_mut(slot_bytes);
    if let Some(first) = first {
        for (j, chunk) in to_post
            .by_ref()
            .take(AHEAD)
            .filter(|(j, _)| streams.has_own(*j, segments))
        {
            overlap.receive_in(OWN, first, &mut chunk[..own_length(j)])?;
            if let (Some(second), Some(slot)) = (second, free.next()) {
                overlap.receive_in(LEAF, second, &mut slot[..own_length(j)])?;
            }
        }
    }
    for (j, pair) in input.chunks(2 * segment).enumerate() {
        let (even, odd) = pair.split_at(segment.min(pair.len()));
        let Some(first) = first else {
            // A leaf in both. Where both parents are one, the only other rank, it expects the segments in their order.
            overlap.send(parent, even)?;
            if !odd.is_empty() {
                overlap.send(leaf_parent, odd)?;
            }
            continue;
        };
        let is_first_tree = streams.own_tree == 0;
        let (own, leaf) = if is_first_tree { (even, odd) } else { (odd, even) };
        if !leaf.is_empty() {
            overlap.send(leaf_parent, leaf)?;
        }
        if own.is_empty() {
            continue;
        }
        let chunk = overlap.received_in(OWN)?;
        overlap.transport().reduce_local(own, chunk)?;
        let mut freed = None;
        if second.is_some() {
            let slot = overlap.received_in(LEAF)?;
            overlap.transport().reduce_local(slot, chunk)?;
            freed = Some(slot);
        }
        overlap.send(parent, chunk)?;
        let next = j + AHEAD;
        if let Some((_, chunk)) = to_post.next().filter(|_| streams.has_own(next, segments)) {
            overlap.receive_in(OWN, first, &mut chunk[..own_length(next)])?;
            if let (Some(second), Some(slot)) = (second, freed) {
                overlap.receive_in(LEAF, second, &mut slot[..own_length(next)])?;
            }
        }
    }
    overlap.finish()?;
    lent::give(transport, scratch);
    Ok(())
}

/// Bytes of segment `k` of `length` bytes.
fn chunk_bytes(k: usize, segment: usize, length: usize) -> usize {
    segment.min(length.saturating_sub(k * segment))
}
