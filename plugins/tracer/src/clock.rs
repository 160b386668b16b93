//! The clock of calls. Where the processor's counter runs at one rate in all states, it is read, which takes a fraction of the time of
//! `clock_gettime`; the system's clock says at the end how long its ticks were.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) use kilter_mpi::clocks::nanoseconds;

/// Readings of which the best counts: a rank may lose the processor in one.
const READINGS: usize = 8;

/// True if [`ticks`] reads the processor's counter.
static COUNTER: AtomicBool = AtomicBool::new(false);

/// Nanoseconds since 1970.
pub(crate) fn real_nanoseconds() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Ticks between two readings, one right behind the other.
static READING: AtomicU64 = AtomicU64::new(0);

/// Chooses the clock.
pub(crate) fn choose() {
    COUNTER.store(counter::is_steady(), Ordering::Relaxed);
    let between = |_| {
        let begin = ticks();
        ticks().wrapping_sub(begin)
    };
    let least = (0..READINGS).map(between).min().unwrap_or(0);
    READING.store(least, Ordering::Relaxed);
}

/// Ticks that a reading takes.
#[inline(always)]
pub(crate) fn reading() -> u64 {
    READING.load(Ordering::Relaxed)
}

/// The clock now.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    if COUNTER.load(Ordering::Relaxed) {
        counter::read()
    } else {
        nanoseconds()
    }
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    /// The counter's value.
    #[inline(always)]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { _rdtsc() }
    }

    /// True if the counter is invariant (AMD64 Architecture Programmer's Manual 3, CPUID 8000_0007).
    #[allow(unused_unsafe, reason = "whether the instruction is safe depends on the compiler")]
    pub(super) fn is_steady() -> bool {
        const LEAVES: u32 = 0x8000_0000;
        const POWER: u32 = LEAVES + 7;
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { __cpuid(LEAVES).eax >= POWER && __cpuid(POWER).edx & (1 << 8) != 0 }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod counter {
    /// Never called.
    pub(super) fn read() -> u64 {
        0
    }

    /// No counter is known here.
    pub(super) fn is_steady() -> bool {
        false
    }
}

/// A moment on both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    ticks: u64,
    nanoseconds: u64,
}

impl Moment {
    pub(crate) fn now() -> Moment {
        Moment {
            ticks: ticks(),
            nanoseconds: nanoseconds(),
        }
    }

    /// A moment whose readings lie close together: of several the one that took the shortest, so that a rank which loses the processor between
    /// both is not wrong by that.
    pub(crate) fn careful() -> Moment {
        let reading = |_| {
            let begin = ticks();
            let nanoseconds = nanoseconds();
            let took = ticks().wrapping_sub(begin);
            let ticks = begin.wrapping_add(took / 2);
            (took, Moment { ticks, nanoseconds })
        };
        let best = (0..READINGS).map(reading).min_by_key(|(took, _)| *took);
        best.map_or_else(Moment::now, |(_, moment)| moment)
    }

    pub(crate) fn ticks(self) -> u64 {
        self.ticks
    }

    pub(crate) fn nanoseconds(self) -> u64 {
        self.nanoseconds
    }

    /// Seconds since another moment.
    pub(crate) fn seconds_since(self, earlier: Moment) -> f64 {
        self.nanoseconds.saturating_sub(earlier.nanoseconds) as f64 * 1e-9
    }

    /// Seconds of a tick, by the time since another moment.
    pub(crate) fn seconds_of_tick(self, earlier: Moment) -> f64 {
        let ticks = self.ticks.saturating_sub(earlier.ticks);
        if ticks == 0 {
            1e-9
        } else {
            self.seconds_since(earlier) / ticks as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn ticks_are_seconds_by_the_systems_clock() {
        for steady in [false, counter::is_steady()] {
            COUNTER.store(steady, Ordering::Relaxed);
            // A test that loses the processor between both clocks would judge that.
            let begin = Moment::careful();
            let first = ticks();
            std::thread::sleep(Duration::from_millis(20));
            let took = ticks() - first;
            let end = Moment::careful();
            let seconds = took as f64 * end.seconds_of_tick(begin);
            assert!(
                seconds >= 0.0199 && seconds <= end.seconds_since(begin) * 1.01,
                "{seconds}"
            );
        }
    }
}
