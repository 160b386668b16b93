//! The proof of the deployment takes changes back, and says so.

use std::collections::{BTreeMap, BTreeSet};

use kilter_bench::launch::JobFailure;
use kilter_bench::progress::Progress;
use kilter_model::change::Cell;
use kilter_model::config::library::Library;
use kilter_model::deployment::{Assignment, Selection};
use kilter_model::ledger::{Bar, Ledger};
use kilter_model::plan::{Plan, Subject};
use kilter_protocol::fault::FaultKind;
use kilter_search::context::Jobs;
use kilter_search::quarantine::Quarantine;
use kilter_search::verification::{JudgedCell, OfTheUntouchedLibrary, Verification};

/// Takes back a selection whose rule the library does not follow; in the next round the cell may be fixed in another way.
pub(super) fn take_back_idle(
    ledger: &mut Ledger,
    progress: &Progress,
    quarantine: &Quarantine,
    cell: Cell,
    reason: &str,
    before: &Verification,
) {
    // For this cell: elsewhere its rule may be followed.
    forgo(
        ledger,
        progress,
        quarantine,
        cell,
        (FaultKind::NoEffect, reason),
        before,
    );
}

/// Takes back the selection of a cell and puts it into quarantine there for `what` it did. Another kind of fix may still be found for the cell.
fn forgo(
    ledger: &mut Ledger,
    progress: &Progress,
    quarantine: &Quarantine,
    cell: Cell,
    (what, reason): (FaultKind, &str),
    before: &Verification,
) {
    let Some(selection) = ledger.take_back_selection(cell, reason, Bar::Kind, names_at(cell, before)) else {
        return;
    };
    progress.warn(&format!("`{}` is taken back: {reason}", selection.id()));
    let id = format!("{} for {} {}", selection.id(), cell.0, cell.1);
    quarantine.add(&id, what, reason);
}

/// Warns about settings of whole launches that are taken back; true if there are any.
fn say_gone(progress: &Progress, gone: &[Assignment], because: &str) -> bool {
    for Assignment { name, value, .. } in gone {
        progress.warn(&format!("`{name}={value}` is taken back: {because}"));
    }
    !gone.is_empty()
}

/// Takes back the changes that may have ended a job of the deployment; in the next round another kind of fix may be found. False if there are
/// none: the job then ended for a reason that has nothing to do with the deployment.
pub(super) fn take_back_broken(
    ledger: &mut Ledger,
    jobs: &Jobs<'_>,
    plan: &Plan,
    quarantine: &Quarantine,
    error: &anyhow::Error,
    before: &Verification,
) -> bool {
    let Some(failure) = JobFailure::behind(error) else {
        return false;
    };
    if error.downcast_ref::<OfTheUntouchedLibrary>().is_some() {
        return false;
    }
    let calls = &failure.place().calls;
    let all = plan.subjects();
    let is_in_block = |subject: &&Subject| calls.contains(&(subject.task, subject.bytes));
    let subjects: Vec<&Subject> = all.iter().filter(is_in_block).collect();
    if subjects.is_empty() {
        return false;
    }
    let because = format!("a job under the changes to deploy {}", failure.in_short());
    jobs.progress
        .warn(&format!("a job under the changes to deploy failed: {failure}"));
    let culprits = ledger
        .deployment()
        .culprits(&subjects, ledger.verified(), &jobs.site.library);
    for cell in &culprits {
        forgo(
            ledger,
            &jobs.progress,
            quarantine,
            *cell,
            (failure.kind(), &because),
            before,
        );
    }
    if !culprits.is_empty() {
        return true;
    }
    let functions = subjects.iter().map(|subject| subject.task.collective()).collect();
    let gone = ledger.take_back_settings(&functions, &jobs.site.library, &because);
    say_gone(&jobs.progress, &gone, &because)
}

/// Takes back changes that slowed a subject, each with a note of how. True if any was taken back.
pub(super) fn take_back(
    ledger: &mut Ledger,
    progress: &Progress,
    library: &Library,
    spoilt: &[(Subject, String)],
    before: &Verification,
) -> bool {
    let deployed = ledger.deployment();
    let mut launch_wide = Vec::new();
    let mut slowed = BTreeSet::new();
    let mut selections: BTreeMap<Cell, Vec<&str>> = BTreeMap::new();
    for (subject, note) in spoilt {
        match deployed.to_blame(subject, ledger.verified(), library) {
            Some(cell) => selections.entry(cell).or_default().push(note),
            None => {
                launch_wide.push(note.as_str());
                slowed.insert(subject.collective());
            }
        }
    }
    let mut changed = false;
    for (cell, notes) in selections {
        let because = notes.join(", ");
        changed |= close(ledger, progress, cell, &because, before);
    }
    if !launch_wide.is_empty() {
        let because = launch_wide.join(", ");
        let gone = ledger.take_back_settings(&slowed, library, &because);
        changed |= say_gone(progress, &gone, &because);
    }
    changed
}

/// Takes back new settings of whole launches all of whose targets are among the `gainless` ones, by name. True if there were any.
pub(super) fn take_back_gainless(ledger: &mut Ledger, progress: &Progress, gainless: &BTreeSet<String>) -> bool {
    let because = "the calls that it was chosen for take as long as in the untouched library";
    let gone = ledger.take_back_gainless(gainless, because);
    say_gone(progress, &gone, because)
}

/// Takes back the selection of a cell, for which none is proposed any more. True if there was one.
fn close(ledger: &mut Ledger, progress: &Progress, cell: Cell, because: &str, before: &Verification) -> bool {
    let selection = close_silently(ledger, cell, because, before);
    if let Some(selection) = &selection {
        progress.warn(&format!("`{}` is taken back: {because}", selection.id()));
    }
    selection.is_some()
}

/// The same without a warning; returns the selection.
pub(super) fn close_silently(
    ledger: &mut Ledger,
    cell: Cell,
    because: &str,
    before: &Verification,
) -> Option<Selection> {
    ledger.take_back_selection(cell, because, Bar::Cell, names_at(cell, before))
}

/// Names of the guidelines' cells of this volume of this collective.
fn names_at(cell: Cell, verification: &Verification) -> Vec<String> {
    let is_its = |judged: &&JudgedCell| {
        let left = &judged.cell.left;
        left.collective().map(|collective| (collective, left.bytes)) == Some(cell)
    };
    let its = verification.cells.iter().filter(is_its);
    its.map(|judged| judged.cell.name()).collect()
}
