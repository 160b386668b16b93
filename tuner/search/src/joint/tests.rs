use kilter_algorithms::Collective;
use kilter_model::deployment::Selection;
use kilter_model::not_deployed::NotDeployed;
use proptest::prelude::*;

use super::problem::{Bound, Call, Problem, Way};
use super::*;

const FLOOR: f64 = 0.05;

fn row(id: &str) -> Option<Selection> {
    Some(Selection::Algorithm(id.to_owned(), Vec::new()))
}

fn way(id: &str, seconds: f64, default: f64) -> Way {
    Way {
        selection: row(id),
        seconds,
        gains: seconds < default / (1.0 + FLOOR),
        launches: 5,
        as_good: false,
        on_all_sizes: false,
        objection: None,
    }
}

/// A call with a default and further ways, whose times are exact.
fn call(collective: Collective, bytes: u64, default: f64, ways: &[(&str, f64)]) -> Call {
    let own = Way {
        selection: None,
        gains: false,
        ..way("", default, default)
    };
    let others = ways.iter().map(|(id, seconds)| way(id, *seconds, default));
    let mut ways: Vec<Way> = std::iter::once(own).chain(others).collect();
    judge(&mut ways);
    Call {
        cell: (collective, bytes),
        ways,
        is_decided: true,
    }
}

/// Says which ways are as good as the best one that may be deployed.
fn judge(ways: &mut [Way]) {
    let best = ways.iter().filter(|way| way.is_admitted() && !way.on_all_sizes);
    let best = best.map(|way| way.seconds).fold(f64::INFINITY, f64::min);
    for way in ways {
        way.as_good = way.is_admitted() && !way.on_all_sizes && way.seconds <= (1.0 + FLOOR) * best;
    }
}

fn bound(left: usize, right: &[(usize, f64)]) -> Bound {
    Bound {
        guideline: "GL".to_owned(),
        left,
        right: right.to_vec(),
        closes_by: row("closes"),
        is_violated: false,
        is_whole: true,
    }
}

fn problem(calls: Vec<Call>, bounds: Vec<Bound>) -> Problem {
    let verified = vec![0; calls.len()];
    let mut problem = Problem {
        calls,
        bounds,
        verified,
    };
    let defaults = vec![0; problem.calls.len()];
    let is_violated = |bound: &Bound| {
        problem.seconds(&defaults, bound.left) > (1.0 + FLOOR) * problem.right_seconds(&defaults, bound)
    };
    let violated: Vec<bool> = problem.bounds.iter().map(is_violated).collect();
    for (bound, violated) in problem.bounds.iter_mut().zip(violated) {
        bound.is_violated = violated;
    }
    problem
}

fn ids(problem: &Problem, assignment: &Assignment) -> Vec<String> {
    let id = |(call, way): (&Call, &usize)| {
        call.ways[*way]
            .selection
            .as_ref()
            .map_or("default".to_owned(), Selection::id)
    };
    problem.calls.iter().zip(assignment).map(id).collect()
}

#[test]
fn the_fastest_way_is_taken_for_a_call_that_breaks_nothing() {
    let problem = problem(
        vec![call(Collective::Bcast, 8, 4.0, &[("a", 1.0), ("b", 2.0)])],
        Vec::new(),
    );
    assert_eq!(ids(&problem, &fastest(&problem, FLOOR)), ["a"]);
    assert_eq!(ids(&problem, &smallest(&problem, FLOOR)), ["default"]);
}

#[test]
fn what_the_library_does_as_well_is_left_to_it() {
    let mut ways = call(Collective::Bcast, 8, 4.0, &[("a", 1.0), ("setting", 1.02)]);
    ways.ways[2].selection = Some(Selection::Settings(vec![("x".to_owned(), "1".to_owned())]));
    let problem = problem(vec![ways], Vec::new());
    assert_eq!(ids(&problem, &fastest(&problem, FLOOR)), ["x=1"]);
}

#[test]
fn neighbouring_sizes_are_alike_where_that_costs_nothing() {
    let sizes = [(1, 1.0, 1.02), (2, 1.03, 1.0), (4, 1.0, 1.01)];
    let calls = sizes.map(|(bytes, a, b)| call(Collective::Reduce, bytes, 3.0, &[("a", a), ("b", b)]));
    let problem = problem(calls.to_vec(), Vec::new());
    assert_eq!(ids(&problem, &fastest(&problem, FLOOR)), ["a", "a", "a"]);
}

#[test]
fn a_size_between_two_that_gain_is_no_reason_for_two_rules() {
    // In the middle the default is as good as the row.
    let calls = vec![
        call(Collective::Reduce, 1, 3.0, &[("a", 1.0)]),
        call(Collective::Reduce, 2, 1.02, &[("a", 1.0)]),
        call(Collective::Reduce, 4, 3.0, &[("a", 1.0)]),
        call(Collective::Reduce, 8, 1.0, &[("a", 1.02)]),
    ];
    let problem = problem(calls, Vec::new());
    assert_eq!(ids(&problem, &fastest(&problem, FLOOR)), ["a", "a", "a", "default"]);
}

#[test]
fn a_size_beside_one_that_gains_has_its_rule_where_it_is_no_slower() {
    let calls = vec![
        call(Collective::Reduce, 1, 1.0, &[("a", 1.02)]),
        call(Collective::Reduce, 2, 1.0, &[("a", 0.97)]),
        call(Collective::Reduce, 4, 3.0, &[("a", 1.0)]),
    ];
    let only_near = problem(calls[..2].to_vec(), Vec::new());
    assert_eq!(
        ids(&only_near, &fastest(&only_near, FLOOR)),
        ["default", "default"],
        "a gain is a reason for a rule"
    );
    let mut problem = problem(calls, Vec::new());
    assert_eq!(ids(&problem, &fastest(&problem, FLOOR)), ["default", "a", "a"]);
    for call in &mut problem.calls {
        call.ways[1].selection = Some(Selection::Settings(vec![("x".to_owned(), "1".to_owned())]));
    }
    assert_eq!(
        ids(&problem, &fastest(&problem, FLOOR)),
        ["default", "default", "x=1"],
        "a setting costs other calls nothing"
    );
}

#[test]
fn what_fails_is_not_taken_and_the_next_one_is() {
    let mut one = call(Collective::Bcast, 8, 4.0, &[("a", 1.0), ("b", 2.0)]);
    one.ways[1].objection = Some(NotDeployed::CannotBeDeployed);
    judge(&mut one.ways);
    let problem = problem(vec![one], Vec::new());
    assert_eq!(ids(&problem, &fastest(&problem, FLOOR)), ["b"]);
}

#[test]
fn one_way_for_all_sizes_gains_somewhere_and_slows_nothing() {
    let with = |times: &[f64]| {
        let calls = times.iter().enumerate().map(|(place, seconds)| {
            let mut one = call(Collective::Gatherv, 1 << place, 2.0, &[("a", *seconds)]);
            one.ways[1].on_all_sizes = true;
            judge(&mut one.ways);
            one
        });
        let problem = problem(calls.collect(), Vec::new());
        ids(&problem, &fastest(&problem, FLOOR))
    };
    assert_eq!(with(&[1.0, 2.0, 2.05]), ["a", "a", "a"]);
    assert_eq!(
        with(&[1.0, 2.0, 2.5]),
        ["default", "default", "default"],
        "slower at one size"
    );
    assert_eq!(with(&[2.0, 2.0, 2.0]), ["default", "default", "default"], "no gain");
}

/// Reduce is violated by Allreduce. Its mend makes it so fast that Gather is behind it, whose mend leaves nobody behind.
#[test]
fn the_smallest_set_has_what_a_mend_makes_necessary_and_no_more() {
    let calls = vec![
        call(Collective::Allreduce, 8, 2.0, &[("fast", 0.5)]),
        call(Collective::Bcast, 8, 3.0, &[("fast", 0.5)]),
        call(Collective::Gather, 8, 1.5, &[("fast", 0.9)]),
        call(Collective::Reduce, 8, 4.0, &[("fast", 1.0)]),
    ];
    let bounds = vec![bound(3, &[(0, 1.0)]), bound(2, &[(3, 1.0)]), bound(3, &[(1, 2.0)])];
    let problem = problem(calls, bounds);
    assert_eq!(
        ids(&problem, &smallest(&problem, FLOOR)),
        ["default", "default", "fast", "fast"]
    );
}

#[test]
fn a_wish_is_what_its_parts_promise_beyond_the_floor() {
    let calls = vec![
        call(Collective::Scan, 1024, 1.0, &[]),
        call(Collective::Scan, 4096, 9.0, &[("row", 5.0)]),
    ];
    let problem = problem(calls, vec![bound(1, &[(0, 4.0)])]);
    let assignment = fastest(&problem, FLOOR);
    let found = wishes(&problem, &assignment, FLOOR, false);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].call, found[0].promised_seconds), (1, 4.0));
    let split_as_good = Problem {
        calls: vec![
            call(Collective::Scan, 1024, 1.24, &[]),
            call(Collective::Scan, 4096, 9.0, &[("row", 5.0)]),
        ],
        ..problem
    };
    assert!(wishes(&split_as_good, &assignment, FLOOR, false).is_empty());
}

/// Modes of the machine hide it from few launches.
#[test]
fn a_way_that_seems_faster_has_more_launches_until_they_are_enough() {
    let of = |gains, launches, seconds| {
        let mut call = call(Collective::Bcast, 8, 10.0, &[("seems", seconds), ("other", 9.9)]);
        (call.ways[1].gains, call.ways[1].launches) = (gains, launches);
        let problem = problem(vec![call], Vec::new());
        let broken = undecided(&problem, &vec![0], FLOOR, true);
        assert!(broken.is_empty(), "it has no bound");
        let found = undecided(&problem, &vec![0], FLOOR, false);
        found.into_iter().map(|wish| wish.selection).collect::<Vec<_>>()
    };
    assert_eq!(of(false, 5, 4.0), [row("seems").unwrap()]);
    assert_eq!(of(true, 5, 4.0), [], "shown");
    assert_eq!(of(false, 15, 4.0), [], "not shown by enough");
    assert_eq!(of(false, 5, 9.5), [], "not worth it");
}

/// The proof counts, whatever sums of times say.
#[test]
fn a_bound_that_a_proof_saw_broken_is_a_wish() {
    let calls = vec![
        call(Collective::Allreduce, 8, 1.0, &[]),
        call(Collective::ReduceScatter, 8, 3.0, &[("row", 0.9)]),
    ];
    let mut problem = problem(calls, vec![bound(1, &[(0, 1.0)])]);
    let assignment = fastest(&problem, FLOOR);
    assert!(wishes(&problem, &assignment, FLOOR, false).is_empty());
    problem.verified.clone_from(&assignment);
    problem.bounds[0].is_violated = true;
    assert_eq!(wishes(&problem, &assignment, FLOOR, true).len(), 1);
}

/// Small problems: collectives at one or two sizes, each with up to two ways, and bounds between them.
fn problems() -> impl Strategy<Value = Problem> {
    let collectives = [Collective::Allgather, Collective::Bcast, Collective::Reduce];
    let times = prop::collection::vec((1_u32..40, prop::collection::vec(1_u32..40, 0..3)), 6);
    let bounds = prop::collection::vec((0_usize..6, prop::collection::vec(0_usize..6, 1..3)), 0..8);
    (times, bounds).prop_map(move |(times, bounds)| {
        let calls = times.iter().enumerate().map(|(place, (default, ways))| {
            let names = ["a", "b"];
            let ways: Vec<(&str, f64)> = names.into_iter().zip(ways.iter().map(|one| f64::from(*one))).collect();
            call(collectives[place / 2], 1 << (place % 2), f64::from(*default), &ways)
        });
        let bounds = bounds.into_iter().filter(|(left, right)| !right.contains(left));
        let bounds = bounds.map(|(left, right)| {
            let right: Vec<(usize, f64)> = right.into_iter().map(|place| (place, 1.0)).collect();
            bound(left, &right)
        });
        problem(calls.collect(), bounds.collect())
    })
}

/// All assignments of a problem.
fn all(problem: &Problem) -> Vec<Assignment> {
    let mut all = vec![Vec::new()];
    for call in &problem.calls {
        all = all
            .into_iter()
            .flat_map(|so_far| (0..call.ways.len()).map(move |way| [so_far.clone(), vec![way]].concat()))
            .collect();
    }
    all
}

fn rules(problem: &Problem, assignment: &Assignment) -> usize {
    let begins = |place: usize| {
        let own = &problem.calls[place].ways[assignment[place]].selection;
        let is_same = place > 0
            && problem.calls[place - 1].cell.0 == problem.calls[place].cell.0
            && problem.calls[place - 1].ways[assignment[place - 1]].selection == *own;
        own.is_some() && !is_same
    };
    (0..assignment.len()).filter(|place| begins(*place)).count()
}

proptest! {
    /// No assignment of the fastest ways has fewer rules.
    #[test]
    fn the_fastest_ways_have_the_fewest_rules(problem in problems()) {
        let found = fastest(&problem, FLOOR);
        for (call, way) in problem.calls.iter().zip(&found) {
            let best = call.ways.iter().map(|way| way.seconds).fold(f64::INFINITY, f64::min);
            let own = &call.ways[*way];
            prop_assert!(own.seconds <= (1.0 + FLOOR) * best, "{own:?}");
            prop_assert!(own.seconds <= call.ways[0].seconds);
        }
        let is_fastest = |assignment: &&Assignment| {
            problem.calls.iter().zip(*assignment).all(|(call, way)| {
                let own = &call.ways[*way];
                own.as_good && own.seconds <= call.ways[0].seconds
            })
        };
        let all = all(&problem);
        let fewest = all.iter().filter(is_fastest).map(|one| rules(&problem, one)).min();
        prop_assert_eq!(Some(rules(&problem, &found)), fewest);
    }

    /// Every set of calls under whose fastest ways nothing is broken contains the smallest one, if there is any.
    #[test]
    fn the_smallest_set_is_in_every_set_that_breaks_nothing(problem in problems()) {
        // With one way beside the default the fastest way that meets a bound is the only one.
        let mut problem = problem;
        for call in &mut problem.calls {
            call.ways.truncate(2);
            let default = call.ways[0].seconds;
            call.ways.retain(|way| way.selection.is_none() || way.seconds < default / (1.0 + FLOOR));
            judge(&mut call.ways);
        }
        let found = smallest(&problem, FLOOR);
        let breaks = |assignment: &Assignment| {
            problem.bounds.iter().any(|bound| problem.is_broken(assignment, bound, FLOOR))
        };
        let whole: Vec<Assignment> = all(&problem).into_iter().filter(|one| !breaks(one)).collect();
        for one in &whole {
            for (own, other) in found.iter().zip(one) {
                prop_assert!(own <= other, "{found:?} {one:?}");
            }
        }
        if !whole.is_empty() {
            prop_assert!(!breaks(&found), "{found:?} of {whole:?}");
        }
    }
}
