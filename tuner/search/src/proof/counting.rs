//! Launches that count messages, and time nothing.

use std::collections::BTreeMap;

use kilter_bench::launch::session::{BlockOutcome, SessionError};
use kilter_model::config::library::Messages;
use kilter_model::deployment::Assignment;
use kilter_model::plan;
use kilter_model::setup::Setup;
use kilter_protocol::plan::{Block, Item, Repetitions};

use crate::context::Jobs;
use crate::proofs::{Proofs, Uncounted};
use crate::target::Target;

/// Longest time of a block, in seconds; nothing in it is used as a time.
const BLOCK_SECONDS: f64 = 1.0;

/// Blocks of a counting launch, or why there are none.
pub(super) type Counted<'c> = Result<(&'c Messages, Vec<BlockOutcome>), Uncounted>;

/// One block of a counting launch, or why there is none.
pub(super) type CountedBlock<'c> = Result<(&'c Messages, BlockOutcome), Uncounted>;

pub(super) fn block(jobs: &Jobs<'_>, label: &str, target: &Target, items: Vec<Item>) -> Block {
    let id = format!("messages: {}", target.name());
    Block {
        seed: plan::derived_seed(jobs.run.seed, &format!("{label}/proof/{id}")),
        repetitions: Repetitions::fixed(1, BLOCK_SECONDS),
        items,
        id,
    }
}

/// The blocks in a job whose messages are counted; why they are not, where they are not.
pub(super) fn counted<'c>(
    jobs: &'c Jobs<'_>,
    proofs: &'c Proofs,
    name: &str,
    setup: &Setup,
    blocks: &[Block],
) -> anyhow::Result<Counted<'c>> {
    let Some(messages) = &jobs.site.library.messages else {
        return Ok(Err(Uncounted::NoCounter(jobs.site.library.name.clone())));
    };
    if let Some(why) = proofs.uncountable() {
        return Ok(Err(why));
    }
    let setup = Setup {
        counters: messages.counters.clone(),
        compares_bits: false,
        ..setup.clone().with(&assignments(messages, &jobs.site.device()))
    };
    let mut session = jobs.session(name, &setup, false)?;
    let measured = session
        .measure_all(blocks, &mut |_| ())
        .and_then(|outcomes| Ok((outcomes, session.start()?)));
    match measured {
        Ok((outcomes, start)) => {
            match session.finish() {
                Ok(_) => {}
                // Counted is counted: Open MPI 5.0.11 under HAN may crash, or hang, when it frees its communicators.
                Err(SessionError::Job(failure)) => jobs.progress.note(&format!(
                    "the launch that counted messages did not end in order, after it had counted all: {failure}"
                )),
                Err(error) => return Err(error.into()),
            }
            if let Err(error) = jobs.site.confirm(&setup, &start) {
                let why = Uncounted::NotSet(format!("{error:#}"));
                // The other settings of the launch may fail as well, and say nothing of other launches.
                let took = |name: &String, value: &String| {
                    let reported = start.variables.get(name);
                    reported.is_some_and(|reported| jobs.site.library.same_value(name, value, reported))
                };
                if !messages.parameters.iter().all(|(name, value)| took(name, value)) {
                    proofs.give_up(&why);
                }
                return Ok(Err(why));
            }
            Ok(Ok((messages, outcomes)))
        }
        Err(SessionError::Job(failure)) => Ok(Err(Uncounted::Failed(failure))),
        Err(error) => Err(error.into()),
    }
}

/// [`counted`] for each block. If the job fails, each block gets a job of its own: every item has its own communicator, and Open MPI 5.0.11
/// under HAN does not survive many of them while it counts.
pub(super) fn counted_each<'c>(
    jobs: &'c Jobs<'_>,
    proofs: &'c Proofs,
    name: &str,
    setup: &Setup,
    blocks: &[Block],
) -> anyhow::Result<Vec<CountedBlock<'c>>> {
    let together = counted(jobs, proofs, name, setup, blocks)?;
    match together {
        Ok((messages, outcomes)) => Ok(outcomes.into_iter().map(|one| Ok((messages, one))).collect()),
        Err(why) if blocks.len() == 1 => Ok(vec![Err(why)]),
        Err(_) => {
            let mut counted_any = false;
            let mut given_up = None;
            let mut each = Vec::with_capacity(blocks.len());
            for (number, block) in blocks.iter().enumerate() {
                if given_up.is_none() && jobs.budget.exhausted() {
                    given_up = Some(Uncounted::Budget);
                }
                if let Some(why) = &given_up {
                    each.push(Err(why.clone()));
                    continue;
                }
                let one = counted(
                    jobs,
                    proofs,
                    &format!("{name}/{number}"),
                    setup,
                    std::slice::from_ref(block),
                )?;
                let one = one.and_then(|(messages, mut outcomes)| {
                    let outcome = outcomes.pop().ok_or(Uncounted::Untold)?;
                    Ok((messages, outcome))
                });
                match &one {
                    Ok(_) => counted_any = true,
                    // Not for its cells' sake, then, and each failure may take as long as a stall is waited for.
                    Err(why) if !counted_any => given_up = Some(why.clone()),
                    Err(_) => {}
                }
                each.push(one);
            }
            Ok(each)
        }
    }
}

/// Messages that the worker reported for an item, if it did.
pub(super) fn sent(messages: &Messages, outcome: &BlockOutcome, item: &str) -> Option<String> {
    let said = outcome.read_back.get(item)?;
    let of = |counter: &String| {
        said.iter()
            .find(|(name, _)| name == counter)
            .map(|(_, text)| text.as_str())
    };
    let texts: Option<Vec<&str>> = messages.counters.iter().map(of).collect();
    Some(texts?.join("; "))
}

/// Settings that make a launch count messages; `device` is the library's report of its transports where only the site has set them.
pub(super) fn assignments(messages: &Messages, device: &BTreeMap<String, String>) -> Vec<Assignment> {
    let named = messages.among.iter().filter_map(|(name, component)| {
        let site = device.get(name)?;
        // An empty list, and one of exclusions (`^`), leave all others in.
        let is_list = !site.is_empty() && !site.starts_with('^');
        let is_there = site.split(',').any(|one| one == component);
        (is_list && !is_there).then(|| (name.clone(), format!("{site},{component}")))
    });
    let own = messages
        .parameters
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()));
    own.chain(named)
        .map(|(name, value)| Assignment {
            name,
            value,
            environment: false,
        })
        .collect()
}
