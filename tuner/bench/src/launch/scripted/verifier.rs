//! A scripted job of `kilter-verify`: it reports its rows at once, and ends with them or with the first that crashes or hangs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use kilter_protocol::verifying::{Bits, Line, Request, Wanted};

use super::super::bench::{Clock, Started};
use super::super::process::ProcessError;
use super::{NotStarted, RowEnds, Script};

/// Compared cases of each row.
const CASES: u64 = 10;

/// A job that is over as soon as it was started, or hangs for ever.
#[derive(Debug)]
pub(super) struct Verifier {
    clock: Clock,
    /// `None` while it hangs.
    status: Option<ExitStatus>,
}

impl Verifier {
    pub(super) fn new(script: &dyn Script, request: &Request, clock: Clock) -> Verifier {
        if let Some(fault) = script.verifier_not_started() {
            let status = match fault {
                NotStarted::Ends => Some(ExitStatus::from_raw(nix::libc::SIGSEGV)),
                NotStarted::Hangs => None,
            };
            return Verifier { clock, status };
        }
        let (lines, last) = lines(script, request);
        let written = File::options()
            .append(true)
            .open(&request.report)
            .and_then(|mut report| {
                lines.iter().try_for_each(|line| {
                    let text = serde_json::to_string(line)?;
                    writeln!(report, "{text}")
                })
            })
            .and_then(|()| match &last {
                Some((row, _)) => std::fs::write(&request.announcement, format!("1\t{row}\t0\tcount=1\n")),
                None => Ok(()),
            });
        let status = match (written, last) {
            (Err(_), _) => Some(1 << 8),
            (Ok(()), None) => Some(0),
            (Ok(()), Some((_, RowEnds::Hangs))) => None,
            (Ok(()), Some(_)) => Some(nix::libc::SIGSEGV),
        };
        Verifier {
            clock,
            status: status.map(ExitStatus::from_raw),
        }
    }
}

/// The reported rows, and the row that ends the job before it is done.
fn lines(script: &dyn Script, request: &Request) -> (Vec<Line>, Option<(String, RowEnds)>) {
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
        let row = row.name.clone();
        let mut skipped = BTreeMap::new();
        let failed = match script.verified(&row) {
            RowEnds::Missing => continue,
            RowEnds::Right => 0,
            RowEnds::Skipped(reason) => {
                skipped.insert(reason, CASES);
                0
            }
            RowEnds::Wrong(reason) => {
                let (row, case) = (row.clone(), "count=1".to_owned());
                lines.push(Line::Failure { row, case, reason });
                1
            }
            ends => return (lines, Some((row, ends))),
        };
        lines.push(Line::Row {
            row,
            cases: CASES - skipped.values().sum::<u64>(),
            failed,
            skipped,
            bits: Bits::default(),
        });
    }
    lines.push(Line::End {});
    (lines, None)
}

impl Started for Verifier {
    fn has_ended(&mut self) -> bool {
        self.status.is_some()
    }

    fn wait(&mut self, limit: Duration) -> bool {
        if self.status.is_none() {
            self.clock.sleep(limit);
        }
        self.status.is_some()
    }

    fn kill_all(&mut self, _grace: Duration) -> Result<ExitStatus, ProcessError> {
        Ok(*self.status.get_or_insert(ExitStatus::from_raw(nix::libc::SIGTERM)))
    }
}
