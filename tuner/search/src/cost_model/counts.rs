//! Counts of a call, which prices are put on: the registry's counts of messages and bytes, and the messages that wait for each other. The latter
//! are counted by one run of the algorithm on threads whose only cost is the time under way.

use kilter_algorithms::threads::{Config, MAX_RANKS, Network, run};
use kilter_algorithms::{Algorithm, Arguments, Collective, Cost, Nodes, Shape, Transport as _, registry};

use super::cost;

/// Bytes of a block and number of segments when messages in turn are counted: it matters only whether there are one, two or more.
const BLOCK_BYTES: usize = 256;
const SEGMENTS: u64 = 4;

/// Counts of a call: rounds, messages, bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counts {
    /// Messages and bytes that keep a rank busy on the critical path.
    pub cost: Cost,
    /// Messages that wait for each other, one after the other: each is under way once more. `None` if they were not counted.
    pub hops: Option<f64>,
}

impl From<Cost> for Counts {
    fn from(cost: Cost) -> Counts {
        Counts { cost, hops: None }
    }
}

/// The counts of one call; `n_bytes` is the total volume.
#[must_use]
pub fn counts(row: &'static Algorithm, p_ranks: usize, n_bytes: u64, parameters: &[u64], nodes: &Nodes) -> Counts {
    Counts {
        cost: cost(row, p_ranks, n_bytes, parameters, nodes),
        hops: hops(row, p_ranks, n_bytes, parameters, nodes),
    }
}

/// Messages that wait for each other; `None` with more ranks than threads can stand for, or where the row does not run.
fn hops(row: &'static Algorithm, p_ranks: usize, n_bytes: u64, parameters: &[u64], nodes: &Nodes) -> Option<f64> {
    if p_ranks > MAX_RANKS || row.unmet(p_ranks, true, nodes.count() == 1).is_some() {
        return None;
    }
    let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
    let few = if row.collective.has_blocks() {
        (n_bytes / p_ranks).min(BLOCK_BYTES) * p_ranks
    } else {
        n_bytes.min(BLOCK_BYTES * p_ranks)
    };
    let scaled = row.parameters.iter().zip(parameters).map(|(parameter, &value)| {
        if !parameter.name.contains("segment") || value == 0 {
            return value;
        }
        let segments = (n_bytes as u64).div_ceil(value).clamp(1, SEGMENTS);
        (few as u64).div_ceil(segments).clamp(parameter.min, parameter.max)
    });
    let parameters: Vec<u64> = scaled.collect();
    let config = Config {
        network: Network {
            latency: 1.0,
            ..Network::FREE
        },
        nodes: Some(nodes.clone()),
        ..Config::new(1, |input, inout| {
            inout.iter_mut().zip(input).for_each(|(inout, input)| *inout |= input);
        })
    };
    let outcome = run(p_ranks, &config, |transport| {
        let buffers = Buffers::of(row.collective, transport.rank(), p_ranks, few);
        let mut output = vec![0; buffers.output];
        let arguments = Arguments {
            input: &vec![0; buffers.input],
            output: &mut output,
            input_blocks: &buffers.input_blocks,
            output_blocks: &buffers.output_blocks,
            root: 0,
            parameters: &parameters,
        };
        registry::run(row, transport, arguments)
    });
    let hops = outcome.seconds();
    outcome.results().is_ok().then_some(hops)
}

/// Lengths of a rank's buffers, root 0.
struct Buffers {
    input: usize,
    output: usize,
    input_blocks: Vec<usize>,
    output_blocks: Vec<usize>,
}

impl Buffers {
    fn of(collective: Collective, rank: usize, p_ranks: usize, n_bytes: usize) -> Buffers {
        let is_root = rank == 0 || !collective.has_root();
        let length = |shape: Shape| match shape {
            Shape::Nothing => 0,
            Shape::AtRoot if rank != 0 => 0,
            Shape::Blocks => n_bytes / p_ranks,
            _ => n_bytes,
        };
        let listed = |wanted: bool| {
            if wanted {
                vec![n_bytes / p_ranks; p_ranks]
            } else {
                Vec::new()
            }
        };
        Buffers {
            // A broadcast's data is in its output before the call.
            input: if collective == Collective::Bcast {
                0
            } else {
                length(collective.input())
            },
            output: length(collective.output()),
            input_blocks: listed(collective.lists_input_blocks(is_root)),
            output_blocks: listed(collective.lists_output_blocks(is_root)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(id: &str, p: usize, n: u64, parameters: &[u64]) -> f64 {
        let row = registry::find(id).unwrap();
        counts(row, p, n, parameters, &Nodes::each_alone(p)).hops.unwrap()
    }

    #[test]
    fn messages_in_turn_are_those_that_wait_for_each_other() {
        // The root's messages do not wait for each other, the ring's do.
        assert_eq!(of("bcast.linear", 8, 1024, &[]), 1.0);
        assert_eq!(of("bcast.binomial", 8, 1024, &[]), 3.0);
        assert_eq!(of("allgather.ring", 8, 8 << 20, &[]), 7.0);
        // The data that the root collects at the end come from all at once.
        assert_eq!(of("reduce.ring", 8, 262_144, &[]), 7.0 + 1.0);
        // However many segments there are, each is 7 times under way.
        for segment in [1024, 65_536, 262_144] {
            assert_eq!(of("bcast.pipelined_chain", 8, 262_144, &[segment]), 7.0, "{segment}");
        }
    }

    #[test]
    fn every_row_is_counted_whatever_the_size() {
        for row in registry::algorithms() {
            for p in [2, 4, 8] {
                for n in [p as u64, 64 * p as u64, 1 << 24] {
                    let one_node = row.unmet(p, true, false).is_some();
                    let nodes = if one_node { Nodes::one(p) } else { Nodes::each_alone(p) };
                    let counts = counts(row, p, n, &row.default_parameters(), &nodes);
                    let hops = counts.hops.unwrap_or_else(|| panic!("{} {p} {n}", row.id));
                    assert!(
                        hops >= 1.0 && hops <= counts.cost.rounds.max(1.0),
                        "{} {p} {n}: {counts:?}",
                        row.id
                    );
                }
            }
        }
    }

    #[test]
    fn more_ranks_than_threads_are_not_counted() {
        let row = registry::find("bcast.binomial").unwrap();
        let p = MAX_RANKS + 1;
        assert_eq!(counts(row, p, 8, &[], &Nodes::each_alone(p)).hops, None);
    }
}
