//! Settings of whole launches beside selections: who gives way to whom.
//!
//! A setting touches every call of every application, and a selection one, so that a setting goes where selections fix all that it fixes. Both were
//! measured with the setting in force, though. So a selection that gains nothing there gives way to the setting that fixes its target, and a setting
//! goes only after launches without it.

use std::collections::BTreeSet;

use kilter_model::change::{Change, id};
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::ledger::{Ledger, Proposal};
use kilter_model::not_deployed::NotDeployed;
use kilter_search::choose::Choice;
use kilter_search::context::Context;
use kilter_search::findings::Findings;
use kilter_search::target::Target;
use kilter_search::without;

/// Leaves out selections for targets that confirmed settings fix, where they take more than `1 - floor` of the library's time under these.
pub(super) fn give_way(settings: &[Proposal], choices: &mut [(Target, Choice)], floor: f64) {
    for (target, choice) in choices {
        let name = target.name();
        if settings.iter().any(|setting| setting.fixes.contains(&name)) {
            choice.give_way(floor);
        }
    }
}

/// Decides which confirmed settings are needed beside the selections of a round.
pub(super) struct Necessity<'n, 'c> {
    context: &'n Context<'c>,
    label: &'n str,
    for_cells: &'n [Proposal],
}

impl<'n, 'c> Necessity<'n, 'c> {
    pub(super) fn of(context: &'n Context<'c>, label: &'n str, for_cells: &'n [Proposal]) -> Necessity<'n, 'c> {
        Necessity {
            context,
            label,
            for_cells,
        }
    }

    /// Names of the targets that selections fix. Where a setting would be superfluous for that, launches without it have to show it. A selection that
    /// was found under settings of its own is not measured without others, and these stay.
    pub(super) fn covered(&self, ledger: &Ledger, choices: &[(Target, Choice)]) -> anyhow::Result<BTreeSet<String>> {
        let mut covered = selected(self.for_cells, ledger.verified());
        let left_out = ledger.superfluous(&covered, &|change| self.admits(change));
        let fixes = left_out.iter().flat_map(|setting| &setting.fixes);
        let asked: BTreeSet<String> = fixes.filter(|name| covered.contains(*name)).cloned().collect();
        if asked.is_empty() {
            return Ok(covered);
        }
        let selection = |(target, choice): &(Target, Choice)| {
            let is_asked = asked.contains(&target.name()) && choice.needs.is_empty();
            Some((target.clone(), choice.chosen.clone().filter(|_| is_asked)?))
        };
        let selections: Vec<(Target, Selection)> = choices.iter().filter_map(selection).collect();
        let both = (&ledger.in_force(), &ledger.in_force_without(&left_out));
        let shown = without::fixed(self.context.in_job_search(), self.label, both, selections)?;
        for name in asked.difference(&shown) {
            covered.remove(name);
            self.context.progress.note(&format!(
                "settings stay that fix {name}: no launches without them show that its selection does as well alone"
            ));
        }
        Ok(covered)
    }

    /// Deploys the settings that are needed where selections fix the `covered` targets. Earlier, verified changes do not fix a target, or it would
    /// be none.
    pub(super) fn deploy(&self, ledger: &mut Ledger, covered: &BTreeSet<String>, launch_wide: &mut Findings) {
        let progress = &self.context.progress;
        let (deployed, superfluous) = ledger.deploy_needed(covered, &|change| self.admits(change));
        for Proposal { change, fixes } in superfluous {
            let fixes: Vec<String> = fixes.into_iter().collect();
            progress.note(&format!(
                "`{}` is not deployed: other deployed changes fix {}",
                change.id(),
                fixes.join(", ")
            ));
            let why = NotDeployed::Superfluous { cells: fixes };
            launch_wide.explain(&change, &why);
        }
        for setting in deployed.iter().flat_map(|proposal| &proposal.change.settings) {
            progress.note(&format!("chosen: {}", id(std::slice::from_ref(setting))));
        }
    }

    /// True if the library's algorithms that were chosen would not be asked for without the change: they were measured under it.
    fn admits(&self, change: &Change) -> bool {
        let is_algorithm = |one: &Proposal| matches!(one.change.selection, Some((_, Selection::Settings(_))));
        let is_set = |name: &str| change.settings.iter().any(|one: &Assignment| one.name == name);
        let mut rows = self.context.site.library.parameters.iter();
        self.for_cells.iter().any(is_algorithm) && rows.any(|row| row.admits_algorithms && is_set(&row.name))
    }
}

/// Names of the targets for which something is selected that was not `verified` before.
fn selected(for_cells: &[Proposal], verified: &Deployment) -> BTreeSet<String> {
    let is_new = |one: &&Proposal| {
        let selection = one.change.selection.as_ref();
        selection.is_some_and(|(cell, selection)| verified.selections.get(cell) != Some(selection))
    };
    let new = for_cells.iter().filter(is_new);
    new.flat_map(|one| &one.fixes).cloned().collect()
}
