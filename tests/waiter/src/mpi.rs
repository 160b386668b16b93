//! `MPI_Init`, `MPI_Init_thread` and `MPI_Finalize`: where real-time priority begins and ends.
//!
//! The library's own functions are looked up when they are called, so this library loads into any program, with MPI or
//! without.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    mem::transmute,
};

use crate::settings;

type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int;
type InitThread = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int;
type Finalize = unsafe extern "C" fn() -> c_int;

/// `MPI_ERR_OTHER` of neither library in particular: any value but `MPI_SUCCESS` says that there was no MPI to call.
const NO_MPI: c_int = 1;

/// # Safety
///
/// As for `MPI_Init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    let Some(address) = next(c"MPI_Init") else {
        return NO_MPI;
    };
    // SAFETY: the symbol has this type in every MPI library.
    let init = unsafe { transmute::<*mut c_void, Init>(address) };
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe { init(argc, argv) };
    raise();
    result
}

/// # Safety
///
/// As for `MPI_Init_thread`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Init_thread(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    let Some(address) = next(c"MPI_Init_thread") else {
        return NO_MPI;
    };
    // SAFETY: the symbol has this type in every MPI library.
    let init = unsafe { transmute::<*mut c_void, InitThread>(address) };
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe { init(argc, argv, required, provided) };
    raise();
    result
}

/// # Safety
///
/// As for `MPI_Finalize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Finalize() -> c_int {
    let Some(address) = next(c"MPI_Finalize") else {
        return NO_MPI;
    };
    if settings::priority().is_some() {
        schedule(libc::SCHED_OTHER, 0);
    }
    // SAFETY: the symbol has this type in every MPI library.
    let finalize = unsafe { transmute::<*mut c_void, Finalize>(address) };
    // SAFETY: no arguments.
    unsafe { finalize() }
}

/// The next definition of `name` after this library's.
fn next(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

fn raise() {
    if let Some(priority) = settings::priority() {
        schedule(libc::SCHED_FIFO, priority);
    }
}

/// Sets the calling thread's scheduling; threads that it starts later inherit it. Without the right to do so it stays.
fn schedule(policy: c_int, priority: c_int) {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the parameters outlive the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
}
