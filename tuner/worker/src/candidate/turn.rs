//! An item with one root: its buffers, its programs and its calls.

use std::ffi::c_int;

use anyhow::Context;
use kilter_mpi::{Arena, CallArguments, MPI_Comm, library_call};
use kilter_protocol::fault::{Buffer, Fault, WrongData, Zone};

use crate::buffer::{GuardedBuffer, check_guards, wrong_data};
use crate::hash;
use crate::images::Data;
use crate::implementation::{How, Recipe};
use crate::problem::Problem;
use crate::program::groups::Shared;
use crate::program::{Memory, Program};
use crate::reason::Reason;
use crate::row::Host;
use crate::unit::Unit;

/// State that calls keep on a communicator.
pub(super) struct Kept {
    /// Memory for calls of the library and compositions of them.
    pub(super) arena: Arena,
    /// State of the plugin whose rows the item runs, and of Kilter's own, if rows are deployed for calls inside.
    pub(super) host: Option<Host>,
}

/// The item with one root.
pub(super) struct Turn {
    pub(super) recipe: Recipe,
    /// Contents of each problem's buffers.
    pub(super) data: Vec<Data>,
    /// Elements of each problem's data.
    pub(super) units: Vec<Unit>,
    /// Programs of each part: one per slice, none where a part needs none.
    pub(super) programs: Vec<Vec<Program>>,
    pub(super) buffers: Buffers,
    pub(super) has_run: bool,
}

#[derive(Debug, Clone, Copy)]
struct Offsets {
    send: usize,
    recv: usize,
}

/// The buffers of an item; apart from [`super::Candidate`], so that all ranks can agree that there was memory before one makes a communicator.
pub(crate) struct Buffers {
    send: GuardedBuffer,
    pub(super) recv: GuardedBuffer,
    /// Offsets of each problem's data in the buffers.
    offsets: Vec<Offsets>,
}

impl Buffers {
    /// Buffers for all calls of a recipe, slice behind slice.
    pub(crate) fn new(recipe: &Recipe) -> Result<Buffers, Reason> {
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

impl Turn {
    /// Makes the programs of the parts that need one.
    pub(super) fn compile(
        &mut self,
        comm: MPI_Comm,
        seed: u64,
        mut shared: Option<&mut Shared>,
    ) -> anyhow::Result<Result<(), Reason>> {
        for (part, programs) in self.recipe.parts.iter().zip(&mut self.programs) {
            let How::Program(side) = &part.how else { continue };
            for index in part.first..part.first + part.slices {
                let offsets = self.buffers.offsets[index];
                let problem = &mut self.recipe.problems[index];
                // SAFETY: `Buffers::new` gave every problem its bytes from these offsets on; every rank does the same, and
                // the program is freed before the buffers, and before what is shared on its communicator.
                let made = unsafe {
                    let memory = Memory {
                        comm,
                        send: self.buffers.send.pointer().add(offsets.send),
                        recv: self.buffers.recv.pointer().add(offsets.recv),
                    };
                    Program::new(side, problem, memory, seed, shared.as_deref_mut())
                        .with_context(|| format!("`{side}`"))?
                };
                match made {
                    Ok(program) => programs.push(program),
                    Err(reason) => return Ok(Err(reason)),
                }
            }
        }
        Ok(Ok(()))
    }

    #[inline]
    pub(super) fn run(&mut self, comm: MPI_Comm, kept: &mut Kept) -> anyhow::Result<()> {
        self.has_run = true;
        for (part, programs) in self.recipe.parts.iter_mut().zip(&mut self.programs) {
            // No division: it would be in every time.
            let mut next = 0;
            for _ in 0..part.repeat {
                let slice = next;
                next = if slice + 1 == part.slices { 0 } else { slice + 1 };
                if let Some(program) = programs.get_mut(slice) {
                    program.run()?;
                    continue;
                }
                if let How::Schedule(replay) = &mut part.how {
                    // SAFETY: all ranks of the item's communicator make their steps of the same schedule.
                    unsafe { replay.run(comm)? };
                    continue;
                }
                let index = part.first + slice;
                let (problem, offsets) = (&self.recipe.problems[index], self.buffers.offsets[index]);
                // SAFETY: `Buffers::new` gave every problem its bytes from these offsets on, in buffers that live as long as
                // `self` and are not borrowed now; all ranks make the same calls on the item's own communicator.
                unsafe {
                    let send = self.buffers.send.pointer().add(offsets.send).cast_const();
                    let recv = self.buffers.recv.pointer().add(offsets.recv);
                    call(&mut part.how, comm, (problem, self.units[index]), send, recv, kept)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn fill(&mut self) {
        self.has_run = false;
        let Buffers { send, recv, offsets } = &mut self.buffers;
        for ((problem, data), offsets) in self.recipe.problems.iter().zip(&self.data).zip(offsets) {
            data.fill_send(&mut send.bytes_mut()[offsets.send..][..problem.send_bytes()]);
            data.fill_recv(&mut recv.bytes_mut()[offsets.recv..][..problem.recv_bytes()]);
        }
        for part in &mut self.recipe.parts {
            if let How::Schedule(replay) = &mut part.how {
                replay.fill();
            }
        }
    }

    pub(super) fn give(&mut self, value: fn(usize, usize) -> f64) {
        let Buffers { send, offsets, .. } = &mut self.buffers;
        for (problem, offsets) in self.recipe.problems.iter().zip(offsets) {
            let given = &mut send.bytes_mut()[offsets.send..][..problem.send_bytes()];
            for (i, element) in given.chunks_exact_mut(size_of::<f64>()).enumerate() {
                element.copy_from_slice(&value(problem.rank, i).to_ne_bytes());
            }
        }
    }

    pub(super) fn digest(&self) -> u64 {
        let Buffers { recv, offsets, .. } = &self.buffers;
        let problems = self.recipe.problems.iter().zip(offsets);
        let defined = problems.filter(|(problem, _)| !problem.has_no_output());
        let digests = defined.map(|(problem, offsets)| {
            let output = &recv.bytes()[offsets.recv..][..problem.recv_bytes()];
            hash::fnv_1a(output).to_le_bytes()
        });
        hash::fnv_1a(&digests.collect::<Vec<_>>().concat())
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        let Buffers { send, recv, offsets } = &self.buffers;
        let calls = self.recipe.problems.len();
        for (i, ((problem, data), offsets)) in self.recipe.problems.iter().zip(&self.data).zip(offsets).enumerate() {
            let output = data.check_recv(&recv.bytes()[offsets.recv..][..problem.recv_bytes()]);
            let input = || data.check_send(&send.bytes()[offsets.send..][..problem.send_bytes()]);
            let wrong = output
                .map(|wrong| (Buffer::Output, wrong))
                .or_else(|| input().map(|wrong| (Buffer::Input, wrong)));
            if let Some((buffer, wrong)) = wrong {
                return Err(Fault::WrongData(WrongData {
                    slice: (calls > 1).then_some((i + 1, calls)),
                    ..wrong_data(problem.rank, (buffer, Zone::Within), wrong)
                }));
            }
        }
        for part in &self.recipe.parts {
            if let How::Schedule(replay) = &part.how {
                replay.check()?;
            }
        }
        let rank = self.recipe.problems.first().map_or(0, |problem| problem.rank);
        check_guards(rank, send, recv)
    }
}

/// One call.
///
/// # Safety
/// `send` and `recv` are valid for the bytes that `problem` says, in whole units; all ranks of `comm` make the same call.
#[inline]
unsafe fn call(
    how: &mut How,
    comm: MPI_Comm,
    (problem, unit): (&Problem, Unit),
    send: *const u8,
    recv: *mut u8,
    kept: &mut Kept,
) -> anyhow::Result<()> {
    let Kept { arena, host } = kept;
    let arguments = || CallArguments {
        send: send.cast(),
        recv: recv.cast(),
        count: unit.count,
        datatype: unit.datatype,
        op: unit.op,
        root: problem.root as c_int,
    };
    // SAFETY: by this function's contract; the buffers hold whole elements, and the operator works on them.
    unsafe {
        match how {
            How::Library(collective) => match host {
                Some(host) if host.has_rules => host.call(*collective, comm, &arguments(), arena)?,
                _ => library_call(*collective, comm, &arguments(), arena)?,
            },
            How::Composition(pipeline) => match host {
                Some(host) if host.has_rules => pipeline.run_by(&mut host.caller(), comm, &arguments(), None, arena)?,
                _ => pipeline.run(comm, &arguments(), arena)?,
            },
            How::Row(call) => {
                let host = host.as_mut().context("a row without a context")?;
                call.run(host, send, recv)?;
            }
            How::Irregular(call) => call.run(comm, send, recv)?,
            How::Schedule(_) | How::Program(_) => anyhow::bail!("schedules and programs are no single calls"),
        }
    }
    Ok(())
}
