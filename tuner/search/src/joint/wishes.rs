//! Ways that would close bounds: compositions of what is deployed, padded calls and split calls that their parts promise to be faster than what is chosen.
//!
//! A sum of times is a promise and no evidence: what is in parts needs local copies, and calls in turn overlap. So each is measured before it is chosen.

use kilter_model::deployment::Selection;

use super::{Assignment, Problem};

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

/// Most wishes of a call: the best of a kind may fail, and each costs a block its time.
const MOST: usize = 2;

/// The most promising ways of each decided call, none of which its table has: what promises to be faster than what is chosen by more than `floor`, or
/// has been seen to be faster in the last verification.
/// `only_broken` leaves out calls that break no bound.
#[must_use]
pub fn wishes(problem: &Problem, assignment: &Assignment, floor: f64, only_broken: bool) -> Vec<Wish> {
    let mut found = Vec::new();
    for (place, call) in problem.calls.iter().enumerate().filter(|(_, call)| call.is_decided) {
        let own = || problem.bounds.iter().filter(|bound| bound.left == place);
        if only_broken && !own().any(|bound| problem.is_broken(assignment, bound, floor)) {
            continue;
        }
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
