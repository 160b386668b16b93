//! Tests that the cost counted on the thread transport is what the cost functions say, and that scratch is kept between calls.

use kilter_algorithms::threads::{Network, Outcome};
use kilter_algorithms::{Algorithm, Cost, registry};

use crate::common::Case;
use crate::common::together::check_each;

/// A fast network in round numbers (binary fractions, so that sums are exact): no term is negligible.
const NETWORK: Network = Network {
    latency: 0.0,
    alpha: 64.0,
    beta: 0.25,
    gamma: 0.125,
};

/// Rows that tell other ranks the lengths of blocks: by messages even without data, and, before they know how much scratch
/// the data needs, in scratch of their own.
const TELLING: [&str; 2] = ["gatherv.binomial", "scatterv.binomial"];

/// Numbers of ranks that a row runs on.
fn ranks(algorithm: &Algorithm) -> impl Iterator<Item = usize> {
    (1..=16).filter(|&p| algorithm.unmet(p, true, true).is_none())
}

fn counted(outcome: &Outcome<Vec<u8>>) -> Cost {
    outcome.critical_path()
}

fn messages(outcome: &Outcome<Vec<u8>>) -> u64 {
    outcome.ranks.iter().map(|rank| rank.statistics.messages_sent).sum()
}

fn bytes(outcome: &Outcome<Vec<u8>>) -> u64 {
    outcome.ranks.iter().map(|rank| rank.statistics.bytes_sent).sum()
}

fn seconds(cost: Cost) -> f64 {
    cost.seconds(NETWORK.alpha, NETWORK.beta, NETWORK.gamma)
}

/// Elements of 4 bytes, a multiple of `p` where the algorithm may cut them: 1 KiB per rank.
fn divisible_count(algorithm: &Algorithm, p: usize) -> usize {
    if algorithm.collective.has_blocks() {
        256
    } else {
        256 * p
    }
}

/// Equal in every term, whatever the number of ranks, when blocks are equal and a whole number of elements fills a
/// segment.
#[test]
fn cost_functions_are_exact_for_divisible_counts() {
    for algorithm in registry::algorithms() {
        for p in ranks(algorithm) {
            let count = divisible_count(algorithm, p);
            // 1 KiB per rank or block: many segments, a last one that is shorter, and one that holds everything.
            let cases = [256, 4096, 1_048_576].map(|value| Case {
                parameters: (algorithm.parameters.iter())
                    .map(|parameter| u64::clamp(value, parameter.min, parameter.max))
                    .collect(),
                ..Case::new(algorithm.id, p, count)
            });
            check_each(NETWORK, &cases, |case, outcome| {
                assert_eq!(
                    counted(outcome),
                    case.cost(),
                    "p = {p}: counted (left), cost function (right)\nin {case}"
                );
            });
        }
    }
}

/// Trees are cut and turned for the root; that costs nothing.
#[test]
fn cost_functions_are_exact_for_every_root() {
    for algorithm in registry::algorithms().filter(|row| row.collective.has_root()) {
        for p in [3, 6, 8, 13] {
            let cases = (0..p).map(|root| Case {
                root,
                parameters: algorithm.parameters.iter().map(|parameter| parameter.min).collect(),
                ..Case::new(algorithm.id, p, 64 * p)
            });
            check_each(NETWORK, &cases.collect::<Vec<_>>(), |case, outcome| {
                assert_eq!(counted(outcome), case.cost(), "{case}");
            });
        }
    }
}

/// Rows that combine one message while another one comes in, or whose longest chain of combinations is not that of
/// messages, or that tell lengths meanwhile.
const OVERLAPPING: [&str; 17] = [
    "allreduce.direct",
    "allreduce.linear",
    "bcast.two_tree",
    "exscan.pipelined_chain",
    "exscan.recursive_doubling",
    "gatherv.binomial",
    "reduce.binary",
    "reduce.direct",
    "reduce.k_nomial",
    "reduce.linear",
    "reduce.pipelined_chain",
    "reduce.two_tree",
    "reduce_scatter.pairwise",
    "reduce_scatter_block.pairwise",
    "scan.pipelined_chain",
    "scan.shared_memory",
    "scatter.shared_memory",
];

/// The sum of the terms is the time itself where nothing overlaps, and else an upper bound.
#[test]
fn time_is_the_sum_of_the_terms() {
    for algorithm in registry::algorithms() {
        for p in ranks(algorithm) {
            let count = divisible_count(algorithm, p);
            let parameters = algorithm.parameters.iter().map(|parameter| parameter.min).collect();
            let case = Case {
                parameters,
                ..Case::new(algorithm.id, p, count)
            };
            let (time, sum) = (case.check(NETWORK).seconds(), seconds(case.cost()));
            if OVERLAPPING.contains(&algorithm.id) {
                assert!(time <= sum, "{time} > {sum}\nin {case}");
            } else {
                assert_eq!(time, sum, "{case}");
            }
        }
    }
}

/// Cost functions assume equal blocks. If blocks differ by an element, the cost is off by at most one element per block sent.
#[test]
fn cost_functions_are_close_for_other_counts() {
    for algorithm in registry::algorithms() {
        for p in ranks(algorithm) {
            let counts = [p, p + 1, 31, 1009, 2 * p - 1];
            let cases = counts.into_iter().filter(|count| *count >= p);
            let cases: Vec<Case> = cases.map(|count| Case::new(algorithm.id, p, count)).collect();
            check_each(NETWORK, &cases, |case, outcome| {
                let (counted, cost) = (counted(outcome), case.cost());
                let slack = (2 * (p - 1) * case.element_bytes) as f64;
                assert_eq!(counted.rounds, cost.rounds, "rounds\nin {case}");
                assert!(
                    (counted.bytes_sent - cost.bytes_sent).abs() <= slack,
                    "bytes {counted:?} {cost:?}\nin {case}"
                );
                assert!(
                    (counted.bytes_reduced - cost.bytes_reduced).abs() <= slack,
                    "bytes reduced {counted:?} {cost:?}\nin {case}"
                );
            });
        }
    }
}

/// Empty blocks are not sent: fewer elements than ranks cost less than the function says, no elements cost nothing.
#[test]
fn nothing_is_sent_without_need() {
    for algorithm in registry::algorithms().filter(|row| row.collective.has_data()) {
        for p in ranks(algorithm) {
            let empty = Case::new(algorithm.id, p, 0);
            let outcome = empty.check(NETWORK);
            if TELLING.contains(&algorithm.id) {
                assert_eq!(counted(&outcome), empty.cost(), "{empty}");
            } else {
                assert_eq!(
                    (messages(&outcome), counted(&outcome), empty.cost()),
                    (0, Cost::ZERO, Cost::ZERO),
                    "{empty}"
                );
            }
            let cases: Vec<Case> = (1..p).map(|count| Case::new(algorithm.id, p, count)).collect();
            check_each(NETWORK, &cases, |case, outcome| {
                let (counted, cost) = (counted(outcome), case.cost());
                assert!(counted.rounds <= cost.rounds, "{counted:?} {cost:?}\nin {case}");
            });
        }
    }
    let ring = Case {
        root: 3,
        ..Case::new("reduce.ring", 8, 1)
    };
    assert_eq!(
        messages(&ring.check(NETWORK)),
        8,
        "one block: once round the ring (7), then to the root (1)"
    );
}

/// Messages and bytes over all ranks, by arguments of their own.
#[test]
fn totals() {
    for p in 2_usize..=16 {
        let n = 1024 * p * 4;
        let total = |id: &str| {
            let outcome = Case::new(id, p, 1024 * p).check(NETWORK);
            (messages(&outcome) as usize, bytes(&outcome) as usize)
        };
        // Each rank sends p-1 blocks on the ring, and all but the root one more.
        assert_eq!(
            total("reduce.ring"),
            (p * (p - 1) + p - 1, n * (p - 1) + n / p * (p - 1)),
            "p = {p}"
        );
        let everything_once = (p - 1, (p - 1) * n);
        for id in [
            "bcast.linear",
            "bcast.binomial",
            "bcast.k_nomial",
            "reduce.linear",
            "reduce.binomial",
            "exscan.linear",
            "scan.linear",
        ] {
            assert_eq!(total(id), everything_once, "{id}, p = {p}");
        }
        let segments = n.div_ceil(16_384);
        for id in [
            "bcast.binary",
            "bcast.circulant",
            "bcast.pipelined_chain",
            "exscan.pipelined_chain",
            "reduce.binary",
            "reduce.pipelined_chain",
        ] {
            assert_eq!(total(id), ((p - 1) * segments, (p - 1) * n), "{id}, p = {p}");
        }
        for id in ["gather.linear", "scatter.linear"] {
            assert_eq!(total(id), everything_once, "{id}: a block is n bytes; p = {p}");
        }
        for id in ["allgather.linear", "allgather.ring"] {
            assert_eq!(total(id), (p * (p - 1), p * (p - 1) * n), "{id}, p = {p}");
        }
        let ceil_rounds = kilter_algorithms::schedule::ceil_log2(p) as usize;
        for id in ["allgather.bruck", "allgather.circulant"] {
            assert_eq!(total(id), (p * ceil_rounds, p * (p - 1) * n), "{id}, p = {p}");
        }
        // Every rank sends in every round, and in all all blocks but its own.
        assert_eq!(
            total("reduce_scatter_block.circulant"),
            (p * ceil_rounds, p * (p - 1) * n),
            "p = {p}"
        );
        assert_eq!(
            total("allreduce.circulant"),
            (2 * p * ceil_rounds, 2 * (p - 1) * n),
            "p = {p}"
        );
        assert_eq!(
            total("allreduce.ring"),
            (2 * p * (p - 1), 2 * (p - 1) * n),
            "p = {p}: each block goes round the ring twice, but for its last step"
        );
        assert_eq!(
            total("allreduce.reduce_bcast"),
            (2 * (p - 1), 2 * (p - 1) * n),
            "p = {p}"
        );
        // Down the tree, a block crosses as many edges as halvings part its rank from the root's; round the ring, each
        // block goes to all that are neither the root nor its own.
        let scatter = total("scatter.binomial");
        assert_eq!(scatter.0, p - 1, "p = {p}");
        assert_eq!(
            total("bcast.scatter_allgather"),
            (p - 1 + (p - 1) * (p - 1), scatter.1 / p + (p - 1) * (p - 1) * (n / p)),
            "p = {p}"
        );
        // Each of the tree's edges is one message; a relative rank's block crosses as many as its number has bits set.
        let crossings: usize = (0..p).map(|relative: usize| relative.count_ones() as usize).sum();
        assert_eq!(total("gather.binomial"), (p - 1, crossings * n), "p = {p}");
        // In the round of distance d all but the last d ranks send.
        let sends: usize = (0..).map(|k| 1 << k).take_while(|&d| d < p).map(|d: usize| p - d).sum();
        for id in ["scan.recursive_doubling", "exscan.recursive_doubling"] {
            assert_eq!(total(id), (sends, sends * n), "{id}, p = {p}");
        }
        // Every rank but the last sends everything once.
        assert_eq!(
            total("scan.pipelined_chain"),
            ((p - 1) * n.div_ceil(16_384), (p - 1) * n),
            "p = {p}"
        );
        let active = 1 << p.ilog2();
        let sends = active * p.ilog2() as usize + 2 * (p - active);
        assert_eq!(total("allreduce.recursive_doubling"), (sends, sends * n), "p = {p}");
        // The same messages, there and back, with a half, a quarter, ... of the data.
        let (folded, rounds) = (2 * (p - active), active * p.ilog2() as usize);
        assert_eq!(
            total("allreduce.rabenseifner"),
            (folded + 2 * rounds, folded * n + 2 * (active - 1) * n),
            "p = {p}"
        );
        // Back to the root only: one message from each other active rank, and as many crossings of each rank's part as its
        // number has bits set, half of all bits.
        let crossings = n / active * (active / 2) * p.ilog2() as usize;
        assert_eq!(
            total("reduce.rabenseifner"),
            (
                folded / 2 + rounds + active - 1,
                (folded / 2 + active - 1) * n + crossings
            ),
            "p = {p}"
        );
        // Blocks of 64 bytes.
        let small = |id: &str| {
            let outcome = Case::new(id, p, 16).check(NETWORK);
            (messages(&outcome) as usize, bytes(&outcome) as usize)
        };
        for collective in ["reduce_scatter", "reduce_scatter_block"] {
            for file in ["ring", "pairwise"] {
                let id = format!("{collective}.{file}");
                assert_eq!(
                    small(&id),
                    (p * (p - 1), p * (p - 1) * 64),
                    "{id}: each block p-1 times; p = {p}"
                );
            }
            // Everything from, and one block to, those that are folded; else all active ranks but one give each block away
            // once, since they combine it no more.
            let id = format!("{collective}.recursive_halving");
            let given = p * (active - 1);
            assert_eq!(
                small(&id),
                (folded + rounds, (folded / 2 * (p + 1) + given) * 64),
                "{id}, p = {p}"
            );
        }
        assert_eq!(total("barrier.dissemination"), (p * ceil_rounds, 0), "p = {p}");
        assert_eq!(total("barrier.recursive_doubling"), (folded + rounds, 0), "p = {p}");
        assert_eq!(total("barrier.tree"), (2 * (p - 1), 0), "p = {p}");
    }
}

/// The pipeline really overlaps: with a latency of 200 us and 1 Gbit/s, 256 KiB over eight ranks take what the links
/// need and one latency per hop, not one per segment.
#[test]
fn the_pipeline_runs_at_link_rate() {
    let gigabit = Network {
        latency: 200e-6,
        alpha: 2e-6,
        beta: 8e-9,
        gamma: 0.5e-9,
    };
    let case = Case::new("scan.pipelined_chain", 8, 65_536);
    let (segment, segments) = (16_384.0, 16.0);
    let on_the_link = gigabit.alpha + segment * gigabit.beta;
    let hop = gigabit.latency + on_the_link + segment * gigabit.gamma;
    let expected = 7.0 * hop + (segments - 1.0) * on_the_link;
    let time = case.check(gigabit).seconds();
    assert!((time - expected).abs() < 1e-9, "{time} s, expected {expected} s");
    let doubling = Case::new("scan.recursive_doubling", 8, 65_536).check(gigabit).seconds();
    assert!(
        time < 2.0 / 3.0 * doubling,
        "{time} s against {doubling} s of recursive doubling"
    );

    // Nothing to combine, or the data combined where it comes in: as fast.
    let bcast = Case::new("bcast.pipelined_chain", 8, 65_536).check(gigabit).seconds();
    let expected_bcast = 7.0 * (gigabit.latency + on_the_link) + (segments - 1.0) * on_the_link;
    assert!(
        (bcast - expected_bcast).abs() < 1e-9,
        "{bcast} s, expected {expected_bcast} s"
    );
    let reduce = Case::new("reduce.pipelined_chain", 8, 65_536).check(gigabit).seconds();
    assert!((reduce - expected).abs() < 1e-9, "{reduce} s, expected {expected} s");
    // Down and up the binary tree, ports send or receive each segment twice.
    for id in ["bcast.binary", "reduce.binary"] {
        let time = Case::new(id, 8, 65_536).check(gigabit).seconds();
        let bound = 2.0 * segments * on_the_link + 3.0 * (hop + on_the_link + segment * gigabit.gamma);
        assert!(time <= bound, "{id}: {time} s, at most {bound} s");
    }

    // A slower operator than the link: then the operator is never idle.
    let slow = Network {
        gamma: 20e-9,
        ..gigabit
    };
    let on_a_rank = segment * slow.gamma;
    let expected = 7.0 * (slow.latency + on_the_link + on_a_rank) + (segments - 1.0) * on_a_rank;
    let time = case.check(slow).seconds();
    assert!((time - expected).abs() < 1e-9, "{time} s, expected {expected} s");
}

/// PGMPI's second case study: a collective that allocates in each call. Ours do in the first one only.
#[test]
fn the_second_call_allocates_no_scratch() {
    let mut used = 0;
    for algorithm in registry::algorithms() {
        for p in ranks(algorithm) {
            let roots = if algorithm.collective.has_root() { p } else { 1 };
            for root in 0..roots {
                let case = Case {
                    root,
                    ..Case::new(algorithm.id, p, 1009)
                };
                let prepared = case.prepared();
                let outcome = prepared.run_by(Network::FREE, |transport| {
                    prepared.call(transport)?;
                    let first = transport.statistics().scratch_allocations;
                    for _ in 0..3 {
                        prepared.call(transport)?;
                    }
                    Ok((first, transport.statistics().scratch_allocations))
                });
                for (rank, (first, last)) in outcome.results().unwrap().into_iter().enumerate() {
                    assert_eq!(
                        first, last,
                        "allocations after the first call and after the last, rank {rank}\nin {case}"
                    );
                    assert!(
                        first <= if TELLING.contains(&algorithm.id) { 2 } else { 1 },
                        "rank {rank} takes scratch {first} times in a call\nin {case}"
                    );
                    used += first;
                }
            }
        }
    }
    assert!(used > 0, "nothing was counted");
}

/// Copies that a better placement of the data would have saved.
#[test]
fn data_in_place_is_not_copied() {
    let copied = |case: Case| -> Vec<u64> {
        case.check(NETWORK)
            .ranks
            .iter()
            .map(|rank| rank.statistics.bytes_copied / (4 * case.count as u64))
            .collect()
    };
    // The root's own block, and inner ranks' own; ranks 2, 4 and 6 are inner, leaves copy nothing.
    assert_eq!(copied(Case::new("gather.binomial", 8, 100)), [1, 0, 1, 0, 1, 0, 1, 0]);
    // Root 4: its subtrees are ranks 0-3, 6-7 and 5.
    assert_eq!(
        copied(Case {
            root: 4,
            ..Case::new("gather.binomial", 8, 100)
        }),
        [1, 0, 1, 0, 1, 0, 1, 0]
    );
    // Root 3: ranks 4-7, 0-1 and 2. No block is staged, though the ranks after the root's wrap round.
    assert_eq!(
        copied(Case {
            root: 3,
            ..Case::new("gather.binomial", 8, 100)
        }),
        [1, 0, 0, 1, 1, 0, 1, 0]
    );
    // Its input, once; none where a neighbour is folded in: its data is combined where it came.
    assert_eq!(copied(Case::new("allreduce.recursive_doubling", 8, 100)), [1; 8]);
    assert_eq!(
        copied(Case::new("allreduce.recursive_doubling", 6, 100)),
        [0, 0, 0, 0, 1, 1]
    );
    assert_eq!(copied(Case::new("scan.pipelined_chain", 3, 100)), [1, 1, 1]);
    // A broadcast is received where it stays, the ring's blocks where they are combined.
    for id in [
        "allreduce.ring",
        "bcast.binary",
        "bcast.binomial",
        "bcast.circulant",
        "bcast.k_nomial",
        "bcast.linear",
        "bcast.pipelined_chain",
        "bcast.scatter_allgather",
        "bcast.two_level",
        "reduce.binary",
        "reduce.pipelined_chain",
        "reduce.ring",
        "reduce_scatter.ring",
        "reduce_scatter_block.ring",
        // A half, where the first partner is a lower rank.
        "allreduce.rabenseifner",
        "reduce.rabenseifner",
    ] {
        assert_eq!(copied(Case::new(id, 6, 100)), [0; 6], "{id}");
    }
    // The root's own; lower ranks' operands cannot be combined into an input.
    assert_eq!(copied(Case::new("reduce.binomial", 6, 100)), [0; 6]);
    let inner_root = |id| {
        copied(Case {
            root: 1,
            ..Case::new(id, 6, 100)
        })
    };
    assert_eq!(inner_root("reduce.binomial"), [0, 1, 0, 0, 0, 0]);
    // Own blocks; ranks 1 and 3 to 5 are inner or the root, the others leaves.
    assert_eq!(inner_root("scatter.binomial"), [0, 1, 0, 1, 0, 0]);
    assert_eq!(inner_root("scatter.linear"), [0, 1, 0, 0, 0, 0]);
    assert_eq!(inner_root("gather.linear"), [0, 1, 0, 0, 0, 0]);
    assert_eq!(copied(Case::new("allgather.ring", 3, 100)), [1; 3]);
    // The root, whose left neighbour is folded into it: lower ranks' operands again.
    assert_eq!(inner_root("reduce.rabenseifner"), [0, 1, 0, 0, 0, 0]);
    // A rank that combines data and sends the result on does so in a copy of its input.
    for id in ["exscan.linear", "exscan.pipelined_chain"] {
        assert_eq!(copied(Case::new(id, 4, 100)), [0, 1, 1, 0], "{id}");
    }
    assert_eq!(
        copied(Case::new("exscan.recursive_doubling", 6, 100)),
        [0, 1, 1, 1, 0, 0]
    );
    for collective in ["reduce_scatter", "reduce_scatter_block"] {
        // The own block; the lowest rank's is combined from the input.
        let pairwise = format!("{collective}.pairwise");
        assert_eq!(copied(Case::new(&pairwise, 6, 100)), [0, 1, 1, 1, 1, 1]);
        // One of the two blocks of ranks that others are folded into.
        let halving = format!("{collective}.recursive_halving");
        assert_eq!(copied(Case::new(&halving, 6, 100)), [1, 0, 1, 0, 0, 0]);
        assert_eq!(copied(Case::new(&halving, 8, 100)), [0; 8]);
    }
    for id in ["allgather.circulant", "allgather.ring"] {
        assert_eq!(copied(Case::new(id, 3, 100)), [1; 3], "{id}");
    }
    // The result; on rank 1 also the two blocks of the first round, 3 and 0, which go over the end of the input.
    assert_eq!(
        copied(Case::new("reduce_scatter_block.circulant", 4, 100)),
        [1, 3, 1, 1]
    );
    assert_eq!(copied(Case::new("reduce_scatter_block.circulant", 2, 100)), [0, 0]);
}
