//! An item ready to run on this rank: its communicator, its buffers and its calls.

use std::ffi::c_int;

use anyhow::Context;
use kilter_mpi::{Arena, CallArguments, MPI_Comm, constants, info, library_call};
use kilter_protocol::fault::{Buffer, Fault, WrongData, Zone};
use kilter_protocol::plan::Item;

use crate::among::Members;
use crate::buffer::{GuardedBuffer, check_guards, wrong_data};
use crate::hash;
use crate::images::{Data, Gallery};
use crate::implementation::{How, Recipe};
use crate::problem::Problem;
use crate::program::{Memory, Program};
use crate::reason::Reason;
use crate::row::{Host, Unavailable};
use crate::unit::Unit;

/// An item with all it needs; buffers are allocated and written once, before anything is measured.
pub(crate) struct Candidate {
    comm: MPI_Comm,
    /// True if the communicator is the item's own.
    owns_comm: bool,
    /// State that calls keep on it.
    kept: Kept,
    /// One per root that is taken in turn; one alone where the root is fixed.
    turns: Vec<Turn>,
    /// The turn that runs next.
    next: usize,
    /// The reason why it cannot run on its communicator, once its row has said so; it is not called any more.
    unavailable: Option<Fault>,
}

/// State that calls keep on a communicator.
struct Kept {
    /// Memory for calls of the library and compositions of them.
    arena: Arena,
    /// State of the plugin whose rows the item runs: Kilter's own or a user's, never both.
    host: Option<Host>,
}

/// The item with one root.
struct Turn {
    recipe: Recipe,
    /// Contents of each problem's buffers.
    data: Vec<Data>,
    /// Elements of each problem's data.
    units: Vec<Unit>,
    /// Programs of each part: one per slice, none where a part needs none.
    programs: Vec<Vec<Program>>,
    buffers: Buffers,
    has_run: bool,
}

#[derive(Debug, Clone, Copy)]
struct Offsets {
    send: usize,
    recv: usize,
}

/// The buffers of an item; apart from [`Candidate`], so that all ranks can agree that there was memory before one makes a communicator.
pub(crate) struct Buffers {
    send: GuardedBuffer,
    recv: GuardedBuffer,
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

impl Candidate {
    /// Takes the communicator that is lent, or makes one of its own, of its members. Called by all ranks, whose library settings are those of
    /// the item at this moment: Open MPI chooses the algorithms of a communicator when it is made.
    ///
    /// # Errors
    /// Outer: the library's. Inner: why this rank cannot carry the item out.
    pub(crate) fn new(
        recipes: Vec<(Recipe, Buffers)>,
        seed: u64,
        (members, lent): (&Members, Option<MPI_Comm>),
        gallery: &mut Gallery,
    ) -> anyhow::Result<(Candidate, Result<(), Reason>)> {
        let comm = match lent {
            Some(comm) => comm,
            None => members.communicator().context("no communicator for the item")?,
        };
        let mut parts = recipes.iter().flat_map(|(recipe, _)| &recipe.parts);
        let of_row = parts.find_map(|part| match &part.how {
            How::Row(call) => Some(call),
            _ => None,
        });
        let host = match of_row {
            Some(call) => Some(Host::new(call, comm, (info::rank(comm)?, info::size(comm)?))),
            None => None,
        };
        let mut candidate = Candidate {
            comm,
            owns_comm: lent.is_none(),
            kept: Kept {
                arena: Arena::new(),
                host,
            },
            turns: Vec::with_capacity(recipes.len()),
            next: 0,
            unavailable: None,
        };
        for (recipe, buffers) in recipes {
            let mut turn = Turn {
                programs: recipe.parts.iter().map(|_| Vec::new()).collect(),
                data: Vec::new(),
                units: recipe.problems.iter().map(Unit::of).collect(),
                recipe,
                buffers,
                has_run: false,
            };
            let made = turn.compile(comm, seed)?;
            // A program may have changed what its problem is.
            turn.data = turn
                .recipe
                .problems
                .iter()
                .map(|problem| gallery.data(problem))
                .collect();
            candidate.turns.push(turn);
            if let Err(reason) = made {
                return Ok((candidate, Err(reason)));
            }
        }
        Ok((candidate, Ok(())))
    }

    /// True if it was compiled into programs, the same on all ranks.
    pub(crate) fn has_programs(&self) -> bool {
        let mut parts = self.turns.iter().flat_map(|turn| &turn.recipe.parts);
        // There are fewer turns if making one failed, and that one is the last of them.
        parts.any(|part| matches!(part.how, How::Program(_)))
    }

    /// Number of runs after which every turn has run once.
    pub(crate) fn turns(&self) -> usize {
        self.turns.len()
    }

    /// Carries the item out once, unless its row has said that it cannot run here. Called by all ranks.
    ///
    /// # Errors
    /// Those of the library or of the algorithm; the other ranks may then be waiting for this one.
    #[inline]
    pub(crate) fn run(&mut self) -> anyhow::Result<()> {
        if self.unavailable.is_some() {
            return Ok(());
        }
        let turns = self.turns.len();
        let turn = &mut self.turns[self.next];
        self.next = if self.next + 1 == turns { 0 } else { self.next + 1 };
        match turn.run(self.comm, &mut self.kept) {
            Ok(()) => Ok(()),
            Err(error) => self.excuse(error),
        }
    }

    /// Keeps the error of a row that cannot run here, on which the ranks then agree; any other error ends the job.
    #[cold]
    fn excuse(&mut self, error: anyhow::Error) -> anyhow::Result<()> {
        if !error.is::<Unavailable>() {
            return Err(error);
        }
        let mut problems = self.turns.iter().flat_map(|turn| &turn.recipe.problems);
        self.unavailable = Some(Fault::Refused {
            rank: problems.next().map_or(0, |problem| problem.rank),
            why: format!("not available: {error:#}"),
        });
        Ok(())
    }

    /// `Ok` if the item can run on its communicator, as far as this rank knows.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub(crate) fn availability(&self) -> Result<(), Fault> {
        self.unavailable.clone().map_or(Ok(()), Err)
    }

    /// True if a user's plugin says if the item can run. Kilter's own rows say so on all ranks together.
    pub(crate) fn runs_plugin(&self) -> bool {
        self.kept.host.as_ref().is_some_and(|host| !host.is_own)
    }

    /// Writes the inputs, and outputs that are wrong until calls have made them right.
    pub(crate) fn fill(&mut self) {
        self.turns.iter_mut().for_each(Turn::fill);
    }

    /// The communicator it runs on.
    pub(crate) fn comm(&self) -> MPI_Comm {
        self.comm
    }

    /// Writes doubles by rank and index, from `value`, as this rank's input.
    pub(crate) fn give(&mut self, value: fn(usize, usize) -> f64) {
        self.turns.iter_mut().for_each(|turn| turn.give(value));
    }

    /// Writes zeros where outputs come.
    pub(crate) fn clear(&mut self) {
        let outputs = self.turns.iter_mut().map(|turn| turn.buffers.recv.bytes_mut());
        outputs.for_each(|output| output.fill(0));
    }

    /// A digest of the outputs, where the task defines them.
    pub(crate) fn digest(&self) -> u64 {
        let turns = self.turns.iter().flat_map(|turn| turn.digest().to_le_bytes());
        hash::fnv_1a(&turns.collect::<Vec<_>>())
    }

    /// Compares outputs with the expected ones, and all other bytes with their former values; of the turns that have run.
    ///
    /// # Errors
    /// Why the item did not run, or the first byte that is wrong on this rank.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.availability()?;
        self.turns.iter().filter(|turn| turn.has_run).try_for_each(Turn::check)
    }

    /// Gives the communicator back. Called by all ranks.
    pub(crate) fn free(mut self) -> anyhow::Result<()> {
        // SAFETY: all ranks free the same items in the same order, and none is carried out any more.
        unsafe {
            self.kept
                .arena
                .release()
                .context("the item's shared memory cannot be freed")?;
            if let Some(host) = self.kept.host.take() {
                host.release();
            }
        }
        for program in self.turns.into_iter().flat_map(|turn| turn.programs).flatten() {
            program.free().context("what the item made cannot be freed")?;
        }
        // A rank that only waited has none.
        if !self.owns_comm || self.comm == constants::comm_null() {
            return Ok(());
        }
        // SAFETY: `self` is consumed, and all ranks free the same items in the same order.
        unsafe { info::comm_free(self.comm) }.context("the item's communicator cannot be freed")
    }
}

impl Turn {
    /// Makes the programs of the parts that need one.
    fn compile(&mut self, comm: MPI_Comm, seed: u64) -> anyhow::Result<Result<(), Reason>> {
        for (part, programs) in self.recipe.parts.iter().zip(&mut self.programs) {
            let How::Program(side) = &part.how else { continue };
            for index in part.first..part.first + part.slices {
                let offsets = self.buffers.offsets[index];
                let problem = &mut self.recipe.problems[index];
                // SAFETY: `Buffers::new` gave every problem its bytes from these offsets on; every rank does the same, and
                // the program is freed before the buffers.
                let made = unsafe {
                    let memory = Memory {
                        comm,
                        send: self.buffers.send.pointer().add(offsets.send),
                        recv: self.buffers.recv.pointer().add(offsets.recv),
                    };
                    Program::new(side, problem, memory, seed).with_context(|| format!("`{side}`"))?
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
    fn run(&mut self, comm: MPI_Comm, kept: &mut Kept) -> anyhow::Result<()> {
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

    fn fill(&mut self) {
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

    fn give(&mut self, value: fn(usize, usize) -> f64) {
        let Buffers { send, offsets, .. } = &mut self.buffers;
        for (problem, offsets) in self.recipe.problems.iter().zip(offsets) {
            let given = &mut send.bytes_mut()[offsets.send..][..problem.send_bytes()];
            for (i, element) in given.chunks_exact_mut(size_of::<f64>()).enumerate() {
                element.copy_from_slice(&value(problem.rank, i).to_ne_bytes());
            }
        }
    }

    fn digest(&self) -> u64 {
        let Buffers { recv, offsets, .. } = &self.buffers;
        let problems = self.recipe.problems.iter().zip(offsets);
        let defined = problems.filter(|(problem, _)| !problem.has_no_output());
        let digests = defined.map(|(problem, offsets)| {
            let output = &recv.bytes()[offsets.recv..][..problem.recv_bytes()];
            hash::fnv_1a(output).to_le_bytes()
        });
        hash::fnv_1a(&digests.collect::<Vec<_>>().concat())
    }

    fn check(&self) -> Result<(), Fault> {
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
            How::Library(collective) => library_call(*collective, comm, &arguments(), arena)?,
            How::Composition(pipeline) => pipeline.run(comm, &arguments(), arena)?,
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

/// Names an item in messages.
pub(crate) fn title(block: &str, item: &Item) -> String {
    format!(
        "block `{block}`, item `{}` ({}, {} bytes)",
        item.id, item.task, item.bytes
    )
}
