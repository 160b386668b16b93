//! Tests of rows with lanes and several ranks on a node: their cost, the messages between nodes, and that one lane costs what leaders do.

use kilter_algorithms::threads::Network;
use kilter_algorithms::{Algorithm, Collective, registry};

use crate::common::choices::{calls, check_cost_bounds, check_costs, combinations};
use crate::common::{Case, Place};

fn rows() -> impl Iterator<Item = &'static Algorithm> {
    registry::algorithms().filter(|row| row.id.ends_with(".lanes"))
}

/// All choices of what a lane runs, segments of the smallest and of the largest size.
fn parameter_values(algorithm: &Algorithm, lanes: u64) -> Vec<Vec<u64>> {
    combinations(&[lanes], &algorithm.parameters[1..], "in_lane")
}

#[test]
fn cost_functions_are_exact_for_nodes_of_equal_size_that_the_lanes_divide() {
    let mut checked = 0;
    for algorithm in rows() {
        for (nodes, ranks, lanes) in [
            (1, 4, 4),
            (1, 4, 2),
            (1, 3, 64),
            (2, 1, 64),
            (2, 2, 1),
            (2, 2, 2),
            (2, 4, 2),
            (2, 4, 4),
            (3, 2, 2),
            (3, 4, 2),
            (4, 2, 1),
            (4, 3, 64),
            (5, 2, 64),
        ] {
            let p = nodes * ranks;
            for place in [Place::Filled(ranks), Place::RoundRobin(nodes)] {
                let cases = calls(algorithm, p, place, 48 * p, &parameter_values(algorithm, lanes));
                check_costs(&cases);
                checked += cases.len();
            }
        }
    }
    assert!(checked > 500, "{checked} cases");
}

#[test]
fn cost_functions_are_upper_bounds_elsewhere() {
    for algorithm in rows() {
        for (p, place) in [
            (5, Place::Filled(2)),
            (7, Place::Filled(4)),
            (7, Place::RoundRobin(2)),
            (11, Place::Filled(3)),
            (11, Place::RoundRobin(4)),
            (13, Place::RoundRobin(2)),
            (10, Place::Filled(5)),
        ] {
            for lanes in [1, 2, 64] {
                // Divided by the numbers of lanes and of nodes, whatever they are.
                check_cost_bounds(&calls(algorithm, p, place, 1680, &parameter_values(algorithm, lanes)));
            }
        }
    }
}

/// Every lane sends its own piece, and all of them the volume: messages over all ranks, on 4 nodes of 4 ranks.
#[test]
fn messages_in_all() {
    for (id, parameters, expected) in [
        // Trees down the heads of the root's node and down each lane; round the ring, where the root gets none.
        ("bcast.lanes", vec![64, 0, 1024], 3 + 4 * 3 + (4 * 4 * 3 - 3)),
        ("bcast.lanes", vec![2, 0, 1024], 1 + 2 * 3 + (4 * 2 - 1) + 4 * 2),
        // Two rings on each node, an exchange with two others in each lane.
        ("allreduce.lanes", vec![64, 0], 2 * 4 * 4 * 3 + 4 * 4 * 2),
        ("reduce.lanes", vec![64, 0, 4], 4 * 4 * 3 + 4 * 3 + 3),
        ("allgather.lanes", vec![64], 4 * 4 * 2 + 4 * 4 * 3),
        ("allgather.lanes", vec![2], 4 * 2 + 4 * 2 * 2 + 4 * 2 + 4 * 2),
    ] {
        for place in [Place::Filled(4), Place::RoundRobin(4)] {
            let case = Case {
                place,
                parameters: parameters.clone(),
                ..Case::new(id, 16, 192)
            };
            let outcome = case.check(Network::FREE);
            let messages: u64 = outcome.ranks.iter().map(|rank| rank.statistics.messages_sent).sum();
            assert_eq!(messages, expected, "{case}");
        }
    }
}

/// With one lane the messages are those of the two-level row.
#[test]
fn one_lane_costs_what_leaders_do() {
    for algorithm in rows().filter(|row| row.collective != Collective::Allgather) {
        let two_level = format!("{}.two_level", algorithm.collective.name());
        for parameters in parameter_values(algorithm, 1) {
            let case = |id: &str, parameters: &[u64]| Case {
                place: Place::Filled(3),
                parameters: parameters.to_vec(),
                ..Case::new(id, 12, 240)
            };
            let lanes = case(algorithm.id, &parameters).check(Network::FREE).critical_path();
            let leaders = case(&two_level, &parameters[1..]).check(Network::FREE).critical_path();
            assert_eq!(lanes, leaders, "{} {parameters:?}", algorithm.id);
        }
    }
}
