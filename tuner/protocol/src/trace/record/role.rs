//! Subjects of parts.

use super::words::{PART_WORDS, PAYLOAD_WORDS, SHORT_WORDS};

/// Subject of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Role {
    /// A message is sent. It has the payload; a persistent one at each start.
    Send = 1,
    /// A receive begins, with what it asks for.
    Posted = 2,
    /// A message was received. It has the payload.
    Received = 3,
    /// An operation without a received payload is complete: a send, or a collective.
    Completed = 4,
    /// A collective, with root, operator and volume.
    Collective = 5,
    /// A message was found by a probe.
    Probed = 6,
    /// A probe looked for this; a [`Role::Probed`] follows if it was found. The only part of calls that found nothing.
    Asked = 7,
    /// An operation was cancelled before it had an effect.
    Cancelled = 8,
    /// The request was given up (`MPI_Request_free`): its operation completes unseen.
    Freed = 9,
    /// A persistent send or receive was made ready.
    Prepared = 10,
    /// Data stay on the rank, shown by `kilter_send_to_self`. It has the payload.
    Own = 11,
}

impl Role {
    pub(super) const ALL: [Role; 11] = [
        Role::Send,
        Role::Posted,
        Role::Received,
        Role::Completed,
        Role::Collective,
        Role::Probed,
        Role::Asked,
        Role::Cancelled,
        Role::Freed,
        Role::Prepared,
        Role::Own,
    ];

    pub(super) fn of(number: u8) -> Option<Role> {
        Role::ALL.into_iter().find(|role| *role as u8 == number)
    }

    /// True if nothing but the operation is told.
    #[inline]
    pub(super) fn is_short(self) -> bool {
        matches!(self, Role::Completed | Role::Cancelled | Role::Freed)
    }

    /// True if the payload follows.
    #[inline]
    #[must_use]
    pub fn has_payload(self) -> bool {
        matches!(self, Role::Send | Role::Received | Role::Own)
    }

    /// Words of a part with this subject, but for blocks, pieces and chunks.
    #[inline(always)]
    pub(in crate::trace) fn words(self) -> usize {
        if self.is_short() {
            SHORT_WORDS
        } else if self.has_payload() {
            PAYLOAD_WORDS
        } else {
            PART_WORDS
        }
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Role::Send => "send",
            Role::Posted => "posted",
            Role::Received => "received",
            Role::Completed => "completed",
            Role::Collective => "collective",
            Role::Probed => "probed",
            Role::Asked => "asked",
            Role::Cancelled => "cancelled",
            Role::Freed => "freed",
            Role::Prepared => "prepared",
            Role::Own => "own",
        }
    }
}
