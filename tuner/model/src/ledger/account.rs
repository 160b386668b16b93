//! Answers the report's questions: which change fixed a cell, and why a chosen change is not deployed.
//!
//! A setting acts on every call, so a cell that holds with the deployment does not say which of its settings helped. The launches that confirmed
//! a setting do: each was made with this setting alone beside the standing ones.

use super::{Decision, Ledger, TakenBack};
use crate::change::{Cell, Change};
use crate::deployment::{Assignment, Deployment};
use crate::fix::Fix;
use crate::not_deployed::NotDeployed;
use crate::report::{Contest, Contestant};

impl Ledger {
    /// The deployed change that fixed a target by this name (`reduce 4096`): the selection for its cell, or else the settings of whole launches that
    /// were confirmed to fix it.
    #[must_use]
    pub fn fix(&self, cell: Option<Cell>, target: &str, deployed: &Deployment) -> Option<Fix> {
        if let Some(selected) = cell.and_then(|cell| self.selected(cell, deployed)) {
            return Some(selected);
        }
        let credited = self.credited(target, deployed);
        (!credited.is_empty()).then(|| Change::of_launch(credited).fix())
    }

    /// The selection that is deployed for a cell, whether it fixes the cell or not.
    #[must_use]
    pub fn selected(&self, cell: Cell, deployed: &Deployment) -> Option<Fix> {
        let selection = deployed.selections.get(&cell)?;
        Some(Change::of_cell(cell, selection.clone()).fix())
    }

    /// The deployed settings that were confirmed to fix a target. All of them if none was: the cell was fixed by their combination.
    fn credited(&self, target: &str, deployed: &Deployment) -> Vec<Assignment> {
        let is_credited = |setting: &&Assignment| {
            let of_launch = self.standing().filter(|decision| decision.change.selection.is_none());
            let mut fixing = of_launch.filter(|decision| decision.fixes.contains(target));
            fixing.any(|decision| decision.change.sets(setting))
        };
        let credited: Vec<Assignment> = deployed.assignments.iter().filter(is_credited).cloned().collect();
        if credited.is_empty() {
            deployed.assignments.clone()
        } else {
            credited
        }
    }

    /// Says of contestants that were chosen and taken back why they are not deployed.
    pub fn mark(&self, contests: &mut [Contest]) {
        let deployed = self.deployment();
        for contest in contests {
            let its = |(collective, bytes): Cell| contest.function == collective.name() && contest.bytes == bytes;
            for one in contest.candidates.iter_mut().filter(|one| one.chosen) {
                let taken = |(decision, _): &(&Decision, &TakenBack)| {
                    decision.change.cell().is_none_or(its) && is_of(one, &decision.change, &deployed)
                };
                // A selection speaks for its cell before a setting does that acts on all of them.
                let of_cell = self
                    .taken_back()
                    .filter(taken)
                    .find(|(decision, _)| decision.change.cell().is_some());
                let of_launch = || self.taken_back().find(taken);
                if let Some((_, taken)) = of_cell.or_else(of_launch) {
                    one.chosen = false;
                    one.not_deployed = Some(NotDeployed::TakenBack {
                        because: taken.because.clone(),
                    });
                }
            }
        }
    }
}

/// True if the change deployed the contestant, and a part of it is deployed no more.
fn is_of(one: &Contestant, change: &Change, deployed: &Deployment) -> bool {
    match &change.selection {
        Some((cell, selection)) => {
            one.change.selection.as_ref() == Some(&(*cell, selection.clone()))
                && deployed.selections.get(cell) != Some(selection)
        }
        None => {
            let gone = |setting: &&Assignment| !deployed.assignments.contains(setting);
            change
                .settings
                .iter()
                .filter(gone)
                .any(|setting| one.change.sets(setting))
        }
    }
}
