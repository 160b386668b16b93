//! The library's own functions, for libraries that are preloaded and export the same names.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of the library that a preloaded library shadows; found by name behind the object that this is part of, once.
#[derive(Debug)]
pub struct Real {
    /// Name with a NUL at its end.
    name: &'static str,
    address: AtomicPtr<c_void>,
}

impl Real {
    /// Distance of the address from the function, for code that calls it and is no Rust. The address is null until it was asked for.
    pub const ADDRESS: usize = std::mem::offset_of!(Real, address);

    /// `name` ends with a NUL.
    #[must_use]
    pub const fn new(name: &'static str) -> Real {
        Real {
            name,
            address: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Its address. Ends the process where there is none: the call cannot be made at all.
    #[inline]
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Relaxed);
        if known.is_null() { self.find() } else { known }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        // SAFETY: looks a symbol up behind this object; the name ends with a NUL.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr().cast()) };
        if found.is_null() {
            let name = self.name.trim_end_matches('\0');
            crate::say(format_args!(
                "error: no {name} behind Kilter's library: preload it (LD_PRELOAD) in a program that is linked to MPI"
            ));
            std::process::abort();
        }
        self.address.store(found, Ordering::Relaxed);
        found
    }
}
