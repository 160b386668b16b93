//! An item ready to run on this rank: its communicator, its buffers and its calls.

use std::ffi::c_int;

use anyhow::Context;
use kilter_algorithms::{Arguments, registry};
use kilter_mpi::{Arena, CallArguments, MPI_Comm, MpiTransport, constants, info, library_call};
use kilter_protocol::plan::Item;

use crate::buffer::GuardedBuffer;
use crate::implementation::{How, Recipe};
use crate::problem::{Problem, Wrong};

/// An item with all it needs; buffers are allocated and written once, before anything is measured.
pub(crate) struct Candidate {
    comm: MPI_Comm,
    arena: Arena,
    recipe: Recipe,
    send: GuardedBuffer,
    recv: GuardedBuffer,
    /// Where each problem's data begins in the buffers.
    offsets: Vec<Offsets>,
}

#[derive(Debug, Clone, Copy)]
struct Offsets {
    send: usize,
    recv: usize,
}

/// The buffers of an item; apart from [`Candidate`], so that all ranks can agree that there was memory before one makes a
/// communicator.
pub(crate) struct Buffers {
    send: GuardedBuffer,
    recv: GuardedBuffer,
    offsets: Vec<Offsets>,
}

impl Buffers {
    /// Buffers for all calls of a recipe, slice behind slice.
    ///
    /// # Errors
    /// Where there is no memory.
    pub(crate) fn new(recipe: &Recipe) -> Result<Buffers, String> {
        let mut end = Offsets { send: 0, recv: 0 };
        let mut offsets = Vec::with_capacity(recipe.problems.len());
        for problem in &recipe.problems {
            offsets.push(end);
            end.send += problem.send_bytes();
            end.recv += problem.recv_bytes();
        }
        Ok(Buffers {
            send: GuardedBuffer::new(end.send)?,
            recv: GuardedBuffer::new(end.recv)?,
            offsets,
        })
    }
}

impl Candidate {
    /// Makes the item's communicator. Called by all ranks, whose library settings are those of the item at this moment: Open MPI
    /// chooses the algorithms of a communicator when it is made.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn new(recipe: Recipe, buffers: Buffers) -> anyhow::Result<Candidate> {
        let Buffers { send, recv, offsets } = buffers;
        // SAFETY: MPI_COMM_WORLD is an intracommunicator; every rank prepares the same items in the same order.
        let comm = unsafe { info::comm_private(constants::comm_world()) }.context("no communicator for the item")?;
        Ok(Candidate {
            comm,
            arena: Arena::new(),
            recipe,
            send,
            recv,
            offsets,
        })
    }

    /// Carries the item out once. Called by all ranks.
    ///
    /// # Errors
    /// Those of the library or of the algorithm; the other ranks may then be waiting for this one.
    #[inline]
    pub(crate) fn run(&mut self) -> anyhow::Result<()> {
        for part in &self.recipe.parts {
            for i in 0..part.repeat {
                let index = part.first + i % part.slices;
                let (problem, offsets) = (&self.recipe.problems[index], self.offsets[index]);
                // SAFETY: `Buffers::new` gave every problem its bytes from these offsets on, in buffers that live as long as
                // `self` and are not borrowed now; all ranks make the same calls on the item's own communicator.
                unsafe {
                    let send = self.send.pointer().add(offsets.send).cast_const();
                    let recv = self.recv.pointer().add(offsets.recv);
                    call(&part.how, self.comm, problem, send, recv, &mut self.arena)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the inputs, and outputs that are wrong until calls have made them right.
    pub(crate) fn fill(&mut self) {
        for (problem, offsets) in self.recipe.problems.iter().zip(&self.offsets) {
            problem.fill_send(&mut self.send.bytes_mut()[offsets.send..][..problem.send_bytes()]);
            problem.fill_recv(&mut self.recv.bytes_mut()[offsets.recv..][..problem.recv_bytes()]);
        }
    }

    /// Compares outputs with what they must be, and everything else with what it was.
    ///
    /// # Errors
    /// The first byte that is wrong on this rank.
    pub(crate) fn check(&self) -> Result<(), String> {
        let calls = self.recipe.problems.len();
        for (i, (problem, offsets)) in self.recipe.problems.iter().zip(&self.offsets).enumerate() {
            let which = if calls == 1 {
                String::new()
            } else {
                format!(" (slice {} of {calls})", i + 1)
            };
            let rank = problem.rank;
            if let Some(wrong) = problem.check_recv(&self.recv.bytes()[offsets.recv..][..problem.recv_bytes()]) {
                return Err(format!("wrong data: rank {rank} byte {}{which}", describe(wrong)));
            }
            if let Some(wrong) = problem.check_send(&self.send.bytes()[offsets.send..][..problem.send_bytes()]) {
                return Err(format!("wrong data: rank {rank} input byte {}{which}", describe(wrong)));
            }
        }
        let rank = self.recipe.problems.first().map_or(0, |problem| problem.rank);
        for (buffer, name) in [(&self.recv, "output"), (&self.send, "input")] {
            if let Some((place, wrong)) = buffer.check_guards() {
                return Err(format!(
                    "wrong data: rank {rank} {name} buffer, {place}, byte {}",
                    describe(wrong)
                ));
            }
        }
        Ok(())
    }

    /// Gives the communicator back. Called by all ranks.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn free(self) -> anyhow::Result<()> {
        // SAFETY: `self` is consumed, and all ranks free the same items in the same order.
        unsafe { info::comm_free(self.comm) }.context("the item's communicator cannot be freed")
    }
}

fn describe(wrong: Wrong) -> String {
    format!(
        "{}: got {:#04x}, expected {:#04x}",
        wrong.byte, wrong.got, wrong.expected
    )
}

/// One call.
///
/// # Safety
/// `send` and `recv` are valid for the bytes that `problem` says; all ranks of `comm` make the same call.
#[inline]
unsafe fn call(
    how: &How,
    comm: MPI_Comm,
    problem: &Problem,
    send: *const u8,
    recv: *mut u8,
    arena: &mut Arena,
) -> anyhow::Result<()> {
    let (byte, bor) = (constants::byte(), constants::bor());
    let arguments = CallArguments {
        send: send.cast(),
        recv: recv.cast(),
        count: problem.n_bytes,
        datatype: byte,
        op: bor,
        root: problem.root as c_int,
    };
    // SAFETY: by this function's contract; MPI_BYTE has one byte and MPI_BOR works on it.
    unsafe {
        match how {
            How::Library => library_call(problem.collective, comm, &arguments, arena)?,
            How::Mockup(pipeline) => pipeline.run(comm, &arguments, arena)?,
            How::Algorithm { row, parameters } => {
                let mut transport = MpiTransport::new(comm, byte, bor, 1, arena)?;
                let arguments = Arguments {
                    input: std::slice::from_raw_parts(send, problem.send_bytes()),
                    output: std::slice::from_raw_parts_mut(recv, problem.recv_bytes()),
                    root: problem.root,
                    parameters,
                };
                registry::run(row, &mut transport, arguments).with_context(|| format!("algorithm `{}`", row.id))?;
            }
        }
    }
    Ok(())
}

/// Names an item in messages.
pub(crate) fn title(block: &str, item: &Item) -> String {
    format!(
        "block `{block}`, item `{}` ({}, {} bytes)",
        item.id, item.collective, item.bytes
    )
}
