//! Work between `MPI_Init` and `MPI_Finalize`.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use kilter_mpi::presence::{self, Library, Presence};
use kilter_mpi::{MPI_Comm, MpiError, attribute, constants, info};

use crate::cpus;
use crate::exchange;
use crate::placement::{Decision, Node};
use crate::probe::Probe;
use crate::settings::{Report, Settings};
use crate::thread::{Manner, Shared, Started, Step};

/// Between two probes of a thread that shares its core, unless it was said.
const NAP_ON_SHARED_CORE: Duration = Duration::from_micros(100);
/// A thread that has not ended after this time in `MPI_Finalize` is left behind.
const END_LIMIT: Duration = Duration::from_secs(2);
/// Time that the end of the process waits for the thread to leave the library.
const EXIT_LIMIT: Duration = Duration::from_millis(100);

pub(crate) static SHARED: Shared = Shared::new();

/// True while a thread runs, so that calls are counted.
static COUNTING: AtomicBool = AtomicBool::new(false);
static THREAD: OnceLock<Thread> = OnceLock::new();
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

struct Running {
    started: Started<Probe>,
    report: Report,
    rank: usize,
    /// A child of this process has no thread, though it has this.
    process: u32,
}

/// True if a thread runs.
#[inline]
pub(crate) fn is_counting() -> bool {
    COUNTING.load(Ordering::Relaxed)
}

/// True if a thread runs or has run.
pub(crate) fn has_run() -> bool {
    THREAD.get().is_some()
}

/// Wakes the thread.
pub(crate) fn wake() {
    if let Some(thread) = THREAD.get() {
        thread.unpark();
    }
}

/// Starts the thread, if all ranks of the node can have theirs.
///
/// # Safety
/// MPI was just initialised, with `MPI_THREAD_MULTIPLE` if `has_level`; all ranks make this call.
pub(crate) unsafe fn start(settings: &Settings, wrong: Option<&str>, has_level: bool) {
    let world = constants::comm_world();
    let rank = info::rank(world).unwrap_or(0);
    let warn = |text: std::fmt::Arguments<'_>| {
        if rank == 0 {
            kilter_mpi::say(format_args!(
                "warning: progress: {text}; the program runs without the thread"
            ));
        }
    };
    if let Some(reason) = wrong {
        warn(format_args!("{reason}"));
    }
    // SAFETY: by this function's contract.
    let found = unsafe { presence::find_out(Library::Progress) };
    if let Some(reason) = presence::objection(Library::Progress, &found, rank) {
        kilter_mpi::say(format_args!(
            "warning: progress: {reason}; the program runs without the thread"
        ));
    }
    if found != Ok(Presence::Everywhere) {
        return;
    }
    // SAFETY: by this function's contract.
    match unsafe { exchange::decide(world, settings, cpus::allowed(), cpus::given()) } {
        Err(error) => warn(format_args!("{error}")),
        Ok(Decision::Off) => {}
        // The others' settings leave room that this rank's did not.
        Ok(Decision::Run { .. }) if !has_level => {}
        Ok(Decision::Refused(node)) => {
            if rank == 0 {
                kilter_mpi::say(format_args!("progress: {}", refusal(node)));
            }
        }
        Ok(Decision::Run { cpu, alone }) => {
            let nap = settings
                .nap
                .unwrap_or(if alone { Duration::ZERO } else { NAP_ON_SHARED_CORE });
            // SAFETY: MPI runs.
            if let Err(error) = unsafe { run(Manner { cpu, alone, nap }, settings.report, rank) } {
                // Not on rank 0 alone: the others may well have theirs.
                kilter_mpi::say(format_args!(
                    "warning: progress: rank {rank}: {error}; the program runs without the thread"
                ));
            } else if rank == 0 {
                let place = match (cpu, alone) {
                    (Some(cpu), _) => format!("bound to CPU {cpu}"),
                    (None, true) => "not bound".to_owned(),
                    (None, false) => "on the cores of the ranks, as it was forced".to_owned(),
                };
                kilter_mpi::say(format_args!(
                    "progress: a thread of each rank makes progress, {place}; the thread level is raised to MPI_THREAD_MULTIPLE"
                ));
            }
        }
    }
}

/// Reason why there is no thread.
fn refusal(node: Node) -> String {
    let Node { ranks, computing, cpus } = node;
    let s = |number: usize| if number == 1 { "" } else { "s" };
    let threads = if computing == ranks {
        String::new()
    } else {
        format!(" with {computing} computing threads")
    };
    format!(
        "no core is free for it: {ranks} rank{}{threads} on {cpus} core{}; the program runs without the thread \
         (start fewer ranks, name free cores in KILTER_PROGRESS_CPU, or set KILTER_PROGRESS=force)",
        s(ranks),
        s(cpus)
    )
}

/// Reason why a rank has no thread, although it should have one.
#[derive(Debug, thiserror::Error)]
enum NoThread {
    /// The library does not give what the thread calls.
    #[error(transparent)]
    Probe(#[from] MpiError),
    /// The system does not start or bind it.
    #[error("no thread on CPU {cpu}: {error}")]
    OnCpu { cpu: usize, error: std::io::Error },
    /// The system does not start it.
    #[error("no thread: {0}")]
    Anywhere(std::io::Error),
}

/// Starts the thread and the counting.
///
/// # Safety
/// MPI runs.
unsafe fn run(manner: Manner, report: Report, rank: usize) -> Result<(), NoThread> {
    // SAFETY: MPI runs, by this function's contract.
    let probe = unsafe { Probe::new() }?;
    let step = |probe: &mut Probe| match probe.make() {
        Ok(false) => Step::Made,
        Ok(true) => Step::Failed("a receive that nothing matches has ended".to_owned()),
        Err(error) => Step::Failed(error.to_string()),
    };
    let started = Started::new(&SHARED, manner, probe, step).map_err(|error| match manner.cpu {
        Some(cpu) => NoThread::OnCpu { cpu, error },
        None => NoThread::Anywhere(error),
    })?;
    let _ = THREAD.set(started.thread());
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(Running {
        started,
        report,
        rank,
        process: std::process::id(),
    });
    // SAFETY: MPI runs; the functions live as long as the process.
    unsafe {
        let _ = finish_with_self();
        libc::atexit(at_exit);
    }
    COUNTING.store(true, Ordering::SeqCst);
    Ok(())
}

/// Ends the thread, takes back what it used, and says what it did. Nothing at the second call.
pub(crate) fn finish() {
    COUNTING.store(false, Ordering::SeqCst);
    let Some(running) = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).take() else {
        return;
    };
    if running.process != std::process::id() {
        return;
    }
    match running.started.end(END_LIMIT) {
        Some(probe) => {
            // SAFETY: MPI runs still: this is called before it is finalised.
            if let Err(error) = unsafe { probe.end() } {
                kilter_mpi::say(format_args!("warning: progress: rank {}: {error}", running.rank));
            }
        }
        None => kilter_mpi::say(format_args!(
            "warning: progress: rank {}: the thread has not ended in time and is left behind",
            running.rank
        )),
    }
    if running.report == Report::All || (running.report == Report::First && running.rank == 0) {
        let counts = &SHARED.counts;
        let seconds = |microseconds: u64| Duration::from_micros(microseconds).as_secs_f64();
        kilter_mpi::say(format_args!(
            "progress: rank {}: {} operations, {} wakeups, {} probes, awake {:.6} s, {:.6} s of processor time",
            running.rank,
            SHARED.outstanding.counts().0,
            counts.wakeups.load(Ordering::Relaxed),
            counts.probes.load(Ordering::Relaxed),
            seconds(counts.active_us.load(Ordering::Relaxed)),
            seconds(counts.cpu_us.load(Ordering::Relaxed)),
        ));
    }
}

/// The process ends, maybe without `MPI_Finalize`: the thread must not be inside a library that is being taken down.
pub(crate) fn keep_out() {
    // Not waited for: `exit` may come at any moment, and within a moment of starting or ending the thread it does no harm.
    let Ok(running) = RUNNING.try_lock() else { return };
    if running
        .as_ref()
        .is_some_and(|running| running.process == std::process::id())
    {
        SHARED.keep_out(EXIT_LIMIT);
    }
}

extern "C" fn at_exit() {
    keep_out();
}

/// `MPI_Finalize` deletes the attributes of `MPI_COMM_SELF` first, in whatever way it was called.
///
/// # Safety
/// MPI runs.
unsafe fn finish_with_self() -> Result<(), MpiError> {
    // SAFETY: MPI runs, by this function's contract; the function lives as long as the process and does not look at the attribute.
    unsafe {
        let key = attribute::create_key(delete)?;
        attribute::set(constants::comm_self(), key, std::ptr::null())
    }
}

unsafe extern "C" fn delete(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    finish();
    0
}

#[cfg(test)]
mod tests {
    use super::{Node, refusal};

    #[test]
    fn a_refusal_says_how_busy_the_node_is() {
        let text = |ranks, computing, cpus| refusal(Node { ranks, computing, cpus });
        assert!(text(2, 2, 2).starts_with("no core is free for it: 2 ranks on 2 cores; "));
        assert!(text(1, 1, 1).starts_with("no core is free for it: 1 rank on 1 core; "));
        assert!(text(2, 8, 9).starts_with("no core is free for it: 2 ranks with 8 computing threads on 9 cores; "));
    }
}
