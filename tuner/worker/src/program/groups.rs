//! The communicators of a side: all ranks in another order, and parts of them with their leaders and lanes.

use std::ffi::c_int;
use std::rc::Rc;

use kilter_mpi::{MPI_Comm, MpiError, constants, info};
use kilter_protocol::expression::{Communicator, Side};
use mpi::ffi;

use crate::order;
use crate::reason::NoProgram;

/// A communicator of some or all ranks.
#[derive(Debug)]
pub(crate) struct Group {
    /// The communicator that the side names.
    pub(crate) on: Communicator,
    /// Its handle; null on ranks outside.
    pub(crate) comm: MPI_Comm,
    /// Its ranks as ranks of the item's communicator.
    pub(crate) members: Vec<usize>,
    /// This rank in it; meaningless where the handle is null.
    pub(crate) rank: usize,
}

/// Use of a communicator. Two of the same use have the same ranks in the same order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Purpose {
    on: Communicator,
    /// The leaders, of a communicator of leaders.
    leaders: Vec<usize>,
    /// The ranks in parts, of a lane across them.
    lanes: Vec<Vec<usize>>,
}

/// A communicator as it is made, once for all who share it.
#[derive(Debug, Clone)]
struct Made {
    purpose: Purpose,
    /// Null on ranks outside.
    comm: MPI_Comm,
    /// Of every rank of the item's communicator: the first rank of its group, and its own place there; -1 twice outside.
    places: Rc<[[c_int; 2]]>,
}

/// Communicators that items on one and the same communicator share. Making one takes the ranks several rounds of messages.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    made: Vec<Made>,
}

impl Shared {
    /// Frees them all. Called by all ranks, which use none any more.
    pub(crate) fn free(self) -> Result<(), MpiError> {
        self.made.into_iter().try_for_each(|made| free(made.comm))
    }
}

/// All communicators of an item.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    made: Vec<Group>,
    /// True if others use these communicators, too.
    are_shared: bool,
    /// Members of every part, in the order of their leaders; empty where the side has no parts.
    pub(crate) parts: Vec<Vec<usize>>,
    /// The leader of each part.
    pub(crate) leaders: Vec<usize>,
    /// Members of every part, by their lowest ranks, where the side has lanes: all have equally many. Lane `j` is member `j` of each.
    pub(crate) by_lane: Vec<Vec<usize>>,
}

impl Groups {
    /// Makes every communicator that the side names, or takes the one that is shared. Called by all ranks.
    ///
    /// # Errors
    /// The library's (outer), or the side asks for what cannot be (inner).
    ///
    /// # Safety
    /// All ranks of `world` make the same call; what is shared was made on `world`, with this seed, and outlives the groups.
    pub(crate) unsafe fn new(
        side: &Side,
        world: MPI_Comm,
        root: usize,
        seed: u64,
        mut shared: Option<&mut Shared>,
    ) -> Result<Result<Groups, NoProgram>, MpiError> {
        let mut groups = Groups {
            are_shared: shared.is_some(),
            ..Groups::default()
        };
        let (rank, p_ranks) = (info::rank(world)?, info::size(world)?);
        // Leaders lead parts and lanes cross them, so parts are made first, wherever in the side they stand.
        let needs_parts = |on: &Communicator| matches!(on, Communicator::Leaders | Communicator::Lane);
        let on = || side.terms.iter().map(|term| term.call.on);
        for on in on().filter(|on| !needs_parts(on)).chain(on().filter(needs_parts)) {
            if needs_parts(&on) && groups.parts.is_empty() {
                return Ok(Err(NoProgram::NoParts {
                    side: side.to_string(),
                    on,
                }));
            }
            if on == Communicator::World || groups.find(on).is_some() {
                continue;
            }
            if on == Communicator::Lane
                && let Err((fewest, most)) = groups.find_lanes()
            {
                groups.free()?;
                return Ok(Err(NoProgram::UnequalParts { fewest, most }));
            }
            let purpose = groups.purpose(on);
            let known = shared
                .as_ref()
                .and_then(|shared| shared.made.iter().find(|made| made.purpose == purpose));
            if let Some(made) = known.cloned() {
                groups.add(&made, rank, root);
                continue;
            }
            // SAFETY: every rank goes through the same terms.
            let comm = unsafe {
                match on {
                    Communicator::World => continue,
                    Communicator::Leaders => {
                        let is_leader = groups.leaders.contains(&rank);
                        split(world, is_leader.then_some(0), rank)?
                    }
                    Communicator::Lane => {
                        let (part, number) = groups.place_of(rank);
                        split(world, Some(number), part)?
                    }
                    Communicator::Node => split_by_node(world, rank)?,
                    Communicator::Part(ranks) => {
                        let ranks = usize::try_from(ranks).unwrap_or(usize::MAX);
                        split(world, Some(rank / ranks), rank)?
                    }
                    Communicator::Pair(from, to) => {
                        let place = [from, to].iter().position(|one| *one == rank as u64);
                        split(world, place.map(|_| 0), place.unwrap_or(0))?
                    }
                    Communicator::Reversed => split(world, Some(0), p_ranks - rank)?,
                    Communicator::Permuted => {
                        let mut places: Vec<usize> = (0..p_ranks).collect();
                        order::shuffle(&mut places, seed, 0);
                        split(world, Some(0), places[rank])?
                    }
                    Communicator::Grid => grid(world, p_ranks, false)?,
                    Communicator::GridReordered => grid(world, p_ranks, true)?,
                }
            };
            let places = places(comm, world, (rank, p_ranks))?;
            let made = Made { purpose, comm, places };
            groups.add(&made, rank, root);
            if let Some(shared) = shared.as_deref_mut() {
                shared.made.push(made);
            }
        }
        Ok(Ok(groups))
    }

    /// The use of a communicator for this side, whose parts are known where it needs them.
    fn purpose(&self, on: Communicator) -> Purpose {
        let (leaders, lanes) = match on {
            Communicator::Leaders => (self.leaders.clone(), Vec::new()),
            Communicator::Lane => (Vec::new(), self.by_lane.clone()),
            _ => (Vec::new(), Vec::new()),
        };
        Purpose { on, leaders, lanes }
    }

    fn add(&mut self, made: &Made, rank: usize, root: usize) {
        let (on, all) = (made.purpose.on, &made.places);
        let members_of = |first: c_int| {
            let mut members: Vec<usize> = (0..all.len()).filter(|member| all[*member][0] == first).collect();
            members.sort_by_key(|member| all[*member][1]);
            members
        };
        if on.is_group() {
            let mut firsts: Vec<c_int> = all.iter().map(|[first, _]| *first).collect();
            firsts.sort_unstable();
            firsts.dedup();
            let mut parts: Vec<(usize, Vec<usize>)> = firsts
                .into_iter()
                .map(members_of)
                .map(|members| {
                    let leader = if members.contains(&root) { root } else { members[0] };
                    (leader, members)
                })
                .collect();
            parts.sort();
            (self.leaders, self.parts) = parts.into_iter().unzip();
        }
        let [own_first, place] = all[rank];
        // Ranks outside know the members too: those with any place.
        let first = if own_first < 0 {
            all.iter().map(|[first, _]| *first).max().unwrap_or(-1)
        } else {
            own_first
        };
        self.made.push(Group {
            on,
            comm: made.comm,
            members: members_of(first),
            rank: usize::try_from(place).unwrap_or(0),
        });
    }

    /// Numbers the ranks of all parts; the fewest and the most ranks of a part where these differ.
    fn find_lanes(&mut self) -> Result<(), (usize, usize)> {
        let mut by_lane = self.parts.clone();
        by_lane.sort();
        let sizes = || by_lane.iter().map(Vec::len);
        let (fewest, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        if fewest != most {
            return Err((fewest, most));
        }
        self.by_lane = by_lane;
        Ok(())
    }

    /// Part of a rank, and its number there, on a side with lanes.
    pub(crate) fn place_of(&self, rank: usize) -> (usize, usize) {
        let mut places = self.by_lane.iter().enumerate().filter_map(|(part, members)| {
            let number = members.iter().position(|member| *member == rank)?;
            Some((part, number))
        });
        places.next_back().unwrap_or((0, 0))
    }

    /// The communicator made for this word.
    pub(crate) fn find(&self, on: Communicator) -> Option<&Group> {
        self.made.iter().find(|group| group.on == on)
    }

    /// Frees those that are its own. Called by all ranks.
    pub(crate) fn free(self) -> Result<(), MpiError> {
        if self.are_shared {
            return Ok(());
        }
        self.made.into_iter().try_for_each(|group| free(group.comm))
    }
}

/// Of every rank of `world`: the first rank of its group, and its own place there; -1 twice for a rank outside. Every rank knows all groups by it.
fn places(comm: MPI_Comm, world: MPI_Comm, (rank, p_ranks): (usize, usize)) -> Result<Rc<[[c_int; 2]]>, MpiError> {
    let mut own = [-1, -1];
    if comm != constants::comm_null() {
        let mut first = rank as c_int;
        // SAFETY: one int on every rank of `comm`, which all make this call.
        MpiError::check("MPI_Bcast", unsafe {
            ffi::PMPI_Bcast((&raw mut first).cast(), 1, constants::int(), 0, comm)
        })?;
        own = [first, info::rank(comm)? as c_int];
        // SAFETY: errors are returned from now on, as everywhere in the worker.
        MpiError::check("MPI_Comm_set_errhandler", unsafe {
            ffi::PMPI_Comm_set_errhandler(comm, constants::errors_return())
        })?;
    }
    let mut all = vec![[0 as c_int; 2]; p_ranks];
    // SAFETY: two ints from every rank of `world`, which all make this call.
    MpiError::check("MPI_Allgather", unsafe {
        ffi::PMPI_Allgather(
            own.as_ptr().cast(),
            2,
            constants::int(),
            all.as_mut_ptr().cast(),
            2,
            constants::int(),
            world,
        )
    })?;
    Ok(all.into())
}

/// Frees a communicator that was made here, where this rank is in it. Called by all of its ranks, in the same order.
fn free(comm: MPI_Comm) -> Result<(), MpiError> {
    if comm == constants::comm_null() {
        return Ok(());
    }
    // SAFETY: by this function's contract, no call on it follows.
    unsafe { info::comm_free(comm) }
}

/// A communicator of the ranks of one colour, in the order of their keys; none for ranks without a colour.
///
/// # Safety
/// All ranks of `world` make the same call.
pub(crate) unsafe fn split(world: MPI_Comm, color: Option<usize>, key: usize) -> Result<MPI_Comm, MpiError> {
    let mut comm = constants::comm_null();
    let color = color.map_or_else(constants::undefined, |color| color as c_int);
    // SAFETY: by this function's contract.
    MpiError::check("MPI_Comm_split", unsafe {
        ffi::PMPI_Comm_split(world, color, key as c_int, &raw mut comm)
    })?;
    Ok(comm)
}

/// # Safety
/// All ranks of `world` make the same call.
unsafe fn split_by_node(world: MPI_Comm, rank: usize) -> Result<MPI_Comm, MpiError> {
    let mut comm = constants::comm_null();
    // SAFETY: by this function's contract.
    MpiError::check("MPI_Comm_split_type", unsafe {
        ffi::PMPI_Comm_split_type(
            world,
            constants::comm_type_shared(),
            rank as c_int,
            constants::info_null(),
            &raw mut comm,
        )
    })?;
    Ok(comm)
}

/// # Safety
/// All ranks of `world` make the same call.
unsafe fn grid(world: MPI_Comm, p_ranks: usize, reorder: bool) -> Result<MPI_Comm, MpiError> {
    let mut sides: [c_int; 2] = [0; 2];
    let mut comm = constants::comm_null();
    // SAFETY: the tables have the two entries that two dimensions need; collective by this function's contract.
    unsafe {
        let code = ffi::PMPI_Dims_create(p_ranks as c_int, 2, sides.as_mut_ptr());
        MpiError::check("MPI_Dims_create", code)?;
        let code = ffi::PMPI_Cart_create(
            world,
            2,
            sides.as_ptr(),
            [1, 1].as_ptr(),
            c_int::from(reorder),
            &raw mut comm,
        );
        MpiError::check("MPI_Cart_create", code)?;
    }
    Ok(comm)
}

/// The ranks of a grid's communicator before and after this one in its last dimension.
///
/// # Safety
/// `comm` was made by `MPI_Cart_create`.
pub(crate) unsafe fn neighbours(comm: MPI_Comm) -> Result<(usize, usize), MpiError> {
    let (mut source, mut destination): (c_int, c_int) = (0, 0);
    // SAFETY: by this function's contract; writes two ints.
    MpiError::check("MPI_Cart_shift", unsafe {
        ffi::PMPI_Cart_shift(comm, 1, 1, &raw mut source, &raw mut destination)
    })?;
    Ok((
        usize::try_from(source).unwrap_or(0),
        usize::try_from(destination).unwrap_or(0),
    ))
}
