//! One case of a collective on threads, compared with the sequential reference.

#![allow(dead_code)] // Each test program uses a part of it.

pub(crate) mod choices;
pub(crate) mod content;
pub(crate) mod failing;
pub(crate) mod prepared;
mod races;
pub(crate) mod together;

use std::fmt;

use kilter_algorithms::reference::{self, Call};
use kilter_algorithms::threads::{Config, Network};
use kilter_algorithms::{Algorithm, Arguments, Collective, Cost, Need, Nodes, Setting, Transport, registry};

/// The operators of the cases: on elements of 1, 4 or 12 bytes, the first on any words.
pub(crate) use kilter_algorithms::reference::Operator as Op;

use failing::Failing;

/// The lengths of a call's blocks, for collectives whose blocks may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Division {
    /// All of the same length.
    Equal,
    /// None for rank 0, and from there on ever longer ones.
    Rising,
    /// One rank, or one pair, has all.
    Lone,
}

impl Division {
    pub(crate) const ALL: [Division; 3] = [Division::Equal, Division::Rising, Division::Lone];

    /// Elements of block `index` of `p`, about `count` on average.
    fn of(self, count: usize, p: usize, index: usize) -> usize {
        match self {
            Division::Equal => count,
            Division::Rising => 2 * count * index / p,
            Division::Lone if index == p / 2 => count * p,
            Division::Lone => 0,
        }
    }
}

/// The placement of a call's ranks on nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Each on a node of its own.
    Alone,
    /// On nodes of this many ranks, one node filled after the other.
    Filled(usize),
    /// Dealt out to this many nodes in turn.
    RoundRobin(usize),
}

impl Place {
    pub(crate) fn nodes(self, p: usize) -> Nodes {
        let node = |rank: usize| match self {
            Place::Alone => rank,
            Place::Filled(ranks) => rank / ranks,
            Place::RoundRobin(nodes) => rank % nodes,
        };
        Nodes::new(&(0..p).map(node).collect::<Vec<_>>())
    }
}

/// All that determines one call; its `Display` reproduces it.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) algorithm: &'static Algorithm,
    pub(crate) p: usize,
    /// Elements of the input of each rank, of a broadcast's data, or of a block where there are blocks.
    pub(crate) count: usize,
    pub(crate) element_bytes: usize,
    pub(crate) root: usize,
    pub(crate) op: Op,
    pub(crate) parameters: Vec<u64>,
    pub(crate) division: Division,
    pub(crate) place: Place,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case {
            algorithm,
            p,
            count,
            element_bytes,
            root,
            op,
            parameters,
            division,
            place,
        } = self;
        write!(
            f,
            "Case {{ algorithm: registry::find({:?}).unwrap(), p: {p}, count: {count}, element_bytes: {element_bytes}, \
             root: {root}, op: Op::{op:?}, parameters: vec!{parameters:?}, division: Division::{division:?}, \
             place: Place::{place:?} }}",
            algorithm.id
        )
    }
}

impl Case {
    /// The case with default parameters, root 0 and 4-byte elements; on one node where the row needs that.
    pub(crate) fn new(id: &str, p: usize, count: usize) -> Case {
        let algorithm = registry::find(id).unwrap_or_else(|| panic!("no row `{id}`"));
        let parameters = algorithm.default_parameters();
        Case {
            algorithm,
            p,
            count,
            element_bytes: 4,
            root: 0,
            op: Op::WrappingSum,
            parameters,
            division: Division::Equal,
            place: Case::place(algorithm),
        }
    }

    /// A placement that the row can run on: each rank on a node of its own, or all on one node if the row needs that.
    pub(crate) fn place(algorithm: &Algorithm) -> Place {
        if algorithm.needs.contains(&Need::OneNode) {
            Place::Filled(usize::MAX)
        } else {
            Place::Alone
        }
    }

    /// The cost by the row's cost function.
    pub(crate) fn cost(&self) -> Cost {
        (self.algorithm.cost)(&Setting {
            p_ranks: self.p,
            n_bytes: self.n_bytes(),
            parameters: &self.parameters,
            nodes: &self.place.nodes(self.p),
        })
    }

    /// Elements of a rank's block.
    fn block(&self, rank: usize) -> usize {
        self.division.of(self.count, self.p, rank)
    }

    /// Elements that `from` has for `to` in an alltoall.
    fn pair(&self, from: usize, to: usize) -> usize {
        self.block((3 * from + to) % self.p)
    }

    /// The call as the reference sees it.
    pub(crate) fn call_of_reference(&self) -> Call {
        let lengths: Vec<usize> = (0..self.p).map(|rank| self.block(rank)).collect();
        let Case { algorithm, p, root, .. } = *self;
        let volume = match algorithm.collective {
            Collective::Barrier => 0,
            collective if collective.has_blocks() => lengths.iter().sum(),
            _ => self.count,
        };
        let division = match algorithm.collective {
            Collective::Alltoall | Collective::Alltoallv => {
                let pairs = |from| (0..p).map(|to| self.pair(from, to)).collect();
                reference::Division::Pairs((0..p).map(pairs).collect())
            }
            _ => reference::Division::Listed(lengths),
        };
        Call::new(algorithm.collective, p, root, volume, division)
    }

    /// Bytes of the blocks of a rank's input and output, where they may differ and the rank knows them.
    pub(crate) fn blocks(&self, rank: usize) -> [Vec<usize>; 2] {
        let bytes = |count: usize| count * self.element_bytes;
        let all = || (0..self.p).map(|rank| bytes(self.block(rank))).collect();
        match self.algorithm.collective {
            Collective::Allgatherv => [Vec::new(), all()],
            Collective::Alltoallv => [
                (0..self.p).map(|to| bytes(self.pair(rank, to))).collect(),
                (0..self.p).map(|from| bytes(self.pair(from, rank))).collect(),
            ],
            Collective::Gatherv if rank == self.root => [Vec::new(), all()],
            Collective::ReduceScatter => [all(), Vec::new()],
            Collective::Scatterv if rank == self.root => [all(), Vec::new()],
            _ => [Vec::new(), Vec::new()],
        }
    }

    /// The volume `n` in bytes, as the cost function wants it.
    pub(crate) fn n_bytes(&self) -> usize {
        let blocks = if self.algorithm.collective.has_blocks() {
            self.p
        } else {
            1
        };
        blocks * self.count * self.element_bytes
    }

    pub(crate) fn config(&self, network: Network) -> Config {
        let Case { op, element_bytes, .. } = *self;
        Config {
            network,
            nodes: Some(self.place.nodes(self.p)),
            ..Config::new(element_bytes, move |a, b| op.combine(element_bytes, a, b))
        }
    }

    /// One rank's call.
    pub(crate) fn call(
        &self,
        transport: &mut Failing<'_, '_>,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), kilter_algorithms::TransportError> {
        let [input_blocks, output_blocks] = self.blocks(transport.rank());
        // A broadcast's data is in its output.
        let is_broadcast = self.algorithm.collective == Collective::Bcast;
        let arguments = Arguments {
            input: if is_broadcast { &[] } else { input },
            output,
            input_blocks: &input_blocks,
            output_blocks: &output_blocks,
            root: self.root,
            parameters: &self.parameters,
        };
        registry::run(self.algorithm, transport, arguments)
    }
}
