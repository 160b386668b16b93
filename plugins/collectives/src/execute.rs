//! A row on buffers that it may use: an algorithm over messages, or calls of collectives.

use std::ffi::c_int;

use kilter_algorithms::closing::Closing;
use kilter_algorithms::{Entry, registry};
use kilter_mpi::{Arena, CallArguments, Caller, Division, Library, MpiTransport, OverMpi, Pipeline, constants};

use crate::buffers::{Buffers, Lists};
use crate::call::Call;
use crate::error::{CallError, unsigned};
use crate::inner;
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
            Row::Mockup(_, pipeline) => run_mockup(pipeline, call, buffers, arena, lists),
            Row::Closing(closing) => run_closing(closing, call, buffers, arena, lists),
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
    lists: &mut Lists,
) -> Result<(), CallError> {
    let arguments = arguments(call, buffers);
    if pipeline.is_over_lanes() {
        // SAFETY: the communicator is the arena's, and all ranks make the call, by this function's contract.
        unsafe { arena.make_lanes(call.comm)? };
    }
    let Lists { counts, inner, .. } = lists;
    let counts = int_counts(call, counts)?;
    // SAFETY: the buffers have the shapes of the call, and all ranks make it, by this function's contract; counts are those of the call, one for
    // each rank and the same on all.
    let run = |caller: &mut dyn Caller| unsafe { pipeline.run_by(caller, call.comm, &arguments, counts, arena) };
    Ok(as_deployed(call, inner, run)?)
}

/// Runs a row at another volume.
///
/// # Safety
/// As for [`execute`].
pub(crate) unsafe fn run_closing(
    closing: &Closing,
    call: &Call<'_>,
    buffers: &Buffers,
    arena: &mut Arena,
    lists: &mut Lists,
) -> Result<(), CallError> {
    let arguments = arguments(call, buffers);
    if arguments.count == 0 {
        return Ok(());
    }
    let Lists { counts, inner, .. } = lists;
    let counts = int_counts(call, counts)?;
    // Bytes of data in an element, which a type with holes has fewer of than it takes: all ranks decide by the volume.
    let of_data = unsigned(call.arguments.bytes, "more bytes than memory")? / arguments.count;
    // SAFETY: parameters are as many as the row has, by the ABI.
    let parameters = unsafe { slice(call.arguments.parameters, 1) };
    let is_even = counts.is_none_or(|counts| counts.iter().all(|count| *count == counts[0]));
    let fitting = || closing.inside((call.p_ranks, arguments.count, of_data), parameters[0]);
    // A program's operator may be defined on whole calls alone: on elements by their places, or not on those that pad.
    let is_defined = !closing.collective.has_operator() || constants::predefined_ops().contains(&arguments.op);
    let Some(inside) = fitting().filter(|_| is_even && is_defined) else {
        let blocks = counts.map_or(Division::Equal, Division::Counts);
        // SAFETY: as above: the call itself.
        unsafe { Library.call(closing.collective, call.comm, &arguments, blocks, arena)? };
        return Ok(());
    };
    let of = (closing.collective, closing.way, inside);
    // SAFETY: the buffers have the shapes of the call, all ranks make it and decide alike, by this function's contract.
    let run = |caller: &mut dyn Caller| unsafe { kilter_mpi::closing_call(caller, of, call.comm, &arguments, arena) };
    Ok(as_deployed(call, inner, run)?)
}

/// Runs a composition whose calls are carried out as they are deployed, if the host says how.
fn as_deployed<T>(call: &Call<'_>, lists: &mut inner::Lists, run: impl FnOnce(&mut dyn Caller) -> T) -> T {
    // SAFETY: the context is lent for the call under way.
    match unsafe { inner::host(call.context, call.arguments) } {
        Some(ask) => run(&mut inner::AsDeployed { ask, lists }),
        None => run(&mut Library),
    }
}

/// The call as the library's functions take it.
fn arguments(call: &Call<'_>, buffers: &Buffers) -> CallArguments {
    CallArguments {
        send: buffers.input.cast(),
        recv: buffers.output.cast(),
        count: buffers.count,
        datatype: buffers.datatype,
        op: buffers.op,
        root: call.arguments.root,
    }
}

/// Elements of each rank's block, where the collective lists them.
fn int_counts<'l>(call: &Call<'_>, list: &'l mut Vec<c_int>) -> Result<Option<&'l [c_int]>, CallError> {
    let Some(counts) = call.counts() else { return Ok(None) };
    list.clear();
    for count in counts {
        list.push(c_int::try_from(*count).map_err(|_| CallError::Abi("a count beyond an int"))?);
    }
    Ok(Some(list))
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
