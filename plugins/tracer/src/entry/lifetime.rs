//! `MPI_Init`, `MPI_Abort` and `MPI_Pcontrol`.

use std::ffi::{c_char, c_int};

use kilter_mpi::MPI_Comm;

use super::{exported, library};
use crate::{start, thread};

type Argv = *mut *mut *mut c_char;

/// This thread is in MPI as long as this lives: what other preloaded libraries call in `MPI_Init` is not the program's.
struct Inside;

impl Inside {
    fn new() -> Inside {
        // SAFETY: the state of this thread, which nobody else looks at.
        unsafe { (*thread::current()).gate.enter() };
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // SAFETY: the state of this thread, which nobody else looks at.
        unsafe { (*thread::current()).gate.leave() };
    }
}

exported!(MPI_Init(argc: *mut c_int, argv: Argv) = init);
exported!(PMPI_Init(argc: *mut c_int, argv: Argv) = init);

unsafe extern "C" fn init(argc: *mut c_int, argv: Argv) -> c_int {
    let _inside = Inside::new();
    // SAFETY: the caller's call is valid; MPI runs when it has returned 0.
    unsafe {
        start::before();
        let code = library!(PMPI_Init(argc => *mut c_int, argv => Argv));
        if code == 0 {
            start::start();
        }
        code
    }
}

exported!(MPI_Init_thread(argc: *mut c_int, argv: Argv, required: c_int, provided: *mut c_int) = init_thread);
exported!(PMPI_Init_thread(argc: *mut c_int, argv: Argv, required: c_int, provided: *mut c_int) = init_thread);

unsafe extern "C" fn init_thread(argc: *mut c_int, argv: Argv, required: c_int, provided: *mut c_int) -> c_int {
    let _inside = Inside::new();
    // SAFETY: the caller's call is valid; MPI runs when it has returned 0.
    unsafe {
        start::before();
        let code = library!(PMPI_Init_thread(
            argc => *mut c_int, argv => Argv, required => c_int, provided => *mut c_int
        ));
        if code == 0 {
            start::start();
        }
        code
    }
}

exported!(MPI_Abort(comm: MPI_Comm, code: c_int) = abort);
exported!(PMPI_Abort(comm: MPI_Comm, code: c_int) = abort);

/// The job ends here, so that the counts are written first.
unsafe extern "C" fn abort(comm: MPI_Comm, code: c_int) -> c_int {
    start::finish(false);
    // SAFETY: the caller's call is valid.
    unsafe { library!(PMPI_Abort(comm => MPI_Comm, code => c_int)) }
}

// Counts from now on (1 and above) or no more (0), as the standard proposes for profilers. Further arguments, which a program may give, lie
// behind the first and are not looked at.
exported!(MPI_Pcontrol(level: c_int) = control);
exported!(PMPI_Pcontrol(level: c_int) = control);

unsafe extern "C" fn control(level: c_int) -> c_int {
    start::enable(level != 0);
    0
}
