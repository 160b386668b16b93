//! The buffers and lists of block lengths that a row works on.

use std::ffi::c_int;

use kilter_mpi::{Arena, MPI_Datatype, MPI_Op, constants, overlap};

use crate::call::Call;
use crate::error::CallError;
use crate::inner;
use crate::side::Side;

/// This rank's data of one call, in memory that a row may use: contiguous, and input apart from output.
pub(crate) struct Buffers {
    /// Input of this rank. Null with length 0 if the collective has no input on this rank.
    pub(crate) input: *const u8,
    /// Its bytes.
    pub(crate) input_bytes: usize,
    /// Output of this rank. Null with length 0 if the rank has no result. A broadcast's data is here on all ranks, the root included.
    pub(crate) output: *mut u8,
    /// Its bytes.
    pub(crate) output_bytes: usize,
    /// Elements of the total volume.
    pub(crate) count: usize,
    /// Distance from one element to the next, in bytes.
    pub(crate) element_bytes: usize,
    /// Type of an element.
    pub(crate) datatype: MPI_Datatype,
    /// The operator, or a null handle.
    pub(crate) op: MPI_Op,
}

impl Buffers {
    /// Those of a call without data.
    #[inline]
    pub(crate) fn none() -> Buffers {
        Buffers {
            input: std::ptr::null(),
            input_bytes: 0,
            output: std::ptr::null_mut(),
            output_bytes: 0,
            count: 0,
            element_bytes: 1,
            datatype: constants::byte(),
            op: constants::op_null(),
        }
    }

    /// True if input and output have bytes in common. The MPI standard forbids that. Open MPI accepts it, for example where a rank passes its
    /// own block of an allgather's receive buffer as its send buffer. An empty side may be reported as overlapping.
    #[inline(always)]
    pub(crate) fn overlap(&self) -> bool {
        overlap((self.input, self.input_bytes), (self.output, self.output_bytes))
    }
}

/// Lengths of blocks, kept from call to call so that none allocates.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// Bytes of each rank's block of the input, where the row is told them.
    pub(crate) input: List,
    /// The same of the output.
    pub(crate) output: List,
    /// Elements of each rank's block, as the library's functions take them.
    pub(crate) counts: Vec<c_int>,
    /// Those of calls inside, as the ABI has them.
    pub(crate) inner: inner::Lists,
}

/// Bytes of each rank's block.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub(crate) bytes: Vec<usize>,
}

impl List {
    /// Takes the lengths of a side's blocks where they are `wanted`, else none; returns the bytes of all.
    pub(crate) fn fill(&mut self, side: Option<&Side<'_>>, wanted: bool) -> Result<usize, CallError> {
        self.bytes.clear();
        let mut all: usize = 0;
        if let Some(side) = side {
            for place in 0..side.blocks() {
                let (_, _, bytes) = side.block(place)?;
                all = all.checked_add(bytes).ok_or(CallError::Abi("more bytes than memory"))?;
                if wanted {
                    self.bytes.push(bytes);
                }
            }
        }
        Ok(all)
    }

    /// Bytes of this rank's block, which is one of equal ones where there is no list.
    pub(crate) fn own(&self, call: &Call<'_>, all: usize) -> usize {
        self.bytes.get(call.rank).copied().unwrap_or(all / call.p_ranks)
    }
}

/// Scratch that goes back to its arena.
pub(crate) struct Staging<'a> {
    pub(crate) arena: &'a mut Arena,
    held: [Option<Vec<u8>>; 2],
}

impl<'a> Staging<'a> {
    pub(crate) fn new(arena: &'a mut Arena) -> Staging<'a> {
        Staging {
            arena,
            held: [None, None],
        }
    }

    /// A buffer that stays until the staging ends; two at most.
    pub(crate) fn buffer(&mut self, bytes: usize) -> Result<*mut u8, CallError> {
        let place = self
            .held
            .iter_mut()
            .find(|place| place.is_none())
            .ok_or(CallError::Abi("three staged buffers"))?;
        let mut buffer = self.arena.take(bytes).ok_or(CallError::NoMemory(bytes))?;
        let pointer = buffer.as_mut_ptr();
        *place = Some(buffer);
        Ok(pointer)
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        for buffer in self.held.iter_mut().filter_map(Option::take) {
            self.arena.give(buffer);
        }
    }
}
