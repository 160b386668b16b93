//! Attributes of communicators and of derived types: what is kept for one until it goes, by whatever path. Those of `MPI_COMM_SELF` go first of all
//! in `MPI_Finalize`, whatever language called it.

use std::ffi::{c_int, c_void};

use mpi_sys::{MPI_Comm, MPI_Datatype};

use crate::MpiError;
use crate::error::pmpi;

/// Makes keys and attributes of one kind of handle. Two kinds may be one type (MPICH's handles are numbers), so that no trait tells them apart.
macro_rules! attributes {
    ($visible:vis $handle:ty: $create:ident, $set:ident, $get:ident) => {
        /// Called with the handle, the key and the attribute when that goes.
        $visible type Delete = unsafe extern "C" fn($handle, c_int, *mut c_void, *mut c_void) -> c_int;

        /// A new key for attributes. A duplicate of the handle gets no copy of them.
        ///
        /// # Safety
        /// MPI runs; `delete` lives as long as the process and may be called with every attribute that is set under the key.
        $visible unsafe fn create_key(delete: Delete) -> Result<c_int, MpiError> {
            let mut key: c_int = -1;
            // SAFETY: MPI runs, by this function's contract; one int is written, and both functions live as long as the process.
            unsafe { pmpi!($create(Some(no_copy), Some(delete), &raw mut key, std::ptr::null_mut()))? };
            Ok(key)
        }

        /// Sets an attribute of a handle.
        ///
        /// # Safety
        /// The handle is valid, `key` is from [`create_key`], and the attribute is one that its function may be called with.
        $visible unsafe fn set(handle: $handle, key: c_int, attribute: *const c_void) -> Result<(), MpiError> {
            // SAFETY: by this function's contract; the library keeps the pointer and does not follow it.
            unsafe { pmpi!($set(handle, key, attribute.cast_mut())) }
        }

        /// The attribute of a handle; none where it has none, or where that is null.
        ///
        /// # Safety
        /// The handle is valid, `key` is from [`create_key`].
        #[must_use]
        $visible unsafe fn get(handle: $handle, key: c_int) -> Option<*const c_void> {
            let (mut attribute, mut found): (*mut c_void, c_int) = (std::ptr::null_mut(), 0);
            let to: *mut *mut c_void = &raw mut attribute;
            // SAFETY: by this function's contract; the library writes a pointer and an int.
            let got = unsafe { pmpi!($get(handle, key, to.cast(), &raw mut found)) };
            (got.is_ok() && found != 0 && !attribute.is_null()).then_some(attribute.cast_const())
        }

        /// A duplicate gets no copy. (Open MPI wants a function, not null.)
        unsafe extern "C" fn no_copy(
            _: $handle,
            _: c_int,
            _: *mut c_void,
            _: *mut c_void,
            _: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: the library's own int, which it reads when this returns.
            unsafe { *flag = 0 };
            0
        }
    };
}

attributes!(pub MPI_Comm: PMPI_Comm_create_keyval, PMPI_Comm_set_attr, PMPI_Comm_get_attr);

/// The same for derived types.
pub(crate) mod of_type {
    use super::{MPI_Datatype, MpiError, c_int, c_void, pmpi};

    attributes!(pub(crate) MPI_Datatype: PMPI_Type_create_keyval, PMPI_Type_set_attr, PMPI_Type_get_attr);
}
