//! The functions that the drop-in calls: no panic leaves them, and an error ends the job.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kilter_abi::{Arguments, Context, UNAVAILABLE};
use kilter_algorithms::{Collective, TransportError};
use kilter_mpi::Arena;

use crate::buffers::{Lists, Staging};
use crate::call::Call;
use crate::error::{CallError, unsigned};
use crate::execute::{run_algorithm, run_closing, run_mockup};
use crate::row::Row;
use crate::{movement, reduction};

/// Scratch and lists that this plugin keeps for a communicator.
#[derive(Debug, Default)]
struct State {
    arena: Arena,
    lists: Lists,
}

/// A function of the ABI that carries calls out.
type Run = unsafe extern "C" fn(context: *mut Context, arguments: *const Arguments) -> c_int;

/// `kilter_algorithm.run` of every row of a collective.
pub(crate) fn run_of(collective: Collective) -> Run {
    macro_rules! runs {
        ($($collective:ident)*) => {
            match collective { $(Collective::$collective => run::<{ Collective::$collective as usize }>,)* }
        };
    }
    runs!(Allgather Allgatherv Allreduce Alltoall Alltoallv Barrier Bcast Exscan Gather Gatherv Reduce ReduceLocal ReduceScatter
        ReduceScatterBlock Scan Scatter Scatterv)
}

/// The function of the `C`-th of [`Collective::ALL`]: what depends on the collective is decided when the code for it is made, as a
/// call of a few bytes takes no longer than some hundred instructions.
///
/// # Safety
/// As the ABI says.
unsafe extern "C" fn run<const C: usize>(context: *mut Context, arguments: *const Arguments) -> c_int {
    // SAFETY: by the ABI, both are valid and exclusively lent for the call. The context is not borrowed, since calls inside lend it again, and
    // an older host's is shorter than the structure.
    let arguments = unsafe { &*arguments };
    let collective = const { Collective::ALL[C] };
    // SAFETY: as above.
    match catch_unwind(AssertUnwindSafe(|| unsafe {
        carry_out(collective, context, arguments)
    })) {
        Ok(Ok(())) => 0,
        // SAFETY: as above.
        failed => unsafe { fail(context, arguments, failed) },
    }
}

/// The reasons for which a row returns [`UNAVAILABLE`]; rank 0 prints the one that holds, with its details.
pub const UNAVAILABLE_REASON: &str = "the ranks have no memory in common (is there room in /dev/shm?), or, of a row over lanes, not equally many are on every node";

/// Handles a call that failed. Missing shared memory is reported to the host as [`UNAVAILABLE`]; any other failure ends the job.
///
/// # Safety
/// The context is lent.
#[cold]
unsafe fn fail(
    context: *const Context,
    arguments: &Arguments,
    failed: std::thread::Result<Result<(), CallError>>,
) -> c_int {
    // SAFETY: by this function's contract.
    let (comm, place) = unsafe { ((*context).comm, ((*context).rank, (*context).size)) };
    let reason = match failed {
        Ok(Ok(())) => return 0,
        // Memory is taken, and lanes are made, by all ranks together, before anything else is done.
        Ok(Err(CallError::Transport(error @ TransportError::NoSharedMemory { .. }))) => {
            return unavailable(place, arguments, &error);
        }
        Ok(Err(CallError::Lanes(error))) if error.is_common() => return unavailable(place, arguments, &error),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "a defect of Kilter: it panicked, see the message above".to_owned(),
    };
    // The other ranks may be waiting for this one: an error code that only this rank returns would leave them so.
    kilter_mpi::say(format_args!(
        "error: {} on rank {} of {}: {reason}; ending the job",
        id(arguments),
        place.0,
        place.1
    ));
    // SAFETY: MPI is running, as a collective was called.
    unsafe { kilter_mpi::abort(comm, 1) }
}

/// Says on rank 0 why the row cannot run on this communicator.
fn unavailable((rank, size): (i32, i32), arguments: &Arguments, reason: &dyn std::error::Error) -> c_int {
    if rank == 0 {
        kilter_mpi::say(format_args!("warning: {} on {size} ranks: {reason}", id(arguments)));
    }
    UNAVAILABLE
}

/// The id of the row that is called.
fn id(arguments: &Arguments) -> &'static str {
    // SAFETY: the row is one of this plugin's, which live as long as the process.
    unsafe { &*(*arguments.algorithm).data.cast::<Row>() }.id()
}

/// `kilter_plugin.release`.
///
/// # Safety
/// As the ABI says.
pub(crate) unsafe extern "C" fn release(context: *mut Context) {
    // SAFETY: by the ABI, the context is valid, and its state is null or what `carry_out` put there.
    unsafe {
        let state = std::mem::replace(&mut (*context).state, std::ptr::null_mut());
        if !state.is_null() {
            let mut state = Box::from_raw(state.cast::<State>());
            // All ranks free the communicator, and so come here, together; what cannot be freed is all there is to lose.
            if let Err(error) = state.arena.release() {
                kilter_mpi::say(format_args!(
                    "warning: shared memory or communicators of lanes are not freed: {error}"
                ));
            }
        }
    }
}

///
/// # Safety
/// As the ABI says.
#[inline(always)]
unsafe fn carry_out(collective: Collective, context: *mut Context, arguments: &Arguments) -> Result<(), CallError> {
    // SAFETY: the state is one of this plugin's, and calls on one communicator follow each other; those inside have contexts of their own. The
    // row is this plugin's.
    let (state, row, comm, rank, size) = unsafe {
        if (*context).state.is_null() {
            (*context).state = Box::into_raw(Box::<State>::default()).cast();
        }
        (
            &mut *(*context).state.cast::<State>(),
            &*(*arguments.algorithm).data.cast::<Row>(),
            (*context).comm,
            (*context).rank,
            (*context).size,
        )
    };
    let root = if collective.has_root() {
        unsigned(arguments.root, "a negative root")?
    } else {
        0
    };
    let call = Call {
        collective,
        comm,
        rank: unsigned(rank, "a negative rank")?,
        p_ranks: unsigned(size, "a negative size")?,
        root,
        row,
        arguments,
        context,
    };
    let plain = if collective.has_operator() {
        reduction::plain(&call)
    } else {
        movement::plain(&call)
    };
    // Input that lies within the output is copied first, as what is in place is.
    let plain = plain.filter(|buffers| !buffers.overlap());
    // SAFETY: by the ABI, the program's buffers are those of a call of the row's collective; they do not overlap.
    unsafe {
        match (plain, row) {
            (Some(buffers), Row::Algorithm(entry)) => {
                run_algorithm(entry, &call, &buffers, (&[], &[]), &mut state.arena)
            }
            (Some(buffers), Row::Mockup(_, pipeline)) => {
                run_mockup(pipeline, &call, &buffers, &mut state.arena, &mut state.lists)
            }
            (Some(buffers), Row::Closing(closing)) => {
                run_closing(closing, &call, &buffers, &mut state.arena, &mut state.lists)
            }
            (None, _) => carry_out_staged(&call, state),
        }
    }
}

/// Calls that are not as simple as most.
///
/// # Safety
/// The program's buffers are those of a call of the row's collective.
#[inline(never)]
unsafe fn carry_out_staged(call: &Call<'_>, state: &mut State) -> Result<(), CallError> {
    let State { arena, lists } = state;
    let mut staging = Staging::new(arena);
    // SAFETY: the program's buffers are those of a call of the row's collective, by this function's contract.
    unsafe {
        if call.collective.has_operator() {
            reduction::carry_out(call, &mut staging, lists)
        } else {
            movement::carry_out(call, &mut staging, lists)
        }
    }
}
