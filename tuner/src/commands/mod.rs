//! One file per command; [`run`] dispatches.

mod advise;
mod apply;
mod batch;
mod benchmark;
pub(crate) mod check;
mod compare;
mod config;
mod detect;
mod doctor;
mod dry_run;
mod explain;
mod generate;
mod guard;
mod hearing;
mod import;
mod layouts;
mod list;
mod list_json;
mod measuring;
mod overlap;
mod profile;
mod query;
mod report;
mod resume_key;
mod rollback;
mod trace;
mod traced;
mod tune;
mod tune_layouts;
mod tune_loop;
mod validate_statistics;
mod verify_algorithms;
mod which;
pub(crate) mod whole_machine;

use std::process::ExitCode;

use kilter_model::report::Report;
use kilter_stats::verdict::Outcome;

use crate::cli::{Cli, Command};

/// End of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Every guideline holds, or there was nothing to verify or to advise.
    Holds,
    /// Violations remain, something changed, or there is advice.
    Violations,
    /// The machine is not fit: measurements are impossible; or something could not be checked.
    Unfit,
    /// Interrupted by a signal: 128 and its number.
    Interrupted(u8),
    /// Status of the command that was profiled or traced.
    Command(u8),
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        match status {
            Status::Holds => ExitCode::SUCCESS,
            Status::Violations => ExitCode::from(1),
            Status::Unfit => ExitCode::from(2),
            Status::Interrupted(status) | Status::Command(status) => ExitCode::from(status),
        }
    }
}

impl Status {
    /// Status by the report's final verdicts.
    #[must_use]
    pub fn of(report: &Report) -> Status {
        // A violated cell counts until it is shown to hold: undecided is no success.
        let violated = report.cells.iter().any(|cell| {
            let now = cell.after.as_ref().unwrap_or(&cell.before).verdict;
            now == Outcome::Violated || (cell.before.verdict == Outcome::Violated && now != Outcome::Holds)
        });
        let apart = report.arrivals.iter().any(|cell| {
            // A comparison with the untouched library is no guideline.
            cell.guideline.is_some() && cell.comparison.verdict == Outcome::Violated
        });
        // A target that cannot be met here is no violation of the library's.
        let missed = report.targets.iter().any(|target| target.is_missed());
        if violated || apart || missed {
            Status::Violations
        } else {
            Status::Holds
        }
    }
}

/// Runs a command. The error is a chain of causes.
pub fn run(cli: Cli) -> anyhow::Result<Status> {
    match cli.command {
        Command::Check(typed) => check::run(typed),
        Command::Tune(typed) => tune::run(typed),
        Command::Benchmark(typed) => benchmark::run(typed),
        Command::Overlap(typed) => overlap::run(typed),
        Command::Doctor(typed) => doctor::run(typed),
        Command::List(typed) => list::run(&typed),
        Command::Explain(typed) => explain::run(&typed),
        Command::Config(typed) => config::run(&typed),
        Command::Batch(typed) => batch::run(&typed),
        Command::Generate(typed) => generate::run(&typed),
        Command::Apply(typed) => apply::run(&typed),
        Command::Rollback(typed) => rollback::run(&typed),
        Command::Report(typed) => report::run(&typed, cli.verbose > 0),
        Command::Query(typed) => query::run(&typed),
        Command::Import(typed) => import::run(&typed),
        Command::Compare(typed) => compare::run(&typed),
        Command::Guard(typed) => guard::run(typed),
        Command::Advise(typed) => advise::run(&typed),
        Command::Profile(typed) => profile::run(typed),
        Command::Trace(typed) => trace::run(typed),
        Command::Detect(typed) => detect::run(typed),
        Command::VerifyAlgorithms(typed) => verify_algorithms::run(typed),
        Command::Which(typed) => which::run(typed),
        Command::ValidateStatistics(typed) => validate_statistics::run(&typed),
    }
}

/// True if an error only means that the reader of our standard output went away.
#[must_use]
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// Prints data.
fn print(text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;

    use super::*;

    #[test]
    fn passes_and_failures_are_those_of_the_exit_status() {
        for report in [fixture::holding(), fixture::checked(), fixture::tuned()] {
            let fails = kilter_report::junit::to_string(&report).contains("<failure ");
            let status = Status::of(&report);
            assert_eq!(fails, matches!(status, Status::Violations));
        }
    }
}
