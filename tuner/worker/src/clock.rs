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

/// Whether all ranks read one clock that stands still while they compute: a simulator's.
pub(crate) const SIMULATED: bool = cfg!(feature = "simulated");

/// Beginning later than the agreed start by more than this voids a repetition of spinning ranks: the rank was pre-empted.
const SPIN_TOLERANCE_NS: u64 = 5_000;

/// The same for sleeping ranks, which the kernel wakes some time after the start.
const SLEEP_TOLERANCE_NS: u64 = 1_000_000;

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

/// How a rank began a repetition; ordered, so that the maximum over the ranks is the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Arrival {
    /// At the agreed start.
    InTime,
    /// It was waiting, but the operating system let it go on too late: another lead would not have helped.
    Disturbed,
    /// It came to wait after the start: the lead was too short.
    Missed,
}

impl Arrival {
    /// As a number that travels.
    pub(crate) fn to_number(self) -> u64 {
        self as u64
    }

    /// Back from the number.
    pub(crate) fn from_number(number: u64) -> Arrival {
        match number {
            0 => Arrival::InTime,
            1 => Arrival::Disturbed,
            _ => Arrival::Missed,
        }
    }
}

/// Waits until `start_ns`.
#[inline]
pub(crate) fn wait_until(start_ns: u64, wait: Wait) -> Arrival {
    let mut begin_ns = now_ns();
    if begin_ns > start_ns {
        return Arrival::Missed;
    }
    let tolerance_ns = match wait {
        // Simulated time would not pass.
        Wait::Spin if !SIMULATED => {
            while begin_ns < start_ns {
                std::hint::spin_loop();
                begin_ns = now_ns();
            }
            SPIN_TOLERANCE_NS
        }
        Wait::Spin | Wait::Sleep => {
            sleep_until(start_ns);
            begin_ns = now_ns();
            SLEEP_TOLERANCE_NS
        }
    };
    if begin_ns.saturating_sub(start_ns) > tolerance_ns {
        Arrival::Disturbed
    } else {
        Arrival::InTime
    }
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
            wait_until(start_ns, wait);
            assert!(now_ns() >= start_ns, "{wait:?}");
            assert_eq!(wait_until(now_ns() - 1, wait), Arrival::Missed, "{wait:?}");
        }
    }

    #[test]
    fn the_worst_arrival_survives_a_maximum_of_numbers() {
        let arrivals = [Arrival::InTime, Arrival::Disturbed, Arrival::Missed];
        assert!(arrivals.is_sorted() && arrivals.map(Arrival::to_number).is_sorted());
        assert_eq!(
            arrivals.map(|arrival| Arrival::from_number(arrival.to_number())),
            arrivals
        );
    }

    #[test]
    fn a_tick_and_a_reading_are_small_positive_times() {
        for seconds in [tick_seconds(), read_seconds()] {
            assert!(seconds > 0.0 && seconds < 1e-3, "{seconds}");
        }
    }
}
