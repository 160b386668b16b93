//! Answers to blocks: from the store where it has them, else from the job.

use std::collections::BTreeSet;

use kilter_model::plan::derived_seed;
use kilter_protocol::plan::{Block, Item};

use super::{BlockOutcome, MAX_TRIES, Session};
use crate::launch::failure::{JobFailure, SessionError};
use crate::launch::job::Stop;

impl Session<'_> {
    /// Answers all blocks, or says why not.
    pub(super) fn answer_all(
        &mut self,
        blocks: &[Block],
        progress: &mut dyn FnMut(&str),
        last: bool,
    ) -> Result<Vec<BlockOutcome>, SessionError> {
        self.prepare()?;
        let reading = self.run.reading()?;
        self.asked.ask_once(|| self.run.known_blocks(&self.spec.key))?;
        let mut ids = BTreeSet::new();
        let blocks = blocks.iter().map(|block| self.named(block));
        let blocks = &blocks.collect::<Result<Vec<_>, _>>()?[..];
        for block in blocks {
            if !ids.insert(&block.id) {
                return Err(SessionError::DuplicateBlock {
                    key: self.spec.key.clone(),
                    block: block.id.clone(),
                });
            }
            if self.asked.may_be_stored(&block.id) {
                self.replay_failure(&block.id)?;
            }
        }
        let mut pending = Vec::new();
        for block in blocks {
            if self.asked.may_be_stored(&block.id) && self.stored(block)?.is_some() {
                progress(&block.id);
            } else {
                pending.push(block.clone());
            }
            self.asked.add(block);
        }
        drop(reading);
        for attempt in 1.. {
            if pending.is_empty() || self.out_of_time {
                break;
            }
            let job = self.running()?;
            job.ask(&pending, true, last)?;
            match job.wait_until(progress, |ledger| ledger.all_done()) {
                Ok(()) => break,
                Err(Stop::EndedInOrder) if attempt < MAX_TRIES => self.end_job()?,
                Err(Stop::EndedInOrder) => return Err(self.give_up()),
                Err(Stop::OutOfTime) => self.leave()?,
                Err(Stop::Error(error)) => self.go_on_after(error)?,
            }
            pending = self.pending(blocks)?;
        }
        let _reading = self.run.reading()?;
        blocks
            .iter()
            .map(|block| match self.stored(block)? {
                Some(mut outcome) => {
                    if let Some((reference, launch)) = self.judge {
                        reference.judge(launch, block, &mut outcome);
                    }
                    Ok(outcome)
                }
                None if self.out_of_time => Ok(BlockOutcome::default()),
                None => Err(self.unexplained(&block.id).into()),
            })
            .collect()
    }

    /// The block, renamed if the store knows another question by its name. A resumed run decides by the clock, too, and
    /// may ask something else.
    fn named(&self, block: &Block) -> Result<Block, SessionError> {
        let same = |items: &[Item]| items == block.items;
        if self.asked.get(&block.id).is_some_and(|asked| !same(&asked.items)) {
            return Err(SessionError::DifferentBlock {
                key: self.spec.key.clone(),
                block: block.id.clone(),
            });
        }
        let mut named = block.clone();
        if !self.asked.may_be_stored(&block.id) {
            return Ok(named);
        }
        let items = self.run.asked_items(&self.spec.key, &block.id)?;
        if items.is_some_and(|items| !same(&items)) {
            let items = serde_json::to_string(&block.items).unwrap_or_default();
            named.id = format!("{}~{:08x}", block.id, derived_seed(0, &items) >> 32);
        }
        Ok(named)
    }

    /// Those that the store cannot answer.
    fn pending(&self, blocks: &[Block]) -> Result<Vec<Block>, SessionError> {
        let _reading = self.run.reading()?;
        let mut pending = Vec::new();
        for block in blocks {
            if !self.run.is_finished(&self.spec.key, &block.id)? {
                pending.push(block.clone());
            }
        }
        Ok(pending)
    }

    /// The stored answer, if it is one to this question.
    fn stored(&self, block: &Block) -> Result<Option<BlockOutcome>, SessionError> {
        match self.run.finished_block(&self.spec.key, &block.id)? {
            Some(stored) if stored.items != block.items => Err(SessionError::DifferentBlock {
                key: self.spec.key.clone(),
                block: block.id.clone(),
            }),
            stored => Ok(stored.map(|stored| stored.outcome)),
        }
    }

    pub(super) fn replay_failure(&self, block: &str) -> Result<(), SessionError> {
        let Some(stored) = self.run.stored_failure(&self.spec.key, block)? else {
            return Ok(());
        };
        let failure: JobFailure = serde_json::from_str(&stored.detail).map_err(|error| {
            self.run
                .damaged(format!("failure of `{}`, `{block}`: {error}", self.spec.key))
        })?;
        Err(failure.into())
    }
}
