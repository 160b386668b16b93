//! Correctness of a plugin's rows on this library: jobs of `kilter-verify` until every row has run or failed.
//!
//! A row that crashes or hangs takes its job down, and the others go on in a new job without it. A row that crashed is run again alone: it has
//! failed if it crashes there, too. Results are stored, and [`admit_all`] lets `tune` deploy only rows that passed.

mod admission;
mod job;
pub mod outcome;
pub mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Context as _;
use kilter_bench::launch::{Bench, CommandTemplate};
use kilter_bench::programs::digest;
use kilter_bench::progress::Progress;
use kilter_bench::store::{Store, Verified, VerifiedResult};
use kilter_model::config::library::Library;
use kilter_model::options::Options;
use kilter_protocol::verifying::{Bits, Depth, Line, Request, Wanted};

pub use admission::{Admission, Refusal, admit, admit_all};
pub use outcome::{Failure, Judgement, Outcome, skipped_text};

/// The launching of jobs.
pub struct Launching<'a> {
    /// Starts them.
    pub bench: &'a dyn Bench,
    /// Site and limits.
    pub options: &'a Options,
    /// `kilter-verify` of the library.
    pub program: PathBuf,
    /// The launcher's command.
    pub template: &'a CommandTemplate,
    /// Directory of requests, reports and logs.
    pub directory: PathBuf,
    /// Seconds in which a job usually starts here, if any has started.
    pub usual_start_seconds: Option<f64>,
}

/// A request to verify rows.
#[derive(Debug, Clone)]
pub struct Inquiry {
    /// The plugin.
    pub plugin: PathBuf,
    /// Rows; all where empty.
    pub rows: Vec<Wanted>,
    /// The only case.
    pub case: Option<String>,
    /// The depth: full matrix or reduced.
    pub depth: Depth,
}

impl Inquiry {
    /// The depth's name in the database.
    #[must_use]
    pub fn depth_name(&self) -> &'static str {
        match (&self.case, self.depth) {
            (Some(_), _) => "case",
            (None, Depth::Full) => "full",
            (None, Depth::Reduced) => "reduced",
        }
    }
}

/// Findings on a number of ranks.
#[derive(Debug, Default)]
pub struct Found {
    /// The library, in its own words.
    pub library: String,
    /// Rows.
    pub outcomes: Vec<Outcome>,
    /// Wrong results of the library's own collectives: no row's fault.
    pub library_failures: Vec<Failure>,
    /// Collectives of the library whose results differ in bits from call to call.
    pub varying: Vec<Failure>,
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
    let mut crashed = Vec::new();
    loop {
        let (lines, end) = job::run(launching, ranks, &request, progress)?;
        let taken = take(&mut found, lines, ranks);
        let rows: BTreeSet<String> = taken.rows.keys().cloned().collect();
        let job::End::In {
            announced,
            reason,
            hung,
        } = end
        else {
            break;
        };
        if let Some(collective) = announced.what.strip_prefix("library ") {
            anyhow::ensure!(request.with_library, "the library's own {collective} {reason}");
            request.with_library = false;
            let case = format!("{collective} {}", announced.case);
            let reason = format!("{reason}; unless a row that ran before it in this job overwrote its memory");
            found.library_failures.push(Failure { case, reason });
        } else {
            if !hung && (rows.len() > 1 || request.with_library) {
                crashed.push(announced.what.clone());
            }
            found.outcomes.push(ended(taken, announced, reason, ranks));
        }
        let done: BTreeSet<String> = found.outcomes.iter().map(|outcome| outcome.row.clone()).collect();
        if rows.is_subset(&done) {
            break;
        }
        request.skip = done.into_iter().collect();
    }
    for row in crashed {
        // The rows that ran before it in the job may have overwritten its memory: alone it answers for itself.
        request.rows = alone(&inquiry.rows, &row);
        request.skip.clear();
        request.with_library = false;
        let (lines, end) = job::run(launching, ranks, &request, progress)?;
        found.outcomes.retain(|outcome| outcome.row != row);
        let taken = take(&mut found, lines, ranks);
        if let job::End::In { announced, reason, .. } = end {
            found.outcomes.push(ended(taken, announced, reason, ranks));
        }
    }
    Ok(found)
}

/// The outcome of a row that ended its job.
fn ended(mut taken: Taken, announced: job::Announced, reason: String, ranks: usize) -> Outcome {
    let row = announced.what;
    let mut failures = taken.open.remove(&row).unwrap_or_default();
    failures.push(Failure {
        case: announced.case,
        reason,
    });
    let cases = announced.compared + 1;
    let rest = taken.rows.get(&row).copied().unwrap_or(cases).saturating_sub(cases);
    Outcome {
        row,
        ranks,
        cases,
        failed: failures.len() as u64,
        skipped: (rest > 0).then(|| (ENDED.to_owned(), rest)).into_iter().collect(),
        failures,
        bits: Bits::default(),
    }
}

/// The wanted settings of a row that was named itself or by its collective.
fn alone(wanted: &[Wanted], row: &str) -> Vec<Wanted> {
    let collective = row.split_once('.').map_or(row, |(collective, _)| collective);
    let names = |wanted: &&Wanted| wanted.name == row || wanted.name == collective;
    let of_row = |values: Vec<u64>| Wanted {
        name: row.to_owned(),
        values,
    };
    let list: Vec<Wanted> = wanted
        .iter()
        .filter(names)
        .map(|wanted| of_row(wanted.values.clone()))
        .collect();
    if list.is_empty() {
        vec![of_row(Vec::new())]
    } else {
        list
    }
}

/// Reason for the runs not made of a row that ended its job.
const ENDED: &str = "not compared before it ended its job";

/// A job's report of all its rows, finished or not.
struct Taken {
    /// The rows that it was to run, with how many runs each.
    rows: BTreeMap<String, u64>,
    /// Failures of rows that it did not finish.
    open: BTreeMap<String, Vec<Failure>>,
}

/// Takes over a job's report of the rows that it finished.
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
                bits,
            } => found.outcomes.push(Outcome {
                failures: open.remove(&row).unwrap_or_default(),
                row,
                ranks,
                cases,
                failed,
                skipped,
                bits,
            }),
            Line::Varies {
                collective,
                case,
                reason,
            } => found.varying.push(Failure {
                case: format!("{collective} {case}"),
                reason,
            }),
            Line::End {} => {}
        }
    }
    Taken { rows: started, open }
}

/// Stores the outcomes.
///
/// # Errors
/// The store fails, or a plugin cannot be read.
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

/// The machine of the jobs: this host, those of a host file, or a simulated platform.
#[must_use]
pub fn machine(options: &Options) -> String {
    if let Some(platform) = &options.platform {
        return format!("simulated {}", platform.id);
    }
    let hosts = options
        .hostfile
        .as_ref()
        .and_then(|path| std::fs::read_to_string(path).ok());
    match hosts {
        Some(hosts) => hosts.split_whitespace().collect::<Vec<_>>().join(" "),
        None => nix::unistd::gethostname().map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned()),
    }
}

/// The library's name in the database: the launcher's words, and the description that it is taken for.
#[must_use]
pub fn library_name(library: &Library, version: &str) -> String {
    format!("{} {version}", library.name)
}

#[cfg(test)]
mod tests {
    use kilter_protocol::verifying::{Bits, Line, Wanted};

    use super::{Found, alone, take};

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
                bits: Bits::default(),
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
    fn a_row_that_runs_again_alone_keeps_its_values() {
        let wanted = |name: &str, values: &[u64]| Wanted {
            name: name.to_owned(),
            values: values.to_vec(),
        };
        let all = [wanted("a.x", &[8]), wanted("b", &[]), wanted("a.y", &[9])];
        assert_eq!(alone(&all, "a.x"), [wanted("a.x", &[8])]);
        assert_eq!(alone(&all, "b.z"), [wanted("b.z", &[])]);
        assert_eq!(alone(&[], "c.z"), [wanted("c.z", &[])]);
    }
}
