//! The task of an item, whatever calls achieve it: gives every rank's input and expected output.

use std::fmt;
use std::str::FromStr;

use kilter_algorithms::Collective;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::expression::{Counts, Layout, Operation, Side, Single};

/// The functionality that is achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Functionality {
    /// The task of this collective.
    Function(Collective),
    /// Rank 0's `n` bytes reach the last rank.
    Transfer,
    /// Every rank's `n` bytes reach its right neighbour.
    Exchange,
    /// Every rank's strided `n` bytes become contiguous.
    Packing,
    /// Every rank's contiguous `n` bytes become strided.
    Unpacking,
    /// Rank 0 has a copy of its `n` bytes.
    Copying,
    /// Rank 0 has its `n` bytes combined with themselves.
    Combining,
}

/// A functionality and how its data lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Task {
    /// The functionality that is achieved.
    pub functionality: Functionality,
    /// Division of the volume, where it is divided.
    pub counts: Counts,
    /// Layout of the input.
    pub sendtype: Layout,
    /// Layout of the output.
    pub recvtype: Layout,
}

impl Functionality {
    const OTHERS: [Functionality; 6] = [
        Functionality::Transfer,
        Functionality::Exchange,
        Functionality::Packing,
        Functionality::Unpacking,
        Functionality::Copying,
        Functionality::Combining,
    ];

    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Functionality::Function(function) => function.name(),
            Functionality::Transfer => "transfer",
            Functionality::Exchange => "exchange",
            Functionality::Packing => "pack",
            Functionality::Unpacking => "unpack",
            Functionality::Copying => "copy",
            Functionality::Combining => "combine",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Functionality> {
        let functions = Collective::ALL.iter().copied().map(Functionality::Function);
        functions
            .chain(Functionality::OTHERS)
            .find(|functionality| functionality.name() == name)
    }

    /// True if a buffer is divided into blocks, one per rank.
    #[must_use]
    pub const fn has_blocks(self) -> bool {
        match self {
            Functionality::Function(function) => function.has_blocks(),
            _ => false,
        }
    }

    /// True if it combines data with an operator.
    #[must_use]
    pub const fn has_operator(self) -> bool {
        match self {
            Functionality::Function(function) => function.has_operator(),
            Functionality::Combining => true,
            _ => false,
        }
    }

    /// The fewest ranks for which it is something.
    #[must_use]
    pub const fn min_ranks(self) -> usize {
        match self {
            Functionality::Transfer => 2,
            _ => 1,
        }
    }
}

impl Task {
    /// A functionality on contiguous data, evenly divided.
    #[must_use]
    pub fn plain(functionality: Functionality) -> Task {
        Task {
            functionality,
            counts: Counts::Uniform,
            sendtype: Layout::Contiguous,
            recvtype: Layout::Contiguous,
        }
    }

    /// The collective where it is a plain one that Kilter's algorithms know.
    #[must_use]
    pub fn collective(self) -> Option<Collective> {
        match self.functionality {
            Functionality::Function(function) if self == Task::plain(self.functionality) => Some(function),
            _ => None,
        }
    }

    /// Reads a side's task from the call that it is named after.
    ///
    /// # Errors
    /// The side is named after a call that alone achieves nothing, or a function is still to be filled in.
    pub fn of(side: &Side) -> Result<Task, NoTask> {
        let none = |why: WhyNoTask| NoTask {
            side: side.clone(),
            why,
        };
        let head = side.head();
        let has = |wanted: &[Single]| {
            let is = |operation: &Operation| matches!(operation, Operation::Single(single) if wanted.contains(single));
            side.terms.iter().any(|term| is(&term.call.operation))
        };
        let functionality = match &head.operation {
            Operation::Collective(Some(function), _) => Functionality::Function(*function),
            Operation::Collective(None, _) => return Err(none(WhyNoTask::OpenFunction)),
            Operation::PointToPoint(_) => return Err(none(WhyNoTask::Schedule)),
            Operation::Single(Single::Pack) => Functionality::Packing,
            Operation::Single(Single::Unpack) => Functionality::Unpacking,
            Operation::Single(Single::Copy) if has(&[Single::Combine]) => Functionality::Combining,
            Operation::Single(Single::Copy) => Functionality::Copying,
            Operation::Single(_) if has(&[Single::Recv, Single::Irecv, Single::Sendrecv]) => Functionality::Exchange,
            Operation::Single(
                Single::Send | Single::Ssend | Single::Rsend | Single::Isend | Single::Pingpong | Single::Put,
            ) => Functionality::Transfer,
            Operation::Single(other) => return Err(none(WhyNoTask::NoResult(*other))),
        };
        if head.on.is_partial() {
            return Err(none(WhyNoTask::PartOfRanks));
        }
        let mut task = Task {
            functionality,
            counts: head.attributes.counts,
            sendtype: head.attributes.sendtype,
            recvtype: head.attributes.recvtype,
        };
        // Only one side of a copy is strided.
        match functionality {
            Functionality::Packing => task.recvtype = Layout::Contiguous,
            Functionality::Unpacking => task.sendtype = Layout::Contiguous,
            _ => {}
        }
        Ok(task)
    }
}

/// A side whose task cannot be read from the call that it is named after.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{side}`{why}")]
pub struct NoTask {
    /// The side.
    pub side: Side,
    /// The reason.
    pub why: WhyNoTask,
}

/// The reason why a side has no task. Its text follows the side's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhyNoTask {
    /// `A` stands for a function.
    #[error(": fill in a function for A")]
    OpenFunction,
    /// `p2p.NAME` stands for a schedule, not for a functionality.
    #[error(": a schedule of Kilter's names no functionality")]
    Schedule,
    /// The call alone achieves nothing.
    #[error(": {} alone has no result to compare; begin with a collective, a send or pack", .0.name())]
    NoResult(Single),
    /// The call is made by some of the ranks.
    #[error(" begins with a part of the ranks; its functionality cannot be read from that")]
    PartOfRanks,
}

/// A text that is no task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// Its first word is no functionality.
    #[error("`{0}` is no functionality")]
    NoFunctionality(String),
    /// A further word is no attribute.
    #[error("`{word}` in task `{task}`: allowed are counts=, sendtype=, recvtype=")]
    NoAttribute {
        /// The word.
        word: String,
        /// The whole text.
        task: String,
    },
}

impl From<Collective> for Task {
    fn from(collective: Collective) -> Task {
        Task::plain(Functionality::Function(collective))
    }
}

impl fmt::Display for Task {
    /// The functionality's name, and its attributes that are not plain.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.functionality.name())?;
        if self.counts != Counts::Uniform {
            write!(f, " counts={}", self.counts)?;
        }
        for (name, layout) in [("sendtype", self.sendtype), ("recvtype", self.recvtype)] {
            if layout != Layout::Contiguous {
                write!(f, " {name}={layout}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Task {
    type Err = TaskError;

    fn from_str(text: &str) -> Result<Task, TaskError> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let functionality = Functionality::find(name).ok_or_else(|| TaskError::NoFunctionality(name.to_owned()))?;
        let mut task = Task::plain(functionality);
        for word in words {
            let wrong = || TaskError::NoAttribute {
                word: word.to_owned(),
                task: text.to_owned(),
            };
            let (key, value) = word.split_once('=').ok_or_else(wrong)?;
            match key {
                "counts" => task.counts = Counts::find(value).ok_or_else(wrong)?,
                "sendtype" => task.sendtype = Layout::find(value).ok_or_else(wrong)?,
                "recvtype" => task.recvtype = Layout::find(value).ok_or_else(wrong)?,
                _ => return Err(wrong()),
            }
        }
        Ok(task)
    }
}

impl Serialize for Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Task {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Task, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_of_a_side() {
        for (side, task) in [
            ("reduce(n)", "reduce"),
            ("iallreduce(n) + wait", "allreduce"),
            ("gather(n, inplace)", "gather"),
            ("gatherv(n, counts=triangle)", "gatherv counts=triangle"),
            ("bcast(n, type=vector)", "bcast sendtype=vector recvtype=vector"),
            ("isend(n) + wait", "transfer"),
            ("isend(n) + recv(n) + wait", "exchange"),
            ("irecv(n) + send(n) + wait", "exchange"),
            ("win_fence + put(n) + win_fence", "transfer"),
            ("pack(n, type=struct)", "pack sendtype=struct"),
            ("unpack(n, type=indexed)", "unpack recvtype=indexed"),
            ("pingpong(n){pair:0:1}", "transfer"),
            ("copy(n)", "copy"),
            ("copy(n) + combine(n)", "combine"),
            ("barrier", "barrier"),
        ] {
            let read = Task::of(&side.parse().unwrap()).unwrap();
            assert_eq!(read.to_string(), task, "{side}");
            assert_eq!(task.parse(), Ok(read));
        }
        for (side, why) in [
            ("A(n)", WhyNoTask::OpenFunction),
            ("p2p.ring(n)", WhyNoTask::Schedule),
            ("wait", WhyNoTask::NoResult(Single::Wait)),
            ("get(n)", WhyNoTask::NoResult(Single::Get)),
            ("reduce(n){node} + bcast(n)", WhyNoTask::PartOfRanks),
            ("allgather(n*q/p){lane} + allgather(n){node}", WhyNoTask::PartOfRanks),
        ] {
            let error = Task::of(&side.parse().unwrap()).unwrap_err();
            assert_eq!(error.why, why, "{side}");
            assert!(error.to_string().starts_with(&format!("`{side}`")), "{error}");
        }
        for task in ["", "reduse", "reduce fast", "reduce counts=x", "reduce speed=1"] {
            assert!(task.parse::<Task>().is_err(), "{task}");
        }
    }

    #[test]
    fn only_plain_collectives_are_collectives_of_algorithms() {
        assert_eq!(Task::from(Collective::Reduce).collective(), Some(Collective::Reduce));
        assert_eq!("bcast sendtype=vector".parse::<Task>().unwrap().collective(), None);
    }
}
