//! Ways that would close bounds: compositions of what is deployed, padded calls and split calls that their parts promise to be faster than what is chosen.
//!
//! A sum of times is a promise and no evidence: what is in parts needs local copies, and calls in turn overlap. So each is measured before it is chosen.
//! And ways that may be faster, of which too few launches are there.

use kilter_model::deployment::Selection;

use super::problem::Way;
use super::{Assignment, Call, Problem};

/// A way to be measured for a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// Place of the call.
    pub call: usize,
    /// The way.
    pub selection: Selection,
    /// The time that its parts promise, in seconds.
    pub promised_seconds: f64,
}

/// Launches after which a way that they do not show to be faster is given up.
const ENOUGH: usize = 15;

/// Time over that of the chosen way up to which a way is worth further launches.
const WORTH_MORE: f64 = 0.9;

/// Most wishes of a call: the best of a kind may fail, and each costs a block its time.
const MOST: usize = 2;

/// The most promising ways of each decided call, none of which its table has: what promises to be faster than what is chosen by more than `floor`, or
/// has been seen to be faster in the last verification.
/// `only_broken` leaves out calls that break no bound.
#[must_use]
pub fn wishes(problem: &Problem, assignment: &Assignment, floor: f64, only_broken: bool) -> Vec<Wish> {
    let mut found = Vec::new();
    for (place, call) in wanted(problem, assignment, floor, only_broken) {
        let own = || problem.bounds.iter().filter(|bound| bound.left == place);
        let chosen_seconds = problem.seconds(assignment, place);
        let promises = own().filter_map(|bound| {
            let selection = bound.closes_by.clone()?;
            let promised_seconds = problem.right_seconds(assignment, bound);
            let is_shown = bound.is_violated && problem.is_verified(assignment, bound);
            let promises = is_shown || promised_seconds * (1.0 + floor) < chosen_seconds;
            promises.then_some(Wish {
                call: place,
                selection,
                promised_seconds,
            })
        });
        let mut own: Vec<Wish> = promises.collect();
        own.sort_by(|a, b| a.promised_seconds.total_cmp(&b.promised_seconds));
        own.dedup_by(|a, b| a.selection == b.selection);
        own.truncate(MOST);
        own.retain(|wish| {
            call.ways
                .iter()
                .all(|way| way.selection.as_ref() != Some(&wish.selection))
        });
        found.extend(own);
    }
    found
}

/// The fastest way of each decided call that may be faster than what is chosen, where so few launches do not show it: a machine's modes hide it from
/// them. `only_broken` is that of [`wishes`].
#[must_use]
pub fn undecided(problem: &Problem, assignment: &Assignment, floor: f64, only_broken: bool) -> Vec<Wish> {
    let of_call = |(place, call): (usize, &Call)| {
        let chosen_seconds = problem.seconds(assignment, place);
        let may_be_faster = |way: &&Way| {
            let is_open = way.is_admitted() && !way.on_all_sizes && !way.gains && way.launches < ENOUGH;
            is_open && way.seconds < WORTH_MORE * chosen_seconds
        };
        let open = call.ways.iter().filter(may_be_faster);
        let fastest = open.min_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
        Some(Wish {
            call: place,
            selection: fastest.selection.clone()?,
            promised_seconds: fastest.seconds,
        })
    };
    wanted(problem, assignment, floor, only_broken)
        .filter_map(of_call)
        .collect()
}

/// The decided calls with their places, or those of them that break a bound.
fn wanted<'p>(
    problem: &'p Problem,
    assignment: &'p Assignment,
    floor: f64,
    only_broken: bool,
) -> impl Iterator<Item = (usize, &'p Call)> {
    let calls = problem.calls.iter().enumerate().filter(|(_, call)| call.is_decided);
    calls.filter(move |(place, _)| {
        let mut own = problem.bounds.iter().filter(|bound| bound.left == *place);
        !only_broken || own.any(|bound| problem.is_broken(assignment, bound, floor))
    })
}
