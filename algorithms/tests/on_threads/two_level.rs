//! Tests of two-level rows with several ranks on a node: their cost, and that they send no more messages between nodes than
//! their headers say.

use kilter_algorithms::threads::{Network, run};
use kilter_algorithms::{Algorithm, Collective, Transport, registry};

use crate::common::{Case, Place};

fn rows() -> impl Iterator<Item = &'static Algorithm> {
    registry::algorithms().filter(|row| row.id.ends_with(".two_level"))
}

/// Each value of each parameter where it is a choice, the extremes where it is a size.
fn parameter_values(algorithm: &Algorithm) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    for parameter in algorithm.parameters {
        let values: Vec<u64> = if parameter.name == "leaders" {
            (parameter.min..=parameter.max).collect()
        } else {
            vec![parameter.min, parameter.max]
        };
        all = all
            .iter()
            .flat_map(|begin| values.iter().map(move |&value| [begin.as_slice(), &[value]].concat()))
            .collect();
    }
    all
}

fn roots(algorithm: &Algorithm, p: usize) -> Vec<usize> {
    if algorithm.collective.has_root() {
        (0..p).collect()
    } else {
        vec![0]
    }
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
            for place in [Place::Filled(ranks), Place::RoundRobin(nodes)] {
                for parameters in parameter_values(algorithm) {
                    for root in roots(algorithm, p) {
                        let case = Case {
                            root,
                            place,
                            parameters: parameters.clone(),
                            ..Case::new(algorithm.id, p, count(algorithm, 192 * p))
                        };
                        let counted = case.check(Network::FREE).critical_path();
                        assert_eq!(counted, case.cost(), "counted (left), cost function (right)\nin {case}");
                        checked += 1;
                    }
                }
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
                for parameters in parameter_values(algorithm) {
                    for root in roots(algorithm, p) {
                        let case = Case {
                            root,
                            place,
                            parameters: parameters.clone(),
                            // Divided by the number of leaders, whatever it is.
                            ..Case::new(algorithm.id, p, count(algorithm, 1680))
                        };
                        let (counted, cost) = (case.check(Network::FREE).critical_path(), case.cost());
                        assert!(
                            counted.rounds <= cost.rounds
                                && counted.bytes_sent <= cost.bytes_sent + 1e-6
                                && counted.bytes_reduced <= cost.bytes_reduced + 1e-6,
                            "{counted:?} {cost:?}\nin {case}"
                        );
                    }
                }
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
                let inputs = case.inputs();
                let expected = case.expected(&inputs);
                let outcome = run(case.p, &case.config(Network::FREE), |transport| {
                    let rank = transport.rank();
                    let mut output = case.output(rank, &expected);
                    case.call(transport, &inputs[rank], &mut output)?;
                    let first = transport.statistics().scratch_allocations;
                    case.call(transport, &inputs[rank], &mut output)?;
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
