//! Decides if a call is replaced, and replaces it.
//!
//! All ranks must decide alike, or they deadlock. So the decision uses only facts that all ranks share: the size of the communicator, whether
//! its ranks are on one node, the total bytes (if all ranks know them) and the operator. Reductions add count and type, which MPI requires to
//! be the same on all ranks. The decision must not use `MPI_IN_PLACE` and addresses, which may differ at the root, nor the types of moved data,
//! which may differ between ranks.

use std::cell::RefMut;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use kilter_abi::UNAVAILABLE;
use kilter_algorithms::Collective;
use kilter_host::suits;
use kilter_mpi::{MPI_Comm, constants};

use crate::communicator::{self, Known, State};
use crate::describe::{describe, early};
use crate::device;
use crate::given::{Given, Number};
use crate::prepared::{OfSite, Prepared, Row, Way, keeps_op, keeps_type};
use crate::rules::{Action, Implementation};
use crate::start;
use crate::started::{Mode, Started};
use crate::tables::Tables;

/// The state of `comm`, if the profile has any rule for this collective on it.
///
/// # Safety
/// All ranks of the communicator make the same collective call.
#[inline(always)]
pub(crate) unsafe fn ruled(comm: MPI_Comm, collective: Collective) -> Option<(&'static State, &'static Started)> {
    let started = start::started()?;
    if comm == constants::comm_null() {
        return None;
    }
    // SAFETY: `comm` is valid, and all its ranks make the call, by this function's contract.
    match unsafe { communicator::look_up(comm, started) } {
        Known::Ruled(state) => state.looks_at(collective).then_some((state, started)),
        Known::Pass | Known::Private => None,
    }
}

/// A function of MPI, as a type: what depends on its collective is decided when the code for it is made.
pub(crate) trait Function {
    /// Its collective.
    const COLLECTIVE: Collective;
}

/// The way that a call goes.
pub(crate) enum Outcome {
    /// It was replaced, and returns this code.
    Done(c_int),
    /// The library shall carry it out.
    Library,
    /// Online selection has to say ([`crate::online`]).
    Online,
}

impl From<Option<c_int>> for Outcome {
    #[inline]
    fn from(code: Option<c_int>) -> Outcome {
        code.map_or(Outcome::Library, Outcome::Done)
    }
}

/// Runs the implementation that the profile has for the call.
///
/// # Safety
/// `given` are the arguments of a valid call on the state's communicator, made by all its ranks.
#[inline(always)]
pub(crate) unsafe fn replace<F: Function, N: Number, D: Number>(
    state: &State,
    started: &'static Started,
    given: Given<N, D>,
) -> Outcome {
    let prepared = state.prepared.find(F::COLLECTIVE, given);
    if !prepared.is_null() {
        // SAFETY: found for this call.
        return match unsafe { Prepared::way(prepared) } {
            // SAFETY: found for this call.
            Way::Again => unsafe { again(state, started, prepared, given.send, given.recv) }.into(),
            Way::Library => Outcome::Library,
            Way::Ask => Outcome::Online,
        };
    }
    if state.online.is_some() {
        return Outcome::Online;
    }
    // SAFETY: by this function's contract.
    unsafe {
        let code = by_rule::<F, N, D>(state, started, given);
        // What is carried out keeps its place: calls that are looked up anew cost less than rows that are.
        if code.is_none() && state.prepared.has_room(F::COLLECTIVE, given) {
            let stored = given;
            leave::<F, N, D>(state, &stored);
        }
        code.into()
    }
}

/// Keeps that calls like this one are the library's, where the profile has no rule for them.
///
/// # Safety
/// As for [`replace`].
#[cold]
unsafe fn leave<F: Function, N: Number, D: Number>(state: &State, given: &Given<N, D>) {
    let keeps = keeps_type(given.send_type) && keeps_type(given.recv_type) && keeps_op(given.op);
    // SAFETY: by this function's contract.
    if keeps && unsafe { early(F::COLLECTIVE, state, *given) }.is_none() {
        // SAFETY: by this function's contract.
        unsafe { prepare_default::<F, N, D>(state, given, 0, None) };
    }
}

/// Runs what the profile's rule names for a call that is not prepared. `None`: none applies.
///
/// # Safety
/// As for [`replace`].
#[inline(always)]
pub(crate) unsafe fn by_rule<F: Function, N: Number, D: Number>(
    state: &State,
    started: &'static Started,
    given: Given<N, D>,
) -> Option<c_int> {
    // Calls that are left alone end here, so that no more than this is part of the function.
    // SAFETY: `given` are the arguments of a valid call that all ranks make, by this function's contract.
    let found = unsafe { early(F::COLLECTIVE, state, given) }?;
    // A copy, so that only this path writes the arguments to memory.
    let stored = given;
    // SAFETY: `stored` is a copy of the valid call's arguments; all ranks decide alike, so all come here.
    unsafe { carry_out::<F, N, D>(state, started, &stored, found, None) }
}

/// Carries the call out as the one before. Returns the code that the call is to return; `None`: the library shall do it.
///
/// # Safety
/// `prepared` is what [`crate::prepared::PreparedCalls::find`] found on this state for a call with these addresses, made by all ranks, and no
/// call of the library's own.
#[inline(never)]
pub(crate) unsafe fn again(
    state: &State,
    started: &Started,
    prepared: *mut Prepared,
    send: *const c_void,
    recv: *mut c_void,
) -> Option<c_int> {
    // Held until the implementation has returned, as for any call.
    let tables = state.tables.try_borrow_mut().ok()?;
    // SAFETY: found on this state for this call; `tables` keeps others out.
    let (code, implementation) = unsafe { Prepared::run(prepared, send, recv) }?;
    if code == 0 {
        implementation.count(started.thread_multiple);
        return Some(0);
    }
    // SAFETY: all ranks made the call, by this function's contract, and `tables` was borrowed from this state.
    unsafe { failed(state, started, implementation, tables, code) }
}

/// Prepares calls like this one for the library: those of a site as long as online selection has settled on that.
///
/// # Safety
/// As for [`replace`]; a site's call has returned on this rank.
#[cold]
pub(crate) unsafe fn prepare_default<F: Function, N: Number, D: Number>(
    state: &State,
    given: &Given<N, D>,
    bytes: u64,
    of_site: Option<OfSite>,
) {
    let Ok(mut tables) = state.tables.try_borrow_mut() else {
        return;
    };
    // SAFETY: by this function's contract.
    unsafe {
        if let Some(arguments) = describe(F::COLLECTIVE, state, given, bytes, &mut tables) {
            state.prepared.put(F::COLLECTIVE, &arguments, None, of_site);
        }
    }
}

/// Makes the call with `action`, the implementation that the profile names for this total volume. First decides the rest: the implementation's
/// needs, the mode, and whether buffers lie on the host. `None` leaves the call to the library. `arm` is the one of a site that asks for it.
///
/// # Safety
/// As for [`replace`].
#[inline(never)]
pub(crate) unsafe fn carry_out<F: Function, N: Number, D: Number>(
    state: &State,
    started: &'static Started,
    given: &Given<N, D>,
    (bytes, action): (u64, &Action),
    arm: Option<OfSite>,
) -> Option<c_int> {
    let collective = F::COLLECTIVE;
    // Held until the implementation has returned: no other collective may be under way on this communicator.
    let mut tables = state.tables.try_borrow_mut().ok()?;
    // SAFETY: by this function's contract.
    let mut arguments = unsafe { describe(collective, state, given, bytes, &mut tables) }?;
    let Action {
        implementation,
        parameters,
    } = action;
    let place = (state.size, state.one_node);
    if !suits(implementation.needs(), collective, &arguments, place) || !tables.has(implementation) {
        return None;
    }
    if started.mode == Mode::Log {
        implementation.would_run.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    if state.asks_device && collective.has_data() {
        // SAFETY: all ranks decide alike, so all come here.
        let on_host = unsafe { device::is_on_host(state.comm, &arguments) };
        let on_host = on_host.unwrap_or_else(|error| {
            kilter_mpi::say(format_args!("error: {error}; ending the job"));
            // SAFETY: MPI is running.
            unsafe { kilter_mpi::abort(state.comm, 1) }
        });
        if !on_host {
            return None;
        }
    }
    arguments.algorithm = implementation.callable.algorithm;
    arguments.parameters = parameters.as_ptr();
    // SAFETY: all ranks decide alike, so all come here.
    let context = unsafe { state.context(implementation, started) }?;
    // SAFETY: context and arguments are as the ABI says, and lent for the call.
    let code = unsafe { (implementation.callable.run)(context, &raw const arguments) };
    if code == 0 {
        implementation.count(started.thread_multiple);
        // A call whose buffers must be checked for GPU memory is not prepared: each call asks anew.
        if !state.asks_device {
            let row = Some(Row::new(implementation, context));
            // SAFETY: the call has ended, and `tables` keeps others out; parameters are the state's.
            unsafe { state.prepared.put(collective, &arguments, row, arm) };
        }
        return Some(0);
    }
    // SAFETY: all ranks made the call, by this function's contract, and `tables` was borrowed from this state.
    unsafe { failed(state, started, implementation, tables, code) }
}

/// The return code of a call whose implementation returned `code`, other than 0. `None` if the implementation cannot run on this
/// communicator; the library then carries the call out.
///
/// # Safety
/// All ranks of the communicator made the call; `tables` are the state's.
#[cold]
unsafe fn failed(
    state: &State,
    started: &Started,
    implementation: &'static Implementation,
    mut tables: RefMut<'_, Tables>,
    code: c_int,
) -> Option<c_int> {
    if code == UNAVAILABLE {
        tables.forgo(implementation);
        // SAFETY: the call has ended, and `tables` keeps others out.
        unsafe { state.prepared.clear() };
        return None;
    }
    implementation.count(started.thread_multiple);
    drop(tables);
    // SAFETY: a valid communicator; its error handler decides what becomes of the error.
    unsafe { mpi_sys::PMPI_Comm_call_errhandler(state.comm, code) };
    Some(code)
}
