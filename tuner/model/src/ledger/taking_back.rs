//! Takes back changes that the proof of the deployment speaks against.

use std::collections::BTreeSet;

use kilter_algorithms::Collective;

use super::{Bar, Decision, Ledger, State, TakenBack};
use crate::change::Cell;
use crate::config::library::Library;
use crate::deployment::{Assignment, Selection};

impl Ledger {
    /// Takes back the selection of a cell. `cells` names the guidelines' cells that are left without it.
    pub fn take_back_selection(
        &mut self,
        cell: Cell,
        because: &str,
        bar: Bar,
        cells: Vec<String>,
    ) -> Option<Selection> {
        let mut standing = self.decisions.iter_mut().filter(|decision| decision.stands());
        let decision = standing.find(|decision| decision.change.cell() == Some(cell))?;
        decision.state = State::TakenBack(TakenBack {
            because: because.to_owned(),
            bars: vec![bar],
            cells,
        });
        decision
            .change
            .selection
            .as_ref()
            .map(|(_, selection)| selection.clone())
    }

    /// Takes back the changes whose settings of whole launches may have slowed or ended calls of these collectives: those that were not
    /// verified before, or all where none is new. Where each of the collectives has a new variable of its own that chooses its algorithm, these
    /// are taken back and no others.
    pub fn take_back_settings(
        &mut self,
        slowed: &BTreeSet<Option<Collective>>,
        library: &Library,
        because: &str,
    ) -> Vec<Assignment> {
        let guilty = self.guilty(slowed, library);
        self.end(&guilty, because, &[Bar::Settings])
    }

    /// Takes back the new settings of whole launches that show no gain: those whose targets all are among the `gainless` ones, by name.
    pub fn take_back_gainless(&mut self, gainless: &BTreeSet<String>, because: &str) -> Vec<Assignment> {
        let is_gainless = |decision: &Decision| {
            let is_new = decision.state == State::Deployed && decision.change.selection.is_none();
            is_new && !decision.fixes.is_empty() && decision.fixes.is_subset(gainless)
        };
        let all = self.decisions.iter().enumerate();
        let places: Vec<usize> = all
            .filter(|(_, one)| is_gainless(one))
            .map(|(place, _)| place)
            .collect();
        self.end(&places, because, &[Bar::Settings])
    }

    /// Takes back the latest change that has all of these settings. It bars nothing: the caller does not propose the change again.
    pub fn take_back_latest(&mut self, settings: &[Assignment], because: &str) -> Vec<Assignment> {
        let has_all = |decision: &Decision| settings.iter().all(|setting| decision.change.sets(setting));
        let mut latest = self.decisions.iter();
        let latest = latest.rposition(|decision| decision.stands() && has_all(decision));
        self.end(&latest.into_iter().collect::<Vec<_>>(), because, &[])
    }

    /// Takes back everything.
    pub fn take_back_all(&mut self, because: &str) {
        for decision in self.decisions.iter_mut().filter(|decision| decision.stands()) {
            decision.state = State::TakenBack(TakenBack {
                because: because.to_owned(),
                bars: Vec::new(),
                cells: Vec::new(),
            });
        }
    }

    /// The changes, by their place, to which settings of whole launches that slowed these collectives belong.
    fn guilty(&self, slowed: &BTreeSet<Option<Collective>>, library: &Library) -> Vec<usize> {
        let now = self.deployment();
        let in_force = |setting: &&Assignment| now.assignments.contains(setting);
        let is_new = |setting: &Assignment| !self.verified.assignments.contains(setting);
        let all = self.decisions.iter().enumerate();
        let standing = all.filter(|(_, decision)| decision.stands());
        let with_settings: Vec<(usize, &Decision)> = standing
            .filter(|(_, decision)| !decision.change.settings.is_empty())
            .collect();
        let has_new = |decision: &Decision| decision.change.settings.iter().filter(in_force).any(is_new);
        let new = with_settings.iter().filter(|(_, decision)| has_new(decision));
        let new: Vec<(usize, &Decision)> = new.copied().collect();
        let chooses = |decision: &Decision, wanted: &dyn Fn(Collective) -> bool| {
            let mut chosen = decision
                .change
                .settings
                .iter()
                .filter_map(|one| library.chosen_by(&one.name));
            chosen.any(wanted)
        };
        let has_own = |slowed: &Option<Collective>| {
            slowed.is_some_and(|slowed| new.iter().any(|(_, one)| chooses(one, &|chosen| chosen == slowed)))
        };
        let places = |list: &[(usize, &Decision)]| list.iter().map(|(place, _)| *place).collect();
        if new.is_empty() {
            places(&with_settings)
        } else if !slowed.is_empty() && slowed.iter().all(has_own) {
            let is_slowed = |chosen: Collective| slowed.contains(&Some(chosen));
            let own: Vec<_> = new
                .iter()
                .filter(|(_, one)| chooses(one, &is_slowed))
                .copied()
                .collect();
            places(&own)
        } else {
            places(&new)
        }
    }

    /// Ends changes for their settings, and returns the settings that are deployed no more.
    fn end(&mut self, places: &[usize], because: &str, bars: &[Bar]) -> Vec<Assignment> {
        let before = self.deployment().assignments;
        for place in places {
            self.decisions[*place].state = State::TakenBack(TakenBack {
                because: because.to_owned(),
                bars: bars.to_vec(),
                cells: Vec::new(),
            });
        }
        let now = self.deployment().assignments;
        before.into_iter().filter(|setting| !now.contains(setting)).collect()
    }
}
