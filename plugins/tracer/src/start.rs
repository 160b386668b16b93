//! Work between `MPI_Init` and `MPI_Finalize`.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use kilter_mpi::presence::{self, Library, Presence};
use kilter_mpi::{MPI_Comm, MpiError, attribute, constants, environment, info};

use crate::clock::{self, Moment};
use crate::common_clock::CommonClock;
use crate::communicator;
use crate::matrix::Line;
use crate::samples::Samples;
use crate::settings::{self, Settings};
use crate::table::Table;
use crate::trace::{self, Identity, Trace};
use crate::write;

/// Memory for communicators where nothing is counted.
const COMMUNICATORS: usize = 2 << 20;

/// This rank, with one or both of counts and trace.
pub(crate) struct Tracer {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) host: String,
    pub(crate) library: String,
    /// A child of this process has the counts, too, and must not write them.
    pub(crate) process: u32,
    pub(crate) begin: Moment,
    pub(crate) counts: Option<Counts>,
    pub(crate) trace: Option<Trace>,
    pub(crate) failed: AtomicU64,
    /// None where clocks are not compared.
    pub(crate) clock: Option<CommonClock>,
}

/// The counts of this rank.
pub(crate) struct Counts {
    pub(crate) directory: PathBuf,
    pub(crate) table: Table,
    pub(crate) messages: Line,
    pub(crate) samples: Samples,
    /// Receives by their senders.
    pub(crate) receives: Table,
}

impl Counts {
    /// `None` without memory. Without a common clock nothing is sampled.
    fn new(settings: settings::Counts, has_clock: bool, (ranks, shared): (usize, bool)) -> Option<Counts> {
        let interval = if has_clock { settings.interval } else { 0 };
        // The cells get half of the memory, the line of messages a quarter, communicators an eighth, samples a thirty-second: what they tell does not get
        // better with more of them, and all ranks' samples are read together.
        Some(Counts {
            directory: settings.directory,
            table: Table::new(settings.memory / 2, shared)?,
            messages: Line::new(ranks, settings.memory / 4, shared),
            samples: Samples::new(interval, settings.memory / 32),
            // A sixteenth.
            receives: Table::new(settings.memory / 16, shared)?,
        })
    }
}

static TRACER: OnceLock<Tracer> = OnceLock::new();
/// A moment before MPI was initialised.
static BEFORE: OnceLock<Moment> = OnceLock::new();
/// The tracer while calls are counted or traced, else null: one load in each call. Code that the exported functions have of it names it.
pub(crate) static ACTIVE: AtomicPtr<Tracer> = AtomicPtr::new(ptr::null_mut());
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// The tracer, while calls are counted or traced.
#[inline(always)]
pub(crate) fn active() -> Option<&'static Tracer> {
    // SAFETY: null or what `TRACER` holds, which is never written again.
    unsafe { ACTIVE.load(Ordering::Acquire).as_ref() }
}

/// Notes the time before MPI is initialised.
pub(crate) fn before() {
    clock::choose();
    let _ = BEFORE.set(Moment::now());
}

/// Counts and traces calls from now on, or no more.
pub(crate) fn enable(on: bool) {
    let tracer = TRACER.get().filter(|_| on && !WRITTEN.load(Ordering::Acquire));
    ACTIVE.store(
        tracer.map_or(ptr::null_mut(), |tracer| ptr::from_ref(tracer).cast_mut()),
        Ordering::Release,
    );
    trace::enable(tracer.and_then(|tracer| tracer.trace.as_ref()));
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
            kilter_mpi::say(format_args!("warning: profile: {reason}; nothing is counted or traced"));
        }
    };
    let settings = match Settings::from(environment::variable) {
        Ok(settings) => settings,
        Err(reason) => return warn(&reason),
    };
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

/// True if all ranks have the tracer. Where some have not, as in one of several programs of a command, calls are counted and traced and none is sampled, since
/// clocks cannot be compared with nobody: no rank waits for ever.
///
/// # Safety
/// MPI was just initialised, and all ranks with the tracer make this call.
unsafe fn is_everywhere(rank: usize) -> bool {
    // SAFETY: by this function's contract.
    let found = unsafe { presence::find_out(Library::Tracer) };
    if let Some(reason) = presence::objection(Library::Tracer, &found, rank) {
        kilter_mpi::say(format_args!(
            "warning: {reason}, or say that clocks are not compared (profile: --sample 0, trace: --clocks day); calls are counted and traced, waiting \
             is estimated, and hosts have their clocks of the day"
        ));
    }
    found == Ok(Presence::Everywhere)
}

/// The tracer of this rank; `None` without memory.
///
/// # Safety
/// MPI was just initialised.
unsafe fn prepared(settings: Settings, rank: usize) -> Result<Option<Tracer>, MpiError> {
    let world = constants::comm_world();
    let ranks = info::size(world)?;
    let shared = info::is_thread_multiple().unwrap_or(true);
    // All ranks must come here, so that it stands before everything that can fail on one.
    // SAFETY: by this function's contract; ranks with the tracer have the same settings.
    let clock = if settings.compares_clocks() && ranks > 1 && unsafe { is_everywhere(rank) } {
        // SAFETY: by this function's contract; all ranks have found the same.
        Some(unsafe { CommonClock::at_begin(rank, ranks) }?)
    } else {
        None
    };
    let for_communicators = settings
        .counts
        .as_ref()
        .map_or(COMMUNICATORS, |counts| counts.memory / 8);
    let counts = match settings.counts {
        Some(settings) => match Counts::new(settings, clock.is_some(), (ranks, shared)) {
            Some(counts) => Some(counts),
            None => return Ok(None),
        },
        None => None,
    };
    // SAFETY: MPI runs; the functions live as long as the process, and the one for the end does not look at its attribute.
    unsafe {
        communicator::prepare(for_communicators)?;
        let end = attribute::create_key(delete_of_self)?;
        attribute::set(constants::comm_self(), end, ptr::null())?;
    }
    let [rank, ranks] = [rank, ranks].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    let (host, library) = (
        info::host_name().unwrap_or_default(),
        info::library_version().unwrap_or_default(),
    );
    let process = std::process::id();
    let identity = Identity {
        rank,
        ranks,
        process,
        host: &host,
        library: &library,
        threads: shared,
    };
    let first = BEFORE.get().copied().unwrap_or_else(Moment::now);
    let trace = match settings.trace.map(|settings| Trace::new(settings, &identity, first)) {
        Some(Ok(trace)) => Some(trace),
        // Every rank says it: another one may have its file on another disk.
        Some(Err(reason)) => {
            kilter_mpi::say(format_args!("warning: trace: {reason}; this rank is not traced"));
            None
        }
        None => None,
    };
    if let Some((trace, clock)) = trace.as_ref().zip(clock.as_ref()) {
        trace.know_clock(clock.known());
    }
    let tracer = Tracer {
        rank,
        ranks,
        host,
        library,
        process,
        begin: Moment::careful(),
        counts,
        trace,
        failed: AtomicU64::new(0),
        clock,
    };
    // SAFETY: MPI runs, and the registry was made above.
    unsafe {
        let _ = communicator::look_up(world);
        let _ = communicator::look_up(constants::comm_self());
    }
    Ok(Some(tracer))
}

/// Writes the counts and ends the trace. Nothing at the second call, or in a child of the process.
pub(crate) fn finish(finalized: bool) {
    ACTIVE.store(ptr::null_mut(), Ordering::SeqCst);
    trace::stop();
    let Some(tracer) = TRACER.get() else { return };
    if tracer.process != std::process::id() || WRITTEN.swap(true, Ordering::SeqCst) {
        return;
    }
    let end = Moment::now();
    // No panic leaves this library.
    let written = catch_unwind(AssertUnwindSafe(|| {
        let counts = tracer.counts.as_ref();
        counts.map(|counts| write::write(tracer, counts, finalized)).transpose()
    }));
    // All that was recorded is in the files by now, so that a rank that never comes to MPI_Finalize costs nobody's. Also a rank without a file is asked.
    let clock = tracer.clock.as_ref().filter(|_| finalized);
    // SAFETY: MPI_Finalize has begun, which all ranks call and in which they wait for each other; it has ended nothing yet.
    let at_end = clock.and_then(|clock| unsafe { clock.compare() });
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if let Some(trace) = &tracer.trace {
            trace.end(tracer.rank, end, at_end, finalized);
        }
    }));
    let file = written.unwrap_or(Ok(None));
    if let Err(error) = file.and_then(|file| file.map_or(Ok(()), |file| write::append(&file, at_end))) {
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
