//! The processor of a case's ranks, and its turn.
//!
//! Ranks that exchange messages wait for each other all the time. On one processor such a change of threads is cheap, and across processors
//! it costs several times as much; two cases at a time contend for the process's memory map, since each starts and ends threads. The whole
//! matrix took 66 s both ways, but 111 s of processor time instead of 64. Ranks with shared memory keep all processors, because their races
//! need them.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kilter_algorithms::{Algorithm, Need};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The processors of a test's thread.
struct Processors {
    all: CpuSet,
    one: CpuSet,
    is_on_one: bool,
}

thread_local! {
    static PROCESSORS: RefCell<Option<Processors>> = RefCell::new(processors().ok());
}

/// All that this thread may use, and one of them, a different one for each thread.
fn processors() -> nix::Result<Processors> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let all = sched_getaffinity(Pid::from_raw(0))?;
    let allowed: Vec<usize> = (0..CpuSet::count())
        .filter(|cpu| all.is_set(*cpu) == Ok(true))
        .collect();
    let mut one = CpuSet::new();
    one.set(allowed[NEXT.fetch_add(1, Ordering::Relaxed) % allowed.len()])?;
    Ok(Processors {
        all,
        one,
        is_on_one: false,
    })
}

/// Waits until no other case runs, and binds the calling thread, and so the ranks that it starts, as the row wants it. A system that does not
/// allow that costs time and nothing else.
pub(crate) fn turn(algorithm: &Algorithm) -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let wants_one = !algorithm.needs.contains(&Need::OneNode);
    PROCESSORS.with_borrow_mut(|processors| {
        let Some(processors) = processors else { return };
        if processors.is_on_one != wants_one {
            let set = if wants_one { processors.one } else { processors.all };
            if sched_setaffinity(Pid::from_raw(0), &set).is_ok() {
                processors.is_on_one = wants_one;
            }
        }
    });
    // A case that failed leaves nothing behind.
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}
