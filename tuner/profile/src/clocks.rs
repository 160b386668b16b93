//! One time for ranks of several hosts: from each rank's clock to that of rank 0, by the readings of the begin and the end.
//!
//! Between both readings the other clock is taken to be ahead by what lies on a line between both offsets: an offset and a constant drift. With one reading it is
//! taken to be ahead by the same all the time. A clock that a leader does not ask for itself is reached through those of others.

use std::collections::BTreeMap;

use kilter_protocol::calls::{Clock, Reading};

/// Fewer steps than ranks lead to rank 0; more are none of the tracer's.
const MOST_STEPS: usize = 64;

/// Offset and drift of a rank's clock, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// As the rank's file says it.
    pub clock: Clock,
    /// The answer at the end of the program.
    pub at_end: Option<Reading>,
}

/// The clocks of all ranks that sampled.
#[derive(Debug, Clone, Default)]
pub struct Clocks {
    by_rank: BTreeMap<u32, Known>,
}

impl Clocks {
    /// Clocks by their ranks.
    #[must_use]
    pub fn new(by_rank: BTreeMap<u32, Known>) -> Clocks {
        Clocks { by_rank }
    }

    /// The rank that stands for this rank's clock; none if nothing is known.
    #[must_use]
    pub fn leader(&self, rank: u32) -> Option<u32> {
        self.by_rank.get(&rank).map(|known| known.clock.leader)
    }

    /// Number of clocks.
    #[must_use]
    pub fn count(&self) -> usize {
        let leaders: std::collections::BTreeSet<u32> = self.by_rank.values().map(|known| known.clock.leader).collect();
        leaders.len()
    }

    /// A time of this rank's clock on the clock of rank 0, in nanoseconds; none if a rank on the way left no reading.
    #[must_use]
    pub fn common_ns(&self, rank: u32, time_ns: u64) -> Option<i64> {
        let mut at = self.leader(rank)?;
        let mut time_ns = i64::try_from(time_ns).ok()?;
        for _ in 0..MOST_STEPS {
            if at == 0 {
                return Some(time_ns);
            }
            let known = self.by_rank.get(&at)?;
            time_ns = time_ns.checked_add(offset_ns(known, time_ns)?)?;
            at = self.leader(known.clock.asks?)?;
        }
        None
    }

    /// The most by which a common time can be wrong at the readings, in nanoseconds: half of the round trips on the longest way.
    #[must_use]
    pub fn bound_ns(&self) -> u64 {
        let of = |rank: u32| {
            let (mut at, mut sum) = (rank, 0_u64);
            for _ in 0..MOST_STEPS {
                let known = self.leader(at).and_then(|leader| self.by_rank.get(&leader));
                let Some((known, asks)) = known.and_then(|known| Some((known, known.clock.asks?))) else {
                    break;
                };
                let readings = [known.clock.at_begin, known.at_end];
                let longest = readings.iter().flatten().map(|reading| reading.round_trip_ns).max();
                sum = sum.saturating_add(longest.unwrap_or(0).div_ceil(2));
                at = asks;
            }
            sum
        };
        self.by_rank.keys().map(|rank| of(*rank)).max().unwrap_or(0)
    }
}

/// The other clock less this one at a time of this one.
fn offset_ns(known: &Known, time_ns: i64) -> Option<i64> {
    let (begin, end) = match (known.clock.at_begin, known.at_end) {
        (Some(begin), Some(end)) => (begin, end),
        (one, other) => return one.or(other).map(|reading| reading.offset_ns),
    };
    let span = end.own_ns.checked_sub(begin.own_ns)?;
    if span <= 0 {
        return Some(begin.offset_ns);
    }
    let drift = end.offset_ns.checked_sub(begin.offset_ns)? as f64 / span as f64;
    let since = time_ns.checked_sub(begin.own_ns)? as f64;
    begin.offset_ns.checked_add((drift * since).round() as i64)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A clock of a test: ahead of the true time by so much at 0, and fast by so many parts.
    #[derive(Clone, Copy)]
    pub(crate) struct Scripted {
        pub(crate) ahead_ns: i64,
        pub(crate) fast: f64,
    }

    impl Scripted {
        /// Its time at a true time.
        pub(crate) fn at(self, true_ns: i64) -> i64 {
            true_ns + self.ahead_ns + (true_ns as f64 * self.fast).round() as i64
        }

        /// A question at a true time, with so long a way each.
        fn asks(self, other: Scripted, true_ns: i64, (there, back): (i64, i64)) -> Reading {
            let time = |ns: i64| ns.cast_unsigned();
            Reading::new(
                time(self.at(true_ns)),
                time(other.at(true_ns + there)),
                time(self.at(true_ns + there + back)),
            )
        }
    }

    const START: i64 = 1_000_000_000;
    const END: i64 = 101_000_000_000;

    /// Ranks 0 and 1 on one host, 2 on a second and 3 on a third one, which asks rank 2.
    pub(crate) fn three_hosts(clocks: [Scripted; 3], ways: (i64, i64)) -> BTreeMap<u32, Known> {
        let known = |leader: u32, asks: Option<(u32, Scripted, Scripted)>| Known {
            clock: Clock {
                leader,
                asks: asks.map(|(rank, ..)| rank),
                at_begin: asks.map(|(_, own, other)| own.asks(other, START, ways)),
            },
            at_end: asks.map(|(_, own, other)| own.asks(other, END, ways)),
        };
        BTreeMap::from([
            (0, known(0, None)),
            (1, known(0, None)),
            (2, known(2, Some((0, clocks[1], clocks[0])))),
            (3, known(3, Some((2, clocks[2], clocks[1])))),
        ])
    }

    pub(crate) const CLOCKS: [Scripted; 3] = [
        Scripted {
            ahead_ns: 5_000,
            fast: 0.0,
        },
        Scripted {
            ahead_ns: 77_000_000_000,
            fast: 40e-6,
        },
        Scripted {
            ahead_ns: -900_000_000,
            fast: -25e-6,
        },
    ];

    #[test]
    fn offset_and_drift_are_taken_off_along_the_way() {
        let clocks = Clocks::new(three_hosts(CLOCKS, (500, 500)));
        for true_ns in [START, 40_000_000_000, END] {
            for (rank, clock) in [(0, 0), (1, 0), (2, 1), (3, 2)] {
                let common = clocks
                    .common_ns(rank, CLOCKS[clock].at(true_ns).cast_unsigned())
                    .unwrap();
                let error = common - CLOCKS[0].at(true_ns);
                assert!(error.abs() <= 10, "rank {rank} at {true_ns}: {error} ns");
            }
        }
        assert_eq!(clocks.count(), 3);
        assert_eq!(clocks.bound_ns(), 1000, "two ways of 1000 ns, half of each");
    }

    #[test]
    fn an_unequal_way_is_within_the_bound() {
        let clocks = Clocks::new(three_hosts(CLOCKS, (100, 3900)));
        let common = clocks.common_ns(3, CLOCKS[2].at(START).cast_unsigned()).unwrap();
        let error = (common - CLOCKS[0].at(START)).unsigned_abs();
        assert!(error > 1000 && error <= clocks.bound_ns(), "{error}");
    }

    #[test]
    fn one_reading_gives_an_offset_and_none_gives_nothing() {
        let mut all = three_hosts(CLOCKS, (500, 500));
        all.get_mut(&2).unwrap().at_end = None;
        let clocks = Clocks::new(all.clone());
        let at = |true_ns: i64| clocks.common_ns(2, CLOCKS[1].at(true_ns).cast_unsigned()).unwrap();
        assert!((at(START) - CLOCKS[0].at(START)).abs() <= 10);
        // 40 parts in a million of 100 s are not known.
        let error = at(END) - CLOCKS[0].at(END);
        assert!((error - 4_000_000).abs() < 1000, "{error}");
        all.remove(&2);
        let clocks = Clocks::new(all);
        assert_eq!(clocks.common_ns(3, 1), None, "rank 2 was on the way");
        assert_eq!(clocks.common_ns(9, 1), None);
    }

    #[test]
    fn a_circle_of_leaders_ends() {
        let mut all = three_hosts(CLOCKS, (500, 500));
        all.get_mut(&2).unwrap().clock.asks = Some(3);
        assert_eq!(Clocks::new(all.clone()).common_ns(3, 5), None);
        let _ = Clocks::new(all).bound_ns();
    }
}
