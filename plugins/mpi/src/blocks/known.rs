//! Knowledge of a derived type, as an attribute of it: it goes with the type, whose handle may come back as another one. A duplicate gets no copy.

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use mpi_sys::MPI_Datatype;

use super::Blocks;
use crate::error::pmpi;

/// Blocks of an element, if they are regular, and the distance to the next element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) element: Option<Blocks>,
    pub(super) extent: isize,
}

/// The key, or nothing where the library gives none.
fn key() -> Option<c_int> {
    static KEY: OnceLock<Option<c_int>> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key: c_int = -1;
        let none = std::ptr::null_mut();
        // SAFETY: MPI runs, since there are derived types; one int is written, and both functions live as long as the process.
        let made = unsafe { pmpi!(PMPI_Type_create_keyval(Some(no_copy), Some(delete), &raw mut key, none)) };
        made.ok().map(|()| key)
    })
}

/// Knowledge of a type.
///
/// # Safety
/// The type is valid, and is not freed meanwhile.
pub(super) unsafe fn get(datatype: MPI_Datatype) -> Option<Known> {
    let (mut attribute, mut found): (*mut c_void, c_int) = (std::ptr::null_mut(), 0);
    let to: *mut *mut c_void = &raw mut attribute;
    // SAFETY: by this function's contract; the library writes a pointer and an int.
    let got = unsafe { pmpi!(PMPI_Type_get_attr(datatype, key()?, to.cast(), &raw mut found)) };
    let is_there = got.is_ok() && found != 0 && !attribute.is_null();
    // SAFETY: set by `set`, never replaced, and deleted with the type alone.
    is_there.then(|| unsafe { *attribute.cast::<Known>() })
}

/// Notes what is known of a derived type, unless another thread has done so.
///
/// # Safety
/// The type is valid, and is not freed meanwhile.
pub(super) unsafe fn set(datatype: MPI_Datatype, known: Known) {
    static SETTING: Mutex<()> = Mutex::new(());
    let Some(key) = key() else { return };
    let _setting = SETTING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: by this function's contract.
    if unsafe { get(datatype) }.is_some() {
        return;
    }
    let attribute = Box::into_raw(Box::new(known));
    // SAFETY: by this function's contract; the library keeps the pointer and does not follow it.
    let is_set = unsafe { pmpi!(PMPI_Type_set_attr(datatype, key, attribute.cast())) };
    if is_set.is_err() {
        // SAFETY: made above, and not kept by the library.
        drop(unsafe { Box::from_raw(attribute) });
    }
}

/// A duplicate gets no copy. (Open MPI wants a function, not null.)
unsafe extern "C" fn no_copy(
    _: MPI_Datatype,
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

unsafe extern "C" fn delete(_: MPI_Datatype, _: c_int, attribute: *mut c_void, _: *mut c_void) -> c_int {
    // SAFETY: made by `set`, and deleted once.
    drop(unsafe { Box::from_raw(attribute.cast::<Known>()) });
    0
}
