//! The clock, and waiting for a point in time.
//!
//! `CLOCK_MONOTONIC` in nanoseconds: one clock for all processes of a host, network namespaces or not. Whether the ranks share
//! it is checked at start ([`crate::shared_clock`]); where they do not, [`crate::common_time`] makes one of their clocks.

use std::time::Duration;

use kilter_protocol::plan::Wait;

#[cfg(not(feature = "simulated"))]
mod host;
#[cfg(not(feature = "simulated"))]
pub(crate) use host::now_ns;
#[cfg(not(feature = "simulated"))]
use host::sleep_until;

#[cfg(feature = "simulated")]
pub(crate) use crate::simulated::now_ns;
#[cfg(feature = "simulated")]
use crate::simulated::sleep_until;

/// True under a simulator: all ranks read one clock that stands still while they compute.
pub(crate) const SIMULATED: bool = cfg!(feature = "simulated");

/// Beginning later than the agreed start by more than this voids a repetition of spinning ranks: the rank was pre-empted.
const SPIN_TOLERANCE_NS: u64 = 5_000;

/// The least tolerance for sleeping ranks, which the kernel wakes some time after the start.
const SLEEP_TOLERANCE_NS: u64 = 1_000_000;

/// Sleeping ranks share cores, so a rank may have to wait, a few time slices of 4 ms, for the others' work in the measured call, such as their
/// copies of long vectors: this is the call's time there. The delay voids a repetition only if it is a larger part of it than one in so many.
const SLEEP_TOLERANCE_PART: u64 = 2;

/// The smallest positive difference of two readings, in seconds.
pub(crate) fn tick_seconds() -> f64 {
    let smallest_ns = (0..10_000)
        .filter_map(|_| {
            let (first, second) = (now_ns(), now_ns());
            second.checked_sub(first).filter(|difference| *difference > 0)
        })
        .min();
    smallest_ns.unwrap_or(1) as f64 / 1e9
}

/// Cost of one reading, in seconds: the least of several averages.
pub(crate) fn read_seconds() -> f64 {
    const READINGS: u64 = 1000;
    let cheapest_ns = (0..10)
        .map(|_| {
            let begin_ns = now_ns();
            let mut last_ns = begin_ns;
            for _ in 0..READINGS {
                last_ns = std::hint::black_box(now_ns());
            }
            last_ns - begin_ns
        })
        .min();
    cheapest_ns.unwrap_or(0) as f64 / READINGS as f64 / 1e9
}

/// Start of a repetition on a rank; ordered, so that the maximum over the ranks is the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Arrival {
    /// The rank was waiting, and the operating system woke it late: a longer lead would not have helped.
    Waited {
        /// Nanoseconds after the agreed start.
        late_ns: u64,
    },
    /// The rank was ready only after the start: the lead was too short.
    Missed,
}

impl Arrival {
    /// Arrival at the agreed start.
    pub(crate) const IN_TIME: Arrival = Arrival::Waited { late_ns: 0 };

    /// Encodes it as a number for the exchange.
    pub(crate) fn to_number(self) -> u64 {
        match self {
            Arrival::Waited { late_ns } => late_ns.min(u64::MAX - 1),
            Arrival::Missed => u64::MAX,
        }
    }

    /// Back from the number.
    pub(crate) fn from_number(number: u64) -> Arrival {
        match number {
            u64::MAX => Arrival::Missed,
            late_ns => Arrival::Waited { late_ns },
        }
    }

    /// True if a repetition of `repetition_ns` is a valid time although the last rank began it like this.
    pub(crate) fn is_in_time(self, wait: Wait, repetition_ns: u64) -> bool {
        let tolerance_ns = match wait {
            Wait::Spin => SPIN_TOLERANCE_NS,
            Wait::Sleep => SLEEP_TOLERANCE_NS.max(repetition_ns / SLEEP_TOLERANCE_PART),
        };
        matches!(self, Arrival::Waited { late_ns } if late_ns <= tolerance_ns)
    }
}

/// Waits until `start_ns`; also says how long before it the wait began, in nanoseconds, below 0 where that was after it.
#[inline]
pub(crate) fn wait_until(start_ns: u64, wait: Wait) -> (Arrival, i64) {
    let mut begin_ns = now_ns();
    let spare_ns = start_ns.wrapping_sub(begin_ns).cast_signed();
    if begin_ns > start_ns {
        return (Arrival::Missed, spare_ns);
    }
    match wait {
        // Simulated time would not pass.
        Wait::Spin if !SIMULATED => {
            while begin_ns < start_ns {
                std::hint::spin_loop();
                begin_ns = now_ns();
            }
        }
        Wait::Spin | Wait::Sleep => {
            sleep_until(start_ns);
            begin_ns = now_ns();
        }
    }
    let late_ns = begin_ns.saturating_sub(start_ns);
    (Arrival::Waited { late_ns }, spare_ns)
}

/// Sleeps so long on the clock that ranks are measured by.
pub(crate) fn sleep(duration: Duration) {
    sleep_until(now_ns() + duration.as_nanos() as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_after_the_start_and_says_when_it_began_late() {
        for wait in [Wait::Spin, Wait::Sleep] {
            let start_ns = now_ns() + 2_000_000;
            let (_, spare_ns) = wait_until(start_ns, wait);
            assert!(now_ns() >= start_ns, "{wait:?}");
            assert!((1..=2_000_000).contains(&spare_ns), "{wait:?}: {spare_ns}");
            let (arrival, spare_ns) = wait_until(now_ns() - 1, wait);
            assert_eq!(arrival, Arrival::Missed, "{wait:?}");
            assert!(spare_ns < 0, "{wait:?}: {spare_ns}");
        }
    }

    #[test]
    fn the_worst_arrival_survives_a_maximum_of_numbers() {
        let arrivals = [
            Arrival::IN_TIME,
            Arrival::Waited { late_ns: 7 },
            Arrival::Waited { late_ns: 1 << 40 },
            Arrival::Missed,
        ];
        let numbers = arrivals.map(Arrival::to_number);
        assert!(arrivals.is_sorted() && numbers.is_sorted());
        assert_eq!(numbers.map(Arrival::from_number), arrivals);
    }

    #[test]
    fn ranks_that_share_cores_may_begin_late_by_a_part_of_what_they_repeat() {
        let late = |late_ns| Arrival::Waited { late_ns };
        for (arrival, wait, repetition_ns, in_time) in [
            (late(5_000), Wait::Spin, 1_000_000_000, true),
            (late(5_001), Wait::Spin, 1_000_000_000, false),
            (late(1_000_000), Wait::Sleep, 50_000, true),
            (late(1_000_001), Wait::Sleep, 1_999_999, false),
            (late(9_000_000), Wait::Sleep, 18_000_000, true),
            (late(9_000_001), Wait::Sleep, 18_000_000, false),
            (Arrival::Missed, Wait::Sleep, 1_000_000_000, false),
        ] {
            assert_eq!(
                arrival.is_in_time(wait, repetition_ns),
                in_time,
                "{arrival:?} {wait:?} {repetition_ns}"
            );
        }
    }
}
