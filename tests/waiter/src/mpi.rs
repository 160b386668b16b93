//! `MPI_Init`, `MPI_Init_thread` and `MPI_Finalize`, under both of their names: where real-time priority begins and ends.
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

/// Exports a function under a name: calls the next definition of it, and raises the priority afterwards.
macro_rules! initialises {
    ($($name:ident as $of:ident ($($argument:ident: $type:ty),*);)*) => { $(
        /// # Safety
        ///
        /// As MPI says of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let name = const { name(concat!(stringify!($name), "\0")) };
            let Some(address) = next(name) else {
                return NO_MPI;
            };
            // SAFETY: the symbol has this type in every MPI library.
            let init = unsafe { transmute::<*mut c_void, $of>(address) };
            // SAFETY: the caller's arguments, passed on.
            let result = unsafe { init($($argument),*) };
            raise();
            result
        }
    )* };
}

// Also under the names of the profiling interface: a library that is preloaded before this one, or Fortran's part of Open MPI, calls these.
initialises! {
    MPI_Init as Init (argc: *mut c_int, argv: *mut *mut *mut c_char);
    PMPI_Init as Init (argc: *mut c_int, argv: *mut *mut *mut c_char);
    MPI_Init_thread as InitThread (argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int);
    PMPI_Init_thread as InitThread (argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int);
}

/// Exports a function under a name: lowers the priority, and calls the next definition of it.
macro_rules! ends {
    ($($name:ident)*) => { $(
        /// # Safety
        ///
        /// As MPI says of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            let name = const { name(concat!(stringify!($name), "\0")) };
            let Some(address) = next(name) else {
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
    )* };
}

ends!(MPI_Finalize PMPI_Finalize);

/// The text, which ends with a zero byte, as C's.
const fn name(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name ends with a zero byte"),
    }
}

/// The next definition of `name` after this library's.
fn next(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

fn raise() {
    if let Some(priority) = settings::priority() {
        schedule(libc::SCHED_RR, priority);
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
