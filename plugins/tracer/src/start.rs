//! Work between `MPI_Init` and `MPI_Finalize`.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use kilter_mpi::{MPI_Comm, MpiError, attribute, constants, environment, info};

use crate::clock::{self, Moment};
use crate::communicator;
use crate::matrix::Line;
use crate::settings::Settings;
use crate::table::Table;
use crate::write;

/// The counts of this rank, and what its file says beside them.
pub(crate) struct Tracer {
    pub(crate) directory: PathBuf,
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) host: String,
    pub(crate) library: String,
    /// A child of this process has the counts, too, and must not write them.
    pub(crate) process: u32,
    pub(crate) begin: Moment,
    pub(crate) table: Table,
    pub(crate) messages: Line,
    pub(crate) failed: AtomicU64,
}

static TRACER: OnceLock<Tracer> = OnceLock::new();
/// The tracer while calls are counted, else null: one load in each call.
static ACTIVE: AtomicPtr<Tracer> = AtomicPtr::new(ptr::null_mut());
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// The tracer, while calls are counted.
#[inline(always)]
pub(crate) fn active() -> Option<&'static Tracer> {
    // SAFETY: null or what `TRACER` holds, which is never written again.
    unsafe { ACTIVE.load(Ordering::Acquire).as_ref() }
}

/// Counts calls from now on, or no more.
pub(crate) fn enable(on: bool) {
    let tracer = TRACER.get().filter(|_| on && !WRITTEN.load(Ordering::Acquire));
    ACTIVE.store(
        tracer.map_or(ptr::null_mut(), |tracer| ptr::from_ref(tracer).cast_mut()),
        Ordering::Release,
    );
}

/// Begins to count.
///
/// # Safety
/// MPI was just initialised.
pub(crate) unsafe fn start() {
    if TRACER.get().is_some() || !info::is_running() {
        return;
    }
    let world = constants::comm_world();
    let rank = info::rank(world).unwrap_or(0);
    let warn = |reason: &dyn std::fmt::Display| {
        if rank == 0 {
            kilter_mpi::say(format_args!("warning: profile: {reason}; nothing is counted"));
        }
    };
    let settings = match Settings::from(environment::variable) {
        Ok(settings) => settings,
        Err(reason) => return warn(&reason),
    };
    clock::choose();
    // SAFETY: by this function's contract.
    let tracer = match unsafe { prepared(settings, rank) } {
        Ok(Some(tracer)) => tracer,
        Ok(None) => return warn(&"the system has no memory for the counts"),
        Err(error) => return warn(&error),
    };
    if TRACER.set(tracer).is_err() {
        return;
    }
    // SAFETY: the function lives as long as the process.
    unsafe { libc::atexit(at_exit) };
    enable(true);
}

/// The tracer of this rank; `None` without memory.
///
/// # Safety
/// MPI was just initialised.
unsafe fn prepared(settings: Settings, rank: usize) -> Result<Option<Tracer>, MpiError> {
    let world = constants::comm_world();
    let ranks = info::size(world)?;
    let shared = info::is_thread_multiple().unwrap_or(true);
    // The cells get half of the memory, the line of messages a quarter, communicators an eighth.
    let Some(table) = Table::new(settings.memory / 2, shared) else {
        return Ok(None);
    };
    // SAFETY: MPI runs; the functions live as long as the process, and the one for the end does not look at its attribute.
    unsafe {
        communicator::prepare(settings.memory / 8)?;
        let end = attribute::create_key(delete_of_self)?;
        attribute::set(constants::comm_self(), end, ptr::null())?;
    }
    let tracer = Tracer {
        directory: settings.directory,
        rank: u32::try_from(rank).unwrap_or(u32::MAX),
        ranks: u32::try_from(ranks).unwrap_or(u32::MAX),
        host: info::host_name().unwrap_or_default(),
        library: info::library_version().unwrap_or_default(),
        process: std::process::id(),
        begin: Moment::now(),
        table,
        messages: Line::new(ranks, settings.memory / 4, shared),
        failed: AtomicU64::new(0),
    };
    // SAFETY: MPI runs, and the registry was made above.
    unsafe {
        let _ = communicator::look_up(world);
        let _ = communicator::look_up(constants::comm_self());
    }
    Ok(Some(tracer))
}

/// Writes the counts. Nothing at the second call, or in a child of the process.
pub(crate) fn finish(finalized: bool) {
    ACTIVE.store(ptr::null_mut(), Ordering::SeqCst);
    let Some(tracer) = TRACER.get() else { return };
    if tracer.process != std::process::id() || WRITTEN.swap(true, Ordering::SeqCst) {
        return;
    }
    // No panic leaves this library.
    let written = catch_unwind(AssertUnwindSafe(|| write::write(tracer, finalized)));
    if let Ok(Err(error)) = written {
        kilter_mpi::say(format_args!("warning: profile: rank {}: {error}", tracer.rank));
    }
}

extern "C" fn at_exit() {
    finish(false);
}

/// Attributes of `MPI_COMM_SELF` are deleted first of all in `MPI_Finalize`, whatever language called it.
unsafe extern "C" fn delete_of_self(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    finish(true);
    0
}
