//! `MPI_Init`: whether every rank has the drop-in. A rank that has it not could never agree on anything, and would be waited for.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicU8, Ordering};

use kilter_mpi::presence::{self, Library, Presence};
use kilter_mpi::{constants, info};

use crate::exported::exported;
use crate::warning::warn;
use crate::world;

type Argv = *mut *mut *mut c_char;

/// Nobody has asked yet.
const UNKNOWN: u8 = 0;
const EVERYWHERE: u8 = 1;
const NOT: u8 = 2;

static FOUND: AtomicU8 = AtomicU8::new(UNKNOWN);

/// True if every rank has the drop-in. Warns once if `MPI_Init` did not go through the drop-in, so that the ranks were never asked.
pub(crate) fn is_everywhere() -> bool {
    match FOUND.load(Ordering::Acquire) {
        EVERYWHERE => true,
        NOT => false,
        _ => {
            let alone = info::size(constants::comm_world()).is_ok_and(|size| size == 1);
            let speaks = !alone && info::rank(constants::comm_world()).is_ok_and(|rank| rank == 0);
            warn(
                speaks,
                "MPI_Init was not called through libkilter.so, so that it cannot know whether every rank has it; the library's own collectives \
                 are used",
            );
            alone
        }
    }
}

/// Asks, after the first of the calls that initialise MPI.
fn ask() {
    if FOUND.load(Ordering::Acquire) != UNKNOWN || !info::is_running() {
        return;
    }
    let rank = info::rank(constants::comm_world()).unwrap_or(0);
    // SAFETY: MPI was just initialised, and every rank that has the drop-in comes here.
    let found = unsafe { presence::find_out(Library::Dropin) };
    let reason = presence::objection(Library::Dropin, &found, rank);
    if let Some(reason) = reason {
        warn(true, &format!("{reason}; the library's own collectives are used"));
    }
    let found = if found == Ok(Presence::Everywhere) {
        EVERYWHERE
    } else {
        NOT
    };
    FOUND.store(found, Ordering::Release);
    if found == EVERYWHERE {
        // SAFETY: MPI was just initialised, and all ranks have found the same.
        unsafe { world::at_begin(rank) };
    }
}

/// Asks once the call that initialises MPI has returned.
fn initialised(next: impl FnOnce() -> c_int) -> c_int {
    let code = next();
    if code == 0 {
        ask();
    }
    code
}

exported! {
    MPI_Init(argc: *mut c_int, argv: Argv) = initialised();
    PMPI_Init(argc: *mut c_int, argv: Argv) = initialised();
    MPI_Init_thread(argc: *mut c_int, argv: Argv, required: c_int, provided: *mut c_int) = initialised();
    PMPI_Init_thread(argc: *mut c_int, argv: Argv, required: c_int, provided: *mut c_int) = initialised();
}
