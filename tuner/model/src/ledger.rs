//! The ledger of decisions: each is a [`Change`] with the targets that it was confirmed to fix and its state. Pure.
//!
//! A change goes one way: a step of the search proposes it when launches have confirmed it ([`Ledger::confirm`]), it is deployed or found
//! superfluous ([`Ledger::deploy`], [`Ledger::deploy_confirmed`]), launches from the emitted files prove it ([`Ledger::prove`]) or it is taken back
//! (`taking_back`). Everything else is a rule about the ledger:
//!
//! * [`Ledger::deployment`] is what files and launches read: the settings of all standing changes, the latest for each name, and their
//!   selections. So a setting is deployed as long as one standing change has it, and an older value comes back with the end of a newer one.
//! * A setting of whole launches whose targets others fix is not deployed: `necessity`.
//! * What was taken back is not proposed again, as far as that went: `bars`.
//! * The report credits a cell's fix to the changes that were confirmed for it, and says why others are not deployed: `account`.

use std::collections::{BTreeMap, BTreeSet};

use crate::change::{Cell, Change};
use crate::deployment::Deployment;

mod account;
mod bars;
mod necessity;
mod taking_back;

pub use necessity::needed;

/// A change that a step of the search proposes, since launches have confirmed it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proposal {
    /// The whole change.
    pub change: Change,
    /// Names of the targets (`reduce 4096`) that it fixes by itself, and that were not fixed before. None for a change that was chosen for
    /// overlap, and for a selection whose call gets faster, and breaks nothing or misses its bounds still.
    pub fixes: BTreeSet<String>,
}

/// A change and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The whole change.
    pub change: Change,
    /// Names of the targets that it was confirmed to fix.
    pub fixes: BTreeSet<String>,
    /// State of the change.
    pub state: State,
}

/// State of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Launches have confirmed it; it is in force for the rest of the search.
    Confirmed,
    /// The change is in the files, and launches have yet to prove it.
    Deployed,
    /// Launches from the files have proved it.
    Proven,
    /// Another change was chosen for its cell.
    Replaced,
    /// Other changes that are deployed fix the same targets.
    Superfluous,
    /// The change was deployed, and is no more.
    TakenBack(TakenBack),
}

/// The reason why a change is deployed no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenBack {
    /// The observation.
    pub because: String,
    /// Proposals that are not made again.
    pub bars: Vec<Bar>,
    /// Names of the cells of guidelines that are left without it.
    pub cells: Vec<String>,
}

/// Proposals that a change bars which was taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bar {
    /// Its settings of whole launches.
    Settings,
    /// Selections of its kind for its cell; other kinds may still be tried. Kilter's own code runs where the library does not follow its rule.
    Kind,
    /// Every selection for its cell.
    Cell,
}

impl Decision {
    /// True if it is in the files.
    #[must_use]
    pub fn stands(&self) -> bool {
        matches!(self.state, State::Deployed | State::Proven)
    }
}

/// All decisions of a run, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    decisions: Vec<Decision>,
    /// Reasons why nothing fixes a cell, by the name of the guideline's cell.
    given_up: BTreeMap<String, String>,
    /// The deployment that was proven last.
    verified: Deployment,
}

impl Ledger {
    /// All decisions.
    #[must_use]
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Enters a change that launches have confirmed; it is in force for the rest of the search.
    pub fn confirm(&mut self, proposal: Proposal) {
        self.enter(proposal, State::Confirmed);
    }

    /// Enters a change that is to be deployed. It replaces the selection for its cell that was chosen before.
    pub fn deploy(&mut self, proposal: Proposal) {
        if let Some(cell) = proposal.change.cell() {
            let its = |decision: &&mut Decision| decision.stands() && decision.change.cell() == Some(cell);
            for decision in self.decisions.iter_mut().filter(its) {
                decision.state = State::Replaced;
            }
        }
        self.enter(proposal, State::Deployed);
    }

    fn enter(&mut self, proposal: Proposal, state: State) {
        let Proposal { change, fixes } = proposal;
        self.decisions.push(Decision { change, fixes, state });
    }

    /// Marks all standing changes as proven: they were verified from their files, and evidence against others took those back.
    pub fn prove(&mut self) {
        for decision in self.decisions.iter_mut().filter(|decision| decision.stands()) {
            decision.state = State::Proven;
        }
        self.verified = self.deployment();
    }

    /// The deployment that files and launches read.
    #[must_use]
    pub fn deployment(&self) -> Deployment {
        of(self.standing())
    }

    /// The deployment, with the changes that launches have confirmed in this round of the search.
    #[must_use]
    pub fn in_force(&self) -> Deployment {
        of(self
            .decisions
            .iter()
            .filter(|decision| decision.stands() || decision.state == State::Confirmed))
    }

    /// The deployment that was proven last.
    #[must_use]
    pub fn verified(&self) -> &Deployment {
        &self.verified
    }

    /// The decisions that are in the files.
    fn standing(&self) -> impl Iterator<Item = &Decision> {
        self.decisions.iter().filter(|decision| decision.stands())
    }

    /// The cells whose selection fixes no target: their calls get faster, and break nothing or miss their bounds still.
    pub fn partial_fixes(&self) -> impl Iterator<Item = Cell> {
        let without_fix = self.standing().filter(|decision| decision.fixes.is_empty());
        without_fix.filter_map(|decision| decision.change.cell())
    }
}

/// The settings of some changes, the latest for each name, and their selections.
fn of<'d>(decisions: impl Iterator<Item = &'d Decision>) -> Deployment {
    let mut deployment = Deployment::default();
    for decision in decisions {
        for setting in &decision.change.settings {
            deployment.assign(setting.clone());
        }
        deployment.selections.extend(decision.change.selection.clone());
    }
    deployment
}

#[cfg(test)]
mod tests;
