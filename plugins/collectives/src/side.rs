//! The send or receive side of a call on one rank, as the program describes it: blocks of elements in its memory.

use std::ffi::c_void;

use kilter_algorithms::{Collective, Shape};
use kilter_mpi::layout::{self, Layout};
use kilter_mpi::{MPI_Datatype, constants};

use crate::call::Call;
use crate::error::{CallError, unsigned};

/// Blocks of elements in the program's memory.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    address: *mut c_void,
    pub(crate) datatype: MPI_Datatype,
    /// Bytes of data in an element.
    size: usize,
    /// From one element to the next, in bytes.
    extent: isize,
    blocks: Blocks<'a>,
}

#[derive(Clone, Copy)]
enum Blocks<'a> {
    /// One run of so many elements, which may be several blocks.
    Run(usize),
    /// Elements of each block and where it begins, in extents.
    Listed(&'a [i64], &'a [i64]),
}

impl<'a> Side<'a> {
    fn new(address: *mut c_void, datatype: MPI_Datatype, blocks: Blocks<'a>) -> Result<Side<'a>, CallError> {
        let Layout { size, extent, .. } = Layout::of(datatype)?;
        Ok(Side {
            address,
            datatype,
            size,
            extent,
            blocks,
        })
    }

    /// Number of blocks that describe it.
    pub(crate) fn blocks(&self) -> usize {
        match self.blocks {
            Blocks::Run(_) => 1,
            Blocks::Listed(counts, _) => counts.len(),
        }
    }

    /// Address, elements and bytes of data of a block.
    pub(crate) fn block(&self, place: usize) -> Result<(*mut c_void, usize, usize), CallError> {
        let (count, displacement) = match self.blocks {
            Blocks::Run(count) => (count, 0),
            Blocks::Listed(counts, displacements) => (
                unsigned(counts[place], "a negative count")?,
                isize::try_from(displacements[place]).map_err(|_| CallError::Abi("a displacement beyond memory"))?,
            ),
        };
        let begin = displacement
            .checked_mul(self.extent)
            .ok_or(CallError::Abi("a displacement beyond memory"))?;
        let bytes = count
            .checked_mul(self.size)
            .ok_or(CallError::Abi("more bytes than memory"))?;
        Ok((self.address.wrapping_byte_offset(begin), count, bytes))
    }

    /// The begin of its data, if the data is contiguous: elements have no holes, and each block begins where the block before it
    /// ends. `None` otherwise.
    pub(crate) fn stream(&self) -> Result<Option<*mut u8>, CallError> {
        if !layout::is_stream(self.datatype)? {
            return Ok(None);
        }
        let mut begin: *mut c_void = std::ptr::null_mut();
        let mut end = begin;
        for place in 0..self.blocks() {
            let (address, _, bytes) = self.block(place)?;
            if bytes == 0 {
                continue;
            }
            if begin.is_null() {
                begin = address;
            } else if address != end {
                return Ok(None);
            }
            end = address.wrapping_byte_add(bytes);
        }
        Ok((!begin.is_null()).then_some(begin.cast()))
    }
}

/// The blocks that this rank gives, if it gives any, and true if they lie in its receive buffer.
///
/// # Safety
/// The lists of the call have an entry for each rank.
pub(crate) unsafe fn given<'a>(call: &Call<'a>) -> Result<(Option<Side<'a>>, bool), CallError> {
    let collective = call.collective;
    if !collective.has_data() || (collective.input() == Shape::AtRoot && !call.is_root()) {
        return Ok((None, false));
    }
    let in_place = call.arguments.send == constants::in_place() && (call.is_root() || !collective.has_root());
    // SAFETY: by this function's contract.
    unsafe {
        Ok(match collective {
            Collective::Bcast => (Some(received(call, None)?), true),
            // All of it is exchanged.
            Collective::Alltoall | Collective::Alltoallv if in_place => (Some(received(call, None)?), true),
            _ if in_place && !matches!(collective, Collective::Scatter | Collective::Scatterv) => {
                (Some(received(call, Some(call.rank))?), true)
            }
            _ => (Some(sent(call)?), false),
        })
    }
}

/// The blocks that receive this rank's result. `None` if it has no result, or has it in place already (the root of a scatter in place).
///
/// # Safety
/// The lists of the call have an entry for each rank.
pub(crate) unsafe fn taken<'a>(call: &Call<'a>) -> Result<Option<Side<'a>>, CallError> {
    let collective = call.collective;
    let in_place = call.arguments.recv.cast_const() == constants::in_place();
    let is_scatter = matches!(collective, Collective::Scatter | Collective::Scatterv);
    if !collective.has_data()
        || (collective.output() == Shape::AtRoot && !call.is_root())
        || (is_scatter && in_place && call.is_root())
    {
        return Ok(None);
    }
    // SAFETY: by this function's contract.
    unsafe { received(call, None) }.map(Some)
}

/// The blocks that are sent.
///
/// # Safety
/// The lists of the call have an entry for each rank.
unsafe fn sent<'a>(call: &Call<'a>) -> Result<Side<'a>, CallError> {
    let arguments = call.arguments;
    let blocks = match call.collective {
        Collective::Alltoallv | Collective::Scatterv => {
            // SAFETY: by this function's contract.
            unsafe { listed(call, arguments.send_counts, arguments.send_displacements)? }
        }
        Collective::Alltoall | Collective::Scatter => run(arguments.send_count, call.p_ranks)?,
        _ => run(arguments.send_count, 1)?,
    };
    Side::new(arguments.send.cast_mut(), arguments.send_type, blocks)
}

/// The blocks that are received, or one of them.
///
/// # Safety
/// The lists of the call have an entry for each rank.
unsafe fn received<'a>(call: &Call<'a>, only: Option<usize>) -> Result<Side<'a>, CallError> {
    let arguments = call.arguments;
    let blocks = match call.collective {
        Collective::Allgatherv | Collective::Alltoallv | Collective::Gatherv => {
            // SAFETY: by this function's contract.
            unsafe { listed(call, arguments.recv_counts, arguments.recv_displacements)? }
        }
        Collective::Allgather | Collective::Alltoall | Collective::Gather => run(arguments.recv_count, call.p_ranks)?,
        _ => run(arguments.recv_count, 1)?,
    };
    let mut side = Side::new(arguments.recv, arguments.recv_type, blocks)?;
    match (only, blocks) {
        (None, _) => {}
        (Some(rank), Blocks::Listed(counts, displacements)) => {
            side.blocks = Blocks::Listed(&counts[rank..=rank], &displacements[rank..=rank]);
        }
        (Some(rank), Blocks::Run(all)) => {
            let count = all / call.p_ranks;
            let begin = (rank * count).cast_signed() * side.extent;
            side.address = side.address.wrapping_byte_offset(begin);
            side.blocks = Blocks::Run(count);
        }
    }
    Ok(side)
}

/// So many blocks of equal length behind each other.
fn run<'a>(count: i64, blocks: usize) -> Result<Blocks<'a>, CallError> {
    let count = unsigned(count, "a negative count")?;
    let all = count
        .checked_mul(blocks)
        .ok_or(CallError::Abi("more elements than memory"))?;
    Ok(Blocks::Run(all))
}

/// # Safety
/// A list that is not null has an entry for each rank.
unsafe fn listed<'a>(call: &Call<'a>, counts: *const i64, displacements: *const i64) -> Result<Blocks<'a>, CallError> {
    if counts.is_null() || displacements.is_null() {
        return Err(CallError::Abi("no counts or displacements"));
    }
    // SAFETY: by this function's contract.
    unsafe {
        Ok(Blocks::Listed(
            std::slice::from_raw_parts(counts, call.p_ranks),
            std::slice::from_raw_parts(displacements, call.p_ranks),
        ))
    }
}
