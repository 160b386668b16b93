//! Computation of a rank beside communication, and its speed.
//!
//! A *unit* of work is one step of xorshift64 (Marsaglia, J. Statistical Software 8(14), 2003, doi:10.18637/jss.v008.i14): six
//! operations each of which needs the one before, so that a compiler can neither do several steps at once nor leave any out, and
//! all in registers, so that no message takes memory bandwidth from it.

use std::hint::black_box;

use kilter_protocol::overlap::{Model, Overlap};

use crate::clock;

/// Time that a chunk of work takes in the calibration, in nanoseconds: long beside the clock's reading, short beside a slice of the
/// scheduler's, so that at least one of the chunks is undisturbed.
const CHUNK_NS: u64 = 100_000;

/// Chunks of which the quickest counts. With finding their size some 3 ms, which every job pays: far below the time MPI needs to
/// start.
const CHUNKS: usize = 20;

/// Chunks of each size while it is looked for.
const TRIES: usize = 3;

/// Units that no core does within a chunk: a clock that stands still ends the calibration here.
const MOST_UNITS: u64 = 1 << 30;

/// Any number but zero, from which all steps lead on to others.
const FIRST: u64 = 0x9E37_79B9_7F4A_7C15;

/// Speed of this rank's computation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Speed {
    units_per_ns: f64,
}

impl Speed {
    /// Value without any computation.
    pub(crate) const UNKNOWN: Speed = Speed { units_per_ns: 1.0 };

    /// Calibrates on the clock. To be called before MPI is initialised: a thread that makes progress would otherwise take its part
    /// of every chunk, and be calibrated away.
    pub(crate) fn of_this_core() -> Speed {
        if clock::SIMULATED {
            // Simulated time does not pass while a rank computes.
            return Speed::UNKNOWN;
        }
        Speed::calibrate(|units| {
            let begin_ns = clock::now_ns();
            work(units);
            clock::now_ns() - begin_ns
        })
    }

    /// The speed at which the quickest of several chunks was done; `time_ns` does so many units and says how long it took.
    fn calibrate(mut time_ns: impl FnMut(u64) -> u64) -> Speed {
        let mut quickest_ns = |units: u64, chunks: usize| (0..chunks).map(|_| time_ns(units)).min().unwrap_or(0);
        let mut units = 1_000;
        while quickest_ns(units, TRIES) < CHUNK_NS && units < MOST_UNITS {
            units *= 2;
        }
        Speed {
            units_per_ns: units as f64 / quickest_ns(units, CHUNKS).max(1) as f64,
        }
    }

    /// Units that take so long.
    fn units(self, ns: u64) -> u64 {
        (ns as f64 * self.units_per_ns).round() as u64
    }
}

/// A computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Computation {
    model: Model,
    ns: u64,
    units: u64,
}

impl Computation {
    /// The one of an item.
    pub(super) fn new(overlap: &Overlap, speed: Speed) -> Computation {
        Computation {
            model: overlap.model,
            ns: overlap.computation_ns,
            units: speed.units(overlap.computation_ns),
        }
    }

    /// Work of a background thread between two checks for the end: 20 us.
    pub(super) fn chunk(speed: Speed) -> Computation {
        Computation {
            model: Model::FixedWork,
            ns: 20_000,
            units: speed.units(20_000),
        }
    }

    /// Computes. Calls no MPI function: who makes progress meanwhile is not the one who computes.
    pub(super) fn run(&self) {
        match self.model {
            Model::FixedWork => work(self.units),
            Model::ClockSpin => {
                let end_ns = clock::now_ns() + self.ns;
                while clock::now_ns() < end_ns {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// Does so many units of work. Never inlined, so that the calibrated and the measured instructions are the same.
#[inline(never)]
fn work(units: u64) {
    black_box(steps(black_box(FIRST), black_box(units)));
}

/// The state after so many steps.
#[inline(always)]
fn steps(mut state: u64, units: u64) -> u64 {
    for _ in 0..units {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

#[cfg(test)]
mod tests {
    use kilter_protocol::overlap::{Benchmark, Part};

    use super::*;

    fn computation(ns: u64, model: Model, speed: Speed) -> Computation {
        let overlap = Overlap {
            benchmark: Benchmark::Sender,
            part: Part::Overlapped,
            computation_ns: ns,
            model,
            threads: 1,
            requests: 1,
        };
        Computation::new(&overlap, speed)
    }

    #[test]
    fn every_unit_is_a_step_and_none_is_left_out() {
        // The first of the paper's generator with shifts 13, 7, 17 from 1, by hand: 1 ^ 1<<13 = 0x2001; >>7 is 0x40, so 0x2041; <<17
        // is 0x40820000, so 0x40822041.
        assert_eq!(steps(1, 1), 0x4082_2041);
        assert_eq!(steps(FIRST, 0), FIRST);
        // Work is linear: doing a and then b is doing a + b, and all of these states differ.
        for (a, b) in [(1, 1), (7, 1000), (4096, 12_345)] {
            assert_eq!(steps(steps(FIRST, a), b), steps(FIRST, a + b));
        }
        let mut states: Vec<u64> = (0..1000).map(|units| steps(FIRST, units)).collect();
        states.sort_unstable();
        states.dedup();
        assert_eq!(states.len(), 1000);
    }

    #[test]
    fn the_quickest_chunk_says_how_fast_a_core_is() {
        // A core of 0.25 units per nanosecond, most of whose chunks are disturbed by a time slice.
        let mut chunks = 0_u64;
        let mut units_seen = Vec::new();
        let speed = Speed::calibrate(|units| {
            chunks += 1;
            units_seen.push(units);
            4 * units + if chunks.is_multiple_of(3) { 0 } else { 4_000_000 }
        });
        assert_eq!(speed.units_per_ns, 0.25);
        // Sizes double until a chunk takes 100 us: 1000 units take 4 us, 32000 take 128.
        assert_eq!(units_seen.last(), Some(&32_000));
        assert_eq!(units_seen.len(), TRIES * 6 + CHUNKS);
    }

    #[test]
    fn a_clock_that_stands_still_ends_the_calibration() {
        let speed = Speed::calibrate(|_| 0);
        assert!(speed.units_per_ns.is_finite() && speed.units_per_ns > 0.0);
    }

    #[test]
    fn work_is_asked_for_in_proportion_to_time() {
        let speed = Speed { units_per_ns: 0.5 };
        for (ns, units) in [(0, 0), (1, 1), (1000, 500), (20_000_000, 10_000_000)] {
            assert_eq!(computation(ns, Model::FixedWork, speed).units, units);
        }
        let real = Speed::of_this_core();
        let ratio = real.units(20_000_000) as f64 / real.units(10_000) as f64;
        assert!((ratio / 2000.0 - 1.0).abs() < 0.01, "{ratio}");
    }

    #[test]
    fn spinning_on_the_clock_is_never_too_short() {
        for ns in [0, 1_000, 300_000] {
            let spin = computation(ns, Model::ClockSpin, Speed::UNKNOWN);
            let begin_ns = clock::now_ns();
            spin.run();
            assert!(clock::now_ns() - begin_ns >= ns);
        }
    }
}
