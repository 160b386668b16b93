//! A scripted job of `kilter-verify`: it reports all rows at once and ends.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use kilter_protocol::verifying::{Bits, Line, Request, Wanted};

use super::super::bench::Started;
use super::super::process::ProcessError;
use super::Script;

/// Compared cases of each row.
const CASES: u64 = 10;

/// A job that is over as soon as it was started.
#[derive(Debug)]
pub(super) struct Verifier {
    status: ExitStatus,
}

impl Verifier {
    pub(super) fn new(script: &dyn Script, request: &Request) -> Verifier {
        let lines = lines(script, request);
        let written = File::options()
            .append(true)
            .open(&request.report)
            .and_then(|mut report| {
                lines.iter().try_for_each(|line| {
                    let text = serde_json::to_string(line)?;
                    writeln!(report, "{text}")
                })
            });
        Verifier {
            status: ExitStatus::from_raw(if written.is_ok() { 0 } else { 1 << 8 }),
        }
    }
}

fn lines(script: &dyn Script, request: &Request) -> Vec<Line> {
    let wanted: Vec<&Wanted> = request
        .rows
        .iter()
        .filter(|row| !request.skip.contains(&row.name))
        .collect();
    let mut lines = vec![Line::Start {
        library: "scripted".to_owned(),
        ranks: 0,
        runs: CASES * wanted.len() as u64,
        rows: wanted.iter().map(|row| (row.name.clone(), CASES)).collect(),
    }];
    for row in wanted {
        let wrong = script.wrong(&row.name);
        if let Some(reason) = &wrong {
            lines.push(Line::Failure {
                row: row.name.clone(),
                case: "count=1".to_owned(),
                reason: reason.clone(),
            });
        }
        lines.push(Line::Row {
            row: row.name.clone(),
            cases: CASES,
            failed: u64::from(wrong.is_some()),
            skipped: Default::default(),
            bits: Bits::default(),
        });
    }
    lines.push(Line::End {});
    lines
}

impl Started for Verifier {
    fn has_ended(&mut self) -> bool {
        true
    }

    fn wait(&mut self, _limit: Duration) -> bool {
        true
    }

    fn kill_all(&mut self, _grace: Duration) -> Result<ExitStatus, ProcessError> {
        Ok(self.status)
    }
}
