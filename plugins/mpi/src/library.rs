//! The library's collectives behind one signature.

use std::ffi::c_int;

use kilter_algorithms::Collective;
use mpi_sys::MPI_Comm;

use crate::error::pmpi;
use crate::{Arena, CallArguments, MpiError, constants};

/// Calls the library's own collective with equal blocks; v-variants get uniform counts, kept in the arena.
/// `MPI_ERR_COUNT` if a count exceeds `c_int`, or is no multiple of `p` although blocks are equal.
///
/// # Safety
/// MPI is initialised; the buffers are valid as [`CallArguments`] says; all ranks of `comm` make the same call.
pub unsafe fn library_call(
    collective: Collective,
    comm: MPI_Comm,
    arguments: &CallArguments,
    arena: &mut Arena,
) -> Result<(), MpiError> {
    // SAFETY: the same contract.
    unsafe { Library.call(collective, comm, arguments, Division::Equal, arena) }
}

/// Division of a buffer among the ranks.
#[derive(Debug, Clone, Copy)]
pub enum Division<'a> {
    /// Evenly.
    Equal,
    /// Elements of each rank's block; only for v-variants.
    Counts(&'a [c_int]),
}

impl Division<'_> {
    /// First element and number of elements of a rank's block.
    #[must_use]
    pub fn block(self, rank: usize, p_ranks: usize, total: usize) -> (usize, usize) {
        match self {
            Division::Equal => (rank * (total / p_ranks), total / p_ranks),
            Division::Counts(counts) => {
                let elements = |count: &c_int| usize::try_from(*count).unwrap_or(0);
                (
                    counts.iter().take(rank).map(elements).sum(),
                    counts.get(rank).map_or(0, elements),
                )
            }
        }
    }
}

/// Carries out the calls that a composition makes.
pub trait Caller {
    /// Makes a call; its errors are those of [`library_call`].
    ///
    /// # Safety
    /// As for [`library_call`], with unequal blocks for `Gatherv`, `ReduceScatter` and `Scatterv` alone; counts have an entry for each rank and are
    /// the same on all. `arena` is the one of `comm`.
    unsafe fn call(
        &mut self,
        collective: Collective,
        comm: MPI_Comm,
        arguments: &CallArguments,
        blocks: Division<'_>,
        arena: &mut Arena,
    ) -> Result<(), MpiError>;
}

/// The library itself.
#[derive(Debug, Clone, Copy)]
pub struct Library;

impl Caller for Library {
    unsafe fn call(
        &mut self,
        collective: Collective,
        comm: MPI_Comm,
        arguments: &CallArguments,
        blocks: Division<'_>,
        arena: &mut Arena,
    ) -> Result<(), MpiError> {
        let &CallArguments {
            mut send,
            mut recv,
            count,
            datatype,
            op,
            root,
        } = arguments;
        // The pointer of an empty slice of bytes is 1, which is Open MPI's MPI_IN_PLACE.
        let mut nothing = [0_u64; 2];
        if count == 0 {
            send = (&raw const nothing[0]).cast();
            recv = (&raw mut nothing[1]).cast();
        }
        let name = collective.mpi_name();
        let n = MpiError::count(name, count)?;
        let (mut p_ranks, mut block) = (1, n);
        if collective.has_blocks() {
            let rank;
            (rank, p_ranks) = arena.place(comm)?;
            if matches!(blocks, Division::Equal) && !count.is_multiple_of(p_ranks) {
                return Err(MpiError {
                    operation: name,
                    code: constants::err_count(),
                });
            }
            block = MpiError::count(name, blocks.block(rank, p_ranks, count).1)?;
        }
        let mut tables = || match blocks {
            Division::Equal => arena.equal_blocks(p_ranks, block),
            Division::Counts(counts) => arena.blocks(counts),
        };
        // SAFETY: buffers and handles are valid by this function's contract; the tables of counts have `p` entries and outlive the call.
        unsafe {
            match collective {
                Collective::Allgather => pmpi!(PMPI_Allgather(send, block, datatype, recv, block, datatype, comm)),
                Collective::Allgatherv => {
                    let (counts, offsets) = tables();
                    pmpi!(PMPI_Allgatherv(
                        send, block, datatype, recv, counts, offsets, datatype, comm
                    ))
                }
                Collective::Allreduce => pmpi!(PMPI_Allreduce(send, recv, n, datatype, op, comm)),
                Collective::Alltoall => pmpi!(PMPI_Alltoall(send, block, datatype, recv, block, datatype, comm)),
                Collective::Alltoallv => {
                    let (counts, offsets) = tables();
                    pmpi!(PMPI_Alltoallv(
                        send, counts, offsets, datatype, recv, counts, offsets, datatype, comm
                    ))
                }
                Collective::Barrier => pmpi!(PMPI_Barrier(comm)),
                Collective::Bcast => pmpi!(PMPI_Bcast(recv, n, datatype, root, comm)),
                Collective::Exscan => pmpi!(PMPI_Exscan(send, recv, n, datatype, op, comm)),
                Collective::Gather => pmpi!(PMPI_Gather(send, block, datatype, recv, block, datatype, root, comm)),
                Collective::Gatherv => {
                    let (counts, offsets) = tables();
                    pmpi!(PMPI_Gatherv(
                        send, block, datatype, recv, counts, offsets, datatype, root, comm
                    ))
                }
                Collective::Reduce => pmpi!(PMPI_Reduce(send, recv, n, datatype, op, root, comm)),
                Collective::ReduceLocal => pmpi!(PMPI_Reduce_local(send, recv, n, datatype, op)),
                Collective::ReduceScatter => {
                    let (counts, _) = tables();
                    pmpi!(PMPI_Reduce_scatter(send, recv, counts, datatype, op, comm))
                }
                Collective::ReduceScatterBlock => {
                    pmpi!(PMPI_Reduce_scatter_block(send, recv, block, datatype, op, comm))
                }
                Collective::Scan => pmpi!(PMPI_Scan(send, recv, n, datatype, op, comm)),
                Collective::Scatter => pmpi!(PMPI_Scatter(send, block, datatype, recv, block, datatype, root, comm)),
                Collective::Scatterv => {
                    let (counts, offsets) = tables();
                    pmpi!(PMPI_Scatterv(
                        send, counts, offsets, datatype, recv, block, datatype, root, comm
                    ))
                }
            }
        }
    }
}

/// Ends the job: other ranks may be waiting for this one.
///
/// # Safety
/// MPI is initialised.
pub unsafe fn abort(comm: MPI_Comm, code: c_int) -> ! {
    // SAFETY: by this function's contract.
    unsafe { mpi_sys::PMPI_Abort(comm, code) };
    std::process::abort()
}
