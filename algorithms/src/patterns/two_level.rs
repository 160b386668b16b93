//! Base of all two-level rows: the leaders of nodes, and the places of a node's blocks.
//!
//! Flat rows run within the nodes, where messages are cheap, and among one rank of each node, the leaders. So data crosses
//! a node's link once, not once for each of its ranks. The root of a call leads its node.

use std::ops::Range;
use std::sync::Arc;

use crate::group::{Group, leader};
use crate::registry::Algorithm;
use crate::schedule::ceil_log2;
use crate::scratch;
use crate::{Arguments, Cost, Nodes, Setting, Transport, TransportError};

/// A rank's place.
pub(crate) struct Levels {
    nodes: Arc<Nodes>,
    root: usize,
    rank: usize,
    /// Ranks of each node, where all have as many.
    ranks_each: Option<usize>,
    are_runs: bool,
}

impl Levels {
    /// The place of this rank in a call with this root; any rank where the collective has none.
    pub(crate) fn new<T: Transport>(transport: &mut T, root: usize) -> Result<Levels, TransportError> {
        let nodes = transport.nodes()?;
        let first = nodes.members(0).len();
        let is_even = (0..nodes.count()).all(|node| nodes.members(node).len() == first);
        Ok(Levels {
            root,
            rank: transport.rank(),
            ranks_each: is_even.then_some(first),
            are_runs: nodes.are_runs(),
            nodes,
        })
    }

    /// The number of nodes.
    pub(crate) fn count(&self) -> usize {
        self.nodes.count()
    }

    /// This rank's node.
    pub(crate) fn node(&self) -> usize {
        self.nodes.node_of(self.rank)
    }

    /// The root's node.
    pub(crate) fn root_node(&self) -> usize {
        self.nodes.node_of(self.root)
    }

    /// Leader of a node.
    pub(crate) fn leader(&self, node: usize) -> usize {
        leader(&self.nodes, node, self.root)
    }

    /// True if this rank leads its node.
    pub(crate) fn leads(&self) -> bool {
        self.leader(self.node()) == self.rank
    }

    /// True if this rank has its node for itself.
    pub(crate) fn is_alone(&self) -> bool {
        self.nodes.members(self.node()).len() == 1
    }

    /// True if the order of nodes is the order of ranks.
    pub(crate) fn are_runs(&self) -> bool {
        self.are_runs
    }

    /// The ranks of this node, and the number of its leader among them.
    pub(crate) fn on_node<'s, T: Transport>(&'s self, transport: &'s mut T) -> (Group<'s, 's, T>, usize) {
        let members = self.nodes.members(self.node());
        let leads = self.leader(self.node());
        let number = members.partition_point(|&member| member < leads);
        (Group::of_node(transport, &self.nodes), number)
    }

    /// The leaders, of which this rank is one; node `i`'s is number `i`.
    pub(crate) fn leaders<'s, T: Transport>(&'s self, transport: &'s mut T) -> Group<'s, 's, T> {
        Group::of_leaders(transport, &self.nodes, self.root)
    }

    /// Ranks on the nodes before this one; the number of nodes is allowed.
    pub(crate) fn ranks_before(&self, node: usize) -> usize {
        match self.ranks_each {
            Some(each) => each * node,
            None => (0..node).map(|node| self.nodes.members(node).len()).sum(),
        }
    }

    /// Ranks on these nodes.
    pub(crate) fn ranks_on(&self, nodes: Range<usize>) -> usize {
        self.ranks_before(nodes.end) - self.ranks_before(nodes.start)
    }

    /// The ranks in the order of nodes, from this node on and once round.
    pub(crate) fn ranks_from(&self, node: usize) -> impl Iterator<Item = usize> {
        (node..self.count())
            .chain(0..node)
            .flat_map(|node| self.nodes.members(node))
            .copied()
    }
}

/// Ranks of the largest node.
pub(crate) fn largest_node(setting: &Setting<'_>) -> usize {
    let sizes = (0..setting.nodes.count()).map(|node| setting.nodes.members(node).len());
    sizes.max().unwrap_or(1)
}

/// The setting within the largest node, which runs `row`: the parameters but the first are its own.
pub(crate) fn on_node<'a>(setting: &Setting<'a>, row: &Algorithm) -> Setting<'a> {
    Setting {
        p_ranks: largest_node(setting),
        parameters: own_parameters(setting.parameters, row),
        ..*setting
    }
}

/// The setting among the leaders, who run `row`: the parameters but the first are its own.
pub(crate) fn among_leaders<'a>(setting: &Setting<'a>, row: &Algorithm) -> Setting<'a> {
    Setting {
        p_ranks: setting.nodes.count(),
        parameters: own_parameters(setting.parameters, row),
        ..*setting
    }
}

/// Those of the parameters `leaders, ...` that a row of either level takes.
pub(crate) fn own_parameters<'a>(parameters: &'a [u64], row: &Algorithm) -> &'a [u64] {
    let begin = parameters.len().min(1);
    &parameters[begin..begin + row.parameters.len()]
}

/// The row of a level that parameter `leaders` chooses.
pub(crate) fn choice(rows: &[&'static Algorithm], parameters: &[u64]) -> &'static Algorithm {
    let index = usize::try_from(parameters[0]).unwrap_or(usize::MAX);
    rows[index.min(rows.len() - 1)]
}

/// The row that a call's parameters `leaders, ...` choose, and the call with those that are the row's own.
pub(crate) fn chosen<'a>(rows: &[&'static Algorithm], arguments: Arguments<'a>) -> (&'static Algorithm, Arguments<'a>) {
    let row = choice(rows, arguments.parameters);
    let parameters = own_parameters(arguments.parameters, row);
    (
        row,
        Arguments {
            parameters,
            ..arguments
        },
    )
}

/// The arguments of a flat row.
pub(crate) fn call<'a>(input: &'a [u8], output: &'a mut [u8], root: usize, parameters: &'a [u64]) -> Arguments<'a> {
    Arguments {
        input,
        output,
        input_blocks: &[],
        output_blocks: &[],
        root,
        parameters,
    }
}

/// One after the other.
pub(crate) fn sum(parts: impl IntoIterator<Item = Cost>) -> Cost {
    parts.into_iter().fold(Cost::ZERO, |sum, part| Cost {
        rounds: sum.rounds + part.rounds,
        bytes_sent: sum.bytes_sent + part.bytes_sent,
        bytes_reduced: sum.bytes_reduced + part.bytes_reduced,
    })
}

/// Cost of a gather or scatter by binomial trees on both levels.
pub(crate) fn rounds_and_all_blocks(setting: &Setting<'_>) -> Cost {
    let &Setting {
        p_ranks,
        n_bytes,
        nodes,
        ..
    } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let sizes = || (0..nodes.count()).map(|node| nodes.members(node).len());
    let (largest, smallest) = (sizes().max().unwrap_or(1), sizes().min().unwrap_or(1));
    Cost {
        rounds: f64::from(ceil_log2(largest) + ceil_log2(nodes.count())),
        bytes_sent: (p_ranks - 1 + largest - smallest) as f64 * (n_bytes as f64 / p_ranks as f64),
        bytes_reduced: 0.0,
    }
}

/// Scratch of a gather or scatter by binomial trees on both levels: the blocks of the nodes below a leader, or of the ranks below
/// another one on its node.
pub(crate) fn blocks_kept(setting: &Setting<'_>) -> usize {
    let nodes = setting.nodes;
    let largest = largest_node(setting);
    if nodes.count() == 1 {
        return scratch::half_the_blocks(setting);
    }
    // If nodes are not runs of consecutive ranks, the root keeps all blocks in scratch, to reorder them.
    let ranks = if nodes.are_runs() {
        nodes.count().div_ceil(2) * largest
    } else {
        setting.p_ranks
    };
    scratch::subtree(setting, ranks.min(setting.p_ranks))
}

/// Scratch of a reduction that is combined on each node by `tree` and then among the leaders, who run `row`: what comes from the node, and
/// what both take.
pub(crate) fn combined_kept(setting: &Setting<'_>, tree: &Algorithm, row: &Algorithm) -> usize {
    let node = || (tree.scratch)(&on_node(setting, tree));
    let leaders = || (row.scratch)(&among_leaders(setting, row));
    match (largest_node(setting), setting.nodes.count()) {
        (1, _) => leaders(),
        (_, 1) => node(),
        _ => scratch::kept(setting.n_bytes)
            .saturating_add(node())
            .saturating_add(leaders()),
    }
}
