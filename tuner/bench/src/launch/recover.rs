//! Recovers from a killed tuner: its jobs are removed, and their reports are taken over.

use std::path::Path;
use std::time::Duration;

use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::plan::{Block, PlanLine};
use kilter_protocol::report::Event;

use super::failure::SessionError;
use super::follow::Follower;
use super::ledger::Ledger;
use super::process::{self, KILL_GRACE};
use crate::store::{Run, UnclosedLaunch};

/// Closes every launch of the run that another, killed process left open. A damaged report is taken over up to the
/// damage. An error if processes cannot be removed.
pub fn recover(run: &Run) -> Result<(), SessionError> {
    for launch in run.unclosed_launches()? {
        process::sweep(&launch.record.tag, KILL_GRACE)?;
        take_over(run, launch)?;
    }
    Ok(())
}

fn take_over(run: &Run, launch: UnclosedLaunch) -> Result<(), SessionError> {
    let UnclosedLaunch {
        record,
        paths,
        position,
        seconds,
    } = launch;
    let (id, key) = (record.id, record.key().to_owned());
    let mut elapsed = seconds;
    let mut follower = Follower::new(&paths.report, position);
    let mut ledger = Ledger::new(record);
    for block in asked(&paths.plan) {
        // Done by this launch: its lines are stored. Done by an earlier one: it was asked again only for the end line.
        let done_by = run.finished_block(&key, &block.id)?.map(|stored| stored.launch);
        ledger.ask(block, done_by.is_none_or(|launch| launch == id), done_by == Some(id));
    }
    loop {
        let lines = match follower.lines() {
            Ok(lines) => lines,
            Err(error) => {
                tracing::warn!("what an interrupted job reported is used up to here: {error}");
                break;
            }
        };
        if lines.is_empty() {
            break;
        }
        for line in lines {
            if let Event::BlockEnd { seconds, .. } = line.event {
                elapsed += seconds;
            }
            let spent = Duration::try_from_secs_f64(elapsed).unwrap_or_default();
            match ledger.take(line, &paths.report, spent) {
                Ok(_) => {}
                Err(error @ SessionError::Report { .. }) => {
                    tracing::warn!("a line of an interrupted job is left out: {error}");
                }
                Err(error) => return Err(error),
            }
        }
    }
    ledger.record.close("tuner was killed", Duration::ZERO)?;
    Ok(())
}

/// The blocks of a plan file, as far as they can be read.
fn asked(plan: &Path) -> Vec<Block> {
    let text = std::fs::read_to_string(plan).unwrap_or_default();
    text.lines()
        .filter_map(|line| match PlanLine::from_json(line.as_bytes()) {
            Ok(PlanLine::Block(block)) => Some(block),
            _ => None,
        })
        .collect()
}
