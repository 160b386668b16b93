//! Registers variables again that Open MPI 4.1 loses. Its component `pml_monitoring` replaces the selected one while it
//! is being closed. With the close its variables become invalid, although it works on. (In 5.0 it is part of the
//! library, and nothing is closed.)

use std::ffi::{CStr, c_void};

/// Library that the components share; loaded only if one of them is in use.
const LIBRARY: &CStr = c"libmca_common_monitoring.so.50";
/// `void mca_common_monitoring_register(void *component)`, which does not look at its argument.
const REGISTER: &CStr = c"mca_common_monitoring_register";

/// Registers the variables again, control variables among them; whether there was something to register.
pub(crate) fn register_again() -> bool {
    // SAFETY: nothing is loaded, and so no code runs, unless it is there already; the name is a C string.
    let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    if library.is_null() {
        return false;
    }
    // SAFETY: the library is loaded.
    let register = unsafe { libc::dlsym(library, REGISTER.as_ptr()) };
    if !register.is_null() {
        // SAFETY: the type is that of Open MPI 4.0 and 4.1, whose libraries alone have this name; it was called once when the
        // component was opened, and replaces what it registered then.
        unsafe {
            let register: unsafe extern "C" fn(*mut c_void) = std::mem::transmute(register);
            register(std::ptr::null_mut());
        }
    }
    // SAFETY: gives back what `dlopen` counted; the component keeps the library.
    unsafe { libc::dlclose(library) };
    !register.is_null()
}
