//! A row on buffers that it may use: an algorithm over messages, or a mock-up by calls of the library.

use std::ffi::c_int;

use kilter_algorithms::{Entry, registry};
use kilter_mpi::{Arena, CallArguments, MpiTransport, OverMpi, Pipeline};

use crate::buffers::{Buffers, Lists};
use crate::call::Call;
use crate::error::CallError;
use crate::row::Row;

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
    // SAFETY: the same contract; all ranks make the same call, by the ABI.
    unsafe {
        match call.row {
            Row::Mockup(_, pipeline) => run_mockup(pipeline, call, buffers, arena, &mut lists.counts),
            Row::Algorithm(entry) => {
                let blocks = (lists.input.bytes.as_slice(), lists.output.bytes.as_slice());
                run_algorithm(entry, call, buffers, blocks, arena)
            }
        }
    }
}

/// Runs an algorithm. Blocks are those of the input and of the output, where the row is told them.
///
/// # Safety
/// As for [`execute`].
#[inline(always)]
pub(crate) unsafe fn run_algorithm(
    entry: &Entry<OverMpi>,
    call: &Call<'_>,
    buffers: &Buffers,
    (input_blocks, output_blocks): (&[usize], &[usize]),
    arena: &mut Arena,
) -> Result<(), CallError> {
    let place = (call.comm, call.rank, call.p_ranks);
    // SAFETY: by this function's contract; parameters are as many as the row has, by the ABI.
    unsafe {
        let mut transport = MpiTransport::new(place, buffers.datatype, buffers.op, buffers.element_bytes, arena);
        let arguments = registry::Arguments {
            input: slice(buffers.input, buffers.input_bytes),
            output: slice_mut(buffers.output, buffers.output_bytes),
            input_blocks,
            output_blocks,
            root: call.root,
            parameters: slice(call.arguments.parameters, entry.row().parameters.len()),
        };
        Ok(entry.run(&mut transport, arguments)?)
    }
}

/// Runs a mock-up.
///
/// # Safety
/// As for [`execute`].
pub(crate) unsafe fn run_mockup(
    pipeline: &Pipeline,
    call: &Call<'_>,
    buffers: &Buffers,
    arena: &mut Arena,
    int_counts: &mut Vec<c_int>,
) -> Result<(), CallError> {
    let arguments = CallArguments {
        send: buffers.input.cast(),
        recv: buffers.output.cast(),
        count: buffers.count,
        datatype: buffers.datatype,
        op: buffers.op,
        root: call.arguments.root,
    };
    if pipeline.is_over_lanes() {
        // SAFETY: the communicator is the arena's, and all ranks make the call, by this function's contract.
        unsafe { arena.make_lanes(call.comm)? };
    }
    let Some(counts) = call.counts() else {
        // SAFETY: the buffers have the shapes of the call, and all ranks make it, by this function's contract.
        unsafe { pipeline.run(call.comm, &arguments, arena)? };
        return Ok(());
    };
    int_counts.clear();
    for count in counts {
        int_counts.push(c_int::try_from(*count).map_err(|_| CallError::Abi("a count beyond an int"))?);
    }
    // SAFETY: by this function's contract, as above; the counts are those of the call, one for each rank and the same on all.
    unsafe { pipeline.run_with_counts(call.comm, &arguments, int_counts, arena)? };
    Ok(())
}

/// A slice; if `length` is 0, `pointer` may be any pointer.
///
/// # Safety
/// `pointer` points to `length` values that nobody writes during `'a`.
unsafe fn slice<'a, T>(pointer: *const T, length: usize) -> &'a [T] {
    if length == 0 {
        return &[];
    }
    // SAFETY: by this function's contract.
    unsafe { std::slice::from_raw_parts(pointer, length) }
}

/// A slice to write; if `length` is 0, `pointer` may be any pointer.
///
/// # Safety
/// `pointer` points to `length` bytes that nobody else uses during `'a`.
unsafe fn slice_mut<'a>(pointer: *mut u8, length: usize) -> &'a mut [u8] {
    if length == 0 {
        return &mut [];
    }
    // SAFETY: by this function's contract.
    unsafe { std::slice::from_raw_parts_mut(pointer, length) }
}
