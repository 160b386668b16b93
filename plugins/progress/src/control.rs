//! Functions that a program may call while it runs; `include/kilter_progress.h` declares them.

use std::ffi::{c_int, c_ulonglong};
use std::sync::atomic::Ordering;

use crate::start::{self, SHARED};

/// Counts of this process since `MPI_Init`, as the header has them.
#[derive(Debug)]
#[repr(C)]
pub struct ProgressCounts {
    /// Non-blocking operations begun.
    pub begun: c_ulonglong,
    /// Those of them that no call has completed yet.
    pub outstanding: c_ulonglong,
    /// Times the thread was woken from sleep.
    pub wakeups: c_ulonglong,
    /// Calls with which it made progress.
    pub probes: c_ulonglong,
    /// Microseconds that it was awake, up to the last time it fell asleep.
    pub active_us: c_ulonglong,
    /// Microseconds of processor time that it used, up to then.
    pub cpu_us: c_ulonglong,
}

/// Lets the thread make progress (`on` other than 0) or holds it back. Returns what it was before, 1 or 0, or -1 where no thread
/// runs.
#[unsafe(no_mangle)]
pub extern "C" fn kilter_progress_enable(on: c_int) -> c_int {
    if !start::is_counting() {
        return -1;
    }
    let (before, is_to_be_woken) = SHARED.outstanding.enable(on != 0);
    if is_to_be_woken {
        start::wake();
    }
    c_int::from(before)
}

/// Fills `counts` and returns 0, or returns -1 where no thread runs or has run.
///
/// # Safety
/// `counts` points to a structure that may be written, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kilter_progress_counts(counts: *mut ProgressCounts) -> c_int {
    if counts.is_null() || !start::has_run() {
        return -1;
    }
    let (begun, outstanding) = SHARED.outstanding.counts();
    let of_thread = &SHARED.counts;
    let now = ProgressCounts {
        begun,
        outstanding,
        wakeups: of_thread.wakeups.load(Ordering::Relaxed),
        probes: of_thread.probes.load(Ordering::Relaxed),
        active_us: of_thread.active_us.load(Ordering::Relaxed),
        cpu_us: of_thread.cpu_us.load(Ordering::Relaxed),
    };
    // SAFETY: by this function's contract.
    unsafe { counts.write(now) };
    0
}
