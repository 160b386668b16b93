//! Differences of the worker under SimGrid's SMPI, which calls ranks in turn, all in one thread (`simulated/`).
//!
//! Time is simulated: it passes in messages, and in sleeps on its own clock, which all ranks share. So a
//! rank must never wait for time on the host ([`crate::clock`] does it here), and need not look for messages now and then.
//! Nothing is charged for computing, reductions among it.

use std::ffi::{c_double, c_int};

// SAFETY: SimGrid's headers declare these functions with these types.
unsafe extern "C" {
    fn simgrid_get_clock() -> c_double;
    fn smpi_nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int;
}

/// Now, in nanoseconds of simulated time.
#[inline]
pub(crate) fn now_ns() -> u64 {
    // SAFETY: takes nothing; the simulation runs as long as a rank does.
    let seconds = unsafe { simgrid_get_clock() };
    // To the nearest: the simulator's own precision is a nanosecond, and no simulation reaches below 0.
    (seconds * 1e9).round() as u64
}

/// Sleeps until a simulated time.
pub(crate) fn sleep_until(time_ns: u64) {
    let span_ns = time_ns.saturating_sub(now_ns());
    let span = libc::timespec {
        tv_sec: (span_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (span_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: reads one timespec; what is left is not asked for.
    unsafe { smpi_nanosleep(&raw const span, std::ptr::null_mut()) };
}
