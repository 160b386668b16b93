//! Differences of the worker under SimGrid's SMPI.
//!
//! Ranks are not processes: `smpirun` loads this library once for each (so that each has statics of its own) and calls [`main`] in
//! turn, all in one thread. Time is simulated: it passes in messages, and in sleeps on its own clock, which all ranks share. So a
//! rank must never wait for time on the host ([`crate::clock`] does it here), and need not look for messages now and then.
//! Nothing is charged for computing, reductions among it.

use std::ffi::{CStr, OsStr, c_char, c_double, c_int};
use std::os::unix::ffi::OsStrExt as _;
use std::panic::catch_unwind;
use std::path::PathBuf;

// SAFETY: SimGrid's headers declare these functions with these types.
unsafe extern "C" {
    fn simgrid_get_clock() -> c_double;
    fn smpi_nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int;
}

/// Exit status of a rank that panicked, as Rust's own `main` has it.
const PANICKED: c_int = 101;

/// Entry point that SMPI calls for each rank. The arguments are the rank's own; `std::env::args` would give those of the simulator.
///
/// # Safety
/// `argv` points to `argc` C strings.
#[unsafe(no_mangle)]
unsafe extern "C" fn main(argc: c_int, argv: *const *const c_char) -> c_int {
    let arguments: Vec<PathBuf> = (1..usize::try_from(argc).unwrap_or(0))
        .map(|i| {
            // SAFETY: by this function's contract.
            let argument = unsafe { CStr::from_ptr(*argv.add(i)) };
            PathBuf::from(OsStr::from_bytes(argument.to_bytes()))
        })
        .collect();
    // A panic must not unwind into the simulator, which is C++.
    catch_unwind(|| crate::work(arguments)).map_or(PANICKED, c_int::from)
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
