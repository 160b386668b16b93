//! The result of the start, for those that come later: a load in each call.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use kilter_mpi::info;

use crate::rules::Rules;
use crate::unfollowed::Unfollowed;
use crate::world::World;

/// Treatment of calls that the profile has a rule for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The call is counted, and the library's own collective runs.
    Log,
    /// The profile's implementation runs.
    Replace,
}

/// Result of the drop-in's start.
pub(crate) struct Started {
    pub(crate) mode: Mode,
    /// True if counts are printed at the end.
    pub(crate) log: bool,
    /// This process's rank in `MPI_COMM_WORLD`.
    pub(crate) rank: usize,
    /// The profile, or why it is not followed.
    pub(crate) rules: Result<Rules, Unfollowed>,
    /// Equal on ranks that follow the same profile in the same mode with the same code; 0 where none is followed.
    pub(crate) digest: u64,
    /// Equal on ranks of one node.
    pub(crate) node: u64,
    /// Calls with a rule that are the library's on a new communicator, other than the world.
    pub(crate) private_after: u32,
    /// True if several threads may call MPI at the same time.
    pub(crate) thread_multiple: bool,
    /// The needs of selection while the program runs, if it is asked for on all ranks.
    pub(crate) online: Option<&'static World>,
}

const NOT_STARTED: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

static PHASE: AtomicU8 = AtomicU8::new(NOT_STARTED);
static STARTED: OnceLock<Option<Started>> = OnceLock::new();

/// Set while the phase is [`ON`], else null; see [`active`].
static ACTIVE: AtomicPtr<Started> = AtomicPtr::new(ptr::null_mut());

/// The start's result, if it was made and calls are to be looked at: one load in each call.
#[inline]
pub(crate) fn active() -> Option<&'static Started> {
    // SAFETY: null or what `STARTED` holds, which is never written again.
    unsafe { ACTIVE.load(Ordering::Acquire).as_ref() }
}

/// Result of the start, even after [`stop`]; `None` before the start, or if the drop-in is off.
pub(crate) fn found() -> Option<&'static Started> {
    STARTED.get().and_then(Option::as_ref)
}

/// From now on, calls go to the library.
pub(crate) fn stop() {
    PHASE.store(OFF, Ordering::SeqCst);
    ACTIVE.store(ptr::null_mut(), Ordering::SeqCst);
}

/// Starts by `find_out`, unless that was done before. Returns its result, if calls are to be looked at.
pub(crate) fn once(find_out: impl FnOnce() -> Option<Started>) -> Option<&'static Started> {
    match PHASE.load(Ordering::SeqCst) {
        OFF => return None,
        // Another thread has just started.
        ON => return found(),
        _ if !info::is_running() => return None,
        _ => {}
    }
    let started = STARTED.get_or_init(find_out);
    let phase = if started.is_some() { ON } else { OFF };
    let is_first = PHASE
        .compare_exchange(NOT_STARTED, phase, Ordering::SeqCst, Ordering::SeqCst)
        .is_ok();
    if let Some(started) = started.as_ref().filter(|_| is_first) {
        ACTIVE.store(ptr::from_ref(started).cast_mut(), Ordering::SeqCst);
        // An end that came meanwhile is not undone.
        if PHASE.load(Ordering::SeqCst) == OFF {
            ACTIVE.store(ptr::null_mut(), Ordering::SeqCst);
        }
    }
    started.as_ref()
}
