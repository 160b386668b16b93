//! The common clock of a communicator's ranks, as one rank keeps it by its own.
//!
//! Clocks of hosts run apart, by up to some 50 millionths without a time service: 3 ms in a minute, where a call takes microseconds. So they are compared
//! again while the program runs, and what they ran apart between two comparisons is taken to go on. A comparison takes messages, and all ranks
//! have to make it in the same call. So it is due by the common time of an epoch, which all of them have adopted.

/// Time from the first adoption to the first comparison.
const FIRST_INTERVAL_NS: i64 = 10_000_000_000;
/// Intervals double up to this one.
const LONGEST_INTERVAL_NS: i64 = 320_000_000_000;
/// Clocks that run apart by more millionths were set, or the host has slept: what comes of them is not taken to go on.
const MOST_PPM: i64 = 1_000;

/// One rank's part of the common clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// The common clock less this rank's, when they were compared.
    offset_ns: i64,
    /// This rank's time of the comparison; `None` for the one in `MPI_Init`, whose common clock is another rank's.
    compared_ns: Option<i64>,
    /// Gain of the common clock on this rank's, in thousand-millionths.
    gains_ppb: i64,
    /// The common time of the next comparison, once one was adopted.
    due_ns: Option<i64>,
    interval_ns: i64,
}

impl Clock {
    /// The clock of a rank whose own was compared in `MPI_Init`.
    #[must_use]
    pub fn new(offset_ns: i64) -> Clock {
        Clock {
            offset_ns,
            compared_ns: None,
            gains_ppb: 0,
            due_ns: None,
            interval_ns: FIRST_INTERVAL_NS,
        }
    }

    /// The common time where this rank's own clock says `own_ns`.
    #[inline]
    #[must_use]
    pub fn common_ns(&self, own_ns: i64) -> i64 {
        own_ns.wrapping_add(self.offset_at(own_ns))
    }

    fn offset_at(&self, own_ns: i64) -> i64 {
        let Some(compared_ns) = self.compared_ns.filter(|_| self.gains_ppb != 0) else {
            return self.offset_ns;
        };
        let since = i128::from(own_ns.wrapping_sub(compared_ns));
        let gained = since * i128::from(self.gains_ppb) / 1_000_000_000;
        self.offset_ns.wrapping_add(i64::try_from(gained).unwrap_or(0))
    }

    /// True if clocks have to be compared before the next call: an epoch was adopted whose last call ended at this common time. All ranks that
    /// adopt the same find the same.
    pub fn is_due(&mut self, adopted_ns: i64) -> bool {
        match self.due_ns {
            Some(due_ns) => adopted_ns >= due_ns,
            None => {
                self.due_ns = Some(adopted_ns.saturating_add(self.interval_ns));
                false
            }
        }
    }

    /// The clocks were compared: where this rank's own says `own_ns`, the common one is `offset_ns` ahead.
    pub fn compared(&mut self, own_ns: i64, offset_ns: i64) {
        if let Some(compared_ns) = self.compared_ns {
            let passed = i128::from(own_ns.wrapping_sub(compared_ns)).max(1);
            let gained = i128::from(offset_ns.wrapping_sub(self.offset_ns));
            let gains_ppb = i64::try_from(gained * 1_000_000_000 / passed).unwrap_or(i64::MAX);
            self.gains_ppb = if gains_ppb.unsigned_abs() <= MOST_PPM.unsigned_abs() * 1_000 {
                gains_ppb
            } else {
                0
            };
            self.interval_ns = self.interval_ns.saturating_mul(2).min(LONGEST_INTERVAL_NS);
        }
        (self.offset_ns, self.compared_ns) = (offset_ns, Some(own_ns));
        // The common clock may have become another rank's.
        self.due_ns = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn what_clocks_ran_apart_between_two_comparisons_goes_on() {
        let mut clock = Clock::new(700);
        assert_eq!(clock.common_ns(5 * SECOND), 5 * SECOND + 700);
        // The common clock is another one from here on, and nothing is known of what it gains.
        clock.compared(10 * SECOND, -2_000);
        assert_eq!(clock.common_ns(20 * SECOND), 20 * SECOND - 2_000);
        // 50 millionths of ten seconds.
        clock.compared(20 * SECOND, 498_000);
        assert_eq!(clock.common_ns(20 * SECOND), 20 * SECOND + 498_000);
        assert_eq!(clock.common_ns(30 * SECOND), 30 * SECOND + 998_000);
        assert_eq!(clock.common_ns(15 * SECOND), 15 * SECOND + 248_000);
    }

    #[test]
    fn a_clock_that_was_set_gains_nothing() {
        let mut clock = Clock::new(0);
        clock.compared(10 * SECOND, 0);
        clock.compared(20 * SECOND, 3 * SECOND);
        assert_eq!(clock.common_ns(100 * SECOND), 103 * SECOND);
        clock.compared(30 * SECOND, i64::MIN);
        assert_eq!(clock.gains_ppb, 0);
        assert!(clock.common_ns(i64::MAX) != 0, "nothing overflows");
    }

    #[test]
    fn a_comparison_is_due_by_adopted_time_alone_and_ever_more_rarely() {
        let mut clock = Clock::new(0);
        let (mut now, mut waits) = (0, Vec::new());
        for _ in 0..9 {
            let begun = now;
            assert!(!clock.is_due(now), "the first adoption says when");
            while !clock.is_due(now) {
                now += SECOND;
            }
            waits.push((now - begun) / SECOND);
            clock.compared(now, 5);
        }
        assert_eq!(waits, [10, 10, 20, 40, 80, 160, 320, 320, 320]);
    }
}
