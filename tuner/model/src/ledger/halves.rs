//! A change falls as a whole: a selection with a setting that it needs, and a setting with the last selection that needed it.
//!
//! A setting that was deployed for selections alone fixes nothing without them, and touches every call. A selection without its setting is
//! not deployed to be found idle.

use std::collections::BTreeSet;

use kilter_algorithms::Collective;

use super::{Bar, Decision, Ledger, State, TakenBack};
use crate::change::{Cell, id};
use crate::config::library::Library;
use crate::deployment::{Assignment, Selection};

/// A selection that fell with a setting that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Half {
    /// Its cell.
    pub cell: Cell,
    /// The selection.
    pub selection: Selection,
    /// The reason: the selection acts only with the setting, or fixes its cell only with it.
    pub because: String,
}

/// Changes and settings that ended with others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fallen {
    /// Selections of which a setting is gone.
    pub selections: Vec<Half>,
    /// Settings that nothing needs any more.
    pub settings: Vec<Assignment>,
}

impl Ledger {
    /// Takes back each change of which a setting is not in force any more, and tells which settings ended with a selection since this was
    /// called last.
    pub fn settle(&mut self) -> Fallen {
        let now = self.deployment().assignments;
        let has_lost = |decision: &&mut Decision| !decision.change.settings.iter().all(|one| now.contains(one));
        let standing = self.decisions.iter_mut().filter(|decision| decision.stands());
        let pairs = standing.filter(|decision| decision.change.selection.is_some());
        let selections = pairs
            .filter(has_lost)
            .filter_map(|decision| decision.fall(Vec::new()))
            .collect();
        let now = self.deployment();
        let settings = self.needless(&now.assignments);
        self.settled = now;
        Fallen { selections, settings }
    }

    /// Settings that were deployed when this was looked after last, for selections alone of which none is left.
    fn needless(&self, now: &[Assignment]) -> Vec<Assignment> {
        let barred = self.barred_settings();
        let is_half = |setting: &Assignment| {
            let mut fallen = self.decisions.iter().filter(|decision| !decision.stands());
            fallen.any(|decision| decision.change.selection.is_some() && decision.change.sets(setting))
        };
        let before = self.settled.assignments.iter();
        let gone = before.filter(|setting| now.iter().all(|other| other.name != setting.name));
        gone.filter(|setting| !barred.contains(setting) && is_half(setting))
            .cloned()
            .collect()
    }

    /// The settings that a selection needs which was found while the settings of all standing changes were in force: those that other selections
    /// need and that belong to its collective. An algorithm of Kilter's or a mock-up needs none.
    #[must_use]
    pub fn needed_by(&self, collective: Collective, selection: &Selection, library: &Library) -> Vec<Assignment> {
        if !matches!(selection, Selection::Settings(_)) {
            return Vec::new();
        }
        let acts = |needs: &[Assignment]| {
            let rows = library.parameters.iter();
            let mut rows = rows.filter(|row| needs.iter().any(|one| one.name == row.name));
            rows.any(|row| row.collectives.is_empty() || row.collectives.contains(&collective))
        };
        let needs = self.needs().filter(|(_, needs)| acts(needs));
        let all: BTreeSet<&Assignment> = needs.flat_map(|(_, needs)| needs).collect();
        all.into_iter().cloned().collect()
    }
}

impl Decision {
    /// Loses a setting that its selection needs; nothing where it has none.
    pub(super) fn fall(&mut self, mut bars: Vec<Bar>) -> Option<Half> {
        let (cell, selection) = self.change.selection.clone()?;
        let acts = match selection {
            Selection::Settings(_) => "it acts only",
            _ => "it was found to fix the cell only together",
        };
        let because = format!("{acts} with `{}`", id(&self.change.settings));
        bars.push(Bar::Cell);
        self.state = State::TakenBack(TakenBack {
            because: because.clone(),
            bars,
            cells: Vec::new(),
        });
        Some(Half {
            cell,
            selection,
            because,
        })
    }
}
