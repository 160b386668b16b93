//! Private communicators: where implementations send, so that no message of theirs meets one of the program's.
//!
//! A library has only so many communicators (MPICH 2046), and making one takes longer than many a collective. So communicators of the same
//! processes share one where calls follow each other, at most [`MOST`] live at a time, and where none can be had the library's own
//! collectives are used, on all ranks of the communicator alike.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use kilter_abi::Context;
use kilter_host::{Contexts, Group};
use kilter_mpi::{MPI_Comm, MpiError, constants, info};
use kilter_profile::Table;

use crate::inside::Inside;
use crate::key;
use crate::maxima;
use crate::rules::{Action, Implementation, Rules};
use crate::started::Started;
use crate::warning::warn;

/// Private communicators of a process at a time: an eighth of what MPICH has for all. The program keeps the rest.
const MOST: usize = 256;

/// A private communicator, with the contexts of plugins.
pub(crate) struct Private {
    comm: MPI_Comm,
    size: usize,
    /// The same on all its ranks, and no other communicator's; never 0.
    pub(crate) number: u64,
    /// They do not move, being in an `Arc`: plugins point into them.
    contexts: Contexts,
}

// SAFETY: only calls on the communicators that it serves use its contexts, and these calls never run at the same time. If several threads
// call MPI at the same time, it serves a single communicator, on which MPI orders the calls.
unsafe impl Send for Private {}
// SAFETY: as for `Send`: one call at a time uses its contexts.
unsafe impl Sync for Private {}

/// Those that live, by number: an order that is the same on all ranks, so that ranks that release several of them wait for each other in
/// the same order.
static LIVE: Mutex<BTreeMap<u64, Weak<Private>>> = Mutex::new(BTreeMap::new());
static FINISHING: AtomicBool = AtomicBool::new(false);

fn live() -> MutexGuard<'static, BTreeMap<u64, Weak<Private>>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of the same processes as `comm`, of so many, that may serve `comm` as well. Whether the other ranks have it yet, and still, is to be
/// agreed: a rank may have freed a communicator that another has not freed yet.
pub(crate) fn congruent(comm: MPI_Comm, size: usize, started: &Started) -> Option<Arc<Private>> {
    if started.thread_multiple {
        // Threads call collectives on several communicators at the same time.
        return None;
    }
    let live = live();
    let mut same = live
        .values()
        .filter_map(Weak::upgrade)
        .filter(|private| private.size == size);
    same.find(|private| info::is_congruent(private.comm, comm).unwrap_or(false))
}

/// Makes one for `comm`, on which `table` is deployed. `None`, on all ranks alike: it is not to be had, and that was said.
///
/// # Safety
/// `comm` is an intracommunicator; all its ranks make the same collective call.
pub(crate) unsafe fn make(
    (comm, one_node): (MPI_Comm, bool),
    (rank, size): (usize, usize),
    (rules, table): (&'static Rules, &Table<Action>),
    started: &'static Started,
) -> Option<Arc<Private>> {
    // SAFETY: by this function's contract.
    let made = unsafe { create(comm, size) };
    match made {
        Ok((private, number)) => {
            let group = Group {
                comm: private,
                rank,
                size,
                one_node,
            };
            // Communicators that share it have the same processes, and so the same rules.
            let deployed = Box::new(Inside(table.clone()));
            let contexts = Contexts::new(group, rules.plugins.iter().copied(), deployed);
            let private = Arc::new(Private {
                comm: private,
                size,
                number,
                contexts,
            });
            live().insert(number, Arc::downgrade(&private));
            Some(private)
        }
        Err(reason) => {
            static SAID: AtomicBool = AtomicBool::new(false);
            warn(
                started.rank == 0 && !SAID.swap(true, Ordering::Relaxed),
                &format!(
                    "no private communicator for a communicator of {size} ranks: {reason}; the library's own collectives are used on it"
                ),
            );
            None
        }
    }
}

/// Reason why there is no private communicator.
#[derive(Debug, thiserror::Error)]
enum NoPrivate {
    /// As many live as may.
    #[error("{MOST} are in use on one of them, as many as Kilter takes")]
    TooMany,
    /// Another rank has none.
    #[error("the library could not make one on another rank")]
    Elsewhere,
    /// The library makes none.
    #[error(transparent)]
    Mpi(#[from] MpiError),
}

/// The communicator and its number.
///
/// # Safety
/// As for [`make`].
unsafe fn create(comm: MPI_Comm, size: usize) -> Result<(MPI_Comm, u64), NoPrivate> {
    static PROPOSED: AtomicU64 = AtomicU64::new(1);
    let number = live().len();
    let is_full = u64::from(number >= MOST);
    // SAFETY: by the contract of `make`.
    let [is_full] = unsafe { maxima(comm, size, [is_full]) }?;
    if is_full != 0 {
        return Err(NoPrivate::TooMany);
    }
    // SAFETY: by the contract of `make`.
    let made = unsafe { info::comm_private(comm) }.and_then(|private| {
        // SAFETY: the communicator is new, the key was taken at the start, and the attribute is static.
        unsafe { key::set_attribute(private, key::private()) }?;
        Ok(private)
    });
    // Each rank proposes a number that it has never proposed before, and the largest is taken.
    let own = info::rank(constants::comm_world())? as u64;
    let proposal = PROPOSED.fetch_add(1, Ordering::Relaxed) << 32 | own;
    // SAFETY: by the contract of `make`; those that failed are here, too.
    let agreed = unsafe { maxima(comm, size, [u64::from(made.is_err()), proposal]) };
    match (made, agreed) {
        (Ok(private), Ok([0, number])) => Ok((private, number)),
        // Freeing is collective: what only some ranks have stays.
        (Ok(_), Ok(_)) => Err(NoPrivate::Elsewhere),
        (Ok(_), Err(error)) | (Err(error), _) => Err(error.into()),
    }
}

/// # Safety
/// As for [`make`].
unsafe fn maxima<const N: usize>(comm: MPI_Comm, size: usize, numbers: [u64; N]) -> Result<[u64; N], MpiError> {
    if size < 2 {
        return Ok(numbers);
    }
    // SAFETY: by this function's contract.
    unsafe { maxima::maxima(comm, numbers) }
}

impl Private {
    /// The communicator itself.
    pub(crate) fn comm(&self) -> MPI_Comm {
        self.comm
    }

    /// The context in which an implementation runs.
    pub(crate) fn context(&self, implementation: &Implementation) -> Option<*mut Context> {
        self.contexts.lend(implementation.plugin)
    }

    /// Lets plugins free what they keep for the communicator. All its ranks do so together.
    fn release(&self) {
        // SAFETY: no call is under way on a communicator that is being freed.
        unsafe { self.contexts.release() };
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        live().remove(&self.number);
        self.release();
        // While MPI ends, it frees what is left by itself.
        if !FINISHING.load(Ordering::Acquire) {
            // SAFETY: the last communicator that it served is being freed, which is collective, and has its ranks.
            let _ = unsafe { info::comm_free(self.comm) };
        }
    }
}

/// Releases all: MPI still runs now; when the attributes of other communicators are deleted it may not.
pub(crate) fn finish() {
    let left: Vec<Arc<Private>> = live().values().filter_map(Weak::upgrade).collect();
    for private in &left {
        private.release();
    }
    FINISHING.store(true, Ordering::Release);
}
