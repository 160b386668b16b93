//! Checks of a schedule before it is carried out: each message has its two ends, and no rank waits for ever.

use super::walk::{Wait, walk};
use super::{Combination, Message, Schedule, Step};

/// More messages than this are no collective's.
const MOST_MESSAGES: usize = 1 << 16;

/// Most messages from one rank to another: each has a tag of its own, and MPI promises tags up to this.
const MOST_OF_A_PAIR: usize = 32_767;

/// Longest memory of a rank, in bytes.
const MOST_MEMORY_BYTES: u64 = 1 << 30;

/// Longest message, in bytes: what an MPI count holds.
const MOST_BYTES: u64 = i32::MAX as u64;

/// Reason why a schedule is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Memory and steps are of different numbers of ranks, or of none.
    #[error(
        "the schedule has memory for {memory} ranks and steps for {steps}; both must be the same number, at least 1"
    )]
    Ranks {
        /// Ranks with memory.
        memory: usize,
        /// Ranks with steps.
        steps: usize,
    },
    /// Too many messages.
    #[error("the schedule has {messages} messages; at most {MOST_MESSAGES} are repeated")]
    TooMany {
        /// Messages.
        messages: usize,
    },
    /// Too many messages between two ranks.
    #[error("rank {from} sends {messages} messages to rank {to}; at most {MOST_OF_A_PAIR} are repeated")]
    TooManyOfAPair {
        /// Sender.
        from: u32,
        /// Receiver.
        to: u32,
        /// Messages.
        messages: usize,
    },
    /// Too much memory.
    #[error("rank {rank} needs {bytes} bytes of memory; at most {MOST_MEMORY_BYTES} are given")]
    Memory {
        /// The rank.
        rank: usize,
        /// Its memory.
        bytes: u64,
    },
    /// A rank that does not exist.
    #[error("message {message} goes from rank {from} to rank {to}, and there are ranks 0 to {}", .ranks - 1)]
    RankOutOfRange {
        /// The message.
        message: usize,
        /// Sender.
        from: u32,
        /// Receiver.
        to: u32,
        /// Number of ranks.
        ranks: usize,
    },
    /// A message to its own sender.
    #[error("message {message} goes from rank {rank} to itself; only messages between different ranks are repeated")]
    ToItself {
        /// The message.
        message: usize,
        /// The rank.
        rank: u32,
    },
    /// A message longer than MPI counts.
    #[error("message {message} has {bytes} bytes; an MPI count holds at most {MOST_BYTES}")]
    TooLong {
        /// The message.
        message: usize,
        /// Its length.
        bytes: u64,
    },
    /// Data that do not lie in the rank's memory.
    #[error("message {message} takes bytes {at} to {at} + {bytes} of rank {rank}, whose memory has {memory} bytes")]
    OutsideOfMemory {
        /// The message.
        message: usize,
        /// The rank.
        rank: u32,
        /// Begin of the data.
        at: u64,
        /// Length of the data.
        bytes: u64,
        /// Length of the memory.
        memory: u64,
    },
    /// A step names a message that does not exist.
    #[error("rank {rank}, step {step}: there is no message {message} among {messages}")]
    NoSuchMessage {
        /// The rank.
        rank: usize,
        /// Its step.
        step: usize,
        /// The message named.
        message: u32,
        /// Number of messages.
        messages: usize,
    },
    /// A step that is not this rank's, comes twice, or has nothing to complete.
    #[error("rank {rank}, step {step}: message {message} {what}")]
    WrongStep {
        /// The rank.
        rank: usize,
        /// Its step.
        step: usize,
        /// The message.
        message: u32,
        /// The mistake.
        what: &'static str,
    },
    /// Data that cannot be combined.
    #[error(
        "rank {rank}, step {step}: {bytes} bytes from {from_at} on are combined with those from {to_at} on; both must lie apart in the {memory} \
         bytes of memory"
    )]
    Combination {
        /// The rank.
        rank: usize,
        /// Its step.
        step: usize,
        /// Begin of the data that are added.
        from_at: u64,
        /// Begin of those to which they are added.
        to_at: u64,
        /// Length of the data.
        bytes: u64,
        /// Length of the memory.
        memory: u64,
    },
    /// A message without one of its ends.
    #[error("message {message} from rank {from} to rank {to} is never {what}")]
    MissingEnd {
        /// The message.
        message: usize,
        /// Sender.
        from: u32,
        /// Receiver.
        to: u32,
        /// The missing end.
        what: &'static str,
    },
    /// Ranks wait for each other.
    #[error("it would wait for ever: {}", circle(.0))]
    Deadlock(Vec<Wait>),
}

/// A circle of waiting ranks in words.
fn circle(waits: &[Wait]) -> String {
    const MOST: usize = 8;
    let words: Vec<String> = waits.iter().take(MOST).map(ToString::to_string).collect();
    let more = match waits.len().checked_sub(MOST) {
        Some(more @ 1..) => format!(", and {more} more"),
        _ => String::new(),
    };
    let mut text = words.join(", ") + &more;
    if waits.iter().any(|wait| wait.sends) {
        text += "; such sends end only where the library copies so many bytes aside";
    }
    text
}

/// Ends of a message that were met so far.
#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    sent: End,
    received: End,
}

/// State of one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum End {
    #[default]
    Missing,
    UnderWay,
    Complete,
}

impl Schedule {
    /// Finds out if the schedule makes sense, and ends.
    ///
    /// # Errors
    /// The first thing that makes no sense, or the circle in which ranks would wait for each other. A send of more than
    /// [`Wait::EAGER_BYTES`] counts as waiting for its receive, as the standard allows.
    pub fn check(&self) -> Result<(), ScheduleError> {
        let ranks = self.ranks();
        if ranks == 0 || self.memory.len() != ranks {
            let memory = self.memory.len();
            return Err(ScheduleError::Ranks { memory, steps: ranks });
        }
        if self.messages.len() > MOST_MESSAGES {
            let messages = self.messages.len();
            return Err(ScheduleError::TooMany { messages });
        }
        if let Some((rank, &bytes)) = (0..).zip(&self.memory).find(|(_, bytes)| **bytes > MOST_MEMORY_BYTES) {
            return Err(ScheduleError::Memory { rank, bytes });
        }
        for (number, message) in self.messages.iter().enumerate() {
            self.check_message(number, message)?;
        }
        self.check_pairs()?;
        self.check_steps()?;
        walk(self, &mut |_| ()).map_err(ScheduleError::Deadlock)
    }

    fn check_message(&self, number: usize, message: &Message) -> Result<(), ScheduleError> {
        let ranks = self.ranks();
        let &Message {
            from,
            to,
            bytes,
            from_at,
            to_at,
        } = message;
        if from.max(to) as usize >= ranks {
            return Err(ScheduleError::RankOutOfRange {
                message: number,
                from,
                to,
                ranks,
            });
        }
        if from == to {
            return Err(ScheduleError::ToItself {
                message: number,
                rank: from,
            });
        }
        if bytes > MOST_BYTES {
            return Err(ScheduleError::TooLong { message: number, bytes });
        }
        for (rank, at) in [(from, from_at), (to, to_at)] {
            let memory = self.memory[rank as usize];
            if at.checked_add(bytes).is_none_or(|end| end > memory) {
                return Err(ScheduleError::OutsideOfMemory {
                    message: number,
                    rank,
                    at,
                    bytes,
                    memory,
                });
            }
        }
        Ok(())
    }

    fn check_combination(&self, rank: usize, step: usize, combination: &Combination) -> Result<(), ScheduleError> {
        let &Combination { from_at, to_at, bytes } = combination;
        let memory = self.memory[rank];
        let lies_within = |at: u64| at.checked_add(bytes).is_some_and(|end| end <= memory);
        if bytes <= MOST_BYTES && lies_within(from_at) && lies_within(to_at) && from_at.abs_diff(to_at) >= bytes {
            return Ok(());
        }
        Err(ScheduleError::Combination {
            rank,
            step,
            from_at,
            to_at,
            bytes,
            memory,
        })
    }

    fn check_pairs(&self) -> Result<(), ScheduleError> {
        let mut pairs = std::collections::BTreeMap::new();
        for message in &self.messages {
            let messages = pairs.entry((message.from, message.to)).or_insert(0_usize);
            *messages += 1;
        }
        match pairs.into_iter().find(|(_, messages)| *messages > MOST_OF_A_PAIR) {
            Some(((from, to), messages)) => Err(ScheduleError::TooManyOfAPair { from, to, messages }),
            None => Ok(()),
        }
    }

    fn check_steps(&self) -> Result<(), ScheduleError> {
        let mut ends = vec![Ends::default(); self.messages.len()];
        for (rank, steps) in self.steps.iter().enumerate() {
            for (at, step) in steps.iter().enumerate() {
                if let Step::Combine(combination) = step {
                    self.check_combination(rank, at, combination)?;
                }
                for &message in step.messages() {
                    let missing = ScheduleError::NoSuchMessage {
                        rank,
                        step: at,
                        message,
                        messages: self.messages.len(),
                    };
                    let known = self.messages.get(message as usize).ok_or(missing)?;
                    take(step, rank, known, &mut ends[message as usize]).map_err(|what| ScheduleError::WrongStep {
                        rank,
                        step: at,
                        message,
                        what,
                    })?;
                }
            }
        }
        for (number, (message, ends)) in self.messages.iter().zip(&ends).enumerate() {
            let what = match (ends.sent, ends.received) {
                (End::Missing, _) => "sent",
                (_, End::Missing) => "received",
                (End::UnderWay, _) | (_, End::UnderWay) => "completed",
                (End::Complete, End::Complete) => continue,
            };
            return Err(ScheduleError::MissingEnd {
                message: number,
                from: message.from,
                to: message.to,
                what,
            });
        }
        Ok(())
    }
}

/// Notes that a rank makes a step about a message.
///
/// # Errors
/// The mistake.
fn take(step: &Step, rank: usize, message: &Message, ends: &mut Ends) -> Result<(), &'static str> {
    let is_sender = message.from as usize == rank;
    let is_receiver = message.to as usize == rank;
    let (is_own, end, wanted, becomes) = match step {
        Step::Send(_) => (is_sender, &mut ends.sent, End::Missing, End::Complete),
        Step::Start(_) => (is_sender, &mut ends.sent, End::Missing, End::UnderWay),
        Step::Receive(_) => (is_receiver, &mut ends.received, End::Missing, End::Complete),
        Step::Post(_) => (is_receiver, &mut ends.received, End::Missing, End::UnderWay),
        Step::Complete(_) => {
            let end = if is_sender { &mut ends.sent } else { &mut ends.received };
            (is_sender || is_receiver, end, End::UnderWay, End::Complete)
        }
        // It has no end of a message.
        Step::Combine(_) => return Ok(()),
    };
    if !is_own {
        return Err("is another rank's");
    }
    if *end != wanted {
        return Err(match wanted {
            End::Missing => "is sent or received a second time",
            _ => "is completed before it was started, or twice",
        });
    }
    *end = becomes;
    Ok(())
}

impl Step {
    /// Messages that the step is about.
    #[must_use]
    pub fn messages(&self) -> &[u32] {
        match self {
            Step::Send(one) | Step::Start(one) | Step::Receive(one) | Step::Post(one) => std::slice::from_ref(one),
            Step::Complete(several) => several,
            Step::Combine(_) => &[],
        }
    }
}
