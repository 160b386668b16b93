//! The decision: the fastest ways, or the fewest that break no guideline.

use kilter_model::deployment::Selection;

use super::uniform::{is_uniform, uniform};
use super::{Assignment, Problem};

/// For each call the simplest of its fastest ways, with as few rules as that allows: neighbouring sizes of a collective get the same way
/// where each of them is as good as the best.
///
/// A way is deployed where launches show that it is faster than the default, or where it is no slower between two sizes that have it. What is preloaded
/// costs the library's own calls some time as well, so that it is deployed at any size beside where it is no slower.
/// Calls with one way for all sizes ([`mod@super::uniform`]) get the one that gains most and slows none.
#[must_use]
pub fn fastest(problem: &Problem, floor: f64) -> Assignment {
    let mut assignment = vec![0; problem.calls.len()];
    for run in collectives(problem) {
        let chosen = alike(problem, run.clone());
        let one_for_all = uniform(problem, run.clone(), floor);
        let gain = |chosen: &[usize]| -> f64 {
            let calls = run.clone().zip(chosen);
            calls
                .map(|(place, way)| {
                    let ways = &problem.calls[place].ways;
                    (ways[*way].seconds / ways[0].seconds).ln()
                })
                .sum()
        };
        let margin = floor * run.len() as f64;
        let chosen = match one_for_all {
            Some(one) if is_uniform(problem, run.clone()) || gain(&one) < gain(&chosen) - margin => one,
            _ => chosen,
        };
        assignment[run].copy_from_slice(&chosen);
    }
    assignment
}

/// The smallest set of calls that have to leave their defaults so that no guideline is broken, each with the simplest of the ways that meet its
/// bounds and are as fast as the fastest of these.
///
/// A faster call only tightens bounds, so that the set is a least fixed point: any other set without a broken guideline contains it. A call whose
/// bounds no way meets keeps its default.
#[must_use]
pub fn smallest(problem: &Problem, floor: f64) -> Assignment {
    let mut assignment = vec![0; problem.calls.len()];
    // A call is looked at again when a bound of its became faster, which happens at most once for each way of each call.
    let most: usize = problem.calls.iter().map(|call| call.ways.len()).sum();
    for _ in 0..=most {
        let broken = problem
            .bounds
            .iter()
            .filter(|bound| problem.calls[bound.left].is_decided && problem.is_broken(&assignment, bound, floor));
        let mut lefts: Vec<usize> = broken.map(|bound| bound.left).collect();
        lefts.dedup();
        let mut changed = false;
        for left in lefts {
            if let Some(way) = meeting(problem, &assignment, left, floor).filter(|way| *way != assignment[left]) {
                changed |= take(problem, &mut assignment, left, way);
            }
        }
        if !changed {
            break;
        }
    }
    assignment
}

/// Takes a way for a call, and for all sizes of its collective where it acts on all. False where it does not exist at all of them.
fn take(problem: &Problem, assignment: &mut Assignment, left: usize, way: usize) -> bool {
    let chosen = &problem.calls[left].ways[way];
    if !chosen.on_all_sizes {
        assignment[left] = way;
        return true;
    }
    let is_same = |other: &super::Way| other.selection == chosen.selection && other.is_admitted();
    let mut places = Vec::new();
    for (place, call) in problem.calls.iter().enumerate() {
        if call.cell.0 == problem.calls[left].cell.0 {
            match call.ways.iter().position(is_same) {
                Some(way) => places.push((place, way)),
                None => return false,
            }
        }
    }
    let changed = places.iter().any(|(place, way)| assignment[*place] != *way);
    for (place, way) in places {
        assignment[place] = way;
    }
    changed
}

/// The simplest way that meets all bounds of a call and is as fast as the fastest of these, within the floor.
fn meeting(problem: &Problem, assignment: &Assignment, left: usize, floor: f64) -> Option<usize> {
    problem.calls[left].meeting(problem.tightest(assignment, left)?, floor)
}

/// Places of the calls of each collective.
fn collectives(problem: &Problem) -> Vec<std::ops::Range<usize>> {
    let calls = &problem.calls;
    let mut runs = Vec::new();
    let mut begin = 0;
    for end in 1..=calls.len() {
        if end == calls.len() || calls[end].cell.0 != calls[begin].cell.0 {
            runs.push(begin..end);
            begin = end;
        }
    }
    runs
}

/// The costs of a choice beside time, those that count more first: rules, calls that a setting of the library's is deployed for without a gain, how simple the
/// rules are; then time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    rules: usize,
    idle: usize,
    simplicity: usize,
    log_seconds: f64,
}

impl Cost {
    fn is_less(&self, other: &Cost) -> bool {
        let counts = |cost: &Cost| (cost.rules, cost.idle, cost.simplicity);
        let order = counts(self).cmp(&counts(other));
        order.then(self.log_seconds.total_cmp(&other.log_seconds)).is_lt()
    }
}

/// The ways of a call that may be chosen for it alone: as good as the best, and no slower than the default.
fn eligible(problem: &Problem, place: usize) -> Vec<usize> {
    let call = &problem.calls[place];
    let default = call.ways[0].seconds;
    let is_eligible = |way: &usize| {
        let one = &call.ways[*way];
        let is_right = *way == 0 || one.is_admitted() && !one.on_all_sizes && one.seconds <= default;
        is_right && one.as_good
    };
    let is_gained = call
        .ways
        .iter()
        .enumerate()
        .any(|(way, one)| is_eligible(&way) && one.gains);
    let mut ways: Vec<usize> = (0..call.ways.len()).filter(is_eligible).collect();
    // Without a gain that launches show there is no reason for a rule of its own.
    if !call.is_decided || ways.is_empty() || !is_gained && !ways.contains(&0) {
        ways = vec![0];
    }
    ways
}

/// The ways of a collective's sizes with the fewest rules, by dynamic programming over the sizes.
fn alike(problem: &Problem, run: std::ops::Range<usize>) -> Vec<usize> {
    // By the way of the last size: the least cost, and the ways so far.
    let mut states: Vec<(usize, Cost, Vec<usize>)> = Vec::new();
    for place in run.clone() {
        let call = &problem.calls[place];
        let mut next: Vec<(usize, Cost, Vec<usize>)> = Vec::new();
        for way in eligible(problem, place) {
            let one = &call.ways[way];
            let step = |before: Option<&(usize, Cost, Vec<usize>)>| {
                let last = before.map(|(last, _, _)| &problem.calls[place - 1].ways[*last].selection);
                let begins = one.selection.is_some() && last.is_none_or(|last| *last != one.selection);
                let so_far = before.map(|(_, cost, _)| *cost);
                let mut cost = so_far.unwrap_or(Cost {
                    rules: 0,
                    idle: 0,
                    simplicity: 0,
                    log_seconds: 0.0,
                });
                if begins {
                    cost.rules += 1;
                    cost.simplicity += one.simplicity();
                }
                cost.idle += usize::from(matches!(one.selection, Some(Selection::Settings(_))) && !one.gains);
                cost.log_seconds += one.seconds.max(f64::MIN_POSITIVE).ln();
                let mut ways = before.map(|(_, _, ways)| ways.clone()).unwrap_or_default();
                ways.push(way);
                (way, cost, ways)
            };
            let steps: Vec<(usize, Cost, Vec<usize>)> = if place == run.start {
                vec![step(None)]
            } else {
                states.iter().map(|before| step(Some(before))).collect()
            };
            let least = steps
                .into_iter()
                .reduce(|least, other| if other.1.is_less(&least.1) { other } else { least });
            next.extend(least);
        }
        states = next;
    }
    let least = states
        .into_iter()
        .reduce(|least, other| if other.1.is_less(&least.1) { other } else { least });
    least.map(|(_, _, ways)| ways).unwrap_or_default()
}
