//! Collectives that move data: everything travels as packed bytes, so that types may differ between ranks.
//!
//! If the blocks lie contiguously in memory, in the order of ranks, rows work on the program's buffer; else on a packed copy.

use kilter_algorithms::{Collective, Shape};
use kilter_mpi::{constants, layout, overlap};

use crate::buffers::{Buffers, Lists, Staging};
use crate::call::Call;
use crate::error::{CallError, unsigned};
use crate::execute::execute;
use crate::side::{Side, given, taken};

/// Carries out an allgather, alltoall, broadcast, gather or scatter, or one of their forms with counts, of any datatypes, in
/// place or not.
///
/// # Safety
/// The program's buffers are those of such a call.
pub(crate) unsafe fn carry_out(call: &Call<'_>, staging: &mut Staging<'_>, lists: &mut Lists) -> Result<(), CallError> {
    let collective = call.collective;
    let is_bcast = collective == Collective::Bcast;
    // SAFETY: by this function's contract.
    unsafe {
        let (given, is_shared) = given(call)?;
        let taken = taken(call)?;
        let input_bytes = lists
            .input
            .fill(given.as_ref(), collective.lists_input_blocks(call.is_root()))?;
        let mut output_bytes = lists
            .output
            .fill(taken.as_ref(), collective.lists_output_blocks(call.is_root()))?;
        if taken.is_none() && matches!(collective, Collective::Scatter | Collective::Scatterv) {
            // The root's block is in place already, but the row wants somewhere to put it.
            output_bytes = lists.input.own(call, input_bytes);
        }
        // The result's own memory, or a packed form of it.
        let unstaged = match &taken {
            Some(side) if output_bytes > 0 => side.stream()?,
            _ => None,
        };
        let output = match unstaged {
            Some(address) => address,
            None if output_bytes > 0 => staging.buffer(output_bytes)?,
            None => std::ptr::null_mut(),
        };
        let mut input: *const u8 = std::ptr::null();
        if let Some(side) = given.filter(|_| input_bytes > 0) {
            if is_bcast {
                // Rows take a broadcast's data where they leave it.
                if unstaged.is_none() {
                    side.pack(call, std::slice::from_raw_parts_mut(output, output_bytes))?;
                }
            } else {
                let is_apart = |address: &*mut u8| !overlap((*address, input_bytes), (output, output_bytes));
                let direct = if is_shared {
                    None
                } else {
                    side.stream()?.filter(is_apart)
                };
                input = match direct {
                    Some(address) => address.cast_const(),
                    None => {
                        let copy = staging.buffer(input_bytes)?;
                        side.pack(call, std::slice::from_raw_parts_mut(copy, input_bytes))?;
                        copy
                    }
                };
            }
        }
        let buffers = Buffers {
            input,
            input_bytes: if input.is_null() { 0 } else { input_bytes },
            output,
            output_bytes,
            count: unsigned(call.arguments.bytes, "more bytes than memory")?,
            element_bytes: 1,
            datatype: constants::byte(),
            op: constants::op_null(),
        };
        execute(call, &buffers, staging.arena, lists)?;
        // A broadcast's root has what it sent.
        let is_source = is_bcast && call.is_root();
        if let Some(side) = taken.filter(|_| output_bytes > 0 && !is_source && unstaged.is_none()) {
            side.unpack(call, std::slice::from_raw_parts(output, output_bytes))?;
        }
    }
    Ok(())
}

/// The program's own buffers, where nothing is to be found out about them: nothing in place, equal blocks, and types that are
/// predefined and lie in memory as they are packed. Most calls are like this, and for those of a few bytes the long way would
/// take longer than the messages.
#[inline(always)]
pub(crate) fn plain(call: &Call<'_>) -> Option<Buffers> {
    let (arguments, collective, p_ranks) = (call.arguments, call.collective, call.p_ranks);
    // Blocks in what is sent and in what is received.
    let (sent, received) = match collective {
        Collective::Barrier => return Some(Buffers::none()),
        Collective::Bcast => (0, 1),
        Collective::Allgather | Collective::Gather => (1, p_ranks),
        Collective::Alltoall => (p_ranks, p_ranks),
        Collective::Scatter => (p_ranks, 1),
        _ => return None,
    };
    if arguments.send == constants::in_place() || arguments.recv.cast_const() == constants::in_place() {
        return None;
    }
    let is_root = call.is_root();
    let bytes = |count: i64, datatype, blocks: usize| {
        let size = layout::plain_size(datatype)?;
        usize::try_from(count).ok()?.checked_mul(size)?.checked_mul(blocks)
    };
    let (mut input_bytes, mut output_bytes) = (0, 0);
    if sent > 0 && (collective.input() != Shape::AtRoot || is_root) {
        input_bytes = bytes(arguments.send_count, arguments.send_type, sent)?;
    }
    if collective.output() != Shape::AtRoot || is_root {
        output_bytes = bytes(arguments.recv_count, arguments.recv_type, received)?;
    }
    Some(Buffers {
        input: arguments.send.cast(),
        input_bytes,
        output: arguments.recv.cast(),
        output_bytes,
        count: usize::try_from(arguments.bytes).ok()?,
        element_bytes: 1,
        datatype: constants::byte(),
        op: constants::op_null(),
    })
}

impl Side<'_> {
    /// Packs all blocks, one after the other.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn pack(&self, call: &Call<'_>, mut to: &mut [u8]) -> Result<(), CallError> {
        for place in 0..self.blocks() {
            let (address, count, bytes) = self.block(place)?;
            let (block, rest) = to.split_at_mut(bytes);
            to = rest;
            if count > 0 {
                // SAFETY: by this function's contract.
                unsafe { kilter_mpi::packing::pack(address, count, self.datatype, block, call.comm)? };
            }
        }
        Ok(())
    }

    /// The way back.
    ///
    /// # Safety
    /// They are writable.
    unsafe fn unpack(&self, call: &Call<'_>, mut from: &[u8]) -> Result<(), CallError> {
        for place in 0..self.blocks() {
            let (address, count, bytes) = self.block(place)?;
            let (block, rest) = from.split_at(bytes);
            from = rest;
            if count > 0 {
                // SAFETY: by this function's contract.
                unsafe { kilter_mpi::packing::unpack(block, address, count, self.datatype, call.comm)? };
            }
        }
        Ok(())
    }
}
