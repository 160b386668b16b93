//! One job of `kilter-verify`, followed by its announcements: a row that crashes or hangs is known by name.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use kilter_bench::launch::{Limits, SessionError, Starts, files, interrupt};
use kilter_bench::progress::Progress;
use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::verifying::{Line, Request};

use super::Launching;

/// Pause between two looks at the file in which the job answers.
const LOOK: Duration = Duration::from_millis(20);

/// Time that a job gets to end once it was told to.
const GRACE: Duration = Duration::from_secs(2);

/// The run that was announced last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Announced {
    /// Number of the run.
    pub(super) run: u64,
    /// Row, or `library COLLECTIVE`.
    pub(super) what: String,
    /// Number of the row's runs that were compared before this one.
    pub(super) compared: u64,
    pub(super) case: String,
}

/// The end of a job.
#[derive(Debug)]
pub(super) enum End {
    /// All runs were made.
    Done,
    /// It ended, or had to be ended, in the run that was announced last: why.
    In {
        announced: Announced,
        reason: String,
        /// True if it did not end by itself.
        hung: bool,
    },
}

/// Runs a job to its end. Returns the lines that it reported. A job that ends or hangs before its first case, without a word of its own, is started
/// again as often as [`Starts`] allows: a launcher or a library may fail for a moment.
///
/// # Errors
/// It did not start, for which its own words are given; or files and processes fail.
pub(super) fn run(
    launching: &Launching<'_>,
    ranks: usize,
    request: &Request,
    progress: &Progress,
) -> anyhow::Result<(Vec<Line>, End)> {
    let limits = Limits::of_job(launching.options.stall_seconds, ranks, launching.usual_start_seconds);
    let mut starts = Starts::default();
    loop {
        match run_once(launching, ranks, request, progress, starts.limits(limits))? {
            Attempt::Made(lines, end) => return Ok((lines, end)),
            Attempt::NotStarted { reason, hung } if starts.again(&limits, hung) => {
                progress.warn(&format!("{reason}; it is started again"));
            }
            Attempt::NotStarted { reason, .. } => bail!("{reason}"),
        }
    }
}

/// One attempt at a job.
enum Attempt {
    Made(Vec<Line>, End),
    /// It ended, or had to be ended, before its first case: what was said.
    NotStarted {
        reason: String,
        hung: bool,
    },
}

fn run_once(
    launching: &Launching<'_>,
    ranks: usize,
    request: &Request,
    progress: &Progress,
    limits: Limits,
) -> anyhow::Result<Attempt> {
    let options = launching.options;
    let words = [launching.program.display().to_string(), request.to_json()?];
    let command = launching
        .template
        .build(ranks, &options.site_parameters, &options.site_environment, &words)?;
    let log = request.report.with_extension("log");
    for path in [&request.report, &request.announcement] {
        // An earlier job's words must not be taken for this one's.
        files::anew(path).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    let output = files::anew(&log).with_context(|| format!("cannot write `{}`", log.display()))?;
    let mut process = launching
        .bench
        .start(&command, &kilter_bench::store::unique(), output)?;
    progress.phase(&format!("verify on {ranks} rank(s)"), 0);
    let mut announced: Option<Announced> = None;
    let clock = launching.bench.clock();
    let mut since = clock.now();
    let silent = loop {
        let ended = process.wait(LOOK);
        if let Some(signal) = interrupt::received(interrupt::flag()) {
            process.kill_all(GRACE)?;
            return Err(SessionError::Interrupted { signal }.into());
        }
        let now = read_announcement(&request.announcement);
        if now != announced {
            if announced.is_none() {
                progress.lengthen(planned(&request.report));
            }
            let done = |announced: &Option<Announced>| announced.as_ref().map_or(0, |announced| announced.run);
            progress.step(done(&now).saturating_sub(done(&announced)));
            (announced, since) = (now, clock.now());
        }
        if ended {
            break None;
        }
        let limit = if announced.is_some() {
            limits.stall_seconds
        } else {
            limits.start_seconds
        };
        if clock.since(since).as_secs_f64() > limit {
            break Some(limit);
        }
    };
    let status = process.kill_all(if silent.is_some() { Duration::ZERO } else { GRACE })?;
    let lines = read_report(&request.report)?;
    if status.success() && matches!(lines.last(), Some(Line::End {})) {
        return Ok(Attempt::Made(lines, End::Done));
    }
    let said = files::tail(&log);
    let reason = match silent {
        Some(limit) => format!("hung: no sign of life for {limit} s"),
        None => format!("crashed: the job ended before it was done ({status})"),
    };
    match announced {
        // A rank that says something before it gives up tells of the question, and not of a crash of a row.
        Some(announced) if silent.is_some() || !said.contains("kilter: error: case `") => {
            let said = said
                .lines()
                .find(|line| line.starts_with("kilter: error"))
                .unwrap_or_default();
            let reason = if said.is_empty() {
                reason
            } else {
                format!("{reason}: {said}")
            };
            let end = End::In {
                announced,
                reason: format!("{reason}; log `{}`", log.display()),
                hung: silent.is_some(),
            };
            Ok(Attempt::Made(lines, end))
        }
        announced => {
            let own = own_words(&said);
            let has_said_why = own.len() < said.len();
            let said = if own.is_empty() {
                format!("kilter-verify {reason}; see `{}`", log.display())
            } else {
                own
            };
            if announced.is_none() && !has_said_why {
                let hung = silent.is_some();
                return Ok(Attempt::NotStarted { reason: said, hung });
            }
            bail!("{said}")
        }
    }
}

/// The message of `kilter-verify` itself, without the launcher's text around it.
fn own_words(log: &str) -> String {
    let own = log.lines().filter_map(|line| line.strip_prefix("kilter: error: "));
    own.map(str::to_owned).next().unwrap_or_else(|| log.to_owned())
}

fn read_announcement(path: &Path) -> Option<Announced> {
    let text = std::fs::read_to_string(path).ok()?;
    let mut parts = text.trim_end().split('\t');
    Some(Announced {
        run: parts.next()?.parse().ok()?,
        what: parts.next()?.to_owned(),
        compared: parts.next()?.parse().ok()?,
        case: parts.next()?.to_owned(),
    })
}

/// The runs that the job has planned, once it has said so.
fn planned(report: &Path) -> u64 {
    match read_report(report).ok().and_then(|lines| lines.into_iter().next()) {
        Some(Line::Start { runs, .. }) => runs,
        _ => 0,
    }
}

fn read_report(path: &Path) -> anyhow::Result<Vec<Line>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    // The end of a line that a crash cut off is missing.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .enumerate()
        .map(|(number, line)| {
            Line::from_json(line.as_bytes()).with_context(|| format!("`{}` line {}", path.display(), number + 1))
        })
        .collect()
}
