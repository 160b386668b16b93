//! Sampling of the calls that find nothing: behind many of them, few are timed.
//!
//! A program that polls calls MPI for as long as nothing comes: hpcc's `MPIRandomAccess` makes tens of millions of calls of `MPI_Test` and `MPI_Testany`.
//! Two readings of the clock take as long as such a call. So behind a row of them some are timed, the fewer the longer the row is, and each stands
//! for those before it that were not. The number of these is drawn: with a fixed one, a program that tests several requests in turn could have the same one
//! timed each time.
//! A call that finds something halves the row: a program that goes on to poll as before is soon known again, and one that finds something each time is
//! timed each time.
//! Timing costs next to nothing beside polls that take long, as those that give the processor away, and few of them make up most of the time. So the longer
//! the timed ones take, the more are timed.

use crate::gate::Gate;

/// Calls in a row that find nothing, each of which is timed.
const TIMED: u32 = 64;

/// Calls between two that are timed are fewer than the row divided by this, as a logarithm to base 2.
const LOG_ROW_OF_GAP: u32 = 2;

/// Calls between two that are timed are fewer than this, as a logarithm to base 2.
const LOG_LONGEST_GAP: u32 = 8;

/// Timing a call takes as long as so many readings of the clock: it has two, and goes a longer way.
const READINGS: u64 = 4;

/// Timing is at least one part in so many of the time that calls take, or all are timed.
const PARTS: u64 = 256;

/// Weight of the latest timed call in the mean, as a logarithm to base 2 of its inverse.
const LOG_MEAN: u32 = 8;

/// Polls of a thread; zeros at its start. Its [`Gate`] has the number of those until the next one that is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Polls {
    /// Calls before the next one that is timed, for which its time stands as well.
    untimed: u32,
    /// The row when all that are left have found nothing, too: a call that is not timed makes the row longer by making one less of those left.
    row: u32,
    /// State of the draws.
    draw: u32,
    /// Mean ticks of the timed calls, the latest most, times the inverse of its weight.
    ticks: u64,
}

impl Polls {
    /// At a thread's start.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(crate) const NONE: Polls = Polls {
        untimed: 0,
        row: 0,
        draw: 0,
        ticks: 0,
    };

    /// Number of calls for which the time of the next one stands; 0 if it is not timed. The call is taken for one that finds nothing. A reading of the clock
    /// takes so many ticks.
    #[inline(always)]
    pub(crate) fn next_stands_for(&mut self, gate: &mut Gate, reading: u64) -> u64 {
        if gate.left() > 0 {
            gate.pass();
            return 0;
        }
        let stands_for = 1 + u64::from(self.untimed);
        gate.leave_untimed(self.draw_gap(reading));
        stands_for
    }

    /// Draws the number of calls until the next one that is timed, behind one that is.
    #[inline]
    fn draw_gap(&mut self, reading: u64) -> u32 {
        // None is left, so that this is the row.
        let log = self.log_gaps(reading);
        let gap = if log == 0 {
            0
        } else {
            // Linear congruence of full period; the upper bits are the random ones (Knuth, The Art of Computer Programming 2, 3.3.4, table 1).
            self.draw = self.draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.draw >> (u32::BITS - log)
        };
        self.untimed = gap;
        self.row = self.row.saturating_add(1 + gap);
        gap
    }

    /// Logarithm to base 2 of the numbers from which a gap is drawn.
    #[inline]
    fn log_gaps(&self, reading: u64) -> u32 {
        if self.row < TIMED {
            return 0;
        }
        let mean = (self.ticks >> LOG_MEAN).max(1);
        // A gap is half of the longest one on the average.
        let longest = (2 * READINGS * PARTS * reading).max(1);
        let by_ticks = longest.ilog2().saturating_sub(mean.ilog2());
        (self.row.ilog2() - LOG_ROW_OF_GAP).min(by_ticks).min(LOG_LONGEST_GAP)
    }

    /// The latest call was timed, and took so many ticks.
    #[inline]
    pub(crate) fn took(&mut self, ticks: u64) {
        // So many that the sum stays far from the largest number.
        self.ticks = self.ticks - (self.ticks >> LOG_MEAN) + ticks.min(1 << 48);
    }

    /// The latest call found something.
    #[inline(always)]
    pub(crate) fn found(&mut self, gate: Gate) {
        let before = self.row - gate.left() - 1;
        self.row = before / 2 + gate.left();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks of a reading of the clock.
    const READING: u64 = 25;

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
            self.polls.next_stands_for(&mut self.gate, READING)
        }

        fn found(&mut self) {
            self.polls.found(self.gate);
        }

        /// Number of calls that are timed of so many that find nothing.
        fn timed(&mut self, calls: usize) -> usize {
            (0..calls).filter(|_| self.next_stands_for() > 0).count()
        }

        /// Makes so many calls that take what the script says, from 1. Returns their time by those that are timed, and how many these are.
        fn played(&mut self, calls: u64, script: impl Fn(u64) -> u64) -> (u64, u64) {
            let (mut ticks, mut timed) = (0, 0);
            for took in (1..=calls).map(script) {
                let stands_for = self.next_stands_for();
                if stands_for > 0 {
                    self.polls.took(took);
                    ticks += took * stands_for;
                    timed += 1;
                }
            }
            (ticks, timed)
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
        // Gaps are drawn from 16 to 128 numbers, and then from 256.
        let mut length = TIMED;
        for gaps in [16, 32, 64, 128, 256, 256] {
            let few = polling.timed(length as usize) as f64;
            let expected = f64::from(length) / (1.0 + f64::from(gaps - 1) / 2.0);
            assert!(
                (0.4..1.8).contains(&(few / expected)),
                "{few} of {length}, about {expected}"
            );
            length *= 2;
        }
        let few = polling.timed(1_285_000);
        assert!((9_700..10_300).contains(&few), "{few} of 1285000");
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
        assert!((6_000..12_000).contains(&few), "{few} of 1000000");
    }

    /// Error of the time by the timed calls, as a share of the script's, and the share of calls that is timed.
    fn judged(calls: u64, script: impl Fn(u64) -> u64) -> (f64, f64) {
        let all: u64 = (1..=calls).map(&script).sum();
        let (ticks, timed) = Polling::new().played(calls, script);
        (ticks as f64 / all as f64 - 1.0, timed as f64 / calls as f64)
    }

    /// True for one call in so many, at random: SplitMix64's mix of its number (Steele, Lea and Flood, OOPSLA 2014, doi:10.1145/2660193.2660195).
    fn is_one_in(many: u64, call: u64, seed: u64) -> bool {
        let mut mixed = (call + (seed << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).is_multiple_of(many)
    }

    #[test]
    fn the_time_of_polls_is_right_where_few_are_timed() {
        // Some 31,000 are timed, and vary by one and a half times their mean: the standard deviation of the error is 1 %.
        for seed in 0..4 {
            let looks_longer = |call| {
                if is_one_in(1_000, call, seed) {
                    5_000
                } else {
                    80 + call % 40
                }
            };
            let (error, timed) = judged(4_000_000, looks_longer);
            assert!(error.abs() < 0.04, "{error}");
            assert!(timed < 0.009, "{timed}");
        }
        // Phases of short and of longer polls.
        let (error, timed) = judged(1_000_000, |call| if (call >> 14) % 2 == 0 { 80 } else { 300 });
        assert!(error.abs() < 0.03, "{error}");
        assert!(timed < 0.009, "{timed}");
    }

    #[test]
    fn polls_that_give_the_processor_away_now_and_then_are_timed_often() {
        // One in 100 takes a millisecond, and all of them nearly all of the time.
        for seed in 0..4 {
            let (error, timed) = judged(800_000, |call| if is_one_in(100, call, seed) { 2_500_000 } else { 100 });
            assert!(error.abs() < 0.06, "{error}");
            assert!(timed > 0.5, "{timed}");
        }
        // All take 10 us.
        let (error, timed) = judged(10_000, |_| 25_000);
        assert!(error.abs() < 0.01, "{error}");
        assert!(timed > 0.5, "{timed}");
    }
}
