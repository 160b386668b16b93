//! Which calls that find nothing are timed.
//!
//! A program that polls calls MPI for as long as nothing comes: hpcc's `MPIRandomAccess` makes tens of millions of calls of `MPI_Test` and `MPI_Testany`.
//! Two readings of the clock take as long as such a call. So behind a row of them one in eight is timed, and stands for eight. It is drawn and not
//! counted out, since a program may ask for several things in turn, of which one would always be hit.

/// Calls in a row that find nothing, each of which is timed.
const TIMED: u32 = 64;

/// One in so many is timed behind these, as a logarithm to base 2.
const LOG_ONE_IN: u32 = 3;

/// Polls of a thread; zeros at its start.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Polls {
    /// Calls in a row that found nothing.
    vain: u32,
    /// State of the draws.
    draw: u32,
}

impl Polls {
    /// At a thread's start.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(crate) const NONE: Polls = Polls { vain: 0, draw: 0 };

    /// Number of calls for which the time of the next one stands; 0 if it is not timed.
    #[inline(always)]
    pub(crate) fn next_stands_for(&mut self) -> u64 {
        if self.vain < TIMED {
            return 1;
        }
        // Linear congruence of full period; the upper bits are the random ones (Knuth, The Art of Computer Programming 2, 3.3.4, table 1).
        self.draw = self.draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if self.draw >> (u32::BITS - LOG_ONE_IN) == 0 {
            1 << LOG_ONE_IN
        } else {
            0
        }
    }

    /// Notes whether a call found nothing.
    #[inline(always)]
    pub(crate) fn note(&mut self, found_nothing: bool) {
        self.vain = if found_nothing { self.vain.saturating_add(1) } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_row_one_in_eight_stands_for_eight() {
        let mut polls = Polls::NONE;
        for _ in 0..TIMED {
            assert_eq!(polls.next_stands_for(), 1);
            polls.note(true);
        }
        // A program that asks for two things in turn: both are hit alike.
        let mut stood = [0; 2];
        for call in 0..200_000 {
            stood[call % 2] += polls.next_stands_for();
            polls.note(true);
        }
        for stood in stood {
            assert!((95_000..105_000).contains(&stood), "{stood} for 100000");
        }
        polls.note(false);
        assert_eq!(polls.next_stands_for(), 1, "something came");
    }
}
