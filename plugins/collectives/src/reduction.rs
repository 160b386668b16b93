//! Collectives with an operator: elements stay in the layout of their type, since the operator must find them there.
//!
//! A type with holes is worked on in copies, so that the program's holes are left alone. The drop-in sends no type whose data
//! reaches out of its extent.

use kilter_algorithms::{Collective, Shape};
use kilter_mpi::layout::{self, Layout};
use kilter_mpi::{constants, overlap, packing};

use crate::buffers::{Buffers, Lists, Staging};
use crate::call::Call;
use crate::error::{CallError, unsigned};
use crate::execute::execute;

/// Carries out an allreduce, exscan, reduce, reduce-scatter or scan.
///
/// # Safety
/// The program's buffers are those of such a call.
pub(crate) unsafe fn carry_out(call: &Call<'_>, staging: &mut Staging<'_>, lists: &mut Lists) -> Result<(), CallError> {
    let arguments = call.arguments;
    let layout = Layout::of(arguments.recv_type)?;
    if !layout.is_separable() {
        return Err(CallError::Abi(
            "a reduction of a type whose data reaches out of its extent",
        ));
    }
    let extent = layout.extent.unsigned_abs();
    let (count, own) = counts(call, extent, lists)?;
    let output_count = match call.collective.output() {
        Shape::Blocks => own,
        Shape::AtRoot if !call.is_root() => 0,
        _ => count,
    };
    let in_place = arguments.send == constants::in_place();
    let given = if in_place {
        arguments.recv.cast_const()
    } else {
        arguments.send
    };
    // SAFETY: by this function's contract; staged buffers are as long as what is written to them.
    unsafe {
        let mut input: *const u8 = given.cast();
        let is_within = || overlap((input, count * extent), (arguments.recv.cast(), output_count * extent));
        if in_place || !layout.is_dense() || is_within() {
            let copy = staging.buffer(count * extent)?;
            // From the first to the last byte of data; what lies between is memory of the program's too.
            let begin = layout.true_lower_bound.unsigned_abs();
            let length = (count.max(1) - 1) * extent + layout.true_extent.unsigned_abs();
            copy.add(begin).copy_from_nonoverlapping(input.add(begin), length);
            input = copy;
        }
        let output: *mut u8 = match output_count {
            0 => std::ptr::null_mut(),
            _ if layout.is_dense() => arguments.recv.cast(),
            _ => staging.buffer(output_count * extent)?,
        };
        let buffers = Buffers {
            input,
            input_bytes: count * extent,
            output,
            output_bytes: output_count * extent,
            count,
            element_bytes: extent,
            datatype: arguments.recv_type,
            op: arguments.op,
        };
        execute(call, &buffers, staging.arena, lists)?;
        // The lowest rank of an exclusive scan gets nothing: its buffer stays as it is.
        let is_untouched = call.collective == Collective::Exscan && call.rank == 0;
        if output_count > 0 && !layout.is_dense() && !is_untouched {
            let place = (call.comm, call.rank);
            packing::copy_elements(output.cast(), arguments.recv, output_count, arguments.recv_type, place)?;
        }
    }
    Ok(())
}

/// The program's own buffers, where nothing is in place, blocks are equal and the type is predefined and without holes, as for most
/// calls.
#[inline(always)]
pub(crate) fn plain(call: &Call<'_>) -> Option<Buffers> {
    let arguments = call.arguments;
    if call.collective == Collective::ReduceScatter || arguments.send == constants::in_place() {
        return None;
    }
    let element_bytes = layout::plain_size(arguments.recv_type)?;
    let own = usize::try_from(arguments.recv_count).ok()?;
    let count = match call.collective {
        Collective::ReduceScatterBlock => own.checked_mul(call.p_ranks)?,
        _ => own,
    };
    let is_empty = call.collective.output() == Shape::AtRoot && !call.is_root();
    let output_bytes = if is_empty { 0 } else { own.checked_mul(element_bytes)? };
    Some(Buffers {
        input: arguments.send.cast(),
        input_bytes: count.checked_mul(element_bytes)?,
        output: arguments.recv.cast(),
        output_bytes,
        count,
        element_bytes,
        datatype: arguments.recv_type,
        op: arguments.op,
    })
}

/// Elements of the total volume, and of this rank's block; lists the lengths of blocks where they may differ.
fn counts(call: &Call<'_>, extent: usize, lists: &mut Lists) -> Result<(usize, usize), CallError> {
    lists.input.bytes.clear();
    lists.output.bytes.clear();
    let count = unsigned(call.arguments.recv_count, "a negative count")?;
    match (call.collective, call.counts()) {
        (Collective::ReduceScatter, Some(counts)) => {
            let (mut total, mut own) = (0, 0);
            for (rank, count) in counts.iter().enumerate() {
                let count = unsigned(*count, "a negative count")?;
                total += count;
                lists.input.bytes.push(count * extent);
                if rank == call.rank {
                    own = count;
                }
            }
            Ok((total, own))
        }
        (Collective::ReduceScatter, None) => Err(CallError::Abi("no counts")),
        (Collective::ReduceScatterBlock, _) => Ok((count * call.p_ranks, count)),
        _ => Ok((count, count)),
    }
}
