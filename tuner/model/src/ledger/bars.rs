//! Changes that are not proposed again, and cells that are given up.

use std::collections::{BTreeMap, BTreeSet};

use super::{Bar, Decision, Ledger, State, TakenBack};
use crate::change::Cell;
use crate::deployment::Assignment;
use crate::fix::FixKind;

impl Ledger {
    /// Changes that are deployed no more, and why.
    pub(super) fn taken_back(&self) -> impl Iterator<Item = (&Decision, &TakenBack)> {
        self.decisions.iter().filter_map(|decision| match &decision.state {
            State::TakenBack(taken) => Some((decision, taken)),
            _ => None,
        })
    }

    /// Settings of whole launches that were taken back for their effects.
    #[must_use]
    pub fn barred_settings(&self) -> BTreeSet<Assignment> {
        let barred = self
            .taken_back()
            .filter(|(_, taken)| taken.bars.contains(&Bar::Settings));
        let settings = barred.flat_map(|(decision, _)| &decision.change.settings);
        let stands = |setting: &&Assignment| self.standing().any(|decision| decision.change.sets(setting));
        settings.filter(|setting| !stands(setting)).cloned().collect()
    }

    /// True if no selection is proposed for a cell any more.
    #[must_use]
    pub fn is_closed(&self, cell: Cell) -> bool {
        self.taken_back()
            .any(|(decision, taken)| decision.change.cell() == Some(cell) && taken.bars.contains(&Bar::Cell))
    }

    /// True if a selection of a kind may be proposed for a cell.
    #[must_use]
    pub fn allows(&self, cell: Cell, kind: FixKind) -> bool {
        let bars = |(decision, taken): (&Decision, &TakenBack)| {
            let selection = decision.change.selection.as_ref().filter(|(its, _)| *its == cell);
            selection.is_some_and(|(_, one)| one.kind() == kind && taken.bars.contains(&Bar::Kind))
        };
        !self.is_closed(cell) && !self.taken_back().any(bars)
    }

    /// Gives a cell of a guideline up, by its name.
    pub fn give_up(&mut self, cell: String, reason: &str) {
        self.given_up.insert(cell, reason.to_owned());
    }

    /// True if the cell of a guideline was given up.
    #[must_use]
    pub fn is_given_up(&self, cell: &str) -> bool {
        self.given_up.contains_key(cell)
    }

    /// Reasons why cells have no fix, by name. They include fixes that were taken back and not replaced.
    #[must_use]
    pub fn reasons(&self) -> BTreeMap<String, String> {
        let mut lost: BTreeMap<&String, String> = BTreeMap::new();
        for (decision, taken) in self.taken_back() {
            let Some((cell, selection)) = &decision.change.selection else {
                continue;
            };
            if self.standing().all(|other| other.change.cell() != Some(*cell)) {
                let text = format!("`{}` is taken back: {}", selection.id(), taken.because);
                lost.extend(taken.cells.iter().map(|name| (name, text.clone())));
            }
        }
        let mut reasons = self.given_up.clone();
        for (cell, text) in lost {
            reasons
                .entry(cell.clone())
                .and_modify(|reason| *reason = format!("{reason}; {text}"))
                .or_insert(text);
        }
        reasons
    }
}
