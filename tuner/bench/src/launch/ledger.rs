//! Questions to a job and its answers. Every line goes to the store first.

use std::path::Path;
use std::time::Duration;

use kilter_protocol::plan::Block;
use kilter_protocol::report::{End, Event, Start};

use super::bad_line::BadLine;
use super::failure::SessionError;
use super::follow::{Line, report_error};
use crate::store::LaunchRecord;

/// A question.
#[derive(Debug)]
struct Asked {
    block: Block,
    /// True if its samples count; false if it only shows how the job behaves.
    measured: bool,
    done: bool,
}

/// Questions and answers of one attempt.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) record: LaunchRecord,
    asked: Vec<Asked>,
    /// The current block, and its items that were entered without a result yet.
    under_way: Option<(String, Vec<String>)>,
    pub(super) start: Option<Start>,
    pub(super) end: Option<End>,
}

impl Ledger {
    pub(super) fn new(record: LaunchRecord) -> Ledger {
        Ledger {
            record,
            asked: Vec::new(),
            under_way: None,
            start: None,
            end: None,
        }
    }

    /// Notes a question.
    pub(super) fn ask(&mut self, block: Block, measured: bool, done: bool) {
        self.asked.push(Asked { block, measured, done });
    }

    /// Stores a line and then takes note of it. Returns the id of the measured block that the line completes, if any.
    /// Errors come from the database, from a line about something that was not asked, and from one after the end line.
    pub(super) fn take(
        &mut self,
        line: Line,
        report: &Path,
        elapsed: Duration,
    ) -> Result<Option<String>, SessionError> {
        let wrong = |mistake| Err(report_error(report, line.end.line, mistake));
        if self.end.is_some() && line.event != Event::Heartbeat {
            return wrong(BadLine::AfterEnd);
        }
        let (block, item) = subject(&line.event);
        let mut index = None;
        if let Some(id) = block {
            index = self.asked.iter().position(|asked| asked.block.id == *id);
            match index.map(|index| &self.asked[index]) {
                None => return wrong(BadLine::NotAsked { block: id.clone() }),
                Some(asked) if asked.done => return wrong(BadLine::DoneBefore { block: id.clone() }),
                Some(asked) => {
                    if let Some(item) = item.filter(|item| !asked.block.items.iter().any(|known| known.id == **item)) {
                        return wrong(BadLine::NoItem {
                            block: id.clone(),
                            item: item.clone(),
                        });
                    }
                }
            }
        }
        let asked = index.map(|index| &self.asked[index]);
        let (items, measured) = asked.map_or((&[][..], true), |asked| (&asked.block.items[..], asked.measured));
        self.record.record(&line.event, items, measured, line.end, elapsed)?;
        Ok(self.note(line.event, index))
    }

    fn note(&mut self, event: Event, index: Option<usize>) -> Option<String> {
        match event {
            Event::Start(start) => self.start = Some(start),
            Event::End(end) => self.end = Some(end),
            Event::Enter { block, item } => match &mut self.under_way {
                Some((known, entered)) if *known == block => entered.push(item),
                _ => self.under_way = Some((block, vec![item])),
            },
            Event::Samples { item, .. } | Event::Failed { item, .. } => {
                if let Some((_, entered)) = &mut self.under_way {
                    entered.retain(|known| *known != item);
                }
            }
            Event::BlockEnd { block, .. } => {
                self.under_way = None;
                let asked = &mut self.asked[index?];
                asked.done = true;
                return asked.measured.then_some(block);
            }
            Event::Noise { .. } | Event::Settings { .. } | Event::Heartbeat => {}
        }
        None
    }

    /// True if every block asked is done.
    pub(super) fn all_done(&self) -> bool {
        self.asked.iter().all(|asked| asked.done)
    }

    /// Measured blocks that were asked and are not done.
    pub(super) fn unanswered(&self) -> usize {
        self.asked.iter().filter(|asked| asked.measured && !asked.done).count()
    }

    /// True if the block is done.
    pub(super) fn is_done(&self, id: &str) -> bool {
        self.asked.iter().any(|asked| asked.block.id == id && asked.done)
    }

    /// The current block, and its items that were entered without a result yet.
    pub(super) fn under_way(&self) -> Option<(&str, &[String])> {
        self.under_way
            .as_ref()
            .map(|(block, entered)| (block.as_str(), entered.as_slice()))
    }

    /// The block of this id.
    pub(super) fn asked(&self, id: &str) -> Option<&Block> {
        let mut blocks = self.asked.iter().map(|asked| &asked.block);
        blocks.find(|block| block.id == id)
    }

    /// The measured block to blame if the job fails now: the current one, else the next one.
    pub(super) fn blamed(&self) -> Option<&Block> {
        let under_way = self.under_way().map(|(id, _)| id);
        self.asked
            .iter()
            .find(|asked| under_way.is_none_or(|id| asked.block.id == id) && !asked.done)
            .filter(|asked| asked.measured)
            .map(|asked| &asked.block)
    }
}

/// Block and item that a line is about.
fn subject(event: &Event) -> (Option<&String>, Option<&String>) {
    match event {
        Event::Enter { block, item }
        | Event::Settings { block, item, .. }
        | Event::Failed { block, item, .. }
        | Event::Samples { block, item, .. } => (Some(block), Some(item)),
        Event::BlockEnd { block, .. } => (Some(block), None),
        Event::Start(_) | Event::Noise { .. } | Event::Heartbeat | Event::End(_) => (None, None),
    }
}
