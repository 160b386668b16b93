//! The state of each communicator. It is an attribute, so that MPI deletes it with the communicator, however that is freed.
//!
//! The fast path is a small cache of handles; each thread has its own if several threads call MPI at the same time. MPI reuses handles after a
//! communicator is freed. So the cache stores a handle with a generation, which grows whenever a communicator is freed.

use std::cell::{Cell, RefCell, RefMut};
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use kilter_abi::Context;
use kilter_algorithms::Collective;
use kilter_mpi::{MPI_Comm, attribute, constants, handle, info};
use kilter_profile::Table;

use crate::agree::{Agreed, agree};
use crate::device::{self, Policy};
use crate::finish;
use crate::key::{self, attribute_of, set_attribute};
use crate::placement;
use crate::prepared::PreparedCalls;
use crate::private::{self, Private};
use crate::rules::{Action, Implementation, Rules};
use crate::sites::{self, Online, bit};
use crate::started::{self, Started};
use crate::tables::Tables;

/// A communicator that has rules.
pub(crate) struct State {
    pub(crate) comm: MPI_Comm,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) table: Table<Action>,
    pub(crate) rules: &'static Rules,
    /// True if all its ranks are on one node.
    pub(crate) one_node: bool,
    /// True if it is asked for each call if the buffers lie on the host.
    pub(crate) asks_device: bool,
    /// Tables of the call under way. One set is enough, since collectives on a communicator never run at the same time.
    pub(crate) tables: RefCell<Tables>,
    /// Replaced calls, to be made again.
    pub(crate) prepared: PreparedCalls,
    /// Selection while the program runs, if that is asked for.
    pub(crate) online: Option<Online>,
    /// Bits of the collectives whose calls are looked at.
    looked_at: u32,
    stage: RefCell<Stage>,
}

/// True if implementations can run.
enum Stage {
    /// So many calls that have a rule are the library's yet: most communicators that live for one call need nothing.
    Waiting(u32),
    /// They can.
    Ready(Arc<Private>),
    /// There is no private communicator for it.
    Forgone,
}

static GENERATION: AtomicU64 = AtomicU64::new(1);

/// The drop-in's treatment of a communicator.
#[derive(Clone, Copy)]
pub(crate) enum Known {
    /// The profile has rules for it.
    Ruled(&'static State),
    /// The profile has no rules for it: calls pass to the library.
    Pass,
    /// It is a private communicator of the drop-in. Only implementations call MPI on it.
    Private,
}

const WAYS: usize = 4;

/// Generation, handle, attribute: of all threads, where one at a time calls MPI. Thread-local storage of a shared object is
/// reached by a call, for which every argument of the MPI function would have to be saved.
static SERIAL: [Remembered; WAYS] = [const { Remembered::nothing() }; WAYS];

struct Remembered {
    generation: AtomicU64,
    handle: AtomicUsize,
    attribute: AtomicPtr<c_void>,
}

impl Remembered {
    const fn nothing() -> Remembered {
        Remembered {
            generation: AtomicU64::new(0),
            handle: AtomicUsize::new(0),
            attribute: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

thread_local! {
    /// The same for each thread, where several call MPI at the same time.
    static CACHE: [Cell<(u64, usize, *const c_void)>; WAYS] =
        const { [const { Cell::new((0, 0, std::ptr::null())) }; WAYS] };
}

fn known(attribute: *const c_void) -> Known {
    if attribute == key::pass() {
        Known::Pass
    } else if attribute == key::private() {
        Known::Private
    } else {
        // SAFETY: every other attribute is a `State` that lives until its communicator is freed. No call on a communicator
        // may be under way when it is freed, so that the reference is used only while it lives.
        Known::Ruled(unsafe { &*attribute.cast::<State>() })
    }
}

/// The treatment of `comm`. At the first call on a communicator, all its ranks agree on it.
///
/// # Safety
/// A valid communicator, on which all ranks make the same collective call.
#[inline(always)]
pub(crate) unsafe fn look_up(comm: MPI_Comm, started: &'static Started) -> Known {
    let handle = handle::bits(comm);
    let way = (handle ^ (handle >> 4) ^ (handle >> 9)) % WAYS;
    let generation = GENERATION.load(Ordering::Acquire);
    if started.thread_multiple {
        // SAFETY: by this function's contract, all ranks of `comm` make this call.
        return unsafe { look_up_of_thread(comm, started, (handle, way, generation)) };
    }
    // Below MPI_THREAD_MULTIPLE the program serialises its threads' MPI calls, which also orders their accesses to this memory.
    let remembered = &SERIAL[way];
    if remembered.generation.load(Ordering::Relaxed) == generation
        && remembered.handle.load(Ordering::Relaxed) == handle
    {
        return known(remembered.attribute.load(Ordering::Relaxed).cast_const());
    }
    // SAFETY: by this function's contract, all ranks of `comm` make this call.
    let attribute = unsafe { find(comm, started) };
    remembered.generation.store(generation, Ordering::Relaxed);
    remembered.handle.store(handle, Ordering::Relaxed);
    remembered.attribute.store(attribute.cast_mut(), Ordering::Relaxed);
    known(attribute)
}

/// [`look_up`] where several threads call MPI at the same time; the tuple is handle, way and generation.
///
/// # Safety
/// As for [`look_up`].
#[inline(never)]
unsafe fn look_up_of_thread(
    comm: MPI_Comm,
    started: &'static Started,
    (handle, way, generation): (usize, usize, u64),
) -> Known {
    let (cached_generation, cached_handle, attribute) = CACHE.with(|cache| cache[way].get());
    if cached_generation == generation && cached_handle == handle {
        return known(attribute);
    }
    // SAFETY: by this function's contract, all ranks of `comm` make this call.
    let attribute = unsafe { find(comm, started) };
    CACHE.with(|cache| cache[way].set((generation, handle, attribute)));
    known(attribute)
}

/// The attribute of a communicator that the cache does not have.
///
/// # Safety
/// As for [`look_up`].
#[cold]
unsafe fn find(comm: MPI_Comm, started: &'static Started) -> *const c_void {
    // SAFETY: by this function's contract, `comm` is valid and all its ranks make this call.
    unsafe { attribute_of(comm).unwrap_or_else(|| create(comm, started)) }
}

/// Decides on the treatment of a communicator, and stores it as its attribute.
///
/// # Safety
/// As for [`look_up`].
#[cold]
unsafe fn create(comm: MPI_Comm, started: &'static Started) -> *const c_void {
    let attribute = if info::is_named_private(comm) {
        // An implementation made it for itself, and calls it while it runs.
        key::private()
    } else {
        // SAFETY: by this function's contract, all ranks of `comm` make this call.
        let state = unsafe { rules_of(comm, started) };
        state.map_or(key::pass(), |state| {
            if let Some(online) = &state.online {
                online.settle_down();
            }
            Box::into_raw(state).cast_const().cast()
        })
    };
    // SAFETY: `comm` is valid by this function's contract. The attribute is static, or a `State` that MPI's delete function frees.
    if let Err(error) = unsafe { set_attribute(comm, attribute) } {
        // Without it this rank would decide otherwise than the others at the next call.
        kilter_mpi::say(format_args!("error: {error}; ending the job"));
        // SAFETY: MPI is running.
        unsafe { kilter_mpi::abort(comm, 1) }
    }
    attribute
}

/// The state of a communicator that the profile has rules for.
///
/// # Safety
/// As for [`look_up`].
unsafe fn rules_of(comm: MPI_Comm, started: &'static Started) -> Option<Box<State>> {
    if info::is_inter(comm).ok()? {
        return None;
    }
    let begun_ns = sites::own_ns();
    let (rank, size) = (info::rank(comm).ok()?, info::size(comm).ok()?);
    if size == 1 && started.thread_multiple {
        // A private communicator is made where no other rank waits for it, beside other threads that make theirs, which libraries
        // do not always survive; and on one rank there is little to gain.
        return None;
    }
    if !info::is_within_world(comm).ok()? {
        // Processes outside the world may not have the drop-in. All ranks of the communicator find the same.
        return None;
    }
    // SAFETY: all ranks of `comm`, an intracommunicator, make this call, by this function's contract.
    let agreed = unsafe { agree(comm, size, started) };
    let Agreed::Follow {
        shared,
        one_node,
        device,
    } = agreed
    else {
        return None;
    };
    let rules = started.rules.as_ref().ok()?;
    // SAFETY: all ranks of `comm` make this call, and agreed that they follow the same profile.
    let placement = unsafe { placement::of(comm, (size, one_node), started) }?;
    let table = rules.table(&placement);
    // Nothing is compared where it is asked for each call if it may be replaced, and on one rank.
    let online = (device == Policy::Replace && size > 1)
        .then(|| Online::new(started.online?, comm, begun_ns))
        .flatten();
    let tried = online.as_ref().map_or(0, |_| sites::collectives(rules));
    let ruled = Collective::ALL.iter().filter(|collective| table.has(**collective));
    let looked_at = ruled.fold(tried, |bits, collective| bits | bit(*collective));
    if looked_at == 0 {
        return None;
    }
    if device == Policy::Leave {
        device::say_that_calls_are_left(rank);
        return None;
    }
    Some(Box::new(State {
        comm,
        rank,
        size,
        table,
        rules,
        one_node,
        asks_device: device == Policy::Ask,
        tables: RefCell::new(Tables::new(size)),
        prepared: PreparedCalls::new(),
        online,
        looked_at,
        stage: RefCell::new(match shared {
            Some(private) => Stage::Ready(private),
            // The world lives as long as the program.
            None if comm == constants::comm_world() => Stage::Waiting(0),
            None => Stage::Waiting(started.private_after),
        }),
    }))
}

impl State {
    /// False for an implementation that said on all ranks that it cannot run on this communicator.
    pub(crate) fn may_run(&self, implementation: &Implementation) -> bool {
        self.tables.try_borrow().is_ok_and(|tables| tables.has(implementation))
    }

    /// True if a call of this collective may be replaced.
    #[inline(always)]
    pub(crate) fn looks_at(&self, collective: Collective) -> bool {
        self.looked_at & bit(collective) != 0
    }

    /// The context in which an implementation runs; `None`, on all ranks alike: the library shall carry the call out.
    ///
    /// # Safety
    /// All ranks of the communicator make the same call.
    pub(crate) unsafe fn context(
        &self,
        implementation: &Implementation,
        started: &'static Started,
    ) -> Option<*mut Context> {
        // SAFETY: by this function's contract.
        let stage = unsafe { self.advanced(started) };
        match &*stage {
            Stage::Ready(private) => private.context(implementation),
            Stage::Waiting(_) | Stage::Forgone => None,
        }
    }

    /// The private communicator; `None`, on all ranks alike, as for [`State::context`].
    ///
    /// # Safety
    /// As for [`State::context`].
    pub(crate) unsafe fn private(&self, started: &'static Started) -> Option<Arc<Private>> {
        // SAFETY: by this function's contract.
        let stage = unsafe { self.advanced(started) };
        match &*stage {
            Stage::Ready(private) => Some(Arc::clone(private)),
            Stage::Waiting(_) | Stage::Forgone => None,
        }
    }

    /// The stage of a call that may need a private communicator.
    ///
    /// # Safety
    /// As for [`State::context`].
    unsafe fn advanced(&self, started: &'static Started) -> RefMut<'_, Stage> {
        let mut stage = self.stage.borrow_mut();
        if let Stage::Waiting(left) = &mut *stage {
            if *left > 0 {
                *left -= 1;
            } else {
                // SAFETY: by this function's contract; only intracommunicators have a state.
                let made = unsafe {
                    let (comm, place) = ((self.comm, self.one_node), (self.rank, self.size));
                    private::make(comm, place, (self.rules, &self.table), started)
                };
                *stage = made.map_or(Stage::Forgone, Stage::Ready);
            }
        }
        stage
    }
}

/// Creates the key of the attributes, and the one whose end is the beginning of MPI's. False where the library refuses.
pub(crate) fn prepare() -> bool {
    // SAFETY: the functions live as long as the process, and take what is set under their keys; the end's attribute is static. A
    // duplicate, which gets no copy of an attribute, is looked at when it is used.
    unsafe {
        let (Ok(key), Ok(end)) = (attribute::create_key(delete), attribute::create_key(delete_of_self)) else {
            return false;
        };
        key::take(key);
        attribute::set(constants::comm_self(), end, key::pass()).is_ok()
    }
}

/// Completes what is under way on a communicator that the program frees.
///
/// # Safety
/// All ranks of the communicator, which is valid, free it.
#[cold]
pub(crate) unsafe fn before_freeing(comm: MPI_Comm) {
    // SAFETY: by this function's contract.
    let found = unsafe { attribute_of(comm) }.map(known);
    if let Some(Known::Ruled(State {
        online: Some(online), ..
    })) = found
    {
        // SAFETY: by this function's contract.
        unsafe { online.complete() };
    }
}

unsafe extern "C" fn delete(_: MPI_Comm, _: c_int, attribute: *mut c_void, _: *mut c_void) -> c_int {
    GENERATION.fetch_add(1, Ordering::AcqRel);
    let attribute = attribute.cast_const();
    if attribute != key::pass() && attribute != key::private() {
        // SAFETY: every other attribute is a `State` from `create`, deleted once.
        let state = unsafe { Box::from_raw(attribute.cast_mut().cast::<State>()) };
        if let Some(online) = &state.online {
            // SAFETY: the communicator is being freed.
            unsafe { online.finish(false) };
        }
    }
    0
}

/// Attributes of `MPI_COMM_SELF` are deleted first of all in `MPI_Finalize`, whatever language called it.
unsafe extern "C" fn delete_of_self(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    started::stop();
    sites::finish();
    private::finish();
    finish::report();
    0
}
