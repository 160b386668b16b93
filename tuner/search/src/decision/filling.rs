//! Fills the table: the calls that it does not have yet, and once more the library's algorithms that another component hides.

use std::collections::BTreeMap;

use kilter_model::change::Cell;
use kilter_model::deployment::Selection;
use kilter_model::report::FixKind;

use super::{Deciding, Known};
use crate::choose::{Choice, Held};
use crate::in_job_search::{Contests, FINAL_LAUNCHES, front};
use crate::proof::{self, Finding};
use crate::target::Target;

impl Deciding<'_, '_> {
    /// Screens and compares the calls that the table does not have yet: the violated ones first, then those in which an application spends most. Returns
    /// the calls of which messages show that the library's algorithms are not asked for.
    pub(super) fn fill(
        &self,
        contests: &Contests<'_, '_>,
        targets: &[Target],
        known: &mut Known,
    ) -> anyhow::Result<Vec<Target>> {
        let (decided, bounding) = self.cells(targets);
        known.decided.extend(&decided);
        let is_new = |cell: &&Cell| known.table.latest(**cell).is_none();
        let plan = &self.context.plan;
        let mut fields: Vec<Target> = decided
            .iter()
            .filter(is_new)
            .map(|(collective, bytes)| Target::unbounded(*collective, *bytes))
            .collect();
        if fields.is_empty() {
            return Ok(Vec::new());
        }
        let violated = |target: &Target| targets.iter().position(|other| other.left == target.left);
        let (now, _) = self.now;
        let seconds = |target: &Target| {
            let medians = now.medians.get(&target.left);
            medians.map_or(0.0, |medians| medians.iter().sum::<f64>() / medians.len() as f64)
        };
        let spent = |target: &Target| plan.calls_of(&target.left) * seconds(target);
        if plan.calls.is_empty() {
            fields.sort_by_key(|target| violated(target).unwrap_or(usize::MAX));
        } else {
            fields.sort_by(|a, b| spent(b).total_cmp(&spent(a)));
        }
        let mut race = contests.screen_all(&fields, &self.kinds_of(), &front)?;
        for (collective, bytes) in bounding.iter().filter(is_new) {
            let target = Target::unbounded(*collective, *bytes);
            // A call that was timed within a sum alone takes no longer than the slowest call of its volume.
            let beside = now.medians.iter().filter(|(other, _)| other.bytes == *bytes);
            let most = beside.flat_map(|(_, medians)| medians).copied().fold(0.0, f64::max);
            let known = seconds(&target);
            contests.foresee(&target, if known > 0.0 { known } else { most });
            race.push((target, Vec::new()));
        }
        let (held, findings) = self.compare(contests, race)?;
        held.into_iter().for_each(|held| known.table.add(held));
        let is_hidden = |target: &Target| matches!(findings.get(&target.name()), Some(Finding::NoEffect { .. }));
        fields.retain(is_hidden);
        known.findings.extend(findings);
        Ok(fields)
    }

    /// Compares the library's algorithms once more for calls that another component decides, each with the setting that hands the call to the component
    /// that has them.
    pub(super) fn hand_on(
        &self,
        contests: &Contests<'_, '_>,
        hidden: Vec<Target>,
        known: &mut Known,
    ) -> anyhow::Result<()> {
        let site = &self.context.site;
        let Some(components) = &site.library.components else {
            return Ok(());
        };
        let mut hidden = hidden;
        hidden.retain(|target| target.collective().and_then(|one| components.switching(one)).is_some());
        if hidden.is_empty() {
            return Ok(());
        }
        if let Some(name) = components.settings().find(|name| site.sets(name)) {
            self.context.progress.warn(&format!(
                "no collective is handed on by size: the site sets `{name}` itself, and Kilter leaves it as it is"
            ));
            return Ok(());
        }
        self.context.progress.note(&format!(
            "the library's algorithms may take effect where `{}` hands the collective to `{}`; they are compared again there",
            components.own, components.of_algorithms
        ));
        let race = contests.screen_all(&hidden, &self.kinds_of(), &front)?;
        let (held, findings) = self.compare(contests, race)?;
        held.into_iter().for_each(|held| known.table.add(held));
        known.handed_on.extend(findings);
        Ok(())
    }

    /// Compares finalists in common launches; the library's algorithms are among them as far as messages credit them.
    pub(super) fn compare(
        &self,
        contests: &Contests<'_, '_>,
        race: Vec<(Target, Vec<Selection>)>,
    ) -> anyhow::Result<(Vec<Held>, BTreeMap<String, Finding>)> {
        let mut all = contests.finals(race, FINAL_LAUNCHES)?;
        let findings = proof::of_finalists(
            &self.context.jobs,
            &self.context.proofs,
            &self.context.quarantine,
            contests.label(),
            (contests.setup(), contests.hands_on()),
            &all,
        )?;
        for held in &mut all {
            if let Some(finding) = findings.get(&held.target.name()) {
                let is_credited = |one: &Selection| contests.credits(finding, one);
                held.candidates
                    .retain(|one| one.selection.as_ref().is_none_or(is_credited));
            }
        }
        Ok((all, findings))
    }

    /// The kinds of fixes that are asked for and were not taken back.
    pub(super) fn kinds_of(&self) -> impl Fn(&Target, FixKind) -> bool {
        |target, kind| (self.kinds)(kind) && target.cell().is_none_or(|cell| self.ledger.allows(cell, kind))
    }

    /// Adds the evidence on algorithms that were handed on to a choice.
    pub(super) fn tell_handed_on(&self, finding: &Finding, choice: &mut Choice) {
        let Some(components) = &self.context.site.library.components else {
            return;
        };
        let text = format!("; handed to `{}`: {}", components.of_algorithms, finding.text());
        for told in [&mut choice.contest.proof, &mut choice.unfixed_because]
            .into_iter()
            .flatten()
        {
            *told += &text;
        }
    }
}
