//! What is kept for each communicator: an attribute, so that it goes when the communicator goes, by whatever path.
//!
//! Handles are reused after a communicator is freed; so the fast path, a small cache (for each thread, where several call MPI
//! at the same time), holds a handle only
//! together with a generation that grows whenever any communicator goes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kilter_abi::Context;
use kilter_host::Hosted;
use kilter_mpi::{MPI_Comm, MpiError, Real, attribute, constants, handle, info};
use kilter_profile::Table;

use crate::device::{self, Policy};
use crate::finish;
use crate::prepared::PreparedCalls;
use crate::rules::{Action, Implementation, Rules};
use crate::start::{self, Started};

/// A communicator that has rules.
pub(crate) struct State {
    pub(crate) comm: MPI_Comm,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) table: Table<Action>,
    rules: &'static Rules,
    /// Whether all its ranks are on one node; false where no rule asks for it.
    pub(crate) one_node: bool,
    /// Whether it is asked for each call if the buffers lie on the host.
    pub(crate) asks_device: bool,
    /// Of the call under way; calls on one communicator follow each other.
    pub(crate) tables: RefCell<Tables>,
    /// Replaced calls, to be made again.
    pub(crate) prepared: PreparedCalls,
    /// Made at the first replaced call.
    private: RefCell<Option<Private>>,
}

/// Counts and displacements of a call as the ABI has them, a number for each rank; and what cannot run.
pub(crate) struct Tables {
    /// Of what is sent.
    pub(crate) send: (Box<[i64]>, Box<[i64]>),
    /// Of what is received.
    pub(crate) recv: (Box<[i64]>, Box<[i64]>),
    /// Implementations that said, on all ranks, that they cannot run on this communicator.
    unavailable: Vec<&'static Implementation>,
}

impl Tables {
    fn new(p_ranks: usize) -> Tables {
        let table = || vec![0; p_ranks].into_boxed_slice();
        Tables {
            send: (table(), table()),
            recv: (table(), table()),
            unavailable: Vec::new(),
        }
    }

    /// Whether the implementation may be tried.
    pub(crate) fn has(&self, implementation: &Implementation) -> bool {
        !self
            .unavailable
            .iter()
            .any(|unavailable| std::ptr::eq(*unavailable, implementation))
    }

    /// The implementation cannot run on this communicator.
    pub(crate) fn forgo(&mut self, implementation: &'static Implementation) {
        self.unavailable.push(implementation);
    }
}

/// The private communicator, with a context for each plugin.
struct Private {
    comm: MPI_Comm,
    /// The same number on all its ranks, and no other communicator's.
    number: u64,
    /// They do not move: plugins and `host` point into them.
    contexts: Box<[Hosted]>,
}

/// Attributes of communicators whose calls go to the library: without rules, or private.
static PASS: u8 = 0;
static PRIVATE: u8 = 1;

static KEY: AtomicI32 = AtomicI32::new(-1);
static GENERATION: AtomicU64 = AtomicU64::new(1);
static FINISHING: AtomicBool = AtomicBool::new(false);

/// What a communicator is to the drop-in.
#[derive(Clone, Copy)]
pub(crate) enum Known {
    /// It has rules.
    Ruled(&'static State),
    /// It has none.
    Pass,
    /// It is one of the drop-in's own: calls on it are made by implementations.
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
    if attribute == (&raw const PASS).cast() {
        Known::Pass
    } else if attribute == (&raw const PRIVATE).cast() {
        Known::Private
    } else {
        // SAFETY: every other attribute is a `State` that lives until its communicator is freed. No call on a communicator
        // may be under way when it is freed, so that the reference is used only while it lives.
        Known::Ruled(unsafe { &*attribute.cast::<State>() })
    }
}

/// What `comm` is. At the first call on a communicator, all its ranks agree on it.
///
/// # Safety
/// A valid communicator, on which all ranks make the same collective call.
#[inline(always)]
pub(crate) unsafe fn look_up(comm: MPI_Comm, started: &'static Started) -> Known {
    let handle = handle::bits(comm);
    let way = (handle ^ (handle >> 4) ^ (handle >> 9)) % WAYS;
    let generation = GENERATION.load(Ordering::Acquire);
    if started.thread_multiple {
        // SAFETY: the same contract.
        return unsafe { look_up_of_thread(comm, started, (handle, way, generation)) };
    }
    // Whoever lets one thread after the other call MPI also orders their accesses to memory.
    let remembered = &SERIAL[way];
    if remembered.generation.load(Ordering::Relaxed) == generation
        && remembered.handle.load(Ordering::Relaxed) == handle
    {
        return known(remembered.attribute.load(Ordering::Relaxed).cast_const());
    }
    // SAFETY: the same contract.
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
    // SAFETY: the same contract.
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
    // SAFETY: the same contract.
    unsafe { attribute_of(comm).unwrap_or_else(|| create(comm, started)) }
}

unsafe fn attribute_of(comm: MPI_Comm) -> Option<*const c_void> {
    // SAFETY: the key was created at the start; the communicator is valid by the contract of `look_up`.
    unsafe { attribute::get(comm, KEY.load(Ordering::Acquire)) }
}

unsafe fn set_attribute(comm: MPI_Comm, attribute: *const c_void) -> Result<(), MpiError> {
    // SAFETY: the key was created at the start; the attribute lives until it is deleted.
    unsafe { attribute::set(comm, KEY.load(Ordering::Acquire), attribute) }
}

/// Decides what a communicator is, and remembers it.
#[cold]
unsafe fn create(comm: MPI_Comm, started: &'static Started) -> *const c_void {
    let pass: *const c_void = (&raw const PASS).cast();
    // SAFETY: by the contract of `look_up`.
    let state = unsafe { rules_of(comm, started) };
    let attribute = state.map_or(pass, |state| Box::into_raw(state).cast_const().cast());
    // SAFETY: by the contract of `look_up`.
    if let Err(error) = unsafe { set_attribute(comm, attribute) } {
        // Without it this rank would decide otherwise than the others at the next call.
        kilter_mpi::say(format_args!("error: {error}; ending the job"));
        // SAFETY: MPI is running.
        unsafe { kilter_mpi::abort(comm, 1) }
    }
    attribute
}

unsafe fn rules_of(comm: MPI_Comm, started: &'static Started) -> Option<Box<State>> {
    if info::is_inter(comm).ok()? {
        return None;
    }
    let (rank, size) = (info::rank(comm).ok()?, info::size(comm).ok()?);
    // SAFETY: by the contract of `look_up`.
    if !unsafe { agree(comm, size, started) } {
        return None;
    }
    let rules = started.rules.as_ref().ok()?;
    let table = rules.table(size)?;
    // SAFETY: by the contract of `look_up`; all ranks have the same rules.
    let policy = unsafe { device::agree(comm, rank) }.unwrap_or_else(|error| {
        // Without an answer this rank would decide otherwise than the others.
        kilter_mpi::say(format_args!("error: {error}; ending the job"));
        // SAFETY: MPI is running.
        unsafe { kilter_mpi::abort(comm, 1) }
    });
    if policy == Policy::Leave {
        return None;
    }
    let asked = table
        .ranges()
        .any(|(_, _, _, action)| action.implementation.needs_one_node());
    // SAFETY: by the contract of `look_up`; all ranks have the same rules.
    let one_node = asked && unsafe { is_on_one_node(comm) };
    Some(Box::new(State {
        comm,
        rank,
        size,
        table,
        rules,
        one_node,
        asks_device: policy == Policy::Ask,
        tables: RefCell::new(Tables::new(size)),
        prepared: PreparedCalls::new(),
        private: RefCell::new(None),
    }))
}

/// Whether all ranks share a node's memory.
///
/// # Safety
/// As for [`look_up`].
unsafe fn is_on_one_node(comm: MPI_Comm) -> bool {
    // SAFETY: by this function's contract; an intracommunicator, as others have no rules.
    match unsafe { kilter_mpi::is_one_node(comm) } {
        Ok(one_node) => one_node,
        Err(error) => {
            // Without an answer this rank would decide otherwise than the others.
            kilter_mpi::say(format_args!(
                "error: which ranks share a node is not known: {error}; ending the job"
            ));
            // SAFETY: MPI is running.
            unsafe { kilter_mpi::abort(comm, 1) }
        }
    }
}

/// Whether all ranks follow the same profile: a rank that cannot read it must not be left waiting by those that can.
unsafe fn agree(comm: MPI_Comm, size: usize, started: &'static Started) -> bool {
    static ALLREDUCE: Real = Real::new("PMPI_Allreduce\0");
    type Allreduce = unsafe extern "C" fn(
        *const c_void,
        *mut c_void,
        c_int,
        mpi_sys::MPI_Datatype,
        mpi_sys::MPI_Op,
        MPI_Comm,
    ) -> c_int;
    if size < 2 {
        return started.digest != 0;
    }
    // A bit that differs is set in the union of the numbers and in the union of their complements.
    let mine = [started.digest, !started.digest];
    let mut union = [0_u64; 2];
    // SAFETY: this is the library's function of this name; two numbers lie in each buffer; the caller is in a collective call
    // on this communicator, and so are all other ranks.
    let code = unsafe {
        let allreduce: Allreduce = std::mem::transmute(ALLREDUCE.address());
        allreduce(
            mine.as_ptr().cast(),
            union.as_mut_ptr().cast(),
            2,
            constants::uint64(),
            constants::bor(),
            comm,
        )
    };
    if code != 0 || union == mine {
        return code == 0 && started.digest != 0;
    }
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        let rank = started.rank;
        if let Err(reason) = &started.rules {
            start::warn(rank != 0, &format!("rank {rank}: {reason}"));
        }
        let speaks = info::rank(comm).is_ok_and(|rank| rank == 0);
        let text = format!(
            "the {size} ranks of a communicator do not follow the same profile (another file, mode or failure on some); \
             the library's own collectives are used on it"
        );
        start::warn(speaks, &text);
    }
    false
}

impl State {
    /// The context in which an implementation runs; makes the private communicator at the first call.
    ///
    /// # Safety
    /// All ranks of the communicator make the same call.
    pub(crate) unsafe fn context(&self, implementation: &Implementation) -> Result<*mut Context, MpiError> {
        let mut private = self.private.borrow_mut();
        if private.is_none() {
            // SAFETY: by this function's contract; only intracommunicators have a state.
            *private = Some(unsafe { self.make_private() }?);
        }
        let contexts = private.as_mut().map(|private| &mut private.contexts);
        let hosted = contexts.and_then(|contexts| contexts.get_mut(implementation.plugin));
        // Each plugin of the profile has a context, so there is one.
        hosted.map(Hosted::lend).ok_or(MpiError {
            operation: "looking for a plugin's context",
            code: constants::err_other(),
        })
    }

    unsafe fn make_private(&self) -> Result<Private, MpiError> {
        // SAFETY: by the caller.
        let comm = unsafe { info::comm_private(self.comm) }?;
        // SAFETY: the communicator is new; the attribute is static.
        unsafe { set_attribute(comm, (&raw const PRIVATE).cast()) }?;
        let contexts = self
            .rules
            .plugins
            .iter()
            .map(|_| Hosted::new(comm, self.rank, self.size))
            .collect();
        // SAFETY: all ranks of the new communicator are here.
        let number = unsafe { number(comm) }?;
        hold_live().insert(number, Live(self));
        Ok(Private { comm, number, contexts })
    }

    /// Lets plugins free what they keep for the communicator. All its ranks do so together.
    fn release(&self) {
        if let Some(private) = self.private.borrow_mut().as_mut() {
            for (hosted, plugin) in private.contexts.iter_mut().zip(&self.rules.plugins) {
                // SAFETY: the context is this plugin's, and no call is under way on a communicator that is being freed.
                unsafe { hosted.release(plugin) };
            }
        }
    }
}

/// A state that has a private communicator.
struct Live(*const State);

// SAFETY: only the address is kept; it is used when the program ends MPI, with no other call under way.
unsafe impl Send for Live {}

/// Those that live, by the number of their private communicators: an order that is the same on all ranks, so that ranks that
/// release several of them wait for each other in the same order.
static LIVE: Mutex<BTreeMap<u64, Live>> = Mutex::new(BTreeMap::new());

fn hold_live() -> MutexGuard<'static, BTreeMap<u64, Live>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number for a communicator that all its ranks know and that no other has: each rank proposes one it has never proposed
/// before, and the largest is taken.
///
/// # Safety
/// All ranks of `comm` make this call.
unsafe fn number(comm: MPI_Comm) -> Result<u64, MpiError> {
    static PROPOSED: AtomicU64 = AtomicU64::new(0);
    let own = info::rank(constants::comm_world())? as u64;
    let proposal = PROPOSED.fetch_add(1, Ordering::Relaxed) << 32 | own;
    // SAFETY: by this function's contract.
    unsafe { info::maximum(comm, proposal) }
}

impl Drop for State {
    fn drop(&mut self) {
        self.release();
        let Some(private) = self.private.get_mut().take() else {
            return;
        };
        hold_live().remove(&private.number);
        // While MPI ends, it frees what is left by itself.
        if !FINISHING.load(Ordering::Acquire) {
            // SAFETY: the private communicator has the ranks of the one that is being freed, which is collective.
            let _ = unsafe { info::comm_free(private.comm) };
        }
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
        KEY.store(key, Ordering::Release);
        attribute::set(constants::comm_self(), end, (&raw const PASS).cast()).is_ok()
    }
}

unsafe extern "C" fn delete(_: MPI_Comm, _: c_int, attribute: *mut c_void, _: *mut c_void) -> c_int {
    GENERATION.fetch_add(1, Ordering::AcqRel);
    let attribute = attribute.cast_const();
    if attribute != (&raw const PASS).cast() && attribute != (&raw const PRIVATE).cast() {
        // SAFETY: every other attribute is a `State` from `create`, deleted once.
        drop(unsafe { Box::from_raw(attribute.cast_mut().cast::<State>()) });
    }
    0
}

/// Attributes of `MPI_COMM_SELF` are deleted first of all in `MPI_Finalize`, whatever language called it.
unsafe extern "C" fn delete_of_self(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    start::stop();
    // Now MPI still runs; when the attributes of other communicators are deleted it may not.
    let live = std::mem::take(&mut *hold_live());
    for Live(state) in live.into_values() {
        // SAFETY: a state takes itself out when it is dropped, and no call is under way: all ranks are in MPI_Finalize.
        unsafe { &*state }.release();
    }
    FINISHING.store(true, Ordering::Release);
    finish::report();
    0
}
