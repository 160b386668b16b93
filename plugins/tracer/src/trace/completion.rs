//! Calls that complete requests: what they are given is noted before the call, since the library sets what is complete to null.

use std::ffi::c_int;

use kilter_mpi::{constants, handle};
use mpi_sys::{MPI_Request, MPI_Status};

use super::act::{self, Done};
use super::local::{self, Local};
use super::{Trace, operations};

/// The program's status of a call that completes one request, or this one if it wants none and is traced.
#[inline(always)]
pub(crate) fn traced(status: *mut MPI_Status, own: *mut MPI_Status) -> *mut MPI_Status {
    let is_wanted = status == constants::status_ignore() && super::active().is_some();
    if is_wanted { own } else { status }
}

/// Notes requests before a call that completes some of them. Returns the program's statuses, or some of our own if it wants none.
///
/// # Safety
/// There are so many requests.
#[inline(always)]
pub(crate) unsafe fn noted(count: c_int, requests: *const MPI_Request, statuses: *mut MPI_Status) -> *mut MPI_Status {
    match super::active() {
        // SAFETY: by this function's contract.
        Some(trace) if local::is_outermost() => unsafe { noted_for(trace, count, requests, statuses) },
        _ => statuses,
    }
}

/// The same where calls are traced; apart, so that the wrappers where they are not stay short.
///
/// # Safety
/// There are so many requests.
#[inline(never)]
unsafe fn noted_for(
    trace: &'static Trace,
    count: c_int,
    requests: *const MPI_Request,
    statuses: *mut MPI_Status,
) -> *mut MPI_Status {
    let local = local::of(trace);
    local.handles.clear();
    let count = usize::try_from(count).unwrap_or(0);
    if count > 0 && !requests.is_null() {
        // SAFETY: by this function's contract.
        let given = unsafe { std::slice::from_raw_parts(requests, count) };
        local.handles.extend(given.iter().map(|request| handle::bits(*request)));
    }
    if statuses != constants::status_ignore() && statuses != constants::statuses_ignore() {
        return statuses;
    }
    if local.statuses.len() < count.max(1) {
        // SAFETY: zeros are a status.
        local.statuses.resize(count.max(1), unsafe { std::mem::zeroed() });
    }
    local.statuses.as_mut_ptr()
}

/// Finds the operations that are complete now.
///
/// # Safety
/// The library has written to what the pointers point at.
pub(crate) unsafe fn collect(trace: &Trace, local: &mut Local, done: Done) {
    local.done.clear();
    let count = local.handles.len();
    // SAFETY: by this function's contract.
    let is_set = |flag: *const c_int| unsafe { flag.as_ref() }.is_none_or(|flag| *flag != 0);
    let number = |number: *const c_int| {
        // SAFETY: by this function's contract.
        let number = unsafe { number.as_ref() }.copied()?;
        usize::try_from(number)
            .ok()
            .filter(|_| number != constants::undefined())
    };
    let mut add = |index: usize, status: usize| {
        let Some(handle) = local.handles.get(index) else { return };
        if let Some(pending) = trace.requests.complete(*handle) {
            local.done.push((pending, status));
        }
    };
    match done {
        Done::All(flag) if is_set(flag) => (0..count).for_each(|index| add(index, index)),
        Done::Any(index, flag) if is_set(flag) => {
            if let Some(index) = number(index) {
                add(index, 0);
            }
        }
        Done::Some(found, indices) => {
            for at in 0..number(found).unwrap_or(0).min(count) {
                // SAFETY: so many indices were written, by this function's contract.
                if let Some(index) = number(unsafe { indices.add(at) }) {
                    add(index, at);
                }
            }
        }
        // One request is not noted: its wrapper has the handle.
        Done::One(..) | Done::All(_) | Done::Any(..) => {}
    }
    local.handles.clear();
}

/// True if an operation that was asked to be cancelled was.
///
/// # Safety
/// The status is none, or the library has filled it.
#[inline(always)]
pub(crate) unsafe fn was_cancelled(pending: &operations::Pending, status: *const MPI_Status) -> bool {
    if !pending.cancelled {
        return false;
    }
    let mut flag: c_int = 0;
    // SAFETY: by this function's contract; an int is written.
    unsafe {
        act::known(status).is_some_and(|status| mpi_sys::PMPI_Test_cancelled(status, &raw mut flag) == 0 && flag != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_is_traced_the_programs_status_stays() {
        let (ignored, mut own) = (constants::status_ignore(), crate::record::no_status());
        assert_eq!(traced(ignored, &raw mut own), ignored);
    }
}
