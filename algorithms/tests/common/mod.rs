//! One case of a collective on threads, compared with the sequential reference.

#![allow(dead_code)] // Each test program uses a part of it.

mod processor;

use std::fmt;

use kilter_algorithms::reference::{self, Call, Elements, Given};
use kilter_algorithms::threads::{Config, Network, Outcome, run};
use kilter_algorithms::{Algorithm, Arguments, Collective, Cost, Need, Nodes, Setting, Transport, registry};

/// The operators of the cases: on elements of 1, 4 or 12 bytes, the first on any words.
pub(crate) use kilter_algorithms::reference::Operator as Op;

/// The byte that fills outputs before a call.
const UNTOUCHED: u8 = 0xa5;

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

    fn elements(&self) -> Elements {
        Elements {
            operator: self.op,
            bytes: self.element_bytes,
        }
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

    /// The data that each rank gives. A broadcast's data lies in the root's output before the call.
    pub(crate) fn inputs(&self) -> Vec<Vec<u8>> {
        let (call, elements) = (self.call_of_reference(), self.elements());
        (0..self.p).map(|rank| call.given(&elements, rank)).collect()
    }

    /// Each rank's output after the call: its result, and unchanged bytes where the collective defines no result.
    pub(crate) fn expected(&self, inputs: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let call = self.call_of_reference();
        let given = Given::new(inputs, self.elements(), call.collective.has_operator());
        let expected = |rank| {
            let mut output = call.delivered(&given, rank);
            output.resize(call.room(rank) * self.element_bytes, UNTOUCHED);
            output
        };
        (0..self.p).map(expected).collect()
    }

    /// A rank's output before the call: a pattern that no result has by chance, or a broadcast's data.
    pub(crate) fn output(&self, rank: usize, expected: &[Vec<u8>]) -> Vec<u8> {
        if self.algorithm.collective == Collective::Bcast && rank == self.root {
            expected[rank].clone()
        } else {
            vec![UNTOUCHED; expected[rank].len()]
        }
    }

    /// One call on every rank.
    pub(crate) fn outputs(&self, network: Network, inputs: &[Vec<u8>], expected: &[Vec<u8>]) -> Outcome<Vec<u8>> {
        let _turn = processor::turn(self.algorithm);
        run(self.p, &self.config(network), |transport| {
            let rank = transport.rank();
            let mut output = self.output(rank, expected);
            self.call(transport, &inputs[rank], &mut output)?;
            Ok(output)
        })
    }

    /// One rank's call.
    pub(crate) fn call<T: Transport>(
        &self,
        transport: &mut T,
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

    /// A barrier that rank `late` enters last: no rank may leave it before that.
    pub(crate) fn check_barrier(&self, late: usize) {
        let network = Network {
            gamma: 1.0,
            ..Network::FREE
        };
        let outcome = run(self.p, &self.config(network), |transport| {
            if transport.rank() == late {
                let mut work = vec![0; 100 * self.element_bytes];
                transport.reduce_local(&vec![0; 100 * self.element_bytes], &mut work)?;
            }
            let entered = transport.statistics().seconds;
            self.call(transport, &[], &mut [])?;
            Ok((entered, transport.statistics().seconds))
        });
        let times = outcome.results().unwrap_or_else(|error| panic!("{error:?}\nin {self}"));
        let last = times[late].0;
        assert!(
            last > 0.0 && times.iter().all(|(_, left)| *left >= last),
            "{times:?}\nin {self}"
        );
    }

    /// Runs the case and compares with the reference; panics with what reproduces it.
    pub(crate) fn check(&self, network: Network) -> Outcome<Vec<u8>> {
        let inputs = self.inputs();
        let expected = self.expected(&inputs);
        let outcome = self.outputs(network, &inputs, &expected);
        let failures: Vec<String> = outcome
            .ranks
            .iter()
            .zip(&expected)
            .enumerate()
            .filter_map(|(rank, (outcome, expected))| match &outcome.result {
                Err(error) => Some(format!("rank {rank}: {error}")),
                Ok(output) => (output.iter().zip(expected).position(|(got, wanted)| got != wanted))
                    .map(|byte| format!("rank {rank}: byte {byte} of {} is the first wrong one", expected.len())),
            })
            .collect();
        assert!(failures.is_empty(), "{}\nin {self}", failures.join("\n"));
        for (rank, outcome) in outcome.ranks.iter().enumerate() {
            let open = (outcome.statistics.requests_open, outcome.statistics.scratch_open);
            assert_eq!(
                open,
                (0, 0),
                "rank {rank}: requests and scratch buffers left open\nin {self}"
            );
        }
        assert_eq!(outcome.undelivered, 0, "messages that nobody received\nin {self}");
        outcome
    }

    /// Bytes that a run of the case holds: what all ranks give and get.
    fn held_bytes(&self) -> usize {
        let blocks = if self.algorithm.collective.has_blocks() {
            self.p
        } else {
            1
        };
        2 * self.p * blocks * self.count * self.element_bytes
    }

    /// True if one configuration of the ranks is for both.
    fn shares_ranks_with(&self, other: &Case) -> bool {
        let key = |case: &Case| (case.p, case.element_bytes, case.op, case.place);
        key(self) == key(other) && self.algorithm.id == other.algorithm.id
    }
}

/// Calls that ranks make one after the other before they are started anew, and bytes that these hold at most: starting threads takes far longer than a call.
const MOST_CALLS: usize = 64;
const MOST_BYTES: usize = 8 << 20;

/// Checks all cases, on any network where everything is free: those that may share ranks follow each other on them. What fails there is run by itself, which
/// says the case.
pub(crate) fn check_all(mut cases: Vec<Case>) {
    // Stable, so that the order of the others is kept.
    cases.sort_by_key(|case| (case.p, case.element_bytes, format!("{:?} {:?}", case.op, case.place)));
    let mut rest = cases.as_slice();
    while let Some(first) = rest.first() {
        let mut bytes = 0;
        let together = rest
            .iter()
            .take(MOST_CALLS)
            .take_while(|case| {
                bytes += case.held_bytes();
                case.shares_ranks_with(first) && (bytes <= MOST_BYTES || bytes == case.held_bytes())
            })
            .count();
        let (now, later) = rest.split_at(together);
        if let Err(why) = follow_each_other(now) {
            for case in now {
                case.check(Network::FREE);
            }
            panic!(
                "{why}, though each of these {} calls alone is right; they begin with {first}",
                now.len()
            );
        }
        rest = later;
    }
}

/// Runs cases of the same ranks one after the other and compares each with the reference.
fn follow_each_other(cases: &[Case]) -> Result<(), String> {
    let Some(first) = cases.first() else { return Ok(()) };
    let _turn = processor::turn(first.algorithm);
    let prepared: Vec<_> = cases
        .iter()
        .map(|case| {
            let inputs = case.inputs();
            let expected = case.expected(&inputs);
            (case, inputs, expected)
        })
        .collect();
    let outcome = run(first.p, &first.config(Network::FREE), |transport| {
        let rank = transport.rank();
        for (case, inputs, expected) in &prepared {
            let mut output = case.output(rank, expected);
            case.call(transport, &inputs[rank], &mut output)?;
            let statistics = transport.statistics();
            let open = (statistics.requests_open, statistics.scratch_open);
            assert!(output == expected[rank], "a wrong result of {case}");
            assert_eq!(open, (0, 0), "requests and scratch buffers left open by {case}");
        }
        Ok(())
    });
    let undelivered = outcome.undelivered;
    outcome
        .results()
        .map_err(|(rank, error)| format!("rank {rank}: {error}"))?;
    match undelivered {
        0 => Ok(()),
        messages => Err(format!("{messages} messages that nobody received")),
    }
}
