//! Correctness of a plugin's rows on this library: jobs of `kilter-verify` until every row has run or failed.
//!
//! A row that crashes or hangs takes its job down; it has failed, and the others go on in a new job without it. What was found
//! is stored, and [`admit`] lets `tune` deploy only what passed.

mod admission;
mod job;
pub mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kilter_protocol::verifying::{Depth, Line, Request, Wanted};
use serde::Serialize;

pub use admission::admit;

use crate::config::library::Library;
use crate::launch::CommandTemplate;
use crate::options::Options;
use crate::progress::Progress;
use crate::store::{Store, Verified, VerifiedResult};

/// How jobs are launched.
pub struct Launching<'a> {
    /// Site and limits.
    pub options: &'a Options,
    /// `kilter-verify` of the library.
    pub program: PathBuf,
    /// The launcher's command.
    pub template: &'a CommandTemplate,
    /// Directory of requests, reports and logs.
    pub directory: PathBuf,
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct Inquiry {
    /// The plugin.
    pub plugin: PathBuf,
    /// Rows; all where empty.
    pub rows: Vec<Wanted>,
    /// The only case.
    pub case: Option<String>,
    /// How much of the matrix.
    pub depth: Depth,
}

impl Inquiry {
    /// As the database has it.
    #[must_use]
    pub fn depth_name(&self) -> &'static str {
        match (&self.case, self.depth) {
            (Some(_), _) => "case",
            (None, Depth::Full) => "full",
            (None, Depth::Reduced) => "reduced",
        }
    }
}

/// A run that was wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The case.
    pub case: String,
    /// What was wrong, on which rank.
    pub reason: String,
}

/// A row on a number of ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Its id.
    pub row: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Runs that were compared with the reference; one that ended its job was.
    pub cases: u64,
    /// Of these, runs that were wrong.
    pub failed: u64,
    /// Planned runs that were not made, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// The first failures.
    pub failures: Vec<Failure>,
}

/// What an [`Outcome`] says of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// At least one run was compared, and none was wrong.
    Passed,
    /// No run was compared: nothing is known.
    NothingCompared,
    /// A run was wrong.
    Failed,
}

impl Judgement {
    /// From numbers of runs.
    #[must_use]
    pub fn of(compared: u64, failed: u64) -> Judgement {
        match (compared, failed) {
            (_, 1..) => Judgement::Failed,
            (0, 0) => Judgement::NothingCompared,
            (1.., 0) => Judgement::Passed,
        }
    }

    /// For people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Judgement::Passed => "passed",
            Judgement::NothingCompared => "nothing compared",
            Judgement::Failed => "failed",
        }
    }
}

impl Outcome {
    /// What it says of the row.
    #[must_use]
    pub fn judgement(&self) -> Judgement {
        Judgement::of(self.cases, self.failed)
    }
}

/// Runs that were not made, for people: `12 (no data is moved), 3 (its operator must commute)`.
#[must_use]
pub fn skipped_text(skipped: &BTreeMap<String, u64>) -> String {
    let of = |(reason, runs): (&String, &u64)| format!("{runs} ({reason})");
    skipped.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// What was found on a number of ranks.
#[derive(Debug, Default)]
pub struct Found {
    /// The library, in its own words.
    pub library: String,
    /// Rows.
    pub outcomes: Vec<Outcome>,
    /// Where the library's own collectives were wrong: no row's fault.
    pub library_failures: Vec<Failure>,
}

/// Asks on `ranks` ranks.
///
/// # Errors
/// A plugin that is refused, an unknown row or case, a launcher that does not start, an interruption.
pub fn verify(
    launching: &Launching<'_>,
    ranks: usize,
    inquiry: &Inquiry,
    progress: &Progress,
) -> anyhow::Result<Found> {
    let mut found = Found::default();
    std::fs::create_dir_all(&launching.directory)
        .with_context(|| format!("`{}` cannot be made", launching.directory.display()))?;
    let file = |kind: &str| launching.directory.join(format!("verify-{ranks}.{kind}"));
    let mut request = Request {
        v: kilter_protocol::VERSION,
        plugin: inquiry.plugin.clone(),
        report: file("jsonl"),
        announcement: file("announcement"),
        rows: inquiry.rows.clone(),
        skip: Vec::new(),
        case: inquiry.case.clone(),
        depth: inquiry.depth,
        with_library: true,
    };
    loop {
        let (lines, end) = job::run(launching, ranks, &request, progress)?;
        let Taken { rows, mut open } = take(&mut found, lines, ranks);
        let job::End::In(announced, reason) = end else {
            return Ok(found);
        };
        if let Some(collective) = announced.what.strip_prefix("library ") {
            anyhow::ensure!(request.with_library, "the library's own {collective} {reason}");
            request.with_library = false;
            let case = format!("{collective} {}", announced.case);
            found.library_failures.push(Failure { case, reason });
        } else {
            let mut failures = open.remove(&announced.what).unwrap_or_default();
            failures.push(Failure {
                case: announced.case,
                reason,
            });
            let cases = announced.compared + 1;
            let planned = rows.get(&announced.what).copied().unwrap_or(cases);
            let rest = planned.saturating_sub(cases);
            found.outcomes.push(Outcome {
                row: announced.what,
                ranks,
                cases,
                failed: failures.len() as u64,
                skipped: (rest > 0).then(|| (ENDED.to_owned(), rest)).into_iter().collect(),
                failures,
            });
        }
        let done: BTreeSet<String> = found.outcomes.iter().map(|outcome| outcome.row.clone()).collect();
        if rows.keys().all(|row| done.contains(row)) {
            return Ok(found);
        }
        request.skip = done.into_iter().collect();
    }
}

/// Why runs of a row were not made that ended its job.
const ENDED: &str = "not compared before it ended its job";

/// What a job reported of all its rows, finished or not.
struct Taken {
    /// The rows that it was to run, with how many runs each.
    rows: BTreeMap<String, u64>,
    /// Failures of rows that it did not finish.
    open: BTreeMap<String, Vec<Failure>>,
}

/// Takes over what a job reported of the rows that it finished.
fn take(found: &mut Found, lines: Vec<Line>, ranks: usize) -> Taken {
    let mut started = BTreeMap::new();
    let mut open: BTreeMap<String, Vec<Failure>> = BTreeMap::new();
    for line in lines {
        match line {
            Line::Start { library, rows, .. } => {
                found.library = library;
                started = rows;
            }
            Line::Failure { row, case, reason } => open.entry(row).or_default().push(Failure { case, reason }),
            Line::Library {
                collective,
                case,
                reason,
            } => {
                let failure = Failure {
                    case: format!("{collective} {case}"),
                    reason,
                };
                if !found.library_failures.contains(&failure) {
                    found.library_failures.push(failure);
                }
            }
            Line::Row {
                row,
                cases,
                failed,
                skipped,
            } => found.outcomes.push(Outcome {
                failures: open.remove(&row).unwrap_or_default(),
                row,
                ranks,
                cases,
                failed,
                skipped,
            }),
            Line::End {} => {}
        }
    }
    Taken { rows: started, open }
}

/// Stores what was found.
///
/// # Errors
/// What the store says, or a plugin that cannot be read.
pub fn record(
    store: &Store,
    (library, machine): (&str, &str),
    inquiry: &Inquiry,
    outcomes: &[Outcome],
) -> anyhow::Result<()> {
    let digest = digest(&inquiry.plugin)?;
    let plugin = inquiry.plugin.display().to_string();
    for outcome in outcomes {
        let values = inquiry.rows.iter().find(|wanted| wanted.name == outcome.row);
        let parameters = serde_json::to_string(values.map_or(&[][..], |wanted| &wanted.values[..]))?;
        let of = Verified {
            library,
            machine,
            ranks: outcome.ranks,
            plugin: &plugin,
            digest: &digest,
            row: &outcome.row,
            parameters: &parameters,
        };
        let failures = serde_json::to_string(&outcome.failures)?;
        let skipped = serde_json::to_string(&outcome.skipped)?;
        let result = VerifiedResult {
            compared: outcome.cases,
            failed: outcome.failed,
            skipped,
            failures,
        };
        store.record_verified(&of, inquiry.depth_name(), &result)?;
    }
    Ok(())
}

/// Where jobs run: this host, or those of a host file.
#[must_use]
pub fn machine(options: &Options) -> String {
    let hosts = options
        .hostfile
        .as_ref()
        .and_then(|path| std::fs::read_to_string(path).ok());
    match hosts {
        Some(hosts) => hosts.split_whitespace().collect::<Vec<_>>().join(" "),
        None => nix::unistd::gethostname().map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned()),
    }
}

/// FNV-1a of the file: tells builds apart, not adversaries.
fn digest(plugin: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(plugin).with_context(|| format!("cannot read plugin `{}`", plugin.display()))?;
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Ok(format!("{hash:016x}"))
}

/// The library as the database names it: what the launcher says, and the description that it is taken for.
#[must_use]
pub fn library_name(library: &Library, version: &str) -> String {
    format!("{} {version}", library.name)
}

#[cfg(test)]
mod tests {
    use kilter_protocol::verifying::Line;

    use super::{Found, Judgement, take};

    #[test]
    fn failures_of_rows_that_were_not_finished_wait_for_the_next_job() {
        let mut found = Found::default();
        let failure = |row: &str| Line::Failure {
            row: row.to_owned(),
            case: "count=1".to_owned(),
            reason: "rank 0: wrong".to_owned(),
        };
        let lines = vec![
            Line::Start {
                library: "L".to_owned(),
                ranks: 2,
                runs: 9,
                rows: [("a.x".to_owned(), 5), ("b.y".to_owned(), 4)].into(),
            },
            failure("a.x"),
            Line::Row {
                row: "a.x".to_owned(),
                cases: 4,
                failed: 1,
                skipped: [("no data is moved".to_owned(), 1)].into(),
            },
            failure("b.y"),
        ];
        let taken = take(&mut found, lines, 2);
        assert_eq!(taken.rows.keys().collect::<Vec<_>>(), ["a.x", "b.y"]);
        assert_eq!(taken.open.keys().collect::<Vec<_>>(), ["b.y"]);
        assert_eq!(found.outcomes.len(), 1);
        assert_eq!((found.outcomes[0].cases, found.outcomes[0].failures.len()), (4, 1));
        assert_eq!(found.outcomes[0].skipped["no data is moved"], 1);
    }

    #[test]
    fn a_row_of_which_nothing_was_compared_has_not_passed() {
        assert_eq!(Judgement::of(0, 0), Judgement::NothingCompared);
        assert_eq!(Judgement::of(3, 0), Judgement::Passed);
        assert_eq!(Judgement::of(3, 1), Judgement::Failed);
    }
}
