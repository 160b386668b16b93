//! Schedules of messages: who sends how many bytes to whom in which order, blocking or not, and who receives when.
//!
//! A schedule is what a program did by hand, to be done again: the worker carries it out as an item of the plan ([`crate::plan::Implementation`]).
//! Each rank has a memory of its own, in which messages begin and end at places, so that what is received and sent on goes on. Messages are told
//! apart by their numbers, whatever tags the program used.
//!
//! * [`Schedule::check`] finds what makes no sense, and circles of ranks that wait for each other.
//! * [`Schedule::delivered`] follows the data: what lies where afterwards.
//! * [`Schedule::carry_out`] does it on bytes, which [`Step::Combine`] changes.

use serde::{Deserialize, Serialize};

mod carried_out;
mod check;
mod delivered;
mod walk;

#[cfg(test)]
mod tests;

pub use check::ScheduleError;
pub use delivered::{Piece, covered};
pub use walk::Wait;

/// Messages among ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Schedule {
    /// Bytes of each rank's memory.
    pub memory: Vec<u64>,
    /// Messages, which steps name by their places here.
    pub messages: Vec<Message>,
    /// Steps of each rank, in order.
    pub steps: Vec<Vec<Step>>,
}

/// Message from one rank to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Length.
    pub bytes: u64,
    /// Begin of the data in the sender's memory.
    pub from_at: u64,
    /// Begin of the data in the receiver's memory.
    pub to_at: u64,
}

/// Call of a rank.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// `MPI_Send`.
    Send(u32),
    /// `MPI_Isend`.
    Start(u32),
    /// `MPI_Recv`.
    Receive(u32),
    /// `MPI_Irecv`.
    Post(u32),
    /// `MPI_Waitall` for messages that were started or posted.
    Complete(Vec<u32>),
    /// `MPI_Reduce_local`.
    Combine(Combination),
}

/// Data in a rank's memory, added to others there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Combination {
    /// Begin of the data that are added.
    pub from_at: u64,
    /// Begin of those to which they are added.
    pub to_at: u64,
    /// Length.
    pub bytes: u64,
}

impl Schedule {
    /// True if ranks combine data.
    #[must_use]
    pub fn combines(&self) -> bool {
        let mut steps = self.steps.iter().flatten();
        steps.any(|step| matches!(step, Step::Combine(_)))
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.steps.len()
    }
}
