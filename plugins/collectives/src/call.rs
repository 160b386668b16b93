//! One call of a row.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kilter_abi::{Arguments, Context, UNAVAILABLE};
use kilter_algorithms::{TransportError, registry};
use kilter_mpi::{Arena, CallArguments, MPI_Comm, MpiTransport};

use crate::buffers::{Buffers, CallError, Lists, Staging, unsigned};
use crate::rows::Row;
use crate::{movement, reduction};

/// What this plugin keeps for a communicator.
#[derive(Debug, Default)]
struct State {
    arena: Arena,
    lists: Lists,
}

/// A call as seen by this plugin.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) comm: MPI_Comm,
    pub(crate) rank: usize,
    pub(crate) p_ranks: usize,
    pub(crate) row: &'a Row,
    pub(crate) arguments: &'a Arguments,
}

impl<'a> Call<'a> {
    pub(crate) fn is_root(&self) -> bool {
        usize::try_from(self.arguments.root).is_ok_and(|root| root == self.rank)
    }

    /// Counts per rank, where the collective has them.
    pub(crate) fn counts(&self) -> Option<&'a [i64]> {
        let counts = self.arguments.recv_counts;
        // SAFETY: by the ABI, one count for each rank.
        (!counts.is_null()).then(|| unsafe { std::slice::from_raw_parts(counts, self.p_ranks) })
    }
}

/// `kilter_algorithm.run` of every row.
///
/// # Safety
/// As the ABI says.
pub(crate) unsafe extern "C" fn run(context: *mut Context, arguments: *const Arguments) -> c_int {
    // SAFETY: by the ABI, both are valid and exclusively lent for the call.
    let (context, arguments) = unsafe { (&mut *context, &*arguments) };
    let comm = context.comm;
    let reason = match catch_unwind(AssertUnwindSafe(|| carry_out(context, arguments))) {
        Ok(Ok(())) => return 0,
        // Memory is taken by all ranks together, before anything else is done.
        Ok(Err(CallError::Transport(error @ TransportError::NoSharedMemory { .. }))) => {
            if context.rank == 0 {
                kilter_mpi::say(format_args!(
                    "warning: {} on {} ranks: {error}",
                    id(arguments),
                    context.size
                ));
            }
            return UNAVAILABLE;
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => "a defect of Kilter: it panicked, see the message above".to_owned(),
    };
    // The other ranks may be waiting for this one: an error code that only this rank returns would leave them so.
    kilter_mpi::say(format_args!(
        "error: {} on rank {} of {}: {reason}; ending the job",
        id(arguments),
        context.rank,
        context.size
    ));
    // SAFETY: MPI is running, as a collective was called.
    unsafe { kilter_mpi::abort(comm, 1) }
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
            // All ranks free the communicator, and so come here, together; a window that cannot be freed is all there is to lose.
            if let Err(error) = state.arena.release() {
                kilter_mpi::say(format_args!("warning: shared memory is not freed: {error}"));
            }
        }
    }
}

fn carry_out(context: &mut Context, arguments: &Arguments) -> Result<(), CallError> {
    if context.state.is_null() {
        context.state = Box::into_raw(Box::<State>::default()).cast();
    }
    // SAFETY: the state is one of this plugin's, and calls on one communicator follow each other; the row is this plugin's.
    let (State { arena, lists }, row) = unsafe {
        (
            &mut *context.state.cast::<State>(),
            &*(*arguments.algorithm).data.cast::<Row>(),
        )
    };
    let (rank, p_ranks) = (
        unsigned(context.rank, "a negative rank")?,
        unsigned(context.size, "a negative size")?,
    );
    let call = Call {
        comm: context.comm,
        rank,
        p_ranks,
        row,
        arguments,
    };
    let mut staging = Staging::new(arena);
    // SAFETY: by the ABI, the program's buffers are those of a call of the row's collective.
    unsafe {
        if row.collective().has_operator() {
            reduction::carry_out(&call, &mut staging, lists)
        } else {
            movement::carry_out(&call, &mut staging, lists)
        }
    }
}

/// Runs the row on staged buffers.
///
/// # Safety
/// The buffers are valid for their lengths and do not overlap.
pub(crate) unsafe fn execute(
    call: &Call<'_>,
    buffers: &Buffers,
    arena: &mut Arena,
    lists: &mut Lists,
) -> Result<(), CallError> {
    match call.row {
        Row::Mockup(_, pipeline) => {
            let arguments = CallArguments {
                send: buffers.input.cast(),
                recv: buffers.output.cast(),
                count: buffers.count,
                datatype: buffers.datatype,
                op: buffers.op,
                root: buffers.root,
            };
            // SAFETY: by this function's contract; all ranks make the same call, by the ABI.
            unsafe {
                match call.counts() {
                    Some(counts) => {
                        lists.counts.clear();
                        for count in counts {
                            let count = c_int::try_from(*count).map_err(|_| CallError::Abi("a count beyond an int"))?;
                            lists.counts.push(count);
                        }
                        pipeline.run_with_counts(call.comm, &arguments, &lists.counts, arena)?;
                    }
                    None => pipeline.run(call.comm, &arguments, arena)?,
                }
            }
        }
        Row::Algorithm(algorithm) => {
            // SAFETY: by this function's contract; parameters are as many as the row has, by the ABI.
            unsafe {
                let parameters = slice(call.arguments.parameters, algorithm.parameters.len());
                let input = slice(buffers.input, buffers.input_bytes);
                let output = slice_mut(buffers.output, buffers.output_bytes);
                let root = unsigned(buffers.root, "a negative root")?;
                let place = (call.comm, call.rank, call.p_ranks);
                let mut transport =
                    MpiTransport::new(place, buffers.datatype, buffers.op, buffers.element_bytes, arena);
                registry::run(
                    algorithm,
                    &mut transport,
                    registry::Arguments {
                        input,
                        output,
                        input_blocks: &lists.input.bytes,
                        output_blocks: &lists.output.bytes,
                        root,
                        parameters,
                    },
                )?;
            }
        }
    }
    Ok(())
}

/// A slice that may be empty with any pointer.
unsafe fn slice<'a, T>(pointer: *const T, length: usize) -> &'a [T] {
    if length == 0 {
        return &[];
    }
    // SAFETY: by the caller.
    unsafe { std::slice::from_raw_parts(pointer, length) }
}

/// A slice that may be empty with any pointer.
unsafe fn slice_mut<'a>(pointer: *mut u8, length: usize) -> &'a mut [u8] {
    if length == 0 {
        return &mut [];
    }
    // SAFETY: by the caller.
    unsafe { std::slice::from_raw_parts_mut(pointer, length) }
}
