//! The state of each communicator. It is found through an attribute, so that MPI says when the communicator goes, however it is freed.
//!
//! States are never freed: counts name them by number. A communicator that is made after one of the same members was freed takes over its
//! state, so that a program which makes and frees communicators in a loop has few of them. Since making and freeing are collective, the ranks
//! of a communicator give it the same number among those of its members.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use kilter_mpi::{MPI_Comm, MpiError, attribute, constants, handle, info};
use mpi_sys::MPI_Group;

use crate::key::MAX_COMMUNICATOR;
use crate::members::Members;
use crate::thread::{self, Remembered, WAYS};

/// A communicator, or those of the same members that followed each other.
pub(crate) struct State {
    pub(crate) id: u32,
    /// This rank in it.
    pub(crate) rank: u32,
    pub(crate) members: Members,
    /// The other side of an intercommunicator.
    pub(crate) remote: Option<Members>,
    /// Number among communicators of the same members that exist at the same time.
    pub(crate) sequence: u32,
    pub(crate) label: Mutex<String>,
    /// True once it is defined in the trace.
    pub(crate) is_traced: AtomicBool,
    exists: AtomicBool,
    /// Number of sampled functions' calls on it.
    collectives: AtomicU64,
}

impl State {
    /// Those to whom messages go.
    #[inline]
    pub(crate) fn peers(&self) -> &Members {
        self.remote.as_ref().unwrap_or(&self.members)
    }

    /// Number of the next call of a collective, from 0. Collectives on a communicator are called one after the other.
    #[inline]
    pub(crate) fn next_collective(&self) -> u64 {
        let number = self.collectives.load(Ordering::Relaxed);
        self.collectives.store(number + 1, Ordering::Relaxed);
        number
    }
}

/// All states, and the memory that they may take.
struct Registry {
    states: Vec<&'static State>,
    /// Numbers of the states by their members.
    by_members: HashMap<(Members, Option<Members>), Vec<u32>>,
    bytes_left: usize,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);
static KEY: AtomicI32 = AtomicI32::new(-1);
/// Grows whenever a communicator goes, since its handle may come back.
pub(crate) static GENERATION: AtomicU64 = AtomicU64::new(1);

/// Grows whenever a communicator goes: while it is the same, a handle stands for the same communicator.
#[inline(always)]
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}

/// Creates the key and the registry, which may take so many bytes.
///
/// # Safety
/// MPI runs.
pub(crate) unsafe fn prepare(bytes: usize) -> Result<(), MpiError> {
    // SAFETY: the function lives as long as the process and takes what is set under the key, which are states.
    let key = unsafe { attribute::create_key(delete) }?;
    *REGISTRY.lock().unwrap_or_else(PoisonError::into_inner) = Some(Registry {
        states: Vec::new(),
        by_members: HashMap::new(),
        bytes_left: bytes,
    });
    KEY.store(key, Ordering::Release);
    Ok(())
}

/// The state of a communicator; `None` if the memory does not reach for it.
///
/// # Safety
/// `comm` is valid, and [`prepare`] was called.
#[inline]
pub(crate) unsafe fn look_up(comm: MPI_Comm) -> Option<&'static State> {
    let generation = generation();
    let handle = handle::bits(comm);
    // Handles are addresses of large structures, or numbers that differ in their lowest bits.
    let way = (handle ^ (handle >> 6)) % WAYS;
    // SAFETY: the state of this thread, which nobody else looks at; states live as long as the process.
    unsafe {
        let remembered = &raw mut (*thread::current()).remembered[way];
        if (*remembered).generation == generation && (*remembered).handle == handle {
            return (*remembered).state.as_ref();
        }
        let state = find(comm);
        *remembered = Remembered {
            generation,
            handle,
            state: state.map_or(std::ptr::null(), std::ptr::from_ref),
        };
        state
    }
}

/// The state of a communicator that the thread does not remember.
///
/// # Safety
/// As for [`look_up`].
#[cold]
unsafe fn find(comm: MPI_Comm) -> Option<&'static State> {
    let key = KEY.load(Ordering::Acquire);
    // SAFETY: by this function's contract; attributes under the key are states, which live as long as the process.
    unsafe {
        if let Some(known) = attribute::get(comm, key) {
            return known.cast::<State>().as_ref();
        }
        let state = made(comm)?;
        attribute::set(comm, key, std::ptr::from_ref(state).cast()).ok()?;
        Some(state)
    }
}

/// A state for a communicator that has none.
fn made(comm: MPI_Comm) -> Option<&'static State> {
    let own = Members::new(&world_ranks(comm, false)?);
    let remote = if info::is_inter(comm).ok()? {
        Some(Members::new(&world_ranks(comm, true)?))
    } else {
        None
    };
    let rank = u32::try_from(info::rank(comm).ok()?).ok()?;
    let mut registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    let registry = registry.as_mut()?;
    let members = (own, remote);
    let numbers = registry.by_members.get(&members).map(Vec::as_slice).unwrap_or_default();
    let states = &registry.states;
    let free = numbers
        .iter()
        .filter_map(|number| states.get(*number as usize))
        .find(|state| !state.exists.swap(true, Ordering::AcqRel));
    if let Some(state) = free {
        return Some(state);
    }
    let sequence = u32::try_from(numbers.len()).ok()?;
    let id = u32::try_from(registry.states.len())
        .ok()
        .filter(|id| *id <= MAX_COMMUNICATOR)?;
    let parts = members.0.bytes() + members.1.as_ref().map_or(0, Members::bytes);
    // The state and the key have the members once each.
    let bytes = 2 * parts + size_of::<State>() + 64;
    registry.bytes_left = registry.bytes_left.checked_sub(bytes)?;
    let state: &'static State = Box::leak(Box::new(State {
        id,
        rank,
        members: members.0.clone(),
        remote: members.1.clone(),
        sequence,
        label: Mutex::new(String::new()),
        is_traced: AtomicBool::new(false),
        exists: AtomicBool::new(true),
        collectives: AtomicU64::new(0),
    }));
    registry.states.push(state);
    registry.by_members.entry(members).or_default().push(id);
    Some(state)
}

/// World ranks of the members of a communicator, or of its other side.
fn world_ranks(comm: MPI_Comm, of_remote: bool) -> Option<Vec<c_int>> {
    let mut groups: [MPI_Group; 2] = [constants::group_null(); 2];
    let mut count: c_int = 0;
    // SAFETY: the library checks the handles; groups are written, read and freed; as many ranks are written as are given.
    unsafe {
        let code = if of_remote {
            mpi_sys::PMPI_Comm_remote_group(comm, &raw mut groups[0])
        } else {
            mpi_sys::PMPI_Comm_group(comm, &raw mut groups[0])
        };
        if code != 0 {
            return None;
        }
        let mut result = None;
        if mpi_sys::PMPI_Comm_group(constants::comm_world(), &raw mut groups[1]) == 0 {
            if mpi_sys::PMPI_Group_size(groups[0], &raw mut count) == 0 {
                let numbers: Vec<c_int> = (0..count).collect();
                let mut ranks = numbers.clone();
                let code = mpi_sys::PMPI_Group_translate_ranks(
                    groups[0],
                    count,
                    numbers.as_ptr(),
                    groups[1],
                    ranks.as_mut_ptr(),
                );
                if code == 0 {
                    for rank in &mut ranks {
                        if *rank == constants::undefined() {
                            *rank = crate::members::OUTSIDE;
                        }
                    }
                    result = Some(ranks);
                }
            }
            let _ = mpi_sys::PMPI_Group_free(&raw mut groups[1]);
        }
        let _ = mpi_sys::PMPI_Group_free(&raw mut groups[0]);
        result
    }
}

/// All states.
pub(crate) fn all() -> Vec<&'static State> {
    let registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    registry
        .as_ref()
        .map(|registry| registry.states.clone())
        .unwrap_or_default()
}

/// Keeps the name that the program gives a communicator.
///
/// # Safety
/// `comm` is valid, and [`prepare`] was called.
pub(crate) unsafe fn set_label(comm: MPI_Comm, label: &str) {
    // SAFETY: by this function's contract.
    if let Some(state) = unsafe { look_up(comm) } {
        *state.label.lock().unwrap_or_else(PoisonError::into_inner) = label.to_owned();
        // The trace defines it with its name.
        state.is_traced.store(false, Ordering::Relaxed);
    }
}

unsafe extern "C" fn delete(_: MPI_Comm, _: c_int, attribute: *mut c_void, _: *mut c_void) -> c_int {
    GENERATION.fetch_add(1, Ordering::AcqRel);
    // SAFETY: an attribute under the key is a state, which lives as long as the process.
    if let Some(state) = unsafe { attribute.cast_const().cast::<State>().as_ref() } {
        state.exists.store(false, Ordering::Release);
    }
    0
}
