//! Collectives that move data: everything travels as packed bytes, so that types may differ between ranks.
//!
//! Where elements in memory are the bytes of a message already, the program's buffer is used; else a packed copy is.

use std::ffi::c_void;

use kilter_algorithms::{Collective, Shape};
use kilter_mpi::layout::{self, Layout};
use kilter_mpi::{MPI_Datatype, constants};

use crate::buffers::{Buffers, CallError, Staging, unsigned};
use crate::call::{Call, execute};

/// Elements in the program's memory.
#[derive(Clone, Copy)]
struct Elements {
    address: *mut c_void,
    count: usize,
    datatype: MPI_Datatype,
}

/// Carries out an allgather, broadcast, gather or scatter.
///
/// # Safety
/// The program's buffers are those of such a call.
pub(crate) unsafe fn carry_out(call: &Call<'_>, staging: &mut Staging<'_>) -> Result<(), CallError> {
    let total = usize::try_from(call.arguments.bytes).map_err(|_| CallError::Abi("more bytes than memory"))?;
    let block = total / call.p_ranks;
    let length = |shape| match shape {
        Shape::Blocks => block,
        Shape::AtRoot if !call.is_root() => 0,
        _ => total,
    };
    let collective = call.row.collective();
    let (input_bytes, output_bytes) = (length(collective.input()), length(collective.output()));
    // SAFETY: by this function's contract.
    unsafe {
        let (given, is_shared) = given(call)?;
        let taken = taken(call)?;
        let unstaged = |elements: &Elements| layout::is_stream(elements.datatype);
        // The result's own memory, or a packed form of it.
        let output = match &taken {
            Some(elements) if output_bytes > 0 && unstaged(elements)? => elements.address.cast::<u8>(),
            _ if output_bytes > 0 => staging.buffer(output_bytes)?,
            _ => std::ptr::null_mut(),
        };
        let is_bcast = collective == Collective::Bcast;
        let mut input: *const u8 = std::ptr::null();
        if let Some(elements) = given.filter(|_| input_bytes > 0) {
            if is_bcast {
                // Rows take a broadcast's data where they leave it.
                if !unstaged(&elements)? {
                    pack(call, elements, output, input_bytes)?;
                }
            } else if !is_shared && unstaged(&elements)? {
                input = elements.address.cast::<u8>().cast_const();
            } else {
                let copy = staging.buffer(input_bytes)?;
                pack(call, elements, copy, input_bytes)?;
                input = copy;
            }
        }
        let input_bytes = if input.is_null() { 0 } else { input_bytes };
        let buffers = Buffers {
            input,
            input_bytes,
            output,
            output_bytes,
            count: total,
            element_bytes: 1,
            datatype: constants::byte(),
            op: constants::op_null(),
            root: call.arguments.root,
        };
        execute(call, &buffers, staging.arena)?;
        // A broadcast's root has what it sent.
        let is_source = is_bcast && call.is_root();
        if let Some(elements) = taken.filter(|_| output_bytes > 0 && !is_source)
            && output != elements.address.cast::<u8>()
        {
            let packed = std::slice::from_raw_parts(output, output_bytes);
            layout::unpack(packed, elements.address, elements.count, elements.datatype, call.comm)?;
        }
    }
    Ok(())
}

/// # Safety
/// `to` has room for `bytes` bytes; the elements are readable.
unsafe fn pack(call: &Call<'_>, elements: Elements, to: *mut u8, bytes: usize) -> Result<(), CallError> {
    // SAFETY: by this function's contract.
    unsafe {
        let packed = std::slice::from_raw_parts_mut(to, bytes);
        layout::pack(elements.address, elements.count, elements.datatype, packed, call.comm)?;
    }
    Ok(())
}

/// What this rank gives, and whether that lies within what it gets.
unsafe fn given(call: &Call<'_>) -> Result<(Option<Elements>, bool), CallError> {
    let arguments = call.arguments;
    let in_place = arguments.send == constants::in_place();
    let sent = |blocks: usize| {
        let count = unsigned(arguments.send_count, "a negative count")? * blocks;
        Ok::<_, CallError>(Elements {
            address: arguments.send.cast_mut(),
            count,
            datatype: arguments.send_type,
        })
    };
    let received = |at: usize| {
        let count = unsigned(arguments.recv_count, "a negative count")?;
        let datatype = arguments.recv_type;
        let begin = (at * count).cast_signed() * Layout::of(datatype)?.extent;
        Ok::<_, CallError>(Elements {
            address: arguments.recv.wrapping_byte_offset(begin),
            count,
            datatype,
        })
    };
    Ok(match call.row.collective() {
        Collective::Bcast => (if call.is_root() { Some(received(0)?) } else { None }, true),
        Collective::Scatter => (
            if call.is_root() {
                Some(sent(call.p_ranks)?)
            } else {
                None
            },
            false,
        ),
        _ if in_place => (Some(received(call.rank)?), true),
        _ => (Some(sent(1)?), false),
    })
}

/// Where this rank wants its result; nowhere where it is in place already, or has none.
unsafe fn taken(call: &Call<'_>) -> Result<Option<Elements>, CallError> {
    let arguments = call.arguments;
    let blocks = match call.row.collective() {
        Collective::Gather if !call.is_root() => return Ok(None),
        Collective::Scatter if arguments.recv.cast_const() == constants::in_place() => return Ok(None),
        Collective::Gather | Collective::Allgather => call.p_ranks,
        _ => 1,
    };
    let count = unsigned(arguments.recv_count, "a negative count")? * blocks;
    Ok(Some(Elements {
        address: arguments.recv,
        count,
        datatype: arguments.recv_type,
    }))
}
