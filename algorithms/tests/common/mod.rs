//! One case of a collective on threads, its operators, and the sequential reference.

#![allow(dead_code)] // Each test program uses a part of it.

use std::fmt;

use kilter_algorithms::threads::{Config, Network, Outcome, run};
use kilter_algorithms::{Algorithm, Arguments, Collective, Cost, Need, Nodes, Setting, Transport, registry};

/// An operator on elements of 1, 4 or 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// Sums modulo a power of two, byte by byte or in 32-bit words.
    Sum,
    /// Composition of affine maps or product of triangular matrices over a small field: associative, not commutative.
    Compose,
}

const FIELD: u64 = 65_521;

/// What outputs hold before a call.
const UNTOUCHED: u8 = 0xa5;

impl Op {
    /// `inout = input op inout`, element by element.
    pub(crate) fn apply(self, element_bytes: usize, input: &[u8], inout: &mut [u8]) {
        for (a, b) in input
            .chunks_exact(element_bytes)
            .zip(inout.chunks_exact_mut(element_bytes))
        {
            match (self, element_bytes) {
                (Op::Sum, 1) => b[0] = b[0].wrapping_add(a[0]),
                (Op::Sum, _) => {
                    for (a, b) in a.chunks_exact(4).zip(b.chunks_exact_mut(4)) {
                        put(b, word(a).wrapping_add(word(b)));
                    }
                }
                // x -> slope * x + offset over the field of 5 elements; the map on the left is applied last.
                (Op::Compose, 1) => {
                    let ((slope_a, offset_a), (slope_b, offset_b)) = ((a[0] / 5, a[0] % 5), (b[0] / 5, b[0] % 5));
                    b[0] = slope_a * slope_b % 5 * 5 + (slope_a * offset_b + offset_a) % 5;
                }
                (Op::Compose, 4) => {
                    let halves = |x: u32| (u64::from(x >> 16), u64::from(x & 0xffff));
                    let ((slope_a, offset_a), (slope_b, offset_b)) = (halves(word(a)), halves(word(b)));
                    let (slope, offset) = (slope_a * slope_b % FIELD, (slope_a * offset_b + offset_a) % FIELD);
                    put(b, ((slope << 16) | offset) as u32);
                }
                // Upper triangular 2 x 2 matrices: top left, top right, bottom right.
                (Op::Compose, 12) => {
                    let matrix = |x: &[u8]| [0, 4, 8].map(|at| u64::from(word(&x[at..])));
                    let ([a0, a1, a2], [b0, b1, b2]) = (matrix(a), matrix(b));
                    for (at, value) in [(0, a0 * b0), (4, a0 * b1 + a1 * b2), (8, a2 * b2)] {
                        put(&mut b[at..], (value % FIELD) as u32);
                    }
                }
                (Op::Compose, other) => panic!("no operator on elements of {other} bytes"),
            }
        }
    }

    /// A rank's contribution: values the operator is closed on, different on each rank and at each index.
    pub(crate) fn contribution(self, rank: usize, count: usize, element_bytes: usize) -> Vec<u8> {
        let mut state = rank as u64 + 1;
        let mut next = move || {
            // SplitMix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195).
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let mut data = vec![0; count * element_bytes];
        for element in data.chunks_exact_mut(element_bytes) {
            match (self, element_bytes) {
                // No zero slopes or determinants: they would hide what was combined before.
                (Op::Compose, 1) => element[0] = (1 + next() % 4) as u8 * 5 + (next() % 5) as u8,
                (Op::Compose, 4) => put(element, (((1 + next() % (FIELD - 1)) << 16) | (next() % FIELD)) as u32),
                (Op::Compose, _) => element
                    .chunks_exact_mut(4)
                    .for_each(|w| put(w, (1 + next() % (FIELD - 1)) as u32)),
                (Op::Sum, _) => element.iter_mut().for_each(|byte| *byte = next() as u8),
            }
        }
        data
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn put(bytes: &mut [u8], value: u32) {
    bytes[..4].copy_from_slice(&value.to_le_bytes());
}

/// How long the blocks of a call are, where they may differ.
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

/// Where the ranks of a call are.
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
            op: Op::Sum,
            parameters,
            division: Division::Equal,
            place: Case::place(algorithm),
        }
    }

    /// Where a row runs: each rank alone, if it can.
    pub(crate) fn place(algorithm: &Algorithm) -> Place {
        if algorithm.needs.contains(&Need::OneNode) {
            Place::Filled(usize::MAX)
        } else {
            Place::Alone
        }
    }

    /// What the row's cost function says.
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

    /// Elements of a rank's input.
    fn input_count(&self, rank: usize) -> usize {
        match self.algorithm.collective {
            Collective::Barrier | Collective::Bcast => 0,
            Collective::Scatter | Collective::Scatterv if rank != self.root => 0,
            Collective::Alltoall | Collective::Alltoallv => (0..self.p).map(|to| self.pair(rank, to)).sum(),
            Collective::Gather | Collective::Gatherv | Collective::Allgather | Collective::Allgatherv => {
                self.block(rank)
            }
            Collective::ReduceScatter | Collective::ReduceScatterBlock | Collective::Scatter | Collective::Scatterv => {
                (0..self.p).map(|rank| self.block(rank)).sum()
            }
            _ => self.count,
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
            ..Config::new(element_bytes, move |a, b| op.apply(element_bytes, a, b))
        }
    }

    /// Each rank's input; a broadcast has none, since its data is in the output before the call.
    pub(crate) fn inputs(&self) -> Vec<Vec<u8>> {
        (0..self.p)
            .map(|rank| self.op.contribution(rank, self.input_count(rank), self.element_bytes))
            .collect()
    }

    /// Each rank's output, computed one rank after the other; empty where the collective defines none.
    pub(crate) fn expected(&self, inputs: &[Vec<u8>]) -> Vec<Vec<u8>> {
        match self.algorithm.collective {
            Collective::Bcast => {
                return vec![self.op.contribution(self.root, self.count, self.element_bytes); self.p];
            }
            Collective::Barrier => return vec![Vec::new(); self.p],
            Collective::Scatter | Collective::Scatterv => return self.cut(&inputs[self.root]),
            Collective::Allgather | Collective::Allgatherv => return vec![inputs.concat(); self.p],
            Collective::Gather | Collective::Gatherv => return self.at_root(inputs.concat()),
            Collective::Alltoall | Collective::Alltoallv => {
                let sent = |from: usize, to: usize| {
                    let begin: usize = (0..to).map(|to| self.pair(from, to)).sum();
                    &inputs[from][begin * self.element_bytes..][..self.pair(from, to) * self.element_bytes]
                };
                let received = |to| (0..self.p).flat_map(|from| sent(from, to).to_vec()).collect();
                return (0..self.p).map(received).collect();
            }
            _ => {}
        }
        // prefixes[i] = inputs[0] op ... op inputs[i]
        let mut prefixes = vec![inputs[0].clone()];
        for input in &inputs[1..] {
            let mut next = input.clone();
            self.op
                .apply(self.element_bytes, &prefixes[prefixes.len() - 1], &mut next);
            prefixes.push(next);
        }
        let total = prefixes[self.p - 1].clone();
        match self.algorithm.collective {
            Collective::Allreduce => vec![total; self.p],
            Collective::Exscan => {
                // Rank 0 keeps what it had.
                prefixes.rotate_right(1);
                prefixes[0] = vec![UNTOUCHED; total.len()];
                prefixes
            }
            Collective::Reduce => self.at_root(total),
            Collective::ReduceScatter | Collective::ReduceScatterBlock => self.cut(&total),
            Collective::Scan => prefixes,
            other => panic!("no reference for {other}; write one"),
        }
    }

    fn at_root(&self, data: Vec<u8>) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new(); self.p];
        all[self.root] = data;
        all
    }

    /// Each rank's block of what one rank has.
    fn cut(&self, mut data: &[u8]) -> Vec<Vec<u8>> {
        let mut next = |rank| {
            let (block, rest) = data.split_at(self.block(rank) * self.element_bytes);
            data = rest;
            block.to_vec()
        };
        (0..self.p).map(&mut next).collect()
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
        let arguments = Arguments {
            input,
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
}
