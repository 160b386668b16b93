//! Reasons why a schedule is not carried out.

use kilter_protocol::plan::Element;
use kilter_protocol::schedule::ScheduleError;

/// Reason why a schedule is not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoReplay {
    /// Other ranks take part than the schedule has.
    #[error("the schedule is of {of} ranks, and {take_part} take part")]
    OtherRanks { of: usize, take_part: usize },
    /// The schedule is not sound.
    #[error("the schedule is not carried out: {0}")]
    Unsound(#[from] ScheduleError),
    /// A rank's memory is more than a rank addresses.
    #[error("no memory for {0} bytes")]
    Memory(u64),
    /// A pair has more messages than there are tags.
    #[error("{0} messages of one pair are more than MPI has tags")]
    Tags(u64),
    /// A message that is started or posted, and that nobody waits for.
    #[error("message {0} is never completed")]
    NeverCompleted(u32),
    /// A combination that is not of whole elements.
    #[error(
        "{bytes} bytes from {from_at} on cannot be combined with those from {to_at} on: all must be multiples of {}, the size of {}",
        element.bytes(), element.name()
    )]
    Unaligned {
        bytes: u64,
        from_at: u64,
        to_at: u64,
        element: Element,
    },
    /// A combination of more elements than an int counts.
    #[error("{0} bytes are more than an MPI int holds")]
    Combined(u64),
    /// An argument beyond an int.
    #[error("{what} {value} of message {message} is more than an MPI int holds")]
    Int {
        what: &'static str,
        value: u64,
        message: u32,
    },
}
