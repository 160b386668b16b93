//! Counts: at the end for people, at any time for programs.

use std::ffi::{CString, c_char, c_int, c_ulonglong, c_void};
use std::sync::atomic::Ordering;

use crate::started::{self, Mode};

/// Says on rank 0 how often each implementation ran, if asked to.
pub(crate) fn report() {
    let Some(started) = started::found() else { return };
    let Ok(rules) = &started.rules else { return };
    if !started.log || started.rank != 0 {
        return;
    }
    for implementation in &rules.implementations {
        let id = implementation.id();
        match started.mode {
            Mode::Replace => {
                kilter_mpi::say(format_args!(
                    "{id}: {} calls",
                    implementation.calls.load(Ordering::Relaxed)
                ));
                let inside = implementation.inside.load(Ordering::Relaxed);
                if inside > 0 {
                    kilter_mpi::say(format_args!("{id}: {inside} calls inside others"));
                }
            }
            Mode::Log => {
                kilter_mpi::say(format_args!(
                    "{id}: would have run {} calls",
                    implementation.would_run.load(Ordering::Relaxed)
                ));
            }
        }
    }
}

/// Tells `visit` the id of each implementation of the profile and how often it has run on this rank, with `data` passed on.
/// Returns how many there are, or -1 where no profile is followed (then `visit` is not called).
///
/// A program finds it with `dlsym(RTLD_DEFAULT, "kilter_dropin_calls")`.
///
/// # Safety
/// `visit` may be called with C strings that it must not keep.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kilter_dropin_calls(
    visit: Option<unsafe extern "C" fn(id: *const c_char, calls: c_ulonglong, data: *mut c_void)>,
    data: *mut c_void,
) -> c_int {
    let Some(Ok(rules)) = started::found().map(|started| &started.rules) else {
        return -1;
    };
    for implementation in &rules.implementations {
        if let (Some(visit), Ok(id)) = (visit, CString::new(implementation.id())) {
            // SAFETY: by this function's contract.
            unsafe { visit(id.as_ptr(), implementation.calls.load(Ordering::Relaxed), data) };
        }
    }
    c_int::try_from(rules.implementations.len()).unwrap_or(c_int::MAX)
}
