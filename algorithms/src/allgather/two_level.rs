//! Two-level allgather: a gather on each node, an allgather of the nodes' blocks among the leaders, a broadcast on each node.
//!
//! Source: Kielmann et al., PPoPP 1999, doi:10.1145/301104.301116 (two levels); Traeff, arXiv:2410.14234, 2024,
//!         doi:10.48550/arXiv.2410.14234 (among the leaders).
//! Needs:  nothing. Any placement of ranks on nodes.
//! Shapes: input `[b]`, output `[p * b]`; scratch `[p * b]` on leaders where the ranks of a node do not follow each other,
//!         and what the binomial gather needs.
//! Cost:   ceil(log2 l) + 2 ceil(log2 k) rounds; b(k-1) bytes on the node, b(p-k) among the leaders, and ceil(log2 k)*n on
//!         the node
//!         = (ceil(log2 l) + 2 ceil(log2 k))*alpha + (n(p-1)/p + ceil(log2 k)*n)*beta
//!         (n = p * b = bytes of the result, p = ranks, l = nodes, k = ranks of the largest one; alpha in s, beta in s/byte);
//!         exact where nodes have equally many ranks, else an upper bound. The rotation within a leader's output is not
//!         counted.
//!
//! Each block comes to each node once, in `ceil(log2 l)` messages: where several ranks share a node's link. A node's lowest
//! rank leads it. The leaders run the circulant allgather, whose blocks may differ. Blocks travel in the order of nodes;
//! where that is not the order of ranks, leaders put them right. For ranks 0, 2 and 4 on one node, 1 and 3 on another;
//! letters are the blocks of ranks 0 to 4:
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! gather    ace      bd                                  4 -> 0 and 2 -> 0, 3 -> 1
//! leaders   acebd    bdace                               0 <-> 1
//! copied    abcde    abcde
//! bcast     abcde    abcde    abcde    abcde    abcde    0 -> 4, 1 -> 3; 0 -> 2
//! ```

use crate::patterns::circulant::{Turned, allgather};
use crate::patterns::two_level::{Levels, call, largest_node};
use crate::schedule::{Circulant, ceil_log2};
use crate::{Algorithm, Arguments, Collective, Cost, Nodes, Setting, Transport, TransportError, bcast, gather};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgather.two_level";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgather,
    summary: "gather on each node, blocks among one rank of each, broadcast on each (several ranks on a node)",
    source: "Kielmann et al. 1999, doi:10.1145/301104.301116; Traeff 2024, doi:10.48550/arXiv.2410.14234",
    needs: &[],
    parameters: &[],
    cost,
    scratch,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting {
        p_ranks,
        n_bytes,
        nodes,
        ..
    } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let (b, k) = (n_bytes as f64 / p_ranks as f64, largest_node(setting));
    let rounds_on_node = f64::from(ceil_log2(k));
    Cost {
        rounds: f64::from(ceil_log2(nodes.count())) + 2.0 * rounds_on_node,
        bytes_sent: (k - 1 + blocks_among_leaders(nodes)) as f64 * b + rounds_on_node * n_bytes as f64,
        bytes_reduced: 0.0,
    }
}

/// Blocks in the largest messages of the rounds among the leaders, all together; where nodes have equally many ranks, all
/// messages of a round are as large.
fn blocks_among_leaders(nodes: &Nodes) -> usize {
    let (graph, count) = (Circulant::new(nodes.count()), nodes.count());
    let ranks_on = |node: usize| nodes.members(node % count).len();
    let largest = |length: usize| {
        let first: usize = (0..length).map(ranks_on).sum();
        let next = |held: &mut usize, node: usize| {
            *held = *held + ranks_on(node + length) - ranks_on(node);
            Some(*held)
        };
        (0..count).scan(first, next).fold(first, usize::max)
    };
    (0..graph.rounds())
        .map(|round| largest(graph.skip(round + 1) - graph.skip(round)))
        .sum()
}

fn scratch(setting: &Setting<'_>) -> usize {
    if setting.nodes.are_runs() {
        // Leaders gather in the output; on the node others gather for them.
        crate::scratch::subtree(setting, largest_node(setting).div_ceil(2))
    } else {
        crate::scratch::one_volume(setting)
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    if input.is_empty() {
        return Ok(());
    }
    let levels = Levels::new(transport, 0)?;
    if !levels.leads() {
        let (mut node, root) = levels.on_node(transport);
        gather::binomial::run(&mut node, call(input, &mut [], root, &[]))?;
    } else if levels.are_runs() {
        among(transport, &levels, input, output)?;
        output.rotate_right(levels.ranks_before(levels.node()) * input.len());
    } else {
        let n_bytes = output.len();
        let mut scratch = transport.take_scratch(n_bytes)?;
        among(transport, &levels, input, &mut scratch[..n_bytes])?;
        for (block, rank) in scratch.chunks_exact(input.len()).zip(levels.ranks_from(levels.node())) {
            transport.copy(block, &mut output[rank * input.len()..][..input.len()]);
        }
        transport.give_scratch(scratch);
    }
    let (mut node, root) = levels.on_node(transport);
    bcast::binomial::run(&mut node, call(&[], output, root, &[]))
}

/// On a leader: all blocks, in the order of nodes from this one on.
fn among<T: Transport>(
    transport: &mut T,
    levels: &Levels,
    input: &[u8],
    blocks: &mut [u8],
) -> Result<(), TransportError> {
    let (mut node, root) = levels.on_node(transport);
    let own = node.size() * input.len();
    gather::binomial::run(&mut node, call(input, &mut blocks[..own], root, &[]))?;
    let turned = Turned::new(levels.node(), levels.count(), |node| {
        levels.ranks_before(node) * input.len()
    });
    allgather(&mut levels.leaders(transport), blocks, &turned)
}
