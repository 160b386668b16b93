//! Records: calls, what they did to messages and requests, and definitions of the numbers in both.
//!
//! The first word of a record has its kind in bits 0 to 7, a detail in bits 8 to 15, its length in words in bits 16 to 31, and a number in the
//! upper half. The parts of a call follow it in the stream of its thread.

mod call;
mod definition;
mod names;
mod part;
mod plain;
mod role;
mod values;
mod words;

pub use call::{CALL_WORDS, Call};
pub use definition::Definition;
pub use names::{CLASSES, OPERATORS, class_name, operator_name};
pub use part::{Blocks, Part, Piece, Pieces};
pub use plain::Plain;
pub use role::Role;
pub(super) use values::form;
pub use values::{ANY_TAG, flag, peer};
pub use words::PAYLOAD_WORDS;
pub(super) use words::set;

/// Kinds of records.
pub mod kind {
    /// A call.
    pub const CALL: u8 = 1;
    /// Calls after each other that looked for something and found nothing.
    pub const POLLS: u8 = 2;
    /// A part of the call before it.
    pub const PART: u8 = 3;
    /// Name of a function's number.
    pub const FUNCTION: u8 = 16;
    /// A call site.
    pub const SITE: u8 = 17;
    /// A communicator.
    pub const COMMUNICATOR: u8 = 18;
    /// A text about the rank.
    pub const TEXT: u8 = 19;
    /// The rank's clock beside those of others.
    pub const CLOCK: u8 = 20;
}

/// The first word of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct First {
    /// One of [`kind`].
    pub kind: u8,
    /// Function of a call, role of a part.
    pub detail: u8,
    /// Length in words.
    pub words: u16,
    /// Communicator and 1, or the number that is defined.
    pub number: u32,
}

impl First {
    /// As a word.
    #[inline]
    #[must_use]
    pub fn bits(self) -> u64 {
        u64::from(self.kind) | u64::from(self.detail) << 8 | u64::from(self.words) << 16 | u64::from(self.number) << 32
    }

    /// From the word.
    #[must_use]
    pub fn of(bits: u64) -> First {
        First {
            kind: bits as u8,
            detail: (bits >> 8) as u8,
            words: (bits >> 16) as u16,
            number: (bits >> 32) as u32,
        }
    }
}

#[cfg(test)]
mod tests;
