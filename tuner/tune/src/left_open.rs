//! Choices to leave out where nobody has the seconds any more for the cells that they leave behind. Pure.

use std::collections::BTreeSet;

use kilter_model::not_deployed::NotDeployed;
use kilter_model::plan::Plan;
use kilter_search::choose::Choice;
use kilter_search::findings::{Gains, together};
use kilter_search::target::Target;
use kilter_search::verification::Verification;

use crate::following::{follow_ups, gain};

/// Targets that the gains of choices make of cells that are not violated now, and that were not searched: had they been, their contest would have
/// said what can be had.
pub(super) struct Behind<'a> {
    pub(super) now: &'a Verification,
    pub(super) plan: &'a Plan,
    /// Gains of changes of whole launches.
    pub(super) of_settings: &'a Gains,
    pub(super) searched: &'a [Target],
    /// Tells the targets that a search with more seconds would try to fix.
    pub(super) may_be_fixed: &'a dyn Fn(&Target) -> bool,
    pub(super) floor: f64,
}

impl Behind<'_> {
    /// Names of the cells behind these choices.
    fn cells<'c>(&self, choices: impl Iterator<Item = &'c (Target, Choice)>) -> BTreeSet<String> {
        let gains = together(self.of_settings.clone(), choices.filter_map(gain).collect());
        let mut behind = follow_ups((self.now, self.plan), &gains, self.searched, self.floor);
        behind.retain(|target| (self.may_be_fixed)(target));
        behind.into_iter().flat_map(|target| target.cells).collect()
    }
}

/// Leaves out, one after the other, the choice that leaves most cells behind beyond those that it fixes; one that fixes as many stays. A partial
/// fix fixes none. Tells `say` which and why.
pub(super) fn leave_out(behind: &Behind<'_>, choices: &mut [(Target, Choice)], say: &dyn Fn(&str)) {
    while let Some((index, cells)) = worst(behind, choices) {
        let (target, choice) = &mut choices[index];
        choice.leave_out(&NotDeployed::LeavesBehind { cells });
        let reason = choice.unfixed_because.as_deref().unwrap_or_default();
        say(&format!("{}: {reason}", target.name()));
    }
}

/// The choice that leaves most cells behind beyond those that it fixes, with these cells.
fn worst(behind: &Behind<'_>, choices: &[(Target, Choice)]) -> Option<(usize, Vec<String>)> {
    let all = behind.cells(choices.iter());
    let beyond = |(index, (target, choice)): (usize, &(Target, Choice))| {
        if choice.chosen.is_none() || target.asked_for {
            return None;
        }
        let others = choices.iter().enumerate().filter(|(other, _)| *other != index);
        let without = behind.cells(others.map(|(_, one)| one));
        let left: Vec<String> = all.difference(&without).cloned().collect();
        let fixed = if choice.fixes() { target.cells.len() } else { 0 };
        let surplus = left.len().checked_sub(fixed + 1)?;
        Some((surplus, (index, left)))
    };
    let candidates = choices.iter().enumerate().filter_map(beyond);
    candidates.max_by_key(|(surplus, _)| *surplus).map(|(_, one)| one)
}
