//! Tests of two-level rows with several ranks on a node: their cost, and that they send no more messages between nodes than
//! their headers say.

use kilter_algorithms::threads::Network;
use kilter_algorithms::{Algorithm, Collective, registry};

use crate::common::choices::{calls, check_cost_bounds, check_costs, combinations};
use crate::common::{Case, Place};

fn rows() -> impl Iterator<Item = &'static Algorithm> {
    registry::algorithms().filter(|row| row.id.ends_with(".two_level"))
}

/// Each choice of what leaders run, sizes at their extremes.
fn parameter_values(algorithm: &Algorithm) -> Vec<Vec<u64>> {
    combinations(&[], algorithm.parameters, "leaders")
}

/// No elements where there are no data.
fn count(algorithm: &Algorithm, elements: usize) -> usize {
    if algorithm.collective == Collective::Barrier {
        0
    } else {
        elements
    }
}

#[test]
fn cost_functions_are_exact_for_nodes_of_equal_size() {
    let mut checked = 0;
    for algorithm in rows() {
        for (nodes, ranks) in [
            (1, 4),
            (1, 5),
            (2, 1),
            (2, 2),
            (2, 4),
            (3, 2),
            (3, 3),
            (4, 2),
            (4, 3),
            (5, 3),
        ] {
            let p = nodes * ranks;
            let count = count(algorithm, 192 * p);
            for place in [Place::Filled(ranks), Place::RoundRobin(nodes)] {
                let cases = calls(algorithm, p, place, count, &parameter_values(algorithm));
                check_costs(&cases);
                checked += cases.len();
            }
        }
    }
    assert!(checked > 1000, "{checked} cases");
}

#[test]
fn cost_functions_are_upper_bounds_elsewhere() {
    for algorithm in rows() {
        for p in [3, 5, 7, 11, 13] {
            for place in [
                Place::Filled(2),
                Place::Filled(4),
                Place::RoundRobin(2),
                Place::RoundRobin(3),
            ] {
                // Divided by the number of leaders, whatever it is.
                let count = count(algorithm, 1680);
                check_cost_bounds(&calls(algorithm, p, place, count, &parameter_values(algorithm)));
            }
        }
    }
}

/// After the first call, also where leaders take scratch on both levels.
#[test]
fn later_calls_allocate_no_scratch() {
    for algorithm in rows() {
        for place in [Place::Filled(3), Place::RoundRobin(3)] {
            for parameters in parameter_values(algorithm) {
                let case = Case {
                    place,
                    parameters,
                    ..Case::new(algorithm.id, 11, count(algorithm, 101))
                };
                let prepared = case.prepared();
                let outcome = prepared.run_by(Network::FREE, |transport| {
                    prepared.call(transport)?;
                    let first = transport.statistics().scratch_allocations;
                    prepared.call(transport)?;
                    Ok((first, transport.statistics().scratch_allocations))
                });
                for (first, second) in outcome.results().unwrap() {
                    assert_eq!(
                        first, second,
                        "allocations after the first and after the second call\nin {case}"
                    );
                    assert!(first <= 3, "{first} scratch buffers in a call\nin {case}");
                }
            }
        }
    }
}

/// Messages over all ranks, by arguments of their own: on 4 nodes of 4 ranks all trees have an edge for each rank but
/// their root, within a node 3, among the leaders 3.
#[test]
fn messages_in_all() {
    let (within, doubling) = (4 * 3, 4 * 2);
    for (id, expected) in [
        ("allgather.two_level", within + doubling + within),
        ("allreduce.two_level", within + doubling + within),
        ("barrier.two_level", within + doubling + within),
        ("bcast.two_level", 3 + within),
        ("gather.two_level", within + 3),
        ("reduce.two_level", within + 3),
        ("scatter.two_level", 3 + within),
    ] {
        for place in [Place::Filled(4), Place::RoundRobin(4)] {
            let row = registry::find(id).unwrap();
            let case = Case {
                place,
                ..Case::new(id, 16, count(row, 192))
            };
            let outcome = case.check(Network::FREE);
            let messages: u64 = outcome.ranks.iter().map(|rank| rank.statistics.messages_sent).sum();
            assert_eq!(messages, expected, "{case}");
        }
    }
}

/// Numbers that no cost function says: a node of 4 ranks and 4 leaders take 3 rounds each by the 4-nomial tree, 2 by the binomial one.
#[test]
fn a_k_nomial_tree_among_leaders_has_one_on_each_node() {
    for (id, begin) in [("reduce.two_level", &[][..]), ("reduce.lanes", &[1])] {
        for (nodes, ranks, binomial, k_nomial) in [(2, 4, 3.0, 4.0), (4, 2, 3.0, 4.0), (4, 4, 4.0, 6.0)] {
            for (own, expected) in [([0, 4], binomial), ([2, 2], binomial), ([2, 4], k_nomial)] {
                let case = Case {
                    place: Place::Filled(ranks),
                    parameters: [begin, &own[..]].concat(),
                    ..Case::new(id, nodes * ranks, 192)
                };
                let rounds = case.check(Network::FREE).critical_path().rounds;
                assert_eq!(rounds, expected, "{case}");
            }
        }
    }
}
