//! The whole loop of `tune` on a scripted library: what is found, deployed, proven, taken back and said. No MPI, no processes, no waiting.

mod fixes;

use kilter::report::model::{Cell, Change, Outcome};
use kilter::scripted::{Run, ScriptedLibrary, Site};

/// A site in a directory of its own, which goes with what is returned first.
fn site(library: ScriptedLibrary) -> (tempfile::TempDir, Site) {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::new(directory.path(), library).unwrap();
    (directory, site)
}

/// `kilter tune` with these arguments, separated by blanks.
fn tune(library: ScriptedLibrary, arguments: &str) -> Run {
    let (_directory, site) = site(library);
    site.tune(&arguments.split(' ').collect::<Vec<_>>()).unwrap()
}

/// The cell of a guideline, a function and a volume.
fn cell<'r>(run: &'r Run, name: &str) -> &'r Cell {
    let is_it = |cell: &&Cell| format!("{} {} {}", cell.guideline, cell.function, cell.bytes) == name;
    let found = run.report.cells.iter().find(is_it);
    found.unwrap_or_else(|| panic!("no cell {name}"))
}

/// What is deployed, as `name=value`.
fn changes(run: &Run) -> Vec<String> {
    let text = |change: &Change| format!("{}={}", change.name, change.value);
    run.report.changes.iter().map(text).collect()
}

/// Verdicts of a cell before and after.
fn verdicts(run: &Run, name: &str) -> (Outcome, Option<Outcome>) {
    let cell = cell(run, name);
    (cell.before.verdict, cell.after.as_ref().map(|after| after.verdict))
}
