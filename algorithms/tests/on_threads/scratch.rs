//! Tests that the scratch that a communicator keeps between calls stays within the rows' bounds.

use kilter_algorithms::threads::Network;
use kilter_algorithms::{Algorithm, Need, Nodes, Parameter, Setting, registry};

use crate::common::together::check_each;
use crate::common::{Case, Place};

/// Powers of two, and numbers beside them: trees, halves and folds differ there.
const RANKS: [usize; 8] = [1, 2, 3, 4, 5, 7, 8, 16];

fn bound(case: &Case, nodes: &Nodes) -> u64 {
    let setting = Setting {
        p_ranks: case.p,
        n_bytes: case.n_bytes(),
        parameters: &case.parameters,
        nodes,
    };
    (case.algorithm.scratch)(&setting) as u64
}

/// Scratch kept after each call, in bytes: the largest of any rank.
fn check_kept(cases: &[Case], mut ended: impl FnMut(&Case, u64)) {
    check_each(Network::FREE, cases, |case, outcome| {
        let all = outcome.ranks.iter().map(|rank| rank.statistics.scratch_bytes);
        ended(case, all.max().unwrap_or(0));
    });
}

/// Elements of four bytes: not divided evenly, and several segments.
fn counts(algorithm: &Algorithm) -> [usize; 2] {
    if algorithm.collective.has_blocks() {
        [3, 1021]
    } else {
        [1009, 16_384]
    }
}

/// The default, the smallest and the largest value of each parameter.
fn values(algorithm: &Algorithm) -> Vec<Vec<u64>> {
    let all = |value: fn(&Parameter) -> u64| algorithm.parameters.iter().map(value).collect();
    let mut values: Vec<Vec<u64>> = vec![all(|one| one.default), all(|one| one.min), all(|one| one.max)];
    values.dedup();
    values
}

/// The placements to test. Only rows of two levels and of lanes depend on the placement of ranks.
fn places(algorithm: &Algorithm) -> &'static [Place] {
    if algorithm.needs.contains(&Need::OneNode) {
        &[Place::Filled(usize::MAX)]
    } else if algorithm.id.ends_with("two_level") || algorithm.id.ends_with("lanes") {
        &[
            Place::Alone,
            Place::Filled(2),
            Place::Filled(3),
            Place::Filled(usize::MAX),
            Place::RoundRobin(2),
            Place::RoundRobin(3),
        ]
    } else {
        &[Place::Alone]
    }
}

#[test]
fn no_rank_keeps_more_than_its_row_says() {
    let mut used = 0;
    let mut beyond = Vec::new();
    let mut check = |case: &Case, kept: u64| {
        let bound = bound(case, &case.place.nodes(case.p));
        used += kept;
        if kept > bound {
            beyond.push(format!("{kept} B are kept, the row says {bound} B\nin {case}"));
        }
    };
    for algorithm in registry::algorithms() {
        for p in RANKS.into_iter().filter(|&p| algorithm.unmet(p, true, true).is_none()) {
            let mut roots = vec![0, 1, p / 2, p - 1];
            roots.retain(|&root| root < if algorithm.collective.has_root() { p } else { 1 });
            roots.dedup();
            for &place in places(algorithm) {
                let mut cases = Vec::new();
                for parameters in values(algorithm) {
                    for count in counts(algorithm) {
                        cases.extend(roots.iter().map(|&root| Case {
                            root,
                            parameters: parameters.clone(),
                            place,
                            ..Case::new(algorithm.id, p, count)
                        }));
                    }
                }
                check_kept(&cases, &mut check);
            }
        }
    }
    assert!(beyond.is_empty(), "{} cases:\n{}", beyond.len(), beyond.join("\n"));
    assert!(used > 0, "nothing was kept");
}

/// A bound that is never reached keeps candidates out for nothing.
#[test]
fn bounds_are_near_what_is_kept() {
    let p = 16;
    for algorithm in registry::algorithms() {
        let roots = if algorithm.collective.has_root() { p } else { 1 };
        let count = if algorithm.collective.has_blocks() {
            1024
        } else {
            16_384
        };
        let all = (0..roots).map(|root| Case {
            root,
            ..Case::new(algorithm.id, p, count)
        });
        let (mut kept, mut bound) = (0, 0);
        check_kept(&all.collect::<Vec<_>>(), |case, of_case| {
            (kept, bound) = (kept, bound).max((of_case, self::bound(case, &case.place.nodes(p))));
        });
        assert!(
            bound <= 2 * kept,
            "{}: at most {kept} B are kept, the row says {bound} B",
            algorithm.id
        );
    }
}
