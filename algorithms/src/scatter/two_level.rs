//! Two-level scatter: the nodes' blocks down a binomial tree of leaders, then each rank's on its node.
//!
//! Source: Kielmann et al., PPoPP 1999, doi:10.1145/301104.301116 (two levels); Chan et al., CCPE 19(13):1749-1783, 2007,
//!         doi:10.1002/cpe.1206 (the trees).
//! Needs:  nothing. Any root, any placement of ranks on nodes.
//! Shapes: input `[p * b]` on the root, output `[b]`; scratch for the blocks of the tree's nodes below it on leaders, on the
//!         root only where the ranks of a node do not follow each other.
//! Cost:   ceil(log2 l) + ceil(log2 k) rounds; the blocks of the other nodes at the root, then b(k-1) bytes on the node
//!         = (ceil(log2 l) + ceil(log2 k))*alpha + n(p-1)/p*beta
//!         (n = p * b = bytes at the root, p = ranks, l = nodes, k = ranks of the largest one; alpha in s, beta in s/byte);
//!         exact for every root where nodes have equally many ranks, else an upper bound, with b(k - k') bytes more where
//!         only `k'` ranks are on the smallest node.
//!
//! A node's blocks come to it together, in one message: where several ranks share a node's link. The root leads its node,
//! else the lowest rank. Blocks travel in the order of nodes; where that is not the order of ranks, the root sorts them
//! first. For ranks 0, 2 and 4 on one node, 1 and 3 on another, root 2; letters are the blocks of ranks 0 to 4:
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! start                       abcde
//! copied                      acebd
//! leaders            bd       ace                        2 -> 1
//! nodes     a        b        c        d        e        2 -> 4 and 2 -> 0, 1 -> 3
//! ```

use super::binomial;
use crate::patterns::binomial::send_to_children;
use crate::patterns::two_level::{Levels, blocks_kept, call, rounds_and_all_blocks};
use crate::schedule::Halving;
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "scatter.two_level";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Scatter,
    summary: "nodes' blocks down a binomial tree, then on each node (small blocks, several ranks on a node)",
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
    let block_bytes = output.len();
    if block_bytes == 0 {
        return Ok(());
    }
    let levels = Levels::new(transport, root)?;
    if !levels.leads() {
        let (mut node, leader) = levels.on_node(transport);
        return binomial::run(&mut node, call(&[], output, leader, &[]));
    }
    let place = Halving::new(levels.node(), levels.root_node(), levels.count());
    if place.parent.is_none() && levels.are_runs() {
        return distribute(transport, &levels, &place, input, output);
    }
    if let Some(parent) = place
        .parent
        .filter(|_| levels.is_alone() && place.children().len() == 0)
    {
        return transport.recv(levels.leader(parent), output);
    }
    let bytes = levels.ranks_on(place.subtree.clone()) * block_bytes;
    let mut scratch = transport.take_scratch(bytes)?;
    let blocks = &mut scratch[..bytes];
    if let Some(parent) = place.parent {
        transport.recv(levels.leader(parent), blocks)?;
    } else {
        for (block, rank) in blocks.chunks_exact_mut(block_bytes).zip(levels.ranks_from(0)) {
            transport.copy(&input[rank * block_bytes..][..block_bytes], block);
        }
    }
    distribute(transport, &levels, &place, blocks, output)?;
    transport.give_scratch(scratch);
    Ok(())
}

/// On a leader: passes on the blocks of the subtree's nodes, which are in their order.
fn distribute<T: Transport>(
    transport: &mut T,
    levels: &Levels,
    place: &Halving,
    blocks: &[u8],
    output: &mut [u8],
) -> Result<(), TransportError> {
    let (first, node) = (place.subtree.start, levels.node());
    let start = |node| levels.ranks_on(first..node) * output.len();
    let own = start(node)..start(node + 1);
    send_to_children(&mut levels.leaders(transport), place, blocks, |nodes| {
        start(nodes.start)..start(nodes.end)
    })?;
    let (mut group, leader) = levels.on_node(transport);
    binomial::run(&mut group, call(&blocks[own], output, leader, &[]))
}
