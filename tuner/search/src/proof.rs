//! Proves by the library's messages that its settings act. A wrong setting is mostly ignored in silence, and a candidate would be credited with
//! the default's time.
//!
//! A fingerprint is the list of messages from every rank to every other during one call, as the library itself counts them (`messages` in its
//! description), in a launch that times nothing. There are two rules. Each takes one launch, or one more for each cell if that one fails:
//!
//! * **In the search**, before a choice is made: every algorithm that the library has for the collective is forced in turn, beside the
//!   default. If two of them differ, choosing acts. If all are alike ([`LEAST_FORCED`] or more, on [`LEAST_RANKS`] ranks or more, where
//!   no library's algorithms all send the same), something else decides, and none of them is credited. That a candidate sends what the
//!   default sends is no argument against it: the default may be that very algorithm.
//! * **After the files are written**: launched with them, and with nothing switched, the deployed cells must send what their selections
//!   sent when they were switched in the running job. A file of rules that the library does not take, or asks for other communicators
//!   only, is found so.
//!
//! If the library counts no messages, settings are read back, and the report says that this is all.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_bench::launch::session::{BlockOutcome, SessionError};
use kilter_model::config::library::Messages;
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::plan;
use kilter_model::setup::Setup;
use kilter_protocol::plan::{Block, Item, Repetitions};

use crate::context::{Jobs, Site};
use crate::in_job_search::{Held, item};
use crate::proofs::Proofs;
use crate::quarantine::Quarantine;
use crate::target::Target;

/// Fewer algorithms may send the same messages (pairwise and linear alltoallv do).
const LEAST_FORCED: usize = 3;
/// Least ranks for a proof: on fewer, trees, chains and direct messages are the same.
const LEAST_RANKS: usize = 4;
/// Longest time of a block, in seconds; nothing in it is used as a time.
const BLOCK_SECONDS: f64 = 1.0;

/// Blocks of a counting launch, or why there are none.
type Counted<'c> = Result<(&'c Messages, Vec<BlockOutcome>), String>;

/// One block of a counting launch, or why there is none.
type CountedBlock<'c> = Result<(&'c Messages, BlockOutcome), String>;

/// Evidence that forcing the library's algorithms acts on a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Choosing one changes the messages.
    Acts {
        /// Algorithms that were forced.
        forced: usize,
        /// Number of different message patterns, the default's included.
        kinds: usize,
    },
    /// All algorithms send the same.
    NoEffect {
        /// Algorithms that were forced.
        forced: usize,
    },
    /// It cannot be told; the reason.
    Unknown(String),
}

impl Finding {
    /// The finding from the messages of the default and of each forced algorithm.
    #[must_use]
    pub fn of(default: Option<&str>, forced: &[String], ranks: usize) -> Finding {
        let kinds: BTreeSet<&str> = forced.iter().map(String::as_str).chain(default).collect();
        if forced.is_empty() || default.is_none() {
            return Finding::Unknown("nothing was counted for this cell".to_owned());
        }
        let (forced, kinds) = (forced.len(), kinds.len());
        if kinds > 1 {
            Finding::Acts { forced, kinds }
        } else if forced >= LEAST_FORCED && ranks >= LEAST_RANKS {
            Finding::NoEffect { forced }
        } else {
            Finding::Unknown(format!(
                "{forced} algorithm(s) on {ranks} ranks send the same messages, as they may"
            ))
        }
    }

    /// False for a choice among the library's algorithms if forcing them has no effect.
    #[must_use]
    pub fn credits(&self, selection: &Selection) -> bool {
        !matches!((self, selection), (Finding::NoEffect { .. }, Selection::Settings(_)))
    }

    /// The finding's text in reports.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Finding::Acts { forced, kinds } => format!(
                "proven by messages: the library's {forced} algorithms, forced in turn, and its own choice send {kinds} different \
                 patterns"
            ),
            Finding::NoEffect { forced } => format!(
                "no effect: each of the library's {forced} algorithms, forced in turn, sends the same messages as its own choice, so \
                 something else decides"
            ),
            Finding::Unknown(why) => format!("not proven by messages, only by reading their settings back: {why}"),
        }
    }
}

/// Looks for every held contest that has one of the library's algorithms among its finalists whether choosing acts, by one launch under
/// `setup`; by the targets' names.
///
/// # Errors
/// A failure that no candidate explains.
pub fn of_finalists(
    jobs: &Jobs<'_>,
    proofs: &Proofs,
    quarantine: &Quarantine,
    label: &str,
    setup: &Setup,
    held: &[Held],
) -> anyhow::Result<BTreeMap<String, Finding>> {
    let mut asked: Vec<(&Target, Vec<Selection>, usize)> = Vec::new();
    for held in held {
        let finalists = held.candidates.iter().filter_map(|one| one.selection.clone());
        let finalists: Vec<Selection> = finalists.filter(|one| matches!(one, Selection::Settings(_))).collect();
        if finalists.is_empty() {
            continue;
        }
        let mut selections = forced(&jobs.site, quarantine, &held.target);
        let count = selections.len();
        let further = finalists.into_iter().filter(|one| !selections[..count].contains(one));
        let further: Vec<Selection> = further.collect();
        selections.extend(further);
        asked.push((&held.target, selections, count));
    }
    if asked.is_empty() {
        return Ok(BTreeMap::new());
    }
    let blocks: Vec<Block> = asked
        .iter()
        .map(|(target, selections, _)| {
            let all = std::iter::once(item(target, None));
            let all = all.chain(selections.iter().map(|selection| item(target, Some(selection))));
            block(jobs, label, target, all.collect())
        })
        .collect();
    let counted = counted_each(jobs, proofs, &format!("{label}/proof"), setup, &blocks)?;
    let mut findings = BTreeMap::new();
    for ((target, selections, count), (block, counted)) in asked.iter().zip(blocks.iter().zip(counted)) {
        let (messages, outcome) = match &counted {
            Ok((messages, outcome)) => (*messages, outcome),
            Err(why) => {
                findings.insert(target.name(), Finding::Unknown(why.clone()));
                continue;
            }
        };
        let sent = |item: &Item| sent(messages, outcome, &item.id);
        let of_selections: Vec<Option<String>> = block.items[1..].iter().map(sent).collect();
        let forced: Vec<String> = of_selections[..*count].iter().flatten().cloned().collect();
        let default = sent(&block.items[0]);
        let finding = Finding::of(default.as_deref(), &forced, jobs.site.options.ranks);
        for (selection, text) in selections.iter().zip(of_selections) {
            if let (Some(text), Some(collective)) = (text, target.collective()) {
                let cell = (collective, target.bytes());
                proofs.keep(cell, selection, text);
            }
        }
        findings.insert(target.name(), finding);
    }
    Ok(findings)
}

/// The deployed selections of the library's algorithms that a launch under `staged`, the emitted files, does not carry out, each with the
/// reason. Selections that were never counted are not checked.
///
/// # Errors
/// A failure that no candidate explains.
pub fn not_carried_out(
    jobs: &Jobs<'_>,
    proofs: &Proofs,
    label: &str,
    staged: &Setup,
    deployment: &Deployment,
) -> anyhow::Result<Vec<((Collective, u64), String)>> {
    let mut asked: Vec<((Collective, u64), Target, String)> = Vec::new();
    for ((collective, bytes), selection) in &deployment.selections {
        let key = (*collective, *bytes);
        // One rule for all sizes is that of the largest.
        let of_another_size = |(other, size): &(Collective, u64)| {
            !jobs.site.library.keeps_other_sizes(*collective) && other == collective && size > bytes
        };
        if deployment.selections.keys().any(of_another_size) {
            continue;
        }
        if let Some(text) = proofs.sent(key, selection) {
            asked.push((key, Target::unbounded(*collective, *bytes), text));
        }
    }
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let blocks: Vec<Block> = asked
        .iter()
        .map(|(_, target, _)| block(jobs, label, target, vec![item(target, None)]))
        .collect();
    let counted = counted(jobs, proofs, &format!("{label}/proof"), staged, &blocks)?;
    let (messages, outcomes) = match &counted {
        Ok(counted) => counted,
        Err(why) => {
            jobs.progress
                .warn(&format!("no messages prove that the emitted rules take effect: {why}"));
            return Ok(Vec::new());
        }
    };
    let mut idle = Vec::new();
    for ((key, _, expected), (block, outcome)) in asked.into_iter().zip(blocks.iter().zip(outcomes)) {
        let Some(got) = sent(messages, outcome, &block.items[0].id) else {
            let (collective, bytes) = key;
            jobs.progress.warn(&format!(
                "no messages prove that the rule for {collective} {bytes} takes effect: none were counted under the emitted files"
            ));
            continue;
        };
        if got != expected {
            idle.push((
                key,
                format!(
                    "under the emitted files the library sends `{got}`; when the algorithm was switched in the job it sent `{expected}`"
                ),
            ));
        }
    }
    Ok(idle)
}

/// Every algorithm that the library has for the target and that was not put away.
fn forced(site: &Site<'_>, quarantine: &Quarantine, target: &Target) -> Vec<Selection> {
    let row = target.collective().and_then(|one| site.library.algorithms_of(one));
    let Some(row) = row.filter(|row| row.at_start.is_none()) else {
        return Vec::new();
    };
    let choices = row.choices_on(site.options.ranks);
    choices
        .map(|choice| Selection::Settings(row.settings(choice)))
        .filter(|selection| !quarantine.contains(&selection.id()))
        .collect()
}

fn block(jobs: &Jobs<'_>, label: &str, target: &Target, items: Vec<Item>) -> Block {
    let id = format!("messages: {}", target.name());
    Block {
        seed: plan::derived_seed(jobs.run.seed, &format!("{label}/proof/{id}")),
        repetitions: Repetitions::fixed(1, BLOCK_SECONDS),
        items,
        id,
    }
}

/// The blocks in a job whose messages are counted; why they are not, where they are not.
fn counted<'c>(
    jobs: &'c Jobs<'_>,
    proofs: &'c Proofs,
    name: &str,
    setup: &Setup,
    blocks: &[Block],
) -> anyhow::Result<Counted<'c>> {
    let Some(messages) = &jobs.site.library.messages else {
        return Ok(Err(format!(
            "no message counter is known for {}",
            jobs.site.library.name
        )));
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
            session.finish()?;
            if let Err(error) = jobs.site.confirm(&setup, &start) {
                let why = format!("messages cannot be counted: {error:#}");
                // What else the launch has may fail as well, and says nothing of other launches.
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
        Err(SessionError::Job(failure)) => Ok(Err(format!("the launch that counts messages failed: {failure}"))),
        Err(error) => Err(error.into()),
    }
}

/// [`counted`] for each block. If the job fails, each block gets a job of its own: every item has its own communicator, and Open MPI 5.0.11
/// under HAN does not survive many of them while it counts.
fn counted_each<'c>(
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
                    given_up = Some("the budget ended before the messages of this cell were counted".to_owned());
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
                    let outcome = outcomes.pop().ok_or("nothing was counted for this cell")?;
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

/// Settings that make a launch count messages; `device` is the library's report of its transports where only the site has set them.
fn assignments(messages: &Messages, device: &BTreeMap<String, String>) -> Vec<Assignment> {
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

/// Messages that the worker reported for an item, if it did.
fn sent(messages: &Messages, outcome: &BlockOutcome, item: &str) -> Option<String> {
    let said = outcome.read_back.get(item)?;
    let of = |counter: &String| {
        said.iter()
            .find(|(name, _)| name == counter)
            .map(|(_, text)| text.as_str())
    };
    let texts: Option<Vec<&str>> = messages.counters.iter().map(of).collect();
    Some(texts?.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forced(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn two_patterns_prove_that_choosing_acts() {
        // The default is one of them, as it mostly is.
        let found = Finding::of(Some("0>1:1 0>2:1"), &forced(&["0>1:1 0>2:1", "0>1:1 1>2:1"]), 3);
        assert_eq!(found, Finding::Acts { forced: 2, kinds: 2 });
        assert!(found.credits(&Selection::Settings(Vec::new())));
    }

    /// HAN decides: whichever algorithm is forced, the same is sent.
    #[test]
    fn one_pattern_of_many_algorithms_is_no_effect() {
        let han = "0>1:1 0>2:1 2>3:1";
        let found = Finding::of(Some(han), &forced(&[han; 9]), 4);
        assert_eq!(found, Finding::NoEffect { forced: 9 });
        assert!(!found.credits(&Selection::Settings(Vec::new())));
        assert!(found.credits(&Selection::Mockup("bcast.as_scatter_allgather".to_owned())));
    }

    #[test]
    fn what_may_be_alike_is_no_proof_against_it() {
        let unknown = |default: Option<&str>, all: &[&str], ranks| {
            let found = Finding::of(default, &forced(all), ranks);
            assert!(matches!(found, Finding::Unknown(_)), "{found:?}");
            assert!(found.credits(&Selection::Settings(Vec::new())));
        };
        unknown(Some("a"), &["a"; 9], 2);
        unknown(Some("a"), &["a"; 2], 8);
        unknown(None, &["a"; 9], 8);
        unknown(Some("a"), &[], 8);
    }

    #[test]
    fn a_sites_list_of_components_is_extended() {
        let messages = Messages {
            counters: vec!["c".to_owned()],
            parameters: [("enable".to_owned(), "1".to_owned())].into(),
            among: [("pml".to_owned(), "monitoring".to_owned())].into(),
        };
        let with = |site: &str| -> Vec<String> {
            let device = [("pml".to_owned(), site.to_owned())].into();
            let all = assignments(&messages, &device);
            all.iter().map(|one| format!("{}={}", one.name, one.value)).collect()
        };
        assert_eq!(with("ob1"), ["enable=1", "pml=ob1,monitoring"]);
        for site in ["", "^ucx", "monitoring,ob1"] {
            assert_eq!(with(site), ["enable=1"], "{site}");
        }
    }

    #[test]
    fn a_fingerprint_has_every_counter() {
        let messages = Messages {
            counters: vec!["count".to_owned(), "size".to_owned()],
            parameters: BTreeMap::new(),
            among: BTreeMap::new(),
        };
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let mut outcome = BlockOutcome::default();
        let said = vec![pair("coll", "6"), pair("count", "0>1:1"), pair("size", "0>1:8")];
        outcome.read_back.insert("x".to_owned(), said);
        outcome.read_back.insert("y".to_owned(), vec![pair("count", "0>1:1")]);
        assert_eq!(sent(&messages, &outcome, "x").as_deref(), Some("0>1:1; 0>1:8"));
        assert_eq!(sent(&messages, &outcome, "y"), None);
        assert_eq!(sent(&messages, &outcome, "z"), None);
    }
}
