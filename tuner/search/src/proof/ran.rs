//! Fingerprints for `kilter which`: of calls as everybody makes them here, and of the library's algorithms, each forced.
//!
//! A fingerprint has the functions in which ranks waited, from a job of their own, since counting messages adds functions; and the messages,
//! where the library counts them.

use std::collections::BTreeMap;

use kilter_bench::launch::session::{BlockOutcome, SessionError};
use kilter_model::config::library::Library;
use kilter_model::deployment::{Assignment, Selection};
use kilter_model::setup::Setup;
use kilter_protocol::call_paths::{CALL_PATHS, CallPaths};
use kilter_protocol::plan::Block;
use kilter_protocol::report::Start;

use super::counting::{CountedBlock, block, counted_each, sent};
use crate::context::Jobs;
use crate::in_job_search::item;
use crate::proofs::Proofs;
use crate::quarantine::Quarantine;
use crate::startup_algorithms;
use crate::target::Target;

/// Traces of an item of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ran {
    /// The functions in which ranks waited; none if the item did not run.
    pub paths: CallPaths,
    /// The messages, if they were counted.
    pub messages: Option<String>,
    /// Reason why the item did not run.
    pub failed: Option<String>,
}

/// The calls as everybody makes them here.
#[derive(Debug, Clone, Default)]
pub struct AsFound {
    /// The job's first words, with the parameters that were asked for.
    pub start: Start,
    /// Traces of each target's call.
    pub ran: Vec<Ran>,
    /// Number of calls that a drop-in carried out on rank 0, by implementation.
    pub dropin_calls: BTreeMap<String, u64>,
    /// Reason why messages were not counted.
    pub uncounted: Option<String>,
}

/// One of the library's algorithms, forced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forced {
    /// Its number.
    pub value: u64,
    /// The library's name for it.
    pub name: String,
    /// Traces of its call.
    pub ran: Ran,
}

/// The calls that are asked for, and what their jobs need.
#[derive(Clone, Copy)]
pub struct Calls<'a> {
    /// The jobs.
    pub jobs: &'a Jobs<'a>,
    /// Messages that were counted before.
    pub proofs: &'a Proofs,
    /// Algorithms that were put away and are not forced.
    pub quarantine: &'a Quarantine,
    /// Begins the names of launches.
    pub label: &'a str,
    /// The calls.
    pub targets: &'a [Target],
}

/// Calls every target once as everybody does, in a job that also reads the parameters of these names.
///
/// # Errors
/// A job that fails, for nothing of it is a candidate.
pub fn as_found(calls: Calls<'_>, reads: Vec<String>) -> anyhow::Result<AsFound> {
    let Calls {
        jobs, proofs, targets, ..
    } = calls;
    let label = &format!("{}/as found", calls.label);
    let setup = Setup {
        call_paths: true,
        reads,
        ..Setup::default()
    };
    let blocks: Vec<Block> = targets
        .iter()
        .map(|target| block(jobs, label, target, vec![item(target, None)]))
        .collect();
    let mut session = jobs.session(label, &setup, false)?.surviving();
    let outcomes = session.measure_all(&blocks, &mut |_| ())?;
    let start = session.start()?;
    let end = match session.finish() {
        Ok(end) => end,
        Err(SessionError::Job(failure)) => {
            jobs.progress.note(&format!("the job did not end in order: {failure}"));
            kilter_protocol::report::End::default()
        }
        Err(error) => return Err(error.into()),
    };
    jobs.site.confirm(&Setup::default(), &start)?;
    let mut found = AsFound {
        start,
        dropin_calls: end.dropin_calls,
        ran: blocks
            .iter()
            .zip(&outcomes)
            .map(|(block, outcome)| ran(outcome, &block.items[0].id))
            .collect(),
        uncounted: None,
    };
    let counted = counted_each(jobs, proofs, &format!("{label}/messages"), &Setup::default(), &blocks)?;
    for ((ran, block), counted) in found.ran.iter_mut().zip(&blocks).zip(&counted) {
        match counted {
            Ok((messages, outcome)) => ran.messages = sent(messages, outcome, &block.items[0].id),
            Err(why) => found.uncounted = Some(why.to_string()),
        }
    }
    Ok(found)
}

/// Forces every algorithm that the library has for each target and that was not put away. `unruled` are settings without which a site's rules
/// would win over what is forced.
///
/// # Errors
/// A failure that no algorithm explains.
pub fn forced(calls: Calls<'_>, unruled: &[Assignment]) -> anyhow::Result<Vec<Vec<Forced>>> {
    let mut all = switched(calls, unruled)?;
    at_start(calls, &mut all)?;
    Ok(all)
}

/// An algorithm's number and name, and what switches to it.
type Choice = (u64, String, Selection);

/// Algorithms that are switched in a running job.
fn switched(calls: Calls<'_>, unruled: &[Assignment]) -> anyhow::Result<Vec<Vec<Forced>>> {
    let Calls {
        jobs,
        proofs,
        quarantine,
        targets,
        ..
    } = calls;
    let label = &format!("{}/forced", calls.label);
    let mut all: Vec<Vec<Forced>> = vec![Vec::new(); targets.len()];
    let mut asked: Vec<(usize, Vec<Choice>)> = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        let row = target.collective().and_then(|one| jobs.site.library.algorithms_of(one));
        let Some(row) = row.filter(|row| row.at_start.is_none()) else {
            continue;
        };
        let choices = row.choices_on(jobs.site.options.ranks);
        let choices = choices.map(|choice| {
            let selection = Selection::Settings(row.settings(choice));
            (choice.value, choice.name.clone(), selection)
        });
        let choices: Vec<Choice> = choices.filter(|(_, _, one)| !quarantine.contains(&one.id())).collect();
        if !choices.is_empty() {
            asked.push((index, choices));
        }
    }
    if asked.is_empty() {
        return Ok(all);
    }
    let blocks: Vec<Block> = asked
        .iter()
        .map(|(index, choices)| {
            let target = &targets[*index];
            let items = choices.iter().map(|(_, _, selection)| item(target, Some(selection)));
            block(jobs, label, target, items.collect())
        })
        .collect();
    let switching = Setup::default().with(unruled).switching();
    let setup = Setup {
        call_paths: true,
        ..switching.clone()
    };
    let mut session = jobs.session(label, &setup, false)?.surviving();
    let outcomes = match session.measure_all(&blocks, &mut |_| ()) {
        Ok(outcomes) => outcomes,
        // MPICH ends a job whose own calls an algorithm of the site cannot carry out, where it may not take another one.
        Err(SessionError::Job(failure)) => {
            jobs.progress.warn(&format!(
                "no algorithm could be forced, since the job failed: {failure}"
            ));
            return Ok(all);
        }
        Err(error) => return Err(error.into()),
    };
    close(jobs, session.close())?;
    let counted = counted_each(jobs, proofs, &format!("{label}/messages"), &switching, &blocks)?;
    for (((index, choices), block), (outcome, counted)) in
        asked.into_iter().zip(&blocks).zip(outcomes.iter().zip(&counted))
    {
        let each = choices
            .into_iter()
            .zip(&block.items)
            .map(|((value, name, _), item)| Forced {
                value,
                name,
                ran: Ran {
                    messages: messages(counted, &item.id),
                    ..ran(outcome, &item.id)
                },
            });
        all[index] = each.collect();
    }
    Ok(all)
}

/// Algorithms that are chosen when a job starts: a job tries one of each collective.
fn at_start(calls: Calls<'_>, all: &mut [Vec<Forced>]) -> anyhow::Result<()> {
    let Calls {
        jobs,
        quarantine,
        label,
        targets,
        ..
    } = calls;
    let library = &jobs.site.library;
    let trials = startup_algorithms::trials(library, targets, jobs.site.options.ranks, &jobs.site.hosts());
    for (number, trial) in trials.iter().enumerate() {
        if jobs.budget.exhausted() {
            jobs.progress
                .warn("the budget ended before every algorithm that is chosen at the start was forced; raise --budget");
            return Ok(());
        }
        let mut asked: Vec<(usize, u64)> = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            let chosen = trial
                .iter()
                .find(|(collective, _)| Some(*collective) == target.collective());
            asked.extend(chosen.map(|(_, value)| (index, *value)));
        }
        let assignments = startup_algorithms::values(library, trial);
        if assignments
            .iter()
            .any(|one| quarantine.contains(&format!("{}={}", one.name, one.value)))
        {
            continue;
        }
        let setup = Setup {
            call_paths: true,
            ..Setup::default().with(&assignments)
        };
        let label = format!("{label}/at start/{number}");
        let blocks: Vec<Block> = asked
            .iter()
            .map(|(index, _)| block(jobs, &label, &targets[*index], vec![item(&targets[*index], None)]))
            .collect();
        let mut session = jobs.session(&label, &setup, false)?;
        let outcomes = match session.measure_all(&blocks, &mut |_| ()) {
            Ok(outcomes) => outcomes,
            // A number that ends its job is none that ran.
            Err(SessionError::Job(failure)) => {
                jobs.progress.note(&format!("{label}: {}", failure.in_short()));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        close(jobs, session.close())?;
        for ((index, value), (block, outcome)) in asked.iter().zip(blocks.iter().zip(&outcomes)) {
            all[*index].push(Forced {
                value: *value,
                name: name_of(library, &targets[*index], *value),
                ran: ran(outcome, &block.items[0].id),
            });
        }
    }
    Ok(())
}

fn name_of(library: &Library, target: &Target, value: u64) -> String {
    let row = target.collective().and_then(|one| library.algorithms_of(one));
    let choice = row.and_then(|row| row.choices.iter().find(|choice| choice.value == value));
    choice.map_or_else(|| value.to_string(), |choice| choice.name.clone())
}

/// A job's end; all that was asked has been answered before.
fn close(jobs: &Jobs<'_>, closed: Result<(), SessionError>) -> anyhow::Result<()> {
    match closed {
        Err(SessionError::Job(failure)) => {
            jobs.progress.note(&format!("the job did not end in order: {failure}"));
            Ok(())
        }
        other => Ok(other?),
    }
}

fn ran(outcome: &BlockOutcome, item: &str) -> Ran {
    let said = outcome.read_back.get(item);
    let paths = said.and_then(|said| said.iter().find(|(name, _)| name == CALL_PATHS));
    Ran {
        paths: paths
            .and_then(|(_, text)| serde_json::from_str(text).ok())
            .unwrap_or_default(),
        messages: None,
        failed: outcome.failed.get(item).map(ToString::to_string),
    }
}

fn messages(counted: &CountedBlock<'_>, item: &str) -> Option<String> {
    let (messages, outcome) = counted.as_ref().ok()?;
    sent(messages, outcome, item)
}
