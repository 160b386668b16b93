//! Attributes of communicators: what is kept for one until it goes, by whatever path. Those of `MPI_COMM_SELF` go first of all
//! in `MPI_Finalize`, whatever language called it.

use std::ffi::{c_int, c_void};

use mpi_sys::MPI_Comm;

use crate::MpiError;
use crate::error::pmpi;

/// Called with the communicator, the key and the attribute when that goes.
pub type Delete = unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int;

/// A new key for attributes. A duplicate of a communicator gets no copy of them.
///
/// # Safety
/// MPI runs; `delete` lives as long as the process and may be called with every attribute that is set under the key.
pub unsafe fn create_key(delete: Delete) -> Result<c_int, MpiError> {
    let mut key: c_int = -1;
    // SAFETY: writes one int; both functions live as long as the process.
    unsafe {
        pmpi!(PMPI_Comm_create_keyval(
            Some(no_copy),
            Some(delete),
            &raw mut key,
            std::ptr::null_mut()
        ))?;
    }
    Ok(key)
}

/// Sets an attribute of `comm`.
///
/// # Safety
/// `comm` is valid, `key` is from [`create_key`], and the attribute is one that its function may be called with.
pub unsafe fn set(comm: MPI_Comm, key: c_int, attribute: *const c_void) -> Result<(), MpiError> {
    // SAFETY: by this function's contract; the library keeps the pointer and does not follow it.
    unsafe { pmpi!(PMPI_Comm_set_attr(comm, key, attribute.cast_mut())) }
}

/// The attribute of `comm`; none where it has none, or where that is null.
///
/// # Safety
/// `comm` is valid, `key` is from [`create_key`].
#[must_use]
pub unsafe fn get(comm: MPI_Comm, key: c_int) -> Option<*const c_void> {
    let (mut attribute, mut found): (*mut c_void, c_int) = (std::ptr::null_mut(), 0);
    let to: *mut *mut c_void = &raw mut attribute;
    // SAFETY: by this function's contract; the library writes a pointer and an int.
    let got = unsafe { pmpi!(PMPI_Comm_get_attr(comm, key, to.cast(), &raw mut found)) };
    (got.is_ok() && found != 0 && !attribute.is_null()).then_some(attribute.cast_const())
}

/// A duplicate gets no copy. (Open MPI wants a function, not null.)
unsafe extern "C" fn no_copy(
    _: MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes a pointer to an int.
    unsafe { *flag = 0 };
    0
}
