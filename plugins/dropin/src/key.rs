//! The attribute by which the drop-in knows a communicator again.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering};

use kilter_mpi::{MPI_Comm, MpiError, attribute};

/// Attributes of communicators whose calls go to the library: without rules, or private.
static PASS: u8 = 0;
static PRIVATE: u8 = 1;

static KEY: AtomicI32 = AtomicI32::new(-1);

/// The attribute of a communicator without rules.
pub(crate) fn pass() -> *const c_void {
    (&raw const PASS).cast()
}

/// The attribute of a private communicator, on which implementations make calls.
pub(crate) fn private() -> *const c_void {
    (&raw const PRIVATE).cast()
}

/// From now on, attributes are those of this key.
pub(crate) fn take(key: i32) {
    KEY.store(key, Ordering::Release);
}

/// # Safety
/// A valid communicator, after [`take`].
pub(crate) unsafe fn attribute_of(comm: MPI_Comm) -> Option<*const c_void> {
    // SAFETY: by this function's contract.
    unsafe { attribute::get(comm, KEY.load(Ordering::Acquire)) }
}

/// # Safety
/// A valid communicator, after [`take`]; the attribute lives until the communicator goes.
pub(crate) unsafe fn set_attribute(comm: MPI_Comm, attribute: *const c_void) -> Result<(), MpiError> {
    // SAFETY: by this function's contract.
    unsafe { attribute::set(comm, KEY.load(Ordering::Acquire), attribute) }
}
