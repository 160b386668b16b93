//! `MPI_Init`, `MPI_Finalize` and what else concerns the thread.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};

use kilter_mpi::{MPI_Comm, constants, environment, info};

use super::{exported, library};
use crate::settings::{Mode, Settings};
use crate::{control, cpus, start};

type Argv = *mut *mut *mut c_char;

/// No level was told.
const UNTOLD: c_int = -1;
/// The thread level that the program was told, if it asked for one.
static TOLD: AtomicI32 = AtomicI32::new(UNTOLD);

exported! {
    MPI_Init PMPI_Init(argc: *mut c_int, argv: Argv) = init;
    MPI_Init_thread PMPI_Init_thread(argc: *mut c_int, argv: Argv, required: c_int, provided: *mut c_int) = init_thread;
    MPI_Query_thread PMPI_Query_thread(provided: *mut c_int) = query_thread;
    MPI_Finalize PMPI_Finalize() = finalize;
    MPI_Abort PMPI_Abort(comm: MPI_Comm, code: c_int) = abort;
    MPI_Pcontrol PMPI_Pcontrol(level: c_int) = pcontrol;
}

unsafe fn init(argc: *mut c_int, argv: Argv) -> c_int {
    // SAFETY: the caller's call is valid.
    unsafe {
        initialise(|raised| match raised {
            Some((level, provided)) => library!(PMPI_Init_thread(
                argc => *mut c_int, argv => Argv, level => c_int, provided => *mut c_int
            )),
            None => library!(PMPI_Init(argc => *mut c_int, argv => Argv)),
        })
    }
}

unsafe fn init_thread(argc: *mut c_int, argv: Argv, required: c_int, told: *mut c_int) -> c_int {
    // SAFETY: the caller's call is valid.
    unsafe {
        initialise(|raised| {
            let (level, provided) = raised.unwrap_or((required, told));
            let code = library!(PMPI_Init_thread(
                argc => *mut c_int, argv => Argv, level => c_int, provided => *mut c_int
            ));
            if code == 0 && raised.is_some() {
                // The program is told the level that it would have got without the thread, as far as the library has
                // it.
                *told = (*provided).min(required);
                TOLD.store(*told, Ordering::Relaxed);
            }
            code
        })
    }
}

/// Initialises MPI by `call`, which is told to which level to raise and where to write what is provided, if at all; then starts the
/// thread.
///
/// # Safety
/// `call` initialises MPI.
unsafe fn initialise(call: impl FnOnce(Option<(c_int, *mut c_int)>) -> c_int) -> c_int {
    let (mut settings, mut wrong) = match Settings::from(environment::variable) {
        Ok(settings) => (settings, None),
        Err(wrong) => (Settings::off(), Some(wrong.to_string())),
    };
    let (level, mut provided) = (constants::thread_multiple(), UNTOLD);
    let is_wanted = settings.mode != Mode::Off && !settings.is_refused_on(cpus::online());
    let code = call(is_wanted.then_some((level, &raw mut provided)));
    if code != 0 {
        return code;
    }
    if is_wanted && provided < level {
        settings.mode = Mode::Off;
        wrong = Some(format!(
            "`{}` does not provide MPI_THREAD_MULTIPLE",
            info::library_version().unwrap_or_default()
        ));
    }
    // SAFETY: MPI was just initialised, by all ranks, and has the level where it is wanted.
    unsafe { start::start(&settings, wrong.as_deref(), is_wanted) };
    code
}

unsafe fn query_thread(provided: *mut c_int) -> c_int {
    // SAFETY: the caller's call is valid.
    unsafe {
        let code = library!(PMPI_Query_thread(provided => *mut c_int));
        let told = TOLD.load(Ordering::Relaxed);
        if code == 0 && told != UNTOLD {
            *provided = told;
        }
        code
    }
}

unsafe fn finalize() -> c_int {
    start::finish();
    // SAFETY: the caller's call is valid.
    unsafe { library!(PMPI_Finalize()) }
}

unsafe fn abort(comm: MPI_Comm, code: c_int) -> c_int {
    start::keep_out();
    // SAFETY: the caller's call is valid.
    unsafe { library!(PMPI_Abort(comm => MPI_Comm, code => c_int)) }
}

/// Level 0 holds the thread back, others let it help. The function has more arguments, which nobody needs: the library's does nothing.
unsafe fn pcontrol(level: c_int) -> c_int {
    let _ = control::kilter_progress_enable(level);
    // SAFETY: the caller's call is valid; the library's function looks at no further argument.
    unsafe { library!(PMPI_Pcontrol(level => c_int)) }
}
