//! Sampling of the calls that find nothing: behind many of them, few are timed.
//!
//! A program that polls calls MPI for as long as nothing comes: hpcc's `MPIRandomAccess` makes tens of millions of calls of `MPI_Test` and `MPI_Testany`.
//! Two readings of the clock take as long as such a call. So behind a row of them some are timed, the fewer the longer the row is, and each stands
//! for those before it that were not. The number of these is drawn: with a fixed one, a program that tests several requests in turn could have the same one
//! timed each time.
//! A call that finds something halves the row: a program that goes on to poll as before is soon known again, and one that finds something each time is
//! timed each time.

use crate::gate::Gate;

/// Calls in a row that find nothing, each of which is timed.
const TIMED: u32 = 64;

/// Calls between two that are timed are fewer than the row divided by this, as a logarithm to base 2.
const LOG_ROW_OF_GAP: u32 = 2;

/// Calls between two that are timed are fewer than this, as a logarithm to base 2.
const LOG_LONGEST_GAP: u32 = 7;

/// Polls of a thread; zeros at its start. Its [`Gate`] has the number of those until the next one that is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Polls {
    /// Calls before the next one that is timed, for which its time stands as well.
    untimed: u32,
    /// The row when all that are left have found nothing, too: a call that is not timed makes the row longer by making one less of those left.
    row: u32,
    /// State of the draws.
    draw: u32,
}

impl Polls {
    /// At a thread's start.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(crate) const NONE: Polls = Polls {
        untimed: 0,
        row: 0,
        draw: 0,
    };

    /// Number of calls for which the time of the next one stands; 0 if it is not timed. The call is taken for one that finds nothing.
    #[inline(always)]
    pub(crate) fn next_stands_for(&mut self, gate: &mut Gate) -> u64 {
        if gate.left() > 0 {
            gate.pass();
            return 0;
        }
        let stands_for = 1 + u64::from(self.untimed);
        gate.leave_untimed(self.draw_gap());
        stands_for
    }

    /// Draws the number of calls until the next one that is timed, behind one that is.
    #[inline]
    fn draw_gap(&mut self) -> u32 {
        // None is left, so that this is the row.
        let gap = if self.row < TIMED {
            0
        } else {
            // Linear congruence of full period; the upper bits are the random ones (Knuth, The Art of Computer Programming 2, 3.3.4, table 1).
            self.draw = self.draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.draw >> (u32::BITS - log_gaps(self.row))
        };
        self.untimed = gap;
        self.row = self.row.saturating_add(1 + gap);
        gap
    }

    /// The latest call found something.
    #[inline(always)]
    pub(crate) fn found(&mut self, gate: Gate) {
        let before = self.row - gate.left() - 1;
        self.row = before / 2 + gate.left();
    }
}

/// Logarithm to base 2 of the numbers from which a gap is drawn behind a row of this length, which is at least [`TIMED`].
#[inline(always)]
fn log_gaps(row: u32) -> u32 {
    (row.ilog2() - LOG_ROW_OF_GAP).min(LOG_LONGEST_GAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that polls.
    struct Polling {
        polls: Polls,
        gate: Gate,
    }

    impl Polling {
        fn new() -> Polling {
            Polling {
                polls: Polls::NONE,
                gate: Gate::START,
            }
        }

        fn next_stands_for(&mut self) -> u64 {
            self.polls.next_stands_for(&mut self.gate)
        }

        fn found(&mut self) {
            self.polls.found(self.gate);
        }

        /// Number of calls that are timed of so many that find nothing.
        fn timed(&mut self, calls: usize) -> usize {
            (0..calls).filter(|_| self.next_stands_for() > 0).count()
        }

        /// Calls for which the times of so many calls that find nothing stand, of each of two things that are asked for in turn.
        fn stood(&mut self, calls: usize) -> [u64; 2] {
            let mut stood = [0; 2];
            for call in 0..calls {
                stood[call % 2] += self.next_stands_for();
            }
            stood
        }
    }

    #[test]
    fn the_longer_a_row_is_the_fewer_are_timed() {
        let mut polling = Polling::new();
        assert_eq!(polling.timed(TIMED as usize), TIMED as usize);
        // Gaps are drawn from 16 to 64 numbers, and then from 128.
        let mut length = TIMED;
        for gaps in [16, 32, 64, 128, 128] {
            let few = polling.timed(length as usize) as f64;
            let expected = f64::from(length) / (1.0 + f64::from(gaps - 1) / 2.0);
            assert!(
                (0.4..1.8).contains(&(few / expected)),
                "{few} of {length}, about {expected}"
            );
            length *= 2;
        }
        let few = polling.timed(645_000);
        assert!((9_700..10_300).contains(&few), "{few} of 645000");
    }

    #[test]
    fn what_is_timed_stands_for_all_and_two_things_in_turn_are_hit_alike() {
        let mut polling = Polling::new();
        let [one, other] = polling.stood(400_000);
        let rest = u64::from(polling.polls.untimed - polling.gate.left());
        assert_eq!(one + other + rest, 400_000, "each call is in one time");
        for stood in [one, other] {
            assert!((190_000..210_000).contains(&stood), "{stood} for 200000");
        }
    }

    #[test]
    fn who_finds_something_often_is_timed_each_time_and_who_polls_long_is_not() {
        let mut often = Polling::new();
        for _ in 0..1_000 {
            assert_eq!(often.timed(20), 20);
            often.found();
        }
        let mut seldom = Polling::new();
        let mut few = 0;
        for _ in 0..1_000 {
            few += seldom.timed(1_000);
            seldom.found();
        }
        assert!((14_000..20_000).contains(&few), "{few} of 1000000");
    }
}
