//! Knowledge of a derived type, as an attribute of it: it goes with the type, whose handle may come back as another one. A duplicate gets no copy.

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use mpi_sys::MPI_Datatype;

use super::Blocks;
use super::pieces::List;
use crate::attribute::of_type;

/// Blocks of an element, if they are regular, or its pieces, if these are few, and the distance to the next element.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) element: Option<Blocks>,
    pub(super) pieces: Option<List>,
    pub(super) extent: isize,
}

/// The key, or nothing where the library gives none.
fn key() -> Option<c_int> {
    static KEY: OnceLock<Option<c_int>> = OnceLock::new();
    // SAFETY: MPI runs, since there are derived types; `delete` is a function of this file, and `set` alone sets attributes under the key.
    *KEY.get_or_init(|| unsafe { of_type::create_key(delete) }.ok())
}

/// Knowledge of a type.
///
/// # Safety
/// The type is valid, and is not freed while the knowledge is used.
pub(super) unsafe fn get<'k>(datatype: MPI_Datatype) -> Option<&'k Known> {
    // SAFETY: by this function's contract.
    let attribute = unsafe { of_type::get(datatype, key()?) }?;
    // SAFETY: set by `set`, never replaced, and deleted with the type alone.
    Some(unsafe { &*attribute.cast::<Known>() })
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
    // SAFETY: by this function's contract; `delete` may be called with what `Box` made.
    let is_set = unsafe { of_type::set(datatype, key, attribute.cast()) };
    if is_set.is_err() {
        // SAFETY: made above, and not kept by the library.
        drop(unsafe { Box::from_raw(attribute) });
    }
}

unsafe extern "C" fn delete(_: MPI_Datatype, _: c_int, attribute: *mut c_void, _: *mut c_void) -> c_int {
    // SAFETY: made by `set`, and deleted once.
    drop(unsafe { Box::from_raw(attribute.cast::<Known>()) });
    0
}
