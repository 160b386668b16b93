//! All calls of a composed row on the same ranks: each of its choices, each root.

use kilter_algorithms::threads::Network;
use kilter_algorithms::{Algorithm, Parameter};

use super::together::check_each;
use super::{Case, Place};

/// The parameters `begin`, followed by every combination of the others: each value of the one named `choice`, the extremes of sizes.
pub(crate) fn combinations(begin: &[u64], others: &[Parameter], choice: &str) -> Vec<Vec<u64>> {
    let mut all = vec![begin.to_vec()];
    for parameter in others {
        let values: Vec<u64> = if parameter.name == choice {
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

/// A call for each of these parameters and each root.
pub(crate) fn calls(algorithm: &Algorithm, p: usize, place: Place, count: usize, parameters: &[Vec<u64>]) -> Vec<Case> {
    let roots = if algorithm.collective.has_root() { p } else { 1 };
    let case = |parameters: &Vec<u64>, root| Case {
        root,
        place,
        parameters: parameters.clone(),
        ..Case::new(algorithm.id, p, count)
    };
    let of_each = parameters.iter();
    of_each
        .flat_map(|one| (0..roots).map(move |root| case(one, root)))
        .collect()
}

/// Checks that these calls are right and cost what the row's cost function says.
pub(crate) fn check_costs(cases: &[Case]) {
    check_each(Network::FREE, cases, |case, outcome| {
        let (counted, cost) = (outcome.critical_path(), case.cost());
        assert_eq!(counted, cost, "counted (left), cost function (right)\nin {case}");
    });
}

/// Checks that these calls are right and cost no more than the row's cost function says.
pub(crate) fn check_cost_bounds(cases: &[Case]) {
    check_each(Network::FREE, cases, |case, outcome| {
        let (counted, cost) = (outcome.critical_path(), case.cost());
        assert!(
            counted.rounds <= cost.rounds
                && counted.bytes_sent <= cost.bytes_sent + 1e-6
                && counted.bytes_reduced <= cost.bytes_reduced + 1e-6,
            "{counted:?} {cost:?}\nin {case}"
        );
    });
}
