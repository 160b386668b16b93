//! Calls.

use super::{First, kind};

/// Words of a call.
pub const CALL_WORDS: usize = 4;

/// A call, as it is written. Times are ticks of the rank's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Number of the function.
    pub function: u8,
    /// Number of the communicator and 1; 0 for none.
    pub communicator: u32,
    /// Begin; that of the first one for calls that found nothing.
    pub begin: u64,
    /// End; the begin of the last one for several calls that found nothing, so that one reading of the clock is enough for each but the first. The
    /// last one's end in files that earlier versions of the tracer wrote.
    pub end: u64,
    /// Number of the call site and 1; 0 if it is not known.
    pub site: u32,
    /// Calls that found nothing; 0 for a call that is told by itself.
    pub polls: u32,
    /// Number of its parts.
    pub parts: u32,
}

impl Call {
    /// As words.
    #[inline]
    #[must_use]
    pub fn words(&self) -> [u64; CALL_WORDS] {
        let (kind, last) = if self.polls > 0 {
            (kind::POLLS, self.polls)
        } else {
            (kind::CALL, self.parts)
        };
        let first = First {
            kind,
            detail: self.function,
            words: CALL_WORDS as u16,
            number: self.communicator,
        };
        [
            first.bits(),
            self.begin,
            self.end,
            u64::from(self.site) | u64::from(last) << 32,
        ]
    }

    /// From words; `None` if they are no call.
    #[must_use]
    pub fn of(words: &[u64]) -> Option<Call> {
        let [first, begin, end, last] = *words else { return None };
        let first = First::of(first);
        let number = (last >> 32) as u32;
        let (polls, parts) = match first.kind {
            kind::CALL => (0, number),
            kind::POLLS if number > 0 => (number, 0),
            _ => return None,
        };
        Some(Call {
            function: first.detail,
            communicator: first.number,
            begin,
            end,
            site: last as u32,
            polls,
            parts,
        })
    }
}
