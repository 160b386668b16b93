//! Sides of guidelines that are more than plain library calls: other forms of collectives, strided data, parts of the ranks,
//! messages, one-sided epochs.
//!
//! A side is compiled once per item, on every rank for itself, into [`step::Step`]s with all pointers, counts, types and
//! requests worked out ([`collective`] for what collectives do, [`message`] for everything else); running it is a loop over
//! them. The compiler follows the data: it knows which rank holds what, where and in which layout, inserts the local copies
//! that make one call's output the next one's input (Traeff et al. 2010, section 3), and refuses a side whose data do not fit.
//!
//! * [`calls`]: one table of the collectives with their three forms.
//! * [`groups`]: communicators of parts, of leaders, of all ranks in another order.
//! * [`datatypes`]: layouts as MPI datatypes, the user-defined operator.

pub(crate) mod calls;
mod collective;
pub(crate) mod datatypes;
pub(crate) mod groups;
mod message;
mod priced;
mod step;

use kilter_algorithms::Collective;
use std::ffi::{c_int, c_void};

use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op, MpiError, constants};
use kilter_protocol::expression::{Communicator, Operation, Quantity, Side, Single, Values};
use kilter_protocol::task::Functionality;
use mpi::ffi;

use crate::buffer::GuardedBuffer;
use crate::problem::Problem;
use crate::reason::{NoProgram, Reason};
use calls::Call;
use datatypes::Datatypes;
use groups::{Groups, Shared};
use step::{State, Step};

/// More steps than this are a mistake in the guideline.
const MAX_STEPS: usize = 1 << 16;

/// A side ready to run on this rank.
#[derive(Debug)]
pub(crate) struct Program {
    steps: Vec<Step>,
    state: State,
    groups: Groups,
    datatypes: Datatypes,
    /// Scratch that the steps point into.
    _scratch: Vec<GuardedBuffer>,
}

/// Memory of this rank's data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// The item's communicator.
    pub(crate) comm: MPI_Comm,
    /// Input of this rank.
    pub(crate) send: *mut u8,
    /// Output of this rank.
    pub(crate) recv: *mut u8,
}

/// Inputs and products of compiling a side.
struct Compiler<'a> {
    side: &'a Side,
    problem: &'a Problem,
    memory: Memory,
    groups: &'a Groups,
    datatypes: &'a mut Datatypes,
    steps: Vec<Step>,
    scratch: Vec<GuardedBuffer>,
    requests: usize,
    persistent: Vec<(usize, Call)>,
    /// Bytes of the window over the input (`get`) or over the output (`put`).
    window: Option<(*mut u8, usize)>,
}

impl Program {
    /// Compiles a side and makes what it needs. Called by all ranks. `problem` is adapted to the communicator of the side.
    ///
    /// # Errors
    /// Outer: the library's. Inner: why the side cannot be carried out, the same on all ranks as far as the plan decides it.
    ///
    /// # Safety
    /// All ranks of the communicator make the same call; the buffers are as long as the problem says and outlive the program, and so do the communicators
    /// that are shared, which were made on the item's communicator with this seed.
    pub(crate) unsafe fn new(
        side: &Side,
        problem: &mut Problem,
        memory: Memory,
        seed: u64,
        shared: Option<&mut Shared>,
    ) -> Result<Result<Program, Reason>, MpiError> {
        if let Err(reason) = check_epochs(side) {
            return Ok(Err(reason.into()));
        }
        // SAFETY: by this function's contract.
        let groups = match unsafe { Groups::new(side, memory.comm, problem.root, seed, shared)? } {
            Ok(groups) => groups,
            Err(reason) => return Ok(Err(reason.into())),
        };
        Program::adapt(problem, side, &groups)?;
        let mut datatypes = Datatypes::default();
        let mut compiler = Compiler {
            side,
            problem,
            memory,
            groups: &groups,
            datatypes: &mut datatypes,
            steps: Vec::new(),
            scratch: Vec::new(),
            requests: 0,
            persistent: Vec::new(),
            window: None,
        };
        let compiled = match problem.task.functionality {
            Functionality::Function(Collective::Barrier) => compiler.barrier(),
            Functionality::Function(_) => compiler.collective(),
            _ => compiler.messages(),
        };
        let Compiler {
            steps,
            scratch,
            requests,
            persistent,
            window,
            ..
        } = compiler;
        let compiled = compiled.and_then(|()| fits(side, &steps));
        if let Err(reason) = compiled {
            datatypes.free()?;
            groups.free()?;
            return Ok(Err(reason));
        }
        // SAFETY: statuses are plain data that waits overwrite.
        let statuses = (0..requests).map(|_| unsafe { std::mem::zeroed() }).collect();
        let mut program = Program {
            steps,
            state: State {
                requests: vec![constants::request_null(); requests],
                statuses,
                window: constants::win_null(),
            },
            groups,
            datatypes,
            _scratch: scratch,
        };
        let has_window = side.terms.iter().any(|term| is_fence(&term.call));
        let window = has_window.then(|| window.unwrap_or((std::ptr::null_mut(), 0)));
        // SAFETY: by this function's contract.
        if let Err(reason) = unsafe { program.make(window, persistent, memory.comm) } {
            program.free()?;
            return Ok(Err(reason));
        }
        Ok(Ok(program))
    }

    /// Makes the window and the persistent requests. Called by all ranks.
    ///
    /// # Safety
    /// As for [`Program::new`]; the program is freed before the buffers.
    unsafe fn make(
        &mut self,
        window: Option<(*mut u8, usize)>,
        persistent: Vec<(usize, Call)>,
        comm: MPI_Comm,
    ) -> Result<(), Reason> {
        if let Some((base, bytes)) = window {
            // SAFETY: by this function's contract; every rank takes part.
            let code = unsafe {
                ffi::PMPI_Win_create(
                    base.cast(),
                    bytes as ffi::MPI_Aint,
                    1,
                    constants::info_null(),
                    comm,
                    &raw mut self.state.window,
                )
            };
            MpiError::check("MPI_Win_create", code).map_err(NoProgram::NoWindow)?;
        }
        for (request, call) in persistent {
            // SAFETY: by this function's contract; every rank of the communicator makes the same calls.
            unsafe { call.init(&mut self.state.requests[request])? };
        }
        Ok(())
    }

    /// Adapts the problem to a side whose calls see the ranks in another order, or with other neighbours. This precedes making the program,
    /// because buffers are checked against the problem.
    fn adapt(problem: &mut Problem, side: &Side, groups: &Groups) -> Result<(), MpiError> {
        let on = side.head().on;
        let Some(group) = groups
            .find(on)
            .filter(|_| !on.is_partial() && !matches!(on, Communicator::Pair(..)))
        else {
            return Ok(());
        };
        let place = |world: usize| {
            group
                .members
                .iter()
                .position(|member| *member == world)
                .unwrap_or(world)
        };
        if problem.task.functionality == Functionality::Exchange {
            let mut before = (group.rank + problem.p_ranks - 1) % problem.p_ranks;
            if matches!(on, Communicator::Grid | Communicator::GridReordered) {
                // SAFETY: this communicator was made as a grid.
                before = unsafe { groups::neighbours(group.comm)? }.0;
            }
            problem.source = group.members[before];
        } else {
            problem.root = place(problem.root);
            problem.rank = group.rank;
        }
        Ok(())
    }

    /// Carries the side out once.
    ///
    /// # Errors
    /// The library's; the other ranks may then be waiting.
    #[inline]
    pub(crate) fn run(&mut self) -> Result<(), MpiError> {
        for step in &self.steps {
            // SAFETY: compiled for the buffers, communicators and requests of this program.
            unsafe { step.run(&mut self.state)? };
        }
        Ok(())
    }

    /// Gives everything back. Called by all ranks.
    pub(crate) fn free(mut self) -> Result<(), MpiError> {
        for request in &mut self.state.requests {
            if *request != constants::request_null() {
                // SAFETY: inactive: every run completes what it starts.
                MpiError::check("MPI_Request_free", unsafe { ffi::PMPI_Request_free(request) })?;
            }
        }
        if self.state.window != constants::win_null() {
            // SAFETY: the last epoch was closed by a fence; every rank frees it.
            MpiError::check("MPI_Win_free", unsafe {
                ffi::PMPI_Win_free(&raw mut self.state.window)
            })?;
        }
        self.datatypes.free()?;
        self.groups.free()
    }
}

/// Checks that a side makes no more calls than a guideline means.
fn fits(side: &Side, steps: &[Step]) -> Result<(), Reason> {
    if steps.len() > MAX_STEPS {
        return Err(NoProgram::ManyCalls {
            side: side.to_string(),
            most: MAX_STEPS,
        }
        .into());
    }
    Ok(())
}

fn is_fence(call: &kilter_protocol::expression::Call) -> bool {
    call.operation == Operation::Single(Single::Fence)
}

/// Checks that every put and get stands between two fences.
fn check_epochs(side: &Side) -> Result<(), NoProgram> {
    let fences = || side.terms.iter().map(|term| is_fence(&term.call));
    let first = fences().position(|is_fence| is_fence);
    let last = fences().rposition(|is_fence| is_fence);
    let is_one_sided = |operation: &Operation| matches!(operation, Operation::Single(Single::Put | Single::Get));
    let outside = side.terms.iter().enumerate().find(|(at, term)| {
        let is_inside = first.is_some_and(|first| first < *at) && last.is_some_and(|last| last > *at);
        is_one_sided(&term.call.operation) && !is_inside
    });
    outside.map_or(Ok(()), |(_, term)| {
        Err(NoProgram::NoEpoch {
            side: side.to_string(),
            term: term.to_string(),
        })
    })
}

impl Compiler<'_> {
    fn is_root(&self) -> bool {
        self.problem.rank == self.problem.root
    }

    /// The value of a size or repeat on a communicator of `q_ranks` ranks.
    fn value(&self, quantity: &Quantity, q_ranks: usize) -> Result<usize, Reason> {
        let values = Values {
            n_bytes: self.problem.n_bytes as u64,
            p_ranks: self.problem.p_ranks as u64,
            q_ranks: q_ranks as u64,
        };
        let value = quantity.value(values)?;
        Ok(usize::try_from(value).map_err(|_| NoProgram::TooLarge(quantity.clone()))?)
    }

    /// Memory of this side's own.
    fn scratch(&mut self, bytes: usize) -> Result<*mut u8, Reason> {
        let buffer = GuardedBuffer::new(bytes)?;
        let pointer = buffer.pointer();
        self.scratch.push(buffer);
        Ok(pointer)
    }

    /// A place for a request.
    fn request(&mut self) -> usize {
        self.requests += 1;
        self.requests - 1
    }

    fn copy(&mut self, from: *const u8, to: *mut u8, bytes: usize) {
        if bytes > 0 && from != to.cast_const() {
            self.steps.push(Step::Copy { from, to, bytes });
        }
    }

    /// Type and count of `bytes` bytes that lie one after the other; as bytes where the data is only moved.
    fn elements(&self, bytes: usize, as_bytes: bool) -> Result<(MPI_Datatype, c_int), NoProgram> {
        let (datatype, size) = if as_bytes {
            (constants::byte(), 1)
        } else {
            let element = self.problem.operand.element;
            (datatypes::element_type(element), element.bytes() as usize)
        };
        if !bytes.is_multiple_of(size) {
            return Err(NoProgram::Elements { bytes, size });
        }
        Ok((datatype, count(bytes / size)?))
    }

    /// The operator of a call.
    fn operator(&mut self, user: bool, as_bytes: bool) -> Result<MPI_Op, MpiError> {
        if user {
            return self.datatypes.user_operator();
        }
        Ok(if as_bytes {
            constants::bor()
        } else {
            datatypes::operator(self.problem.operand.operator)
        })
    }
}

fn count(elements: usize) -> Result<c_int, NoProgram> {
    c_int::try_from(elements).map_err(|_| NoProgram::Count(elements))
}

fn void(pointer: *mut u8) -> *mut c_void {
    pointer.cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_and_gets_stand_between_two_fences() {
        for side in [
            "win_fence + put(n) + win_fence",
            "win_fence + p * get(n/p) + win_fence",
            "bcast(n)",
        ] {
            assert!(check_epochs(&side.parse().unwrap()).is_ok(), "{side}");
        }
        for side in ["put(n)", "get(n)", "win_fence + put(n)", "put(n) + win_fence"] {
            let reason = check_epochs(&side.parse().unwrap()).unwrap_err().to_string();
            assert!(reason.contains("a `win_fence` must stand before `"), "{reason}");
        }
    }
}
