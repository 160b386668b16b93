//! Mock-ups: collectives composed of library calls, with the local copies that make their data fit together.
//!
//! A composition is checked once, when it is made; running it moves real data (Traeff et al. 2010, section 3; PGMPI,
//! Hunold et al. 2016, table 2): zeroing, replicating and copying happen in every run, as a program would have to do them.

use std::ffi::{c_int, c_void};

use kilter_algorithms::mockup::Mockup;
use kilter_algorithms::{Collective, LocalCopy, Shape};
use mpi_sys::MPI_Comm;

use crate::layout::Layout;
use crate::library::{Blocks, call};
use crate::{Arena, CallArguments, LanesError, MpiError, constants, over_lanes};

/// A collective carried out by calls of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    target: Collective,
    steps: Vec<Step>,
    /// Decomposed into calls on nodes and lanes instead of steps.
    over_lanes: bool,
}

/// Calls that cannot stand for a collective.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PipelineError {
    /// The composition is empty.
    #[error("a composition for {0} needs at least one call")]
    Empty(Collective),
    /// There is no decomposition over lanes.
    #[error(
        "{0} is not decomposed over lanes; allgather, allreduce, alltoall, bcast, gather, reduce, reduce_scatter_block and scatter are"
    )]
    NoLanes(Collective),
    /// A call cannot start from what is there.
    #[error(
        "{target}: call {position} ({call}) needs its data as {needed:?}, but has it as {available:?}, and no local copy converts that"
    )]
    Input {
        /// Composed collective.
        target: Collective,
        /// Place of the call, from 1.
        position: usize,
        /// The call.
        call: Collective,
        /// Shape at hand.
        available: Shape,
        /// Shape needed.
        needed: Shape,
    },
    /// The last call leaves the data in another shape than the collective does.
    #[error(
        "{target}: the last call ({call}) leaves the data as {available:?}, but {needed:?} is wanted, and no local copy converts that"
    )]
    Output {
        /// Composed collective.
        target: Collective,
        /// The last call.
        call: Collective,
        /// Shape at hand.
        available: Shape,
        /// Shape wanted.
        needed: Shape,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    call: Collective,
    prepare: Prepare,
    /// Combine bytes with a bitwise OR instead of elements with the caller's operator: the data is moved, not reduced.
    moves_bytes: bool,
}

/// Local preparation for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prepare {
    /// Its input.
    Input(LocalCopy),
    /// Own contribution, for the operator to add the lower ranks' to.
    OwnContribution,
}

impl Pipeline {
    /// Checks that `calls`, one after the other and each on the full volume, do what `target` does. The error names the
    /// place at which two shapes do not fit.
    pub fn new(target: Collective, calls: &[Collective]) -> Result<Pipeline, PipelineError> {
        let Some(&last) = calls.last() else {
            return Err(PipelineError::Empty(target));
        };
        let mut shape = target.input();
        // True while `shape` is what the caller gave to be combined; all other data only has to be moved.
        let mut uncombined = target.has_operator();
        let mut steps = Vec::with_capacity(calls.len());
        for (i, &call) in calls.iter().enumerate() {
            let prepare = match (shape, call.input()) {
                (Shape::ExclusivePrefix, Shape::ExclusivePrefix) if i > 0 => Prepare::OwnContribution,
                (available, needed) => Prepare::Input(available.copied_to(needed).ok_or(PipelineError::Input {
                    target,
                    position: i + 1,
                    call,
                    available,
                    needed,
                })?),
            };
            steps.push(Step {
                call,
                prepare,
                moves_bytes: call.has_operator() && !uncombined,
            });
            // A scan leaves the caller's contribution to be added by a local reduction.
            uncombined &= call == Collective::Exscan;
            shape = match (prepare, call.output()) {
                // Block j from rank j, and every rank sent the same to all: everyone has all blocks.
                (Prepare::Input(LocalCopy::Replicate), Shape::BlocksFromEach) => Shape::Everywhere,
                (_, output) => output,
            };
        }
        if !shape.contains(target.output()) {
            return Err(PipelineError::Output {
                target,
                call: last,
                available: shape,
                needed: target.output(),
            });
        }
        Ok(Pipeline {
            target,
            steps,
            over_lanes: false,
        })
    }

    /// The composition of a row of the table of mock-ups. A test shows that every row composes.
    pub fn of(mockup: &Mockup) -> Result<Pipeline, PipelineError> {
        if mockup.is_over_lanes() {
            return Pipeline::over_lanes(mockup.collective);
        }
        Pipeline::new(mockup.collective, mockup.calls)
    }

    /// The decomposition into calls on nodes and lanes.
    fn over_lanes(target: Collective) -> Result<Pipeline, PipelineError> {
        if !over_lanes::has(target) {
            return Err(PipelineError::NoLanes(target));
        }
        Ok(Pipeline {
            target,
            steps: Vec::new(),
            over_lanes: true,
        })
    }

    /// True if it needs the communicators that [`Arena::make_lanes`] makes.
    #[inline]
    #[must_use]
    pub fn is_over_lanes(&self) -> bool {
        self.over_lanes
    }

    /// Collective that it replaces.
    #[must_use]
    pub fn target(&self) -> Collective {
        self.target
    }

    /// True if it serves blocks of different lengths: each call that has blocks takes counts.
    #[must_use]
    pub fn takes_counts(&self) -> bool {
        !self.over_lanes
            && self.steps.iter().all(|step| {
                let is_vector = matches!(
                    step.call,
                    Collective::ReduceScatter | Collective::Scatterv | Collective::Gatherv
                );
                !step.call.has_blocks() || (is_vector && !step.moves_bytes)
            })
    }

    /// Carries it out on this rank. `MPI_IN_PLACE` is not understood. If a call inside has equal blocks, the target has
    /// none and `count` is no multiple of `p`, the data is padded to the next multiple. After an error the other ranks
    /// may be waiting.
    ///
    /// # Safety
    /// As for [`crate::library_call`]; `comm` is an intracommunicator, elements lie within their extent (which is the type's
    /// size where an inner call moves bytes), and `arguments.count` is the same on all ranks.
    pub unsafe fn run(&self, comm: MPI_Comm, arguments: &CallArguments, arena: &mut Arena) -> Result<(), MpiError> {
        // SAFETY: by this function's contract; there are no counts.
        unsafe { self.run_blocks(comm, arguments, None, arena) }
    }

    /// Same as [`Pipeline::run`], with the number of elements of each rank's block; see [`Pipeline::takes_counts`].
    ///
    /// # Safety
    /// As for [`Pipeline::run`]; `counts` has an entry for each rank, none negative, `arguments.count` is their sum, and all
    /// ranks pass the same.
    pub unsafe fn run_with_counts(
        &self,
        comm: MPI_Comm,
        arguments: &CallArguments,
        counts: &[c_int],
        arena: &mut Arena,
    ) -> Result<(), MpiError> {
        // SAFETY: by this function's contract.
        unsafe { self.run_blocks(comm, arguments, Some(counts), arena) }
    }

    /// # Safety
    /// As for [`Pipeline::run`], or, with `counts`, for [`Pipeline::run_with_counts`].
    unsafe fn run_blocks(
        &self,
        comm: MPI_Comm,
        arguments: &CallArguments,
        counts: Option<&[c_int]>,
        arena: &mut Arena,
    ) -> Result<(), MpiError> {
        let (rank, p_ranks) = arena.place(comm)?;
        let extent = Layout::of(arguments.datatype)?.extent;
        let element_bytes = MpiError::count_back("MPI_Type_get_extent", c_int::try_from(extent).unwrap_or(-1))?;
        let mut padded = arguments.count;
        let has_blocks = self.over_lanes || self.steps.iter().any(|step| step.call.has_blocks());
        if counts.is_none() && !self.target.has_blocks() && has_blocks {
            padded = padded.next_multiple_of(p_ranks);
        }
        let fits = match counts {
            Some(counts) => self.takes_counts() && counts.len() == p_ranks,
            None => !self.target.has_blocks() || arguments.count.is_multiple_of(p_ranks),
        };
        if !fits {
            return Err(MpiError {
                operation: self.target.mpi_name(),
                code: constants::err_count(),
            });
        }
        if self.over_lanes {
            // SAFETY: by this function's contract.
            return unsafe { self.run_over_lanes(comm, arguments, (rank, element_bytes, padded), arena) };
        }
        let blocks = counts.map_or(Blocks::Equal, Blocks::Counts);
        let is_root = usize::try_from(arguments.root).is_ok_and(|root| root == rank);
        let held = std::mem::take(&mut arena.held);
        let mut run = Run {
            pipeline: self,
            comm,
            arguments,
            blocks,
            rank,
            p_ranks,
            is_root,
            element_bytes,
            padded,
            arena,
            held,
        };
        // SAFETY: `run` has the buffers of the call, by this function's contract.
        unsafe { run.carry_out() }
    }
}

impl Pipeline {
    /// # Safety
    /// As for [`Pipeline::run`].
    unsafe fn run_over_lanes(
        &self,
        comm: MPI_Comm,
        arguments: &CallArguments,
        (rank, element_bytes, padded): (usize, usize, usize),
        arena: &mut Arena,
    ) -> Result<(), MpiError> {
        if arguments.count == 0 {
            return Ok(());
        }
        let no_lanes = |error| match error {
            LanesError::Mpi(error) => error,
            LanesError::Uneven { .. } | LanesError::NotMade => MpiError {
                operation: self.target.mpi_name(),
                code: constants::err_other(),
            },
        };
        // SAFETY: by this function's contract.
        unsafe { arena.make_lanes(comm) }.map_err(no_lanes)?;
        let Some(lanes) = arena.lanes.take() else {
            return Err(no_lanes(LanesError::NotMade));
        };
        let held = std::mem::take(&mut arena.held);
        let mut run = over_lanes::Run {
            target: self.target,
            lanes: &lanes,
            arguments,
            rank,
            element_bytes,
            padded,
            arena,
            held,
        };
        // SAFETY: `run` has the buffers of the call, by this function's contract; there is at least one element.
        let done = unsafe { run.carry_out() };
        drop(run);
        arena.lanes = Some(lanes);
        done
    }
}

/// One run on one rank.
struct Run<'a> {
    pipeline: &'a Pipeline,
    comm: MPI_Comm,
    arguments: &'a CallArguments,
    blocks: Blocks<'a>,
    rank: usize,
    p_ranks: usize,
    is_root: bool,
    element_bytes: usize,
    /// Elements, perhaps more than the caller's.
    padded: usize,
    arena: &'a mut Arena,
    /// Scratch in use.
    held: Vec<Vec<u8>>,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        for buffer in self.held.drain(..) {
            self.arena.give(buffer);
        }
        self.arena.held = std::mem::take(&mut self.held);
    }
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

    fn scratch(&mut self, bytes: usize) -> Result<*mut u8, MpiError> {
        let operation = self.pipeline.target.mpi_name();
        let mut buffer = self.arena.take(bytes).ok_or(MpiError {
            operation,
            code: constants::err_no_mem(),
        })?;
        let pointer = buffer.as_mut_ptr();
        self.held.push(buffer);
        Ok(pointer)
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
        self.scratch(bytes)
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
        let (given_bytes, total) = (self.arguments.count * self.element_bytes, self.total_bytes());
        let copy = self.scratch(total)?;
        // SAFETY: `given` holds `count` elements, at least one since padding is needed; `copy` holds `padded`. The padding
        // repeats the first element, a value the operator is defined for.
        unsafe {
            copy.copy_from_nonoverlapping(given, given_bytes);
            for at in (given_bytes..total).step_by(self.element_bytes) {
                copy.add(at).copy_from_nonoverlapping(given, self.element_bytes);
            }
        }
        Ok(copy)
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
                    let filled = self.scratch(total)?;
                    filled.write_bytes(0, total);
                    copy_bytes(data, filled.add(begin), length);
                    Ok(filled)
                }
                Prepare::Input(LocalCopy::ZerosOffRoot) => {
                    let filled = self.scratch(total)?;
                    if self.is_root {
                        copy_bytes(data, filled, total);
                    } else {
                        filled.write_bytes(0, total);
                    }
                    Ok(filled)
                }
                Prepare::Input(LocalCopy::Replicate) => {
                    let copies = self.scratch(total)?;
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
    unsafe fn carry_out(&mut self) -> Result<(), MpiError> {
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
        unsafe { call(step.call, self.comm, &arguments, self.blocks, self.arena)? };
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
