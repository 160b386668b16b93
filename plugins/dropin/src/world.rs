//! Facts about all ranks, found out in `MPI_Init`: whether all want to try, how their clocks differ, and which of them share a node.

use std::sync::OnceLock;

use kilter_mpi::clocks::{self, Tree};
use kilter_mpi::environment;
use kilter_mpi::{MPI_Comm, MpiError, constants, info};
use kilter_online::Clock;
use kilter_online::knowledge::Layout;

use crate::maxima::maxima;
use crate::node::node;
use crate::tell;
use crate::wanted::Wanted;
use crate::warning::warn;

/// Facts that all ranks need to try candidates.
pub(crate) struct World {
    pub(crate) wanted: Wanted,
    /// The clock of rank 0 less this rank's, in nanoseconds.
    offset_ns: i64,
    /// Identity of each rank's clock.
    clocks: Box<[u64]>,
    /// The node of each rank: the lowest rank on it.
    node_of: Box<[usize]>,
    library: String,
}

static WORLD: OnceLock<World> = OnceLock::new();

/// The facts of `MPI_Init`; `None` unless all ranks want to try candidates.
pub(crate) fn found() -> Option<&'static World> {
    WORLD.get()
}

/// Finds it out. Ranks with other wishes must not try while others do not, so that all of them say what they want.
///
/// # Safety
/// MPI was just initialised, and every rank, which all have the drop-in, makes this call.
pub(crate) unsafe fn at_begin(rank: usize) {
    let wanted = Wanted::from(environment::variable).unwrap_or_else(|error| {
        let text = format!("KILTER_ONLINE: {error}; nothing is tried in this program");
        warn(rank == 0, &text);
        None
    });
    let own = wanted.as_ref().map_or(0, Wanted::digest);
    let comm = constants::comm_world();
    // SAFETY: by this function's contract.
    let Ok([most, least]) = (unsafe { maxima(comm, [own, !own]) }) else {
        return;
    };
    if most != !least {
        let text = "KILTER_ONLINE, its settings or KILTER_ONLINE_ROWS are not the same on all ranks; nothing is tried in this program";
        warn(rank == 0, text);
        return;
    }
    let Some(wanted) = wanted else { return };
    // SAFETY: by this function's contract; all ranks found the same.
    let world = unsafe { World::new(wanted, rank) };
    let failed = world.is_err();
    // SAFETY: by this function's contract.
    let elsewhere = unsafe { maxima(comm, [u64::from(failed)]) };
    match world {
        Ok(world) if elsewhere == Ok([0]) => {
            let _ = WORLD.set(world);
        }
        Ok(_) => {}
        Err(error) => {
            let text = format!("rank {rank}: clocks cannot be compared: {error}; nothing is tried in this program");
            warn(true, &text);
        }
    }
}

impl World {
    /// # Safety
    /// As for [`at_begin`], of which all ranks want the same.
    unsafe fn new(wanted: Wanted, rank: usize) -> Result<World, MpiError> {
        let comm = constants::comm_world();
        let ranks = info::size(comm)?;
        let own = [clocks::identity(), node()];
        // SAFETY: by this function's contract.
        let all = unsafe { tell::gather(comm, own, ranks) }?;
        let clocks: Vec<u64> = all.iter().map(|[clock, _]| *clock).collect();
        let mut first_on = std::collections::BTreeMap::new();
        let node_of = all.iter().enumerate();
        let node_of = node_of.map(|(rank, [_, node])| *first_on.entry(*node).or_insert(rank));
        let offset_ns = if clocks.iter().all(|clock| *clock == clocks[0]) {
            0
        } else {
            let number = u32::try_from(rank).unwrap_or(u32::MAX);
            // SAFETY: by this function's contract; the communicator is new, and all ranks free it.
            unsafe {
                let private = info::comm_private(comm)?;
                let offset = Tree::new(&clocks, rank).offset_ns(private, number)?;
                info::comm_free(private)?;
                offset
            }
        };
        Ok(World {
            wanted,
            offset_ns,
            clocks: clocks.into(),
            node_of: node_of.collect(),
            library: info::library_version()?,
        })
    }

    /// The common clock of all ranks, as it was compared at the beginning.
    pub(crate) fn clock(&self) -> Clock {
        Clock::new(self.offset_ns)
    }

    /// Identities of the clocks of a communicator's ranks; the same on all of them.
    pub(crate) fn clocks(&self, comm: MPI_Comm) -> Option<Vec<u64>> {
        let ranks = info::ranks_in_world(comm).ok()??;
        ranks.iter().map(|rank| self.clocks.get(*rank).copied()).collect()
    }

    /// The layout of a communicator of ranks of the world; the same on all of them.
    pub(crate) fn layout(&self, comm: MPI_Comm) -> Option<Layout> {
        let ranks = info::ranks_in_world(comm).ok()??;
        let mut on = std::collections::BTreeMap::<usize, u32>::new();
        for rank in &ranks {
            *on.entry(*self.node_of.get(*rank)?).or_default() += 1;
        }
        Some(Layout {
            library: self.library.clone(),
            ranks: u32::try_from(ranks.len()).ok()?,
            nodes: u32::try_from(on.len()).ok()?,
            ranks_per_node: on.values().copied().max()?,
        })
    }
}
