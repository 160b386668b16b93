//! Subjects: calls and sums of calls that are timed, each an item in a block.

use kilter_algorithms::Collective;
use kilter_protocol::expression::Side;
use kilter_protocol::plan::{Implementation, Item};
use kilter_protocol::task::Task;

/// Something to time: a side of a guideline at one volume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// Task that is achieved.
    pub task: Task,
    /// Expression that achieves it, without `k` and `A`.
    pub text: String,
    /// Volume in bytes that stands for `n`.
    pub bytes: u64,
}

impl Subject {
    /// The library's own collective.
    #[must_use]
    pub fn library(collective: Collective, bytes: u64) -> Subject {
        Subject {
            task: collective.into(),
            text: Side::of(collective).to_string(),
            bytes,
        }
    }

    /// The collective, if the subject is a plain call of the library's own, which an algorithm or a mock-up can
    /// replace.
    #[must_use]
    pub fn collective(&self) -> Option<Collective> {
        let collective = self.task.collective()?;
        (*self == Subject::library(collective, self.bytes)).then_some(collective)
    }

    /// The expression; `None` for what is no side of a guideline.
    #[must_use]
    pub fn side(&self) -> Option<Side> {
        self.text.parse().ok()
    }

    /// Subject that an item times; `None` for what is no side of a guideline, such as an algorithm of the
    /// registry.
    #[must_use]
    pub fn of(item: &Item) -> Option<Subject> {
        match &item.implementation {
            Implementation::Expression { text } => Some(Subject {
                task: item.task,
                text: text.clone(),
                bytes: item.bytes,
            }),
            Implementation::Algorithm { .. }
            | Implementation::Plugin { .. }
            | Implementation::Overlap(_)
            | Implementation::Schedule(_)
            | Implementation::Among(_) => None,
        }
    }

    /// Subject that an item times. An item that is no side of a guideline is identified by its id.
    #[must_use]
    pub fn timed_by(item: &Item) -> Subject {
        Subject::of(item).unwrap_or_else(|| Subject {
            task: item.task,
            text: item.id.clone(),
            bytes: item.bytes,
        })
    }

    /// Id inside a block: unique, readable.
    #[must_use]
    pub fn item_id(&self) -> String {
        format!("{} @{}", self.text, self.bytes)
    }

    /// Id of the block in which it is measured, with everything of its task and volume.
    #[must_use]
    pub fn block_id(&self) -> String {
        block_id(self.task, self.bytes)
    }

    /// The item for the worker.
    #[must_use]
    pub fn item(&self) -> Item {
        Item {
            id: self.item_id(),
            task: self.task,
            bytes: self.bytes,
            implementation: Implementation::Expression {
                text: self.text.clone(),
            },
            settings: Vec::new(),
            arrival: None,
            deployed: Vec::new(),
        }
    }
}

/// Id of the block of a task at a volume.
pub(super) fn block_id(task: Task, bytes: u64) -> String {
    format!("{task}@{bytes}")
}
