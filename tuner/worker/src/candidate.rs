//! An item ready to run on this rank: its communicator, its buffers and its calls.

mod turn;

use anyhow::Context;
use kilter_mpi::{Arena, MPI_Comm, MpiError, constants, info};
use kilter_protocol::fault::Fault;
use kilter_protocol::plan::Item;

pub(crate) use self::turn::Buffers;
use self::turn::{Kept, Turn};
use crate::among::Members;
use crate::hash;
use crate::images::Gallery;
use crate::implementation::{How, Recipe};
use crate::program::groups::Shared;
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

/// A communicator for an item that does not own it.
#[derive(Debug)]
pub(crate) struct Lent<'s> {
    comm: MPI_Comm,
    /// Parts of it that items share.
    shared: Option<&'s mut Shared>,
}

impl Lent<'_> {
    /// A communicator alone.
    pub(crate) fn comm(comm: MPI_Comm) -> Self {
        Lent { comm, shared: None }
    }
}

/// What plain calls of the library share.
#[derive(Debug)]
pub(crate) struct Commons {
    comm: MPI_Comm,
    parts: Shared,
}

impl Commons {
    /// Makes the communicator. Called by all ranks.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn new() -> Result<Commons, MpiError> {
        // SAFETY: MPI_COMM_WORLD is an intracommunicator, and all ranks make this call.
        let comm = unsafe { info::comm_private(constants::comm_world()) }?;
        Ok(Commons {
            comm,
            parts: Shared::default(),
        })
    }

    /// Lends it to an item.
    pub(crate) fn lend(&mut self) -> Lent<'_> {
        Lent {
            comm: self.comm,
            shared: Some(&mut self.parts),
        }
    }

    /// Frees all of it. Called by all ranks, which carry out no item on it any more.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn free(self) -> Result<(), MpiError> {
        self.parts.free()?;
        // SAFETY: by this function's contract.
        unsafe { info::comm_free(self.comm) }
    }
}

impl Candidate {
    /// Takes the communicator that is lent, with the ones that are shared on it, or makes one of its own, of its members. Called by all ranks, whose
    /// library settings are those of the item at this moment: Open MPI chooses the algorithms of a communicator when it is made.
    ///
    /// # Errors
    /// Outer: the library's. Inner: why this rank cannot carry the item out.
    pub(crate) fn new(
        recipes: Vec<(Recipe, Buffers)>,
        seed: u64,
        (members, lent): (&Members, Option<Lent<'_>>),
        gallery: &mut Gallery,
    ) -> anyhow::Result<(Candidate, Result<(), Reason>)> {
        let owns_comm = lent.is_none();
        let Lent { comm, mut shared } = match lent {
            Some(lent) => lent,
            None => Lent::comm(members.communicator().context("no communicator for the item")?),
        };
        let mut parts = recipes.iter().flat_map(|(recipe, _)| &recipe.parts);
        let of_row = parts.find_map(|part| match &part.how {
            How::Row(call) => Some(call),
            _ => None,
        });
        // The deployment inside is the same with each root.
        let inside = recipes
            .first()
            .map(|(recipe, _)| recipe.inside.clone())
            .unwrap_or_default();
        let host =
            if of_row.is_some() || (!inside.is_empty() && recipes.iter().any(|(recipe, _)| !recipe.parts.is_empty())) {
                let place = (info::rank(comm)?, info::size(comm)?);
                Some(Host::new(of_row.map(Box::as_ref), &inside, comm, place))
            } else {
                None
            };
        let mut candidate = Candidate {
            comm,
            owns_comm,
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
            let made = turn.compile(comm, seed, shared.as_deref_mut())?;
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

/// Names an item in messages.
pub(crate) fn title(block: &str, item: &Item) -> String {
    format!(
        "block `{block}`, item `{}` ({}, {} bytes)",
        item.id, item.task, item.bytes
    )
}
