//! The worker as SimGrid's SMPI loads it: a shared object with a C `main`.
//!
//! Ranks are not processes: `smpirun` loads this library once for each (so that each has statics of its own) and calls `main` in turn, all in one
//! thread.

#![cfg(feature = "smpi")]

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt as _;
use std::panic::catch_unwind;
use std::path::PathBuf;

/// Exit status of a rank that panicked, as Rust's own `main` has it.
const PANICKED: c_int = 101;

/// Entry point that SMPI calls for each rank. The arguments are the rank's own; `std::env::args` would give those of the simulator.
///
/// # Safety
/// `argv` points to `argc` C strings.
#[unsafe(no_mangle)]
unsafe extern "C" fn main(argc: c_int, argv: *const *const c_char) -> c_int {
    let arguments: Vec<PathBuf> = (1..usize::try_from(argc).unwrap_or(0))
        .map(|i| {
            // SAFETY: by this function's contract.
            let argument = unsafe { CStr::from_ptr(*argv.add(i)) };
            PathBuf::from(OsStr::from_bytes(argument.to_bytes()))
        })
        .collect();
    // A panic must not unwind into the simulator, which is C++.
    catch_unwind(|| kilter_worker::work(arguments)).map_or(PANICKED, c_int::from)
}
