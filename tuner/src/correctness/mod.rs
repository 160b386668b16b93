//! Correctness of a plugin's rows on this library: jobs of `kilter-verify` until every row has run or failed.
//!
//! A row that crashes or hangs takes its job down; it has failed, and the others go on in a new job without it. What was found
//! is stored, and [`admit`] lets `tune` deploy only what passed.

mod admission;
mod job;
pub mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kilter_protocol::verifying::{Depth, Line, Request, Wanted};
use serde::Serialize;

pub use admission::admit;

use crate::config::library::Library;
use crate::launch::CommandTemplate;
use crate::options::Options;
use crate::progress::Progress;
use crate::store::{Store, Verified};

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
    /// Runs.
    pub cases: u64,
    /// Runs that were wrong.
    pub failed: u64,
    /// The first of these.
    pub failures: Vec<Failure>,
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
        let rows = take(&mut found, lines, ranks);
        let job::End::In(announced, reason) = end else {
            return Ok(found);
        };
        if let Some(collective) = announced.what.strip_prefix("library ") {
            anyhow::ensure!(request.with_library, "the library's own {collective} {reason}");
            request.with_library = false;
            let case = format!("{collective} {}", announced.case);
            found.library_failures.push(Failure { case, reason });
        } else {
            // Cases that it passed in the job that it ended were not reported.
            let failures = vec![Failure {
                case: announced.case,
                reason,
            }];
            let (row, cases, failed) = (announced.what, 1, 1);
            found.outcomes.push(Outcome {
                row,
                ranks,
                cases,
                failed,
                failures,
            });
        }
        let done: BTreeSet<String> = found.outcomes.iter().map(|outcome| outcome.row.clone()).collect();
        if rows.iter().all(|row| done.contains(row)) {
            return Ok(found);
        }
        request.skip = done.into_iter().collect();
    }
}

/// Takes over what a job reported of the rows that it finished; returns the rows that it was to run.
fn take(found: &mut Found, lines: Vec<Line>, ranks: usize) -> Vec<String> {
    let mut started = Vec::new();
    let mut failures: Vec<(String, Failure)> = Vec::new();
    for line in lines {
        match line {
            Line::Start { library, rows, .. } => {
                found.library = library;
                started = rows;
            }
            Line::Failure { row, case, reason } => failures.push((row, Failure { case, reason })),
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
            Line::Row { row, cases, failed } => {
                let of_row = failures
                    .iter()
                    .filter(|(other, _)| *other == row)
                    .map(|(_, failure)| failure.clone());
                let failures = of_row.collect();
                found.outcomes.push(Outcome {
                    row,
                    ranks,
                    cases,
                    failed,
                    failures,
                });
            }
            Line::End {} => {}
        }
    }
    started
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
        store.record_verified(&of, inquiry.depth_name(), (outcome.cases, outcome.failed), &failures)?;
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

    use super::{Found, take};

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
                rows: vec!["a.x".to_owned(), "b.y".to_owned()],
            },
            failure("a.x"),
            Line::Row {
                row: "a.x".to_owned(),
                cases: 4,
                failed: 1,
            },
            failure("b.y"),
        ];
        assert_eq!(take(&mut found, lines, 2), ["a.x", "b.y"]);
        assert_eq!(found.outcomes.len(), 1);
        assert_eq!((found.outcomes[0].cases, found.outcomes[0].failures.len()), (4, 1));
    }
}
