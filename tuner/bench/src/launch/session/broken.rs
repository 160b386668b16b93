//! Items that end a job though nothing of Kilter's runs in them: the library's own failures. They are answered as failed, and no later job of
//! the run enters them again.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use kilter_model::plan::derived_seed;
use kilter_protocol::fault::Fault;
use kilter_protocol::plan::{Block, Item};

use super::{BlockOutcome, Session};
use crate::launch::failure::{JobFailure, SessionError};

/// Failures in a row, without a finished block between them, after which it is not one item that fails.
const MOST_IN_A_ROW: usize = 4;

/// Items of a run that have ended a job.
#[derive(Debug, Default)]
pub struct Broken {
    known: RefCell<Vec<Known>>,
}

#[derive(Debug)]
struct Known {
    item: Item,
    fault: Fault,
    is_told: bool,
}

/// The same item, whatever it is called in its block.
fn same(one: &Item, other: &Item) -> bool {
    (&one.task, one.bytes, &one.implementation, &one.settings)
        == (&other.task, other.bytes, &other.implementation, &other.settings)
}

impl Broken {
    /// The failure of this item, if it ended a job.
    #[must_use]
    pub fn fault(&self, item: &Item) -> Option<Fault> {
        let known = self.known.borrow();
        known
            .iter()
            .find(|one| same(&one.item, item))
            .map(|one| one.fault.clone())
    }

    /// The items found since this was last asked, by id, with their failures.
    #[must_use]
    pub fn news(&self) -> Vec<(String, Fault)> {
        let mut known = self.known.borrow_mut();
        let mut news = Vec::new();
        for one in known.iter_mut().filter(|one| !one.is_told) {
            one.is_told = true;
            news.push((one.item.id.clone(), one.fault.clone()));
        }
        news
    }

    fn add(&self, item: &Item, fault: &Fault) {
        if self.fault(item).is_none() {
            self.known.borrow_mut().push(Known {
                item: item.clone(),
                fault: fault.clone(),
                is_told: false,
            });
        }
    }

    /// The block without what is broken, under another name if something is.
    fn without(&self, block: &Block) -> Block {
        let items: Vec<Item> = block
            .items
            .iter()
            .filter(|item| self.fault(item).is_none())
            .cloned()
            .collect();
        if items.len() == block.items.len() {
            return block.clone();
        }
        let names: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
        Block {
            id: format!("{}~{:08x}", block.id, derived_seed(1, &names.join(";")) >> 32),
            items,
            ..block.clone()
        }
    }

    /// The one of `blocks` in which a job failed, if it was in one.
    #[must_use]
    pub fn block_of<'b>(blocks: &'b [Block], failure: &JobFailure) -> Option<&'b Block> {
        // A resumed run may have renamed it once more.
        let id = original(failure.place().block.as_deref()?);
        blocks.iter().find(|block| id == original(&block.id))
    }

    /// The items of `blocks` to blame for a failure: the one entered last, and, if its block has `failed_before`, all that were under way.
    fn guilty<'b>(blocks: &'b [Block], failure: &JobFailure, failed_before: bool) -> Vec<&'b Item> {
        let place = failure.place();
        let Some(block) = Broken::block_of(blocks, failure) else {
            return Vec::new();
        };
        let is_guilty = |item: &&Item| {
            Some(&item.id) == place.item.as_ref() || (failed_before && place.unfinished.contains(&item.id))
        };
        block.items.iter().filter(is_guilty).collect()
    }
}

impl Session<'_> {
    /// Answers all blocks, of which known broken items are failed ones. Where the session [survives](Session::surviving), what ends its job joins
    /// them and the rest is asked of a new job.
    pub(super) fn answer(
        &mut self,
        blocks: &[Block],
        progress: &mut dyn FnMut(&str),
        last: bool,
    ) -> Result<Vec<BlockOutcome>, SessionError> {
        let Some(broken) = self.broken else {
            return self.answer_all(blocks, progress, last);
        };
        let mut done = BTreeSet::new();
        let mut failed_in: BTreeMap<String, usize> = BTreeMap::new();
        let mut in_a_row = 0;
        loop {
            let rest: Vec<Block> = blocks.iter().map(|block| broken.without(block)).collect();
            let asked: Vec<Block> = rest.iter().filter(|block| !block.items.is_empty()).cloned().collect();
            let before = done.len();
            let mut once = |id: &str| {
                if done.insert(original(id).to_owned()) {
                    progress(id);
                }
            };
            let error = match self.answer_all(&asked, &mut once, last) {
                Ok(outcomes) => return Ok(with_failures(broken, blocks, &rest, outcomes)),
                Err(error) => error,
            };
            let SessionError::Job(failure) = &error else {
                return Err(error);
            };
            in_a_row = if done.len() > before { 1 } else { in_a_row + 1 };
            let block = failure.place().block.clone().unwrap_or_default();
            let times = failed_in.entry(original(&block).to_owned()).or_default();
            *times += 1;
            let guilty = Broken::guilty(&asked, failure, *times > 1);
            if !self.survives || guilty.is_empty() || in_a_row >= MOST_IN_A_ROW {
                return Err(error);
            }
            let fault = Fault::EndedTheJob {
                kind: failure.kind(),
                text: failure.to_string(),
            };
            for item in guilty {
                broken.add(item, &fault);
            }
        }
    }
}

/// A block's name before anything was left out of it.
fn original(id: &str) -> &str {
    id.split_once('~').map_or(id, |(before, _)| before)
}

/// The outcomes of the `rest` as those of `blocks`, with the failures of what was left out.
fn with_failures(broken: &Broken, blocks: &[Block], rest: &[Block], outcomes: Vec<BlockOutcome>) -> Vec<BlockOutcome> {
    let mut outcomes = outcomes.into_iter();
    let of_block = |(block, rest): (&Block, &Block)| {
        let mut outcome = if rest.items.is_empty() {
            BlockOutcome::default()
        } else {
            outcomes.next().unwrap_or_default()
        };
        for item in &block.items {
            if let Some(fault) = broken.fault(item) {
                outcome.failed.insert(item.id.clone(), fault);
            }
        }
        outcome
    };
    blocks.iter().zip(rest).map(of_block).collect()
}
