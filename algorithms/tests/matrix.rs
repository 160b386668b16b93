//! Every row of the registry against a sequential reference: ranks, counts, element sizes, roots, operators, parameters,
//! lengths of blocks, places on nodes.
//!
//! The tests are generated from the registry, three for each row, and one of the data: `cargo test --test matrix reduce.ring` runs one row's.

mod common;

use common::content::MadeOnce;
use common::together::{check_all, check_barriers};
use common::{Case, Division, Op, Place};
use kilter_algorithms::reference::{Content as _, Elements};
use kilter_algorithms::threads::Network;
use kilter_algorithms::{Algorithm, Collective, Need, registry};
use libtest_mimic::{Arguments, Trial};

const ELEMENT_BYTES: [usize; 3] = [1, 4, 12];

/// Taken in turn; their number has no factor in common with those of the other lists.
const PLACES: [Place; 7] = [
    Place::Alone,
    Place::Filled(2),
    Place::RoundRobin(2),
    Place::Filled(3),
    Place::RoundRobin(3),
    Place::Filled(4),
    Place::Filled(usize::MAX),
];

/// With segments of the smallest size, many; with those of the default size, still several for the largest elements.
const LARGE: usize = 2_100;

/// Counts around `p`, a prime, and a large one that none of the `p` divides evenly throughout.
fn counts(p: usize) -> Vec<usize> {
    let mut counts = vec![0, 1, p - 1, p, p + 1, 31, LARGE];
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// The placements of ranks that a row can run on.
fn places(algorithm: &Algorithm, p: usize) -> Vec<Place> {
    let runs = |place: &Place| algorithm.unmet(p, true, place.nodes(p).count() == 1) != Some(Need::OneNode);
    PLACES.into_iter().filter(runs).collect()
}

fn operators(algorithm: &Algorithm, p: usize) -> Vec<Op> {
    let all = [(Op::WrappingSum, true), (Op::Compose, false)];
    all.into_iter()
        .filter(|&(_, commutative)| algorithm.unmet(p, commutative, true).is_none())
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
    let divisions = if algorithm.collective.has_counts() {
        Division::ALL.to_vec()
    } else {
        vec![Division::Equal]
    };
    let places = places(algorithm, p);
    let mut cases = Vec::new();
    for count in counts(p) {
        for element_bytes in ELEMENT_BYTES {
            for op in operators(algorithm, p) {
                for parameters in parameter_values(algorithm) {
                    for (&root, &division) in roots.iter().flat_map(|root| divisions.iter().map(move |d| (root, d))) {
                        let parameters = parameters.clone();
                        let place = places[cases.len() % places.len()];
                        cases.push(Case {
                            algorithm,
                            p,
                            count,
                            element_bytes,
                            root,
                            op,
                            parameters,
                            division,
                            place,
                        });
                    }
                }
            }
        }
    }
    cases
}

/// All up to nine; beyond, an odd one, a prime, an even one and a power of two: more of them repeat what these show, in a third of the time.
const RANKS: [usize; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16];

/// With more ranks than this, a third of the cases: the same dimensions once more, and most of the time.
const ALL_CASES_RANKS: usize = 9;

fn matrix(algorithm: &'static Algorithm) {
    for p in RANKS {
        let chosen = |(index, case): (usize, Case)| {
            // By a hash (Fibonacci's), so that no dimension is in step with it.
            let hash = (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
            (p <= ALL_CASES_RANKS || hash.is_multiple_of(3)).then_some(case)
        };
        check_all(cases(algorithm, p).into_iter().enumerate().filter_map(chosen).collect());
    }
}

fn many_ranks(algorithm: &'static Algorithm) {
    for p in [17, 31, 64] {
        let Some(op) = operators(algorithm, p).pop() else {
            continue;
        };
        for place in places(algorithm, p) {
            Case {
                root: if algorithm.collective.has_root() { p / 3 } else { 0 },
                op,
                place,
                ..Case::new(algorithm.id, p, 101)
            }
            .check(Network::FREE);
        }
    }
}

/// An element larger than a segment: at least one goes into each.
fn elements_larger_than_a_segment(algorithm: &'static Algorithm) {
    for parameters in parameter_values(algorithm)
        .into_iter()
        .filter(|_| algorithm.collective.has_data())
    {
        // The operator on words also works on elements of many words.
        for p in [4, 5] {
            if algorithm.unmet(p, true, true).is_none() {
                Case {
                    element_bytes: 400,
                    parameters: parameters.clone(),
                    ..Case::new(algorithm.id, p, 7)
                }
                .check(Network::FREE);
            }
        }
    }
}

/// No rank leaves a barrier before the last one has entered it, whichever that is.
fn holds_back(algorithm: &'static Algorithm) {
    for p in 1..=16 {
        for place in places(algorithm, p) {
            let case = |parameters: Vec<u64>| Case {
                parameters,
                place,
                ..Case::new(algorithm.id, p, 0)
            };
            let barriers: Vec<(usize, Case)> = (0..p)
                .flat_map(|late| parameter_values(algorithm).into_iter().map(move |one| (late, one)))
                .map(|(late, parameters)| (late, case(parameters)))
                .collect();
            check_barriers(&barriers);
        }
    }
}

/// The data of the cases is that of the reference, in whatever order parts of it are asked for.
fn data_is_that_of_the_reference() {
    for operator in Op::ALL {
        for bytes in [4, 8, 12] {
            let elements = Elements { operator, bytes };
            let (made, combines) = (MadeOnce(elements), operator != Op::MinLoc || bytes == 8);
            for (ranks, at) in [
                (3, 0..5),
                (1, 0..90),
                (7, 2..60),
                (5, 40..100),
                (9, 0..1),
                (9, 99..130),
                (8, 7..7),
            ] {
                let label = format!("{operator:?} {bytes} {ranks} {at:?}");
                assert_eq!(
                    made.given(ranks, at.clone()),
                    elements.given(ranks, at.clone()),
                    "{label}"
                );
                if combines {
                    let expected = elements.combined(ranks, at.clone());
                    assert_eq!(made.combined(ranks, at), expected, "{label}");
                }
            }
        }
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![Trial::test("data", || {
        data_is_that_of_the_reference();
        Ok(())
    })];
    for algorithm in registry::algorithms() {
        let mut add = |name: &str, test: fn(&'static Algorithm)| {
            trials.push(Trial::test(format!("{} {name}", algorithm.id), move || {
                test(algorithm);
                Ok(())
            }));
        };
        add("matrix", matrix);
        add("many_ranks", many_ranks);
        add("large_elements", elements_larger_than_a_segment);
        if algorithm.collective == Collective::Barrier {
            add("holds_back", holds_back);
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
