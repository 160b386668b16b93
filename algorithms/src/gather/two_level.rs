//! Two-level gather: on each node to its leader, then the nodes' blocks up a binomial tree of the leaders.
//!
//! Source: Kielmann et al., PPoPP 1999, doi:10.1145/301104.301116 (two levels); Chan et al., CCPE 19(13):1749-1783, 2007,
//!         doi:10.1002/cpe.1206 (the trees).
//! Needs:  nothing. Any root, any placement of ranks on nodes.
//! Shapes: input `[b]`, output `[p * b]` on the root; scratch for the blocks of the tree's nodes below it on leaders, on the
//!         root only where the ranks of a node do not follow each other.
//! Cost:   ceil(log2 k) + ceil(log2 l) rounds; b(k-1) bytes on the node, then the blocks of the other nodes at the root
//!         = (ceil(log2 k) + ceil(log2 l))*alpha + n(p-1)/p*beta
//!         (n = p * b = bytes at the root, p = ranks, l = nodes, k = ranks of the largest one; alpha in s, beta in s/byte);
//!         exact for every root where nodes have equally many ranks, else an upper bound, with b(k - k') bytes more where
//!         only `k'` ranks are on the smallest node.
//!
//! A node's blocks leave it together, in one message: where several ranks share a node's link. The root leads its node,
//! else the lowest rank. Blocks travel in the order of nodes; where that is not the order of ranks, the root puts them
//! right. For ranks 0, 2 and 4 on one node, 1 and 3 on another, root 2; letters are the blocks of ranks 0 to 4:
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! nodes     a        bd       ace      d        e        0 -> 2 and 4 -> 2, 3 -> 1
//! leaders                     acebd                      1 -> 2
//! copied                      abcde
//! ```

use super::binomial;
use crate::overlap::Overlap;
use crate::patterns::two_level::{Levels, blocks_kept, call, rounds_and_all_blocks};
use crate::schedule::Halving;
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "gather.two_level";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Gather,
    summary: "on each node, then nodes' blocks up a binomial tree (small blocks, several ranks on a node)",
    source: "Kielmann et al. 1999, doi:10.1145/301104.301116; Chan et al. 2007, doi:10.1002/cpe.1206",
    needs: &[],
    parameters: &[],
    cost,
    scratch: blocks_kept,
};

fn cost(setting: &Setting<'_>) -> Cost {
    rounds_and_all_blocks(setting)
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input, output, root, ..
    } = arguments;
    if input.is_empty() {
        return Ok(());
    }
    let levels = Levels::new(transport, root)?;
    if !levels.leads() {
        let (mut node, leader) = levels.on_node(transport);
        return binomial::run(&mut node, call(input, &mut [], leader, &[]));
    }
    let place = Halving::new(levels.node(), levels.root_node(), levels.count());
    if place.parent.is_none() && levels.are_runs() {
        return collect(transport, &levels, &place, input, output);
    }
    if let Some(parent) = place
        .parent
        .filter(|_| levels.is_alone() && place.children().len() == 0)
    {
        return transport.send(levels.leader(parent), input);
    }
    let bytes = levels.ranks_on(place.subtree.clone()) * input.len();
    let mut scratch = transport.take_scratch(bytes)?;
    let blocks = &mut scratch[..bytes];
    collect(transport, &levels, &place, input, blocks)?;
    if let Some(parent) = place.parent {
        transport.send(levels.leader(parent), blocks)?;
    } else {
        for (block, rank) in blocks.chunks_exact(input.len()).zip(levels.ranks_from(0)) {
            transport.copy(block, &mut output[rank * input.len()..][..input.len()]);
        }
    }
    transport.give_scratch(scratch);
    Ok(())
}

/// On a leader: the blocks of the subtree's nodes, in their order.
fn collect<T: Transport>(
    transport: &mut T,
    levels: &Levels,
    place: &Halving,
    input: &[u8],
    blocks: &mut [u8],
) -> Result<(), TransportError> {
    let (first, node) = (place.subtree.start, levels.node());
    let bytes = |nodes| levels.ranks_on(nodes) * input.len();
    let (mut low, rest) = blocks.split_at_mut(bytes(first..node));
    let (own, mut high) = rest.split_at_mut(bytes(node..node + 1));
    let mut overlap = Overlap::new(transport);
    // Smallest first: each subtree's blocks lie directly beside those that have their place already.
    for child in place.children().rev() {
        let target = if child.start < node {
            let (rest, target) = std::mem::take(&mut low).split_at_mut(bytes(first..child.start));
            low = rest;
            target
        } else {
            let (target, rest) = std::mem::take(&mut high).split_at_mut(bytes(child.clone()));
            high = rest;
            target
        };
        overlap.receive(levels.leader(child.start), target)?;
    }
    let (mut group, leader) = levels.on_node(overlap.transport());
    binomial::run(&mut group, call(input, own, leader, &[]))?;
    overlap.finish()
}
