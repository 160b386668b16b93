//! Sampling of the calls that find nothing: behind many of them, few are timed.
//!
//! A program that polls calls MPI for as long as nothing comes: hpcc's `MPIRandomAccess` makes tens of millions of calls of `MPI_Test` and `MPI_Testany`.
//! Two readings of the clock take as long as such a call. So behind a row of them about one in eight is timed, and behind a long row one in 32; it stands
//! for those before it that were not. The number of these is drawn: with a fixed one, a program that tests several requests in turn could have the same one
//! timed each time.
//! A call that finds something halves the row: a program that goes on to poll as before is soon known again, and one that finds something each time is
//! timed each time.

/// Calls in a row that find nothing, each of which is timed.
const TIMED: u32 = 64;

/// Logarithm to base 2 of the numbers from which the gap between two timed calls is drawn, behind [`TIMED`] calls.
const LOG_GAPS: u32 = 4;

/// Calls in a row that find nothing, behind which fewer are timed.
const LONG: u32 = 2048;

/// The same behind [`LONG`] calls.
const LOG_GAPS_LONG: u32 = 6;

/// Polls of a thread; zeros at its start.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Polls {
    /// Calls in a row that found nothing, and half of those before the last one that found something.
    vain: u32,
    /// State of the draws.
    draw: u32,
    /// Calls until the next one that is timed.
    left: u32,
    /// Calls before the next one that is timed, for which its time stands as well.
    untimed: u32,
}

impl Polls {
    /// At a thread's start.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(crate) const NONE: Polls = Polls {
        vain: 0,
        draw: 0,
        left: 0,
        untimed: 0,
    };

    /// Number of calls for which the time of the next one stands; 0 if it is not timed.
    #[inline(always)]
    pub(crate) fn next_stands_for(&mut self) -> u64 {
        if self.left > 0 {
            self.left -= 1;
            return 0;
        }
        let stands_for = 1 + u64::from(self.untimed);
        self.draw_gap();
        stands_for
    }

    /// Draws the number of calls until the next one that is timed.
    #[inline]
    fn draw_gap(&mut self) {
        let gap = if self.vain < TIMED {
            0
        } else {
            // Linear congruence of full period; the upper bits are the random ones (Knuth, The Art of Computer Programming 2, 3.3.4, table 1).
            self.draw = self.draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let log_gaps = if self.vain < LONG { LOG_GAPS } else { LOG_GAPS_LONG };
            self.draw >> (u32::BITS - log_gaps)
        };
        (self.left, self.untimed) = (gap, gap);
    }

    /// Notes whether a call found nothing.
    #[inline(always)]
    pub(crate) fn note(&mut self, found_nothing: bool) {
        self.vain = if found_nothing {
            self.vain.saturating_add(1)
        } else {
            self.vain / 2
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls for which the times of so many calls that find nothing stand, of each of two things that are asked for in turn.
    fn stood(polls: &mut Polls, calls: usize) -> [u64; 2] {
        let mut stood = [0; 2];
        for call in 0..calls {
            stood[call % 2] += polls.next_stands_for();
            polls.note(true);
        }
        stood
    }

    fn timed(polls: &mut Polls, calls: usize) -> usize {
        let is_timed = |_: &usize| {
            let is_timed = polls.next_stands_for() > 0;
            polls.note(true);
            is_timed
        };
        (0..calls).filter(is_timed).count()
    }

    #[test]
    fn behind_a_row_one_in_eight_is_timed_and_behind_a_long_one_one_in_32() {
        let mut polls = Polls::NONE;
        assert_eq!(timed(&mut polls, TIMED as usize), TIMED as usize);
        let few = timed(&mut polls, (LONG - TIMED) as usize);
        assert!((190..290).contains(&few), "{few} of {}", LONG - TIMED);
        let few = timed(&mut polls, 320_000);
        assert!((9_400..10_300).contains(&few), "{few} of 320000");
    }

    #[test]
    fn what_is_timed_stands_for_all_and_two_things_in_turn_are_hit_alike() {
        let mut polls = Polls::NONE;
        let [one, other] = stood(&mut polls, 400_000);
        let rest = u64::from(polls.untimed - polls.left);
        assert_eq!(one + other + rest, 400_000, "each call is in one time");
        for stood in [one, other] {
            assert!((190_000..210_000).contains(&stood), "{stood} for 200000");
        }
    }

    #[test]
    fn who_finds_something_often_is_timed_each_time_and_who_polls_long_is_not() {
        let mut often = Polls::NONE;
        for _ in 0..1_000 {
            assert_eq!(timed(&mut often, 20), 20);
            often.note(false);
        }
        let mut seldom = Polls::NONE;
        let mut few = 0;
        for _ in 0..1_000 {
            few += timed(&mut seldom, 1_000);
            seldom.note(false);
        }
        assert!((100_000..140_000).contains(&few), "{few} of 1000000");
    }
}
