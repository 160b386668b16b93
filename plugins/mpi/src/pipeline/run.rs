//! One run of a pipeline on one rank: its local copies and calls.

use std::ffi::c_void;

use kilter_algorithms::{Collective, LocalCopy, Shape};
use mpi_sys::MPI_Comm;

use super::{Pipeline, Prepare, Step};
use crate::in_use::InUse;
use crate::{CallArguments, Caller, Division, MpiError, constants};

/// One run on one rank.
pub(super) struct Run<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) caller: &'a mut dyn Caller,
    pub(super) comm: MPI_Comm,
    pub(super) arguments: &'a CallArguments,
    pub(super) blocks: Division<'a>,
    pub(super) rank: usize,
    pub(super) p_ranks: usize,
    pub(super) is_root: bool,
    pub(super) element_bytes: usize,
    /// Elements, perhaps more than the caller's.
    pub(super) padded: usize,
    pub(super) in_use: InUse<'a>,
}

impl Run<'_> {
    fn total_bytes(&self) -> usize {
        self.padded * self.element_bytes
    }

    /// Begin and length of this rank's block, in bytes.
    fn own_block(&self) -> (usize, usize) {
        let (begin, count) = self.blocks.block(self.rank, self.p_ranks, self.padded);
        (begin * self.element_bytes, count * self.element_bytes)
    }

    /// True if this rank has the data that all are to get, in the caller's only buffer.
    fn is_source(&self) -> bool {
        self.pipeline.target == Collective::Bcast && self.is_root
    }

    /// Buffer for the result of call `i`; null if this rank gets none.
    fn destination(&mut self, i: usize) -> Result<*mut u8, MpiError> {
        let steps = &self.pipeline.steps;
        let mut last = i;
        // A broadcast works in the buffer it finds.
        while steps.get(last + 1).is_some_and(|step| step.call == Collective::Bcast) {
            last += 1;
        }
        let (output, wanted) = (steps[last].call.output(), self.pipeline.target.output());
        if steps[i].call.output() == Shape::AtRoot && !self.is_root {
            return Ok(std::ptr::null_mut());
        }
        let is_final = last + 1 == steps.len();
        // The root of a broadcast may have its data in memory that nobody may write.
        let is_source = self.is_source();
        let receives = wanted != Shape::AtRoot || self.is_root;
        let same_length = (output == Shape::Blocks) == (wanted == Shape::Blocks);
        if is_final && receives && !is_source && same_length && self.padded == self.arguments.count {
            return Ok(self.arguments.recv.cast());
        }
        let bytes = if output == Shape::Blocks {
            self.own_block().1
        } else {
            self.total_bytes()
        };
        self.in_use.scratch(bytes)
    }

    /// The caller's data; padded where it must be.
    unsafe fn input(&mut self) -> Result<*const u8, MpiError> {
        let target = self.pipeline.target;
        let given: *const u8 = if target == Collective::Bcast {
            self.arguments.recv.cast()
        } else {
            self.arguments.send.cast()
        };
        let has_input = target.input() != Shape::AtRoot || self.is_root;
        if self.padded == self.arguments.count || !has_input {
            return Ok(given);
        }
        let bytes = (self.arguments.count * self.element_bytes, self.total_bytes());
        // SAFETY: `given` holds `count` elements, at least one since padding is needed.
        unsafe { self.in_use.padded(given, bytes, self.element_bytes) }
    }

    /// The local copy before a call; returns where its input lies.
    unsafe fn prepare(
        &mut self,
        prepare: Prepare,
        data: *const u8,
        own: *const u8,
        output: *mut u8,
    ) -> Result<*const u8, MpiError> {
        let total = self.total_bytes();
        let (begin, length) = self.own_block();
        // SAFETY: `data` has the shape that was checked when the pipeline was made; each scratch buffer is as long as what is
        // written into it.
        unsafe {
            match prepare {
                Prepare::Input(LocalCopy::Nothing) => Ok(data),
                Prepare::Input(LocalCopy::OwnBlock) => Ok(data.add(begin)),
                Prepare::Input(LocalCopy::ZerosAroundBlock) => {
                    let filled = self.in_use.scratch(total)?;
                    filled.write_bytes(0, total);
                    copy_bytes(data, filled.add(begin), length);
                    Ok(filled)
                }
                Prepare::Input(LocalCopy::ZerosOffRoot) => {
                    let filled = self.in_use.scratch(total)?;
                    if self.is_root {
                        copy_bytes(data, filled, total);
                    } else {
                        filled.write_bytes(0, total);
                    }
                    Ok(filled)
                }
                Prepare::Input(LocalCopy::Replicate) => {
                    let copies = self.in_use.scratch(total)?;
                    for i in 0..self.p_ranks {
                        copy_bytes(data, copies.add(i * length), length);
                    }
                    Ok(copies)
                }
                Prepare::OwnContribution => {
                    copy_bytes(own, output, total);
                    Ok(data)
                }
            }
        }
    }

    /// Makes all calls of the pipeline.
    ///
    /// # Safety
    /// `self.arguments` are as [`Pipeline::run`] says, and all ranks of `self.comm` make this call.
    pub(super) unsafe fn carry_out(&mut self) -> Result<(), MpiError> {
        if self.arguments.count == 0 {
            return Ok(());
        }
        // SAFETY: every pointer below is the caller's or scratch, of the length that its shape has.
        unsafe {
            let own = self.input()?;
            let (mut data, mut shape) = (own, self.pipeline.target.input());
            for i in 0..self.pipeline.steps.len() {
                let step = self.pipeline.steps[i];
                let output = self.destination(i)?;
                let input = self.prepare(step.prepare, data, own, output)?;
                data = self.step(step, input, output)?;
                shape = step.call.output();
            }
            self.deliver(data, shape);
        }
        Ok(())
    }

    /// The data of a broadcast's root, in memory that may be written: libraries write there (MPICH, where the root is not the first rank of its
    /// node, receives what it has sent), and what the caller gives may be constant. Then it lies where the result is to lie.
    unsafe fn writable(&self, data: *const u8, output: *mut u8) -> *mut u8 {
        // Data that is already in the output may have the address of the input, too, if a program has one buffer for
        // both.
        if data != self.arguments.send.cast() || data == output.cast_const() {
            return data.cast_mut();
        }
        // SAFETY: a broadcast reads the total volume of what is there, and leaves as much in its output.
        unsafe { copy_bytes(data, output, self.total_bytes()) };
        output
    }

    /// Makes one call; returns the address of its result.
    ///
    /// # Safety
    /// `input` and `output` have the shapes of the step's call, and all ranks of `self.comm` make this call.
    unsafe fn step(&mut self, step: Step, input: *const u8, output: *mut u8) -> Result<*const u8, MpiError> {
        // Only the root's data counts in a broadcast.
        let (output, send) = match step.call {
            // SAFETY: both are as long as the call's data, by this function's contract.
            Collective::Bcast if self.is_root => (unsafe { self.writable(input, output) }, std::ptr::null()),
            _ => (output, input),
        };
        // The lowest rank has no lower ones: its contribution is its result.
        if step.call == Collective::ReduceLocal && self.rank == 0 {
            return Ok(output);
        }
        let mut arguments = CallArguments {
            send: send.cast::<c_void>(),
            recv: output.cast(),
            count: self.padded,
            ..*self.arguments
        };
        if step.moves_bytes {
            arguments.count = self.total_bytes();
            arguments.datatype = constants::byte();
            arguments.op = constants::bor();
        }
        // SAFETY: the buffers have the shapes of the call, by this function's contract; a step that moves bytes has equal blocks, or none.
        unsafe {
            self.caller
                .call(step.call, self.comm, &arguments, self.blocks, self.in_use.arena)?;
        }
        Ok(output)
    }

    /// Copies the result to where the caller wants it, unless it is there.
    unsafe fn deliver(&self, data: *const u8, shape: Shape) {
        let recv: *mut u8 = self.arguments.recv.cast();
        let wanted = self.pipeline.target.output();
        if data == recv.cast_const() || (wanted == Shape::AtRoot && !self.is_root) || self.is_source() {
            return;
        }
        let (begin, length) = self.own_block();
        let caller_bytes = self.arguments.count * self.element_bytes;
        // SAFETY: `data` holds at least what is copied, and scratch or another argument is no part of `recv`.
        unsafe {
            match (shape, wanted) {
                (Shape::Blocks, Shape::Blocks) => copy_bytes(data, recv, length),
                (_, Shape::Blocks) => copy_bytes(data.add(begin), recv, length),
                _ => copy_bytes(data, recv, caller_bytes),
            }
        }
    }
}

/// Copies `bytes` bytes; if that is 0, the pointers may be null.
///
/// # Safety
/// Both are valid for `bytes` bytes and do not overlap.
unsafe fn copy_bytes(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: by this function's contract.
        unsafe { to.copy_from_nonoverlapping(from, bytes) };
    }
}
