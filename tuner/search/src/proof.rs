//! Proves by the library's messages that its settings act. A wrong setting is mostly ignored in silence, and a candidate would be credited with
//! the default's time.
//!
//! A fingerprint is the list of messages from every rank to every other during one call, as the library itself counts them (`messages` in its
//! description), in a launch that times nothing. There are two rules. Each takes one launch, or one more for each cell if that one fails:
//!
//! * **In the search**, before a choice is made: every algorithm that the library has for the collective is forced in turn, beside the
//!   default. If two of them differ, choosing acts. If all are alike (three or more, on four ranks or more, where
//!   no library's algorithms all send the same), something else decides, and none of them is credited. That a candidate sends what the
//!   default sends is no argument against it: the default may be that very algorithm.
//! * **After the files are written**: launched with them, and with nothing switched, the deployed cells must send what their selections
//!   sent when they were switched in the running job. A file of rules that the library does not take, or asks for other communicators
//!   only, is found so.
//!
//! A third launch, long after: [`in_place()`] asks if what was installed then still sends what it should.
//!
//! If the library counts no messages, settings are read back, and the report says that this is all.

mod counting;
mod finding;
mod in_place;
mod ran;

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_model::deployment::{Deployment, Selection};
use kilter_model::setup::Setup;
use kilter_protocol::plan::{Block, Item};

use self::counting::{block, counted, counted_each, sent};
pub use self::finding::Finding;
pub use self::in_place::{InPlace, Untold, in_place};
pub use self::ran::{AsFound, Calls, Forced, Ran, as_found, forced as each_forced};
use crate::choose::Held;
use crate::context::{Jobs, Site};
use crate::in_job_search::item;
use crate::proofs::Proofs;
use crate::quarantine::Quarantine;
use crate::target::Target;

/// Looks for every held contest that has one of the library's algorithms among its finalists whether choosing acts, by one launch under
/// `setup`; by the targets' names. `hands_on`: each algorithm is forced together with the setting that hands the collective to its component.
///
/// # Errors
/// A failure that no candidate explains.
pub fn of_finalists(
    jobs: &Jobs<'_>,
    proofs: &Proofs,
    quarantine: &Quarantine,
    label: &str,
    (setup, hands_on): (&Setup, bool),
    held: &[Held],
) -> anyhow::Result<BTreeMap<String, Finding>> {
    let mut asked: Vec<(&Target, Vec<Selection>, usize)> = Vec::new();
    for held in held {
        let finalists = held.candidates.iter().filter_map(|one| one.selection.clone());
        let finalists: Vec<Selection> = finalists.filter(|one| matches!(one, Selection::Settings(_))).collect();
        if finalists.is_empty() {
            continue;
        }
        let mut selections = forced(&jobs.site, quarantine, &held.target, hands_on);
        let count = selections.len();
        let further = finalists.into_iter().filter(|one| !selections[..count].contains(one));
        let further: Vec<Selection> = further.collect();
        selections.extend(further);
        asked.push((&held.target, selections, count));
    }
    if asked.is_empty() {
        return Ok(BTreeMap::new());
    }
    let blocks: Vec<Block> = asked
        .iter()
        .map(|(target, selections, _)| {
            let all = std::iter::once(item(target, None));
            let all = all.chain(selections.iter().map(|selection| item(target, Some(selection))));
            block(jobs, label, target, all.collect())
        })
        .collect();
    let counted = counted_each(jobs, proofs, &format!("{label}/proof"), setup, &blocks)?;
    let mut findings = BTreeMap::new();
    for ((target, selections, count), (block, counted)) in asked.iter().zip(blocks.iter().zip(counted)) {
        let (messages, outcome) = match &counted {
            Ok((messages, outcome)) => (*messages, outcome),
            Err(why) => {
                findings.insert(target.name(), Finding::Unknown(why.to_string()));
                continue;
            }
        };
        let sent = |item: &Item| sent(messages, outcome, &item.id);
        let of_selections: Vec<Option<String>> = block.items[1..].iter().map(sent).collect();
        let forced: Vec<String> = of_selections[..*count].iter().flatten().cloned().collect();
        let default = sent(&block.items[0]);
        let finding = Finding::of(default.as_deref(), &forced, jobs.site.options.ranks);
        for (selection, text) in selections.iter().zip(of_selections) {
            if let (Some(text), Some(collective)) = (text, target.collective()) {
                let cell = (collective, target.bytes());
                proofs.keep(cell, selection, text);
            }
        }
        findings.insert(target.name(), finding);
    }
    Ok(findings)
}

/// The deployed selections of the library's algorithms that a launch under `staged`, the emitted files, does not carry out, each with the
/// reason. Selections that were never counted are not checked.
///
/// # Errors
/// A failure that no candidate explains.
pub fn not_carried_out(
    jobs: &Jobs<'_>,
    proofs: &Proofs,
    label: &str,
    staged: &Setup,
    deployment: &Deployment,
) -> anyhow::Result<Vec<((Collective, u64), String)>> {
    let mut asked: Vec<((Collective, u64), Target, String)> = Vec::new();
    for ((collective, bytes), selection) in &deployment.selections {
        let key = (*collective, *bytes);
        let library = &jobs.site.library;
        let is_for_all = selection.acts_on_all_sizes(*collective, library);
        if is_for_all && deployment.for_all_sizes(*collective, library) != Some(key) {
            continue;
        }
        if let Some(text) = proofs.sent(key, selection) {
            asked.push((key, Target::unbounded(*collective, *bytes), text));
        }
    }
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let blocks: Vec<Block> = asked
        .iter()
        .map(|(_, target, _)| block(jobs, label, target, vec![item(target, None)]))
        .collect();
    let counted = counted(jobs, proofs, &format!("{label}/proof"), staged, &blocks)?;
    let (messages, outcomes) = match &counted {
        Ok(counted) => counted,
        Err(why) => {
            jobs.progress
                .warn(&format!("no messages prove that the emitted rules take effect: {why}"));
            return Ok(Vec::new());
        }
    };
    let mut idle = Vec::new();
    for ((key, _, expected), (block, outcome)) in asked.into_iter().zip(blocks.iter().zip(outcomes)) {
        let Some(got) = sent(messages, outcome, &block.items[0].id) else {
            let (collective, bytes) = key;
            jobs.progress.warn(&format!(
                "no messages prove that the rule for {collective} {bytes} takes effect: none were counted under the emitted files"
            ));
            continue;
        };
        if got != expected {
            idle.push((
                key,
                format!(
                    "under the emitted files the library sends `{got}`; when the algorithm was switched in the job it sent `{expected}`"
                ),
            ));
        }
    }
    Ok(idle)
}

/// Every algorithm that the library has for the target and that was not put away.
fn forced(site: &Site<'_>, quarantine: &Quarantine, target: &Target, hands_on: bool) -> Vec<Selection> {
    let row = target.collective().and_then(|one| site.library.algorithms_of(one));
    let Some(row) = row.filter(|row| row.at_start.is_none()) else {
        return Vec::new();
    };
    let settings = |settings| match &site.library.components {
        Some(components) if hands_on => components.through(row.collective, settings),
        _ => Some(settings),
    };
    let choices = row.choices_on(site.options.ranks);
    choices
        .filter_map(|choice| settings(row.settings(choice)).map(Selection::Settings))
        .filter(|selection| !quarantine.contains(&selection.id()))
        .collect()
}

#[cfg(test)]
mod tests;
