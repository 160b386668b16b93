//! Mock-ups: collectives composed of library calls, with the local copies that make their data fit together.
//!
//! A composition is checked once, when it is made; running it moves real data (Traeff et al. 2010, section 3; PGMPI,
//! Hunold et al. 2016, table 2): zeroing, replicating and copying happen in every run, as a program would have to do them.

mod run;

use std::ffi::c_int;

use kilter_algorithms::mockup::Mockup;
use kilter_algorithms::{Collective, LocalCopy, Shape};
use mpi_sys::MPI_Comm;

use crate::in_use::InUse;
use crate::layout::Layout;
use crate::{Arena, CallArguments, Caller, Division, LanesError, Library, MpiError, constants, over_lanes};
use run::Run;

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

    /// Carries it out on this rank by calls of the library. `MPI_IN_PLACE` is not understood. If a call inside has equal blocks, the target has
    /// none and `count` is no multiple of `p`, the data is padded to the next multiple. After an error the other ranks
    /// may be waiting.
    ///
    /// # Safety
    /// As for [`crate::library_call`]; `comm` is an intracommunicator, elements lie within their extent (which is the type's
    /// size where an inner call moves bytes), and `arguments.count` is the same on all ranks.
    pub unsafe fn run(&self, comm: MPI_Comm, arguments: &CallArguments, arena: &mut Arena) -> Result<(), MpiError> {
        // SAFETY: by this function's contract; there are no counts.
        unsafe { self.run_by(&mut Library, comm, arguments, None, arena) }
    }

    /// Same as [`Pipeline::run`], by calls of `caller`, and with `counts` the number of elements of each rank's block; see
    /// [`Pipeline::takes_counts`]. Calls on nodes and lanes are the library's.
    ///
    /// # Safety
    /// As for [`Pipeline::run`]; `counts` has an entry for each rank, none negative, `arguments.count` is their sum, and all
    /// ranks pass the same.
    pub unsafe fn run_by(
        &self,
        caller: &mut dyn Caller,
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
        let blocks = counts.map_or(Division::Equal, Division::Counts);
        let is_root = usize::try_from(arguments.root).is_ok_and(|root| root == rank);
        let mut run = Run {
            pipeline: self,
            caller,
            comm,
            arguments,
            blocks,
            rank,
            p_ranks,
            is_root,
            element_bytes,
            padded,
            in_use: InUse::of(arena, self.target.mpi_name()),
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
        let mut run = over_lanes::Run {
            target: self.target,
            lanes: &lanes,
            arguments,
            rank,
            element_bytes,
            padded,
            in_use: InUse::of(arena, self.target.mpi_name()),
        };
        // SAFETY: `run` has the buffers of the call, by this function's contract; there is at least one element.
        let done = unsafe { run.carry_out() };
        drop(run);
        arena.lanes = Some(lanes);
        done
    }
}
