//! Every row of the registry against a sequential reference: ranks, counts, element sizes, roots, operators,
//! parameters.

mod common;

use common::{Case, Op};
use kilter_algorithms::threads::Network;
use kilter_algorithms::{Algorithm, registry};

const ELEMENT_BYTES: [usize; 3] = [1, 4, 12];

/// With segments of the smallest size, many; with those of the default size, still several for the largest elements.
const LARGE: usize = 2_100;

/// Counts around `p`, a prime, and a large one that none of the `p` divides evenly throughout.
fn counts(p: usize) -> Vec<usize> {
    let mut counts = vec![0, 1, p - 1, p, p + 1, 31, LARGE];
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn operators(algorithm: &Algorithm, p: usize) -> Vec<Op> {
    let all = [(Op::Sum, true), (Op::Compose, false)];
    all.into_iter()
        .filter(|&(_, commutative)| algorithm.unmet(p, commutative).is_none())
        .map(|(op, _)| op)
        .collect()
}

/// Each parameter at its extremes, the others at their defaults; and all defaults.
fn parameter_values(algorithm: &Algorithm) -> Vec<Vec<u64>> {
    let mut all = vec![algorithm.default_parameters()];
    for (index, parameter) in algorithm.parameters.iter().enumerate() {
        for value in [parameter.min, parameter.max] {
            let mut values = algorithm.default_parameters();
            values[index] = value;
            all.push(values);
        }
    }
    all
}

fn cases(algorithm: &'static Algorithm, p: usize) -> Vec<Case> {
    let roots = match p {
        _ if !algorithm.collective.has_root() => vec![0],
        ..=8 => (0..p).collect(),
        // On both sides of the middle, where trees are cut.
        _ => vec![0, p / 2, p.div_ceil(2), p - 1],
    };
    let mut cases = Vec::new();
    for count in counts(p) {
        for element_bytes in ELEMENT_BYTES {
            for op in operators(algorithm, p) {
                for parameters in parameter_values(algorithm) {
                    for &root in &roots {
                        let parameters = parameters.clone();
                        cases.push(Case {
                            algorithm,
                            p,
                            count,
                            element_bytes,
                            root,
                            op,
                            parameters,
                        });
                    }
                }
            }
        }
    }
    cases
}

fn check_all(id: &str) {
    let algorithm = registry::find(id).expect("a row of the registry");
    for p in 1..=16 {
        for case in cases(algorithm, p) {
            case.check(Network::FREE);
        }
    }
}

macro_rules! matrix {
    ($($name:ident: $id:literal;)*) => {
        $(#[test] fn $name() { check_all($id); })*

        /// So that a new row cannot be forgotten here.
        #[test]
        fn every_row_is_tested() {
            let tested = [$($id),*];
            for algorithm in registry::algorithms() {
                assert!(tested.contains(&algorithm.id), "add `{}` to this file", algorithm.id);
            }
        }
    };
}

// One test each, so that they run at the same time and a failure says where.
matrix! {
    allgather_bruck: "allgather.bruck";
    allgather_linear: "allgather.linear";
    allgather_recursive_doubling: "allgather.recursive_doubling";
    allgather_ring: "allgather.ring";
    allreduce_rabenseifner: "allreduce.rabenseifner";
    allreduce_recursive_doubling: "allreduce.recursive_doubling";
    allreduce_reduce_bcast: "allreduce.reduce_bcast";
    allreduce_ring: "allreduce.ring";
    bcast_binary: "bcast.binary";
    bcast_binomial: "bcast.binomial";
    bcast_linear: "bcast.linear";
    bcast_pipelined_chain: "bcast.pipelined_chain";
    bcast_scatter_allgather: "bcast.scatter_allgather";
    gather_binomial: "gather.binomial";
    gather_linear: "gather.linear";
    reduce_binary: "reduce.binary";
    reduce_binomial: "reduce.binomial";
    reduce_linear: "reduce.linear";
    reduce_pipelined_chain: "reduce.pipelined_chain";
    reduce_ring: "reduce.ring";
    scan_linear: "scan.linear";
    scan_pipelined_chain: "scan.pipelined_chain";
    scan_recursive_doubling: "scan.recursive_doubling";
    scatter_binomial: "scatter.binomial";
    scatter_linear: "scatter.linear";
}

#[test]
fn many_ranks() {
    for algorithm in registry::algorithms() {
        for p in [17, 31, 64] {
            let op = operators(algorithm, p)[operators(algorithm, p).len() - 1];
            Case {
                root: if algorithm.collective.has_root() { p / 3 } else { 0 },
                op,
                ..Case::new(algorithm.id, p, 101)
            }
            .check(Network::FREE);
        }
    }
}

/// An element larger than a segment: at least one goes into each.
#[test]
fn elements_larger_than_a_segment() {
    for algorithm in registry::algorithms() {
        for parameters in parameter_values(algorithm) {
            // The operator on words also works on elements of many words.
            Case {
                element_bytes: 400,
                parameters,
                ..Case::new(algorithm.id, 5, 7)
            }
            .check(Network::FREE);
        }
    }
}

/// The matrix is as strong as its operators: each must notice a swap of operands, a missing and a doubled contribution.
#[test]
fn operators_notice_what_they_should() {
    for element_bytes in ELEMENT_BYTES {
        let contribution = |rank| Op::Compose.contribution(rank, 50, element_bytes);
        let combine = |op: Op, left: &[u8], right: &[u8]| {
            let mut result = right.to_vec();
            op.apply(element_bytes, left, &mut result);
            result
        };
        let (a, b, c) = (contribution(0), contribution(1), contribution(2));
        let ab = combine(Op::Compose, &a, &b);
        let bc = combine(Op::Compose, &b, &c);
        assert_eq!(
            combine(Op::Compose, &ab, &c),
            combine(Op::Compose, &a, &bc),
            "associative"
        );
        assert_ne!(ab, combine(Op::Compose, &b, &a), "not commutative");
        assert_ne!(combine(Op::Compose, &a, &ab), ab, "not idempotent");
        assert_ne!(
            combine(Op::Sum, &a, &combine(Op::Sum, &a, &b)),
            combine(Op::Sum, &a, &b),
            "not idempotent"
        );
    }
}
