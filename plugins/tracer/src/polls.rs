//! Sampling of the calls that find nothing: behind many of them, few are timed.
//!
//! A program that polls calls MPI for as long as nothing comes: hpcc's `MPIRandomAccess` makes tens of millions of calls of `MPI_Test` and `MPI_Testany`.
//! Two readings of the clock take as long as such a call. So behind a row of them some are timed, the fewer the longer the row is, and each stands
//! for those before it that were not. The number of these is drawn: with a fixed one, a program that tests several requests in turn could have the same one
//! timed each time.
//! A call that finds something halves the row: a program that goes on to poll as before is soon known again, and one that finds something each time is
//! timed each time.

use crate::table::Cell;
use kilter_protocol::functions::Function;

/// Calls in a row that find nothing, each of which is timed.
const TIMED: u32 = 64;

/// Calls between two that are timed are fewer than the row divided by this, as a logarithm to base 2.
const LOG_ROW_OF_GAP: u32 = 4;

/// Calls between two that are timed are fewer than this, as a logarithm to base 2.
const LOG_LONGEST_GAP: u32 = 7;

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
            self.draw >> (u32::BITS - log_gaps(self.vain))
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

/// Logarithm to base 2 of the numbers from which a gap is drawn behind a row of this length, which is at least [`TIMED`].
#[inline(always)]
fn log_gaps(vain: u32) -> u32 {
    (vain.ilog2() - LOG_ROW_OF_GAP).min(LOG_LONGEST_GAP)
}

/// The place at which a thread polled last, and the cell that counts its polls there; zeros at its start. A program polls in a loop, and its
/// next poll is found without looking for its cell again.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polled {
    site: usize,
    /// Number of the function.
    function: u64,
    /// Requests that were asked for.
    amount: u64,
    /// Null or a cell of the table, whose memory is never freed.
    cell: *const Cell,
}

impl Polled {
    /// At a thread's start.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(crate) const NOWHERE: Polled = Polled {
        site: 0,
        function: 0,
        amount: 0,
        cell: std::ptr::null(),
    };

    /// A place and its cell.
    #[inline]
    pub(crate) fn at(function: Function, site: usize, amount: u64, cell: &'static Cell) -> Polled {
        Polled {
            site,
            function: function as u64,
            amount,
            cell,
        }
    }

    /// The cell, if it is this place.
    #[inline(always)]
    pub(crate) fn cell(&self, function: Function, site: usize, amount: u64) -> Option<&'static Cell> {
        let is_here = self.site == site && self.amount == amount && self.function == function as u64;
        // SAFETY: null, or a cell that lives as long as the process.
        unsafe { self.cell.as_ref() }.filter(|_| is_here)
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
    fn the_longer_a_row_is_the_fewer_are_timed() {
        let mut polls = Polls::NONE;
        assert_eq!(timed(&mut polls, TIMED as usize), TIMED as usize);
        // Gaps are drawn from 4 to 64 numbers, and then from 128.
        let mut length = TIMED;
        for gaps in [4, 8, 16, 32, 64] {
            let few = timed(&mut polls, length as usize) as f64;
            let expected = f64::from(length) / (1.0 + f64::from(gaps - 1) / 2.0);
            assert!(
                (0.4..1.8).contains(&(few / expected)),
                "{few} of {length}, about {expected}"
            );
            length *= 2;
        }
        let few = timed(&mut polls, 645_000);
        assert!((9_700..10_300).contains(&few), "{few} of 645000");
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
        assert!((25_000..45_000).contains(&few), "{few} of 1000000");
    }

    #[test]
    fn a_place_is_known_by_all_that_its_cell_counts() {
        let table = crate::table::Table::new(1 << 12, false).unwrap();
        let key = crate::key::Key::new(Function::Testany, None, 3, 0, 0);
        let call = crate::table::Ended {
            site: 0x1000,
            ticks: 5,
            stands_for: 1,
            amount: 3,
        };
        table.add(key, call, |_| false);
        let cell = table.known(key, 0x1000).unwrap();
        let polled = Polled::at(Function::Testany, 0x1000, 3, cell);
        assert!(polled.cell(Function::Testany, 0x1000, 3).is_some());
        assert!(polled.cell(Function::Testany, 0x1000, 2).is_none());
        assert!(polled.cell(Function::Testany, 0x2000, 3).is_none());
        assert!(polled.cell(Function::Testall, 0x1000, 3).is_none());
        assert!(Polled::NOWHERE.cell(Function::Testany, 0, 0).is_none());
    }
}
