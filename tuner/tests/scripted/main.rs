//! The whole loop of `tune` on a scripted library: what is found, deployed, proven, taken back and said. No MPI, no processes, no waiting.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod admission;
mod arrivals;
mod at_start;
mod beside_settings;
mod budget;
mod components;
mod constraints;
mod datatypes;
mod emitters;
mod fixes;
mod forms;
mod gains;
mod guard;
mod joint;
mod layouts;
mod limits;
mod machine;
mod mix;
mod noise;
mod online;
mod other_load;
mod overlap;
mod partial;
mod plugin;
mod profile;
mod proof;
mod quarantine;
mod replay;
mod resume;
mod rounds;
mod silent;
mod taken_back;
mod transports;
mod which;

use kilter::scripted::{Call, Run, ScriptedLibrary, Site};
use kilter_fixtures::directory;
use kilter_model::report::{Cell, DeployedChange};
use kilter_stats::verdict::Outcome;

/// One guideline, `reduce(n) <= allreduce(n)`, at two sizes.
const REDUCE: &str = "--guidelines GL8 --sizes 1024,4096";

/// The cell that scenarios break.
const SLOW: &str = "GL8 reduce 4096";

/// Reduce at 4096 B takes four times as long as it should, unless this holds.
fn slow_reduce(unless: impl Fn(&Call<'_>) -> bool + 'static) -> ScriptedLibrary {
    let is_slow = move |call: &Call<'_>| call.bytes == 4096 && !unless(call);
    ScriptedLibrary::new().cost(
        "reduce",
        move |call, usual| if is_slow(call) { 4.0 * usual } else { usual },
    )
}

/// A site in a directory of its own, which goes with what is returned first.
fn site(library: ScriptedLibrary) -> (tempfile::TempDir, Site) {
    let directory = directory();
    let site = Site::new(directory.path(), library).unwrap();
    (directory, site)
}

/// `kilter tune` with these arguments, separated by blanks.
fn tune(library: ScriptedLibrary, arguments: &str) -> Run {
    let (_directory, site) = site(library);
    tune_at(&site, arguments)
}

/// `kilter check` with these arguments.
fn check(library: ScriptedLibrary, arguments: &str) -> Run {
    let (_directory, site) = site(library);
    check_at(&site, arguments)
}

fn check_at(site: &Site, arguments: &str) -> Run {
    site.check(&arguments.split(' ').collect::<Vec<_>>()).unwrap()
}

fn tune_at(site: &Site, arguments: &str) -> Run {
    site.tune(&arguments.split(' ').collect::<Vec<_>>()).unwrap()
}

/// The same where `FILE` among the arguments stands for a file of this name and text; it goes with what is returned first.
fn tune_with(library: ScriptedLibrary, (name, text): (&str, &str), arguments: &str) -> (tempfile::TempDir, Run) {
    let (directory, site) = site(library);
    let file = directory.path().join(name);
    std::fs::write(&file, text).unwrap();
    let run = tune_at(&site, &arguments.replace("FILE", &file.display().to_string()));
    (directory, run)
}

/// The cell of a guideline, a function and a volume.
fn cell<'r>(run: &'r Run, name: &str) -> &'r Cell {
    let is_it = |cell: &&Cell| format!("{} {} {}", cell.guideline, cell.function, cell.bytes) == name;
    let found = run.report.cells.iter().find(is_it);
    found.unwrap_or_else(|| panic!("no cell {name}"))
}

/// Deployed changes, as `name=value`.
fn changes(run: &Run) -> Vec<String> {
    let text = |change: &DeployedChange| format!("{}={}", change.name, change.value);
    run.report.changes.iter().map(text).collect()
}

/// True if a cell was violated and holds with the deployment.
fn is_mended(run: &Run, name: &str) -> bool {
    let cell = cell(run, name);
    let after = cell.after.as_ref().map(|after| after.verdict);
    cell.before.verdict == Outcome::Violated && after == Some(Outcome::Holds)
}

/// Why a violated cell has no fix.
fn unfixed(run: &Run, name: &str) -> String {
    cell(run, name).unfixed_because.clone().unwrap_or_default()
}

/// Candidates in quarantine: id, fault.
fn quarantined(run: &Run) -> Vec<(&str, &str)> {
    let all = run.report.quarantined.iter();
    all.map(|one| (one.id.as_str(), one.what.words())).collect()
}

/// Keys of the launches, in order.
fn keys(site: &Site) -> Vec<String> {
    let database = rusqlite::Connection::open(site.database()).unwrap();
    let mut all = database.prepare("SELECT key FROM launches ORDER BY rowid").unwrap();
    let keys = all.query_map([], |row| row.get(0)).unwrap();
    keys.map(Result::unwrap).collect()
}

/// The one warning that has this part.
fn warning<'r>(run: &'r Run, part: &str) -> &'r str {
    let found: Vec<&String> = run.report.warnings.iter().filter(|text| text.contains(part)).collect();
    assert_eq!(found.len(), 1, "`{part}` in {:#?}", run.report.warnings);
    found[0]
}
