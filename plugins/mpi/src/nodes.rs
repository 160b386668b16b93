//! Finds the ranks of a communicator that share a node.

use std::ffi::c_int;

use kilter_algorithms::Nodes;
use mpi_sys::MPI_Comm;

use crate::error::pmpi;
use crate::{MpiError, constants, info};

/// The ranks of `comm` by node, as `MPI_Comm_split_type` tells them apart.
///
/// Collective calls are made on `comm` alone, never on the communicator of a node: in a program with the drop-in that would
/// be a communicator like any other, whose calls may be replaced.
///
/// # Safety
/// `comm` is an intracommunicator; all its ranks make the same call.
pub unsafe fn nodes(comm: MPI_Comm) -> Result<Nodes, MpiError> {
    let (rank, size) = (info::rank(comm)?, info::size(comm)?);
    let own_rank = MpiError::count("PMPI_Comm_split_type", rank)?;
    let mut node = constants::comm_null();
    let (mut first, mut firsts) = (-1, vec![-1; size]);
    // SAFETY: handles are written once each and freed; one int is given and one for each rank taken; collective by this
    // function's contract.
    unsafe {
        pmpi!(PMPI_Comm_split_type(
            comm,
            constants::comm_type_shared(),
            own_rank,
            constants::info_null(),
            &raw mut node
        ))?;
        let (mut of_node, mut of_all) = (std::mem::zeroed(), std::mem::zeroed());
        pmpi!(PMPI_Comm_group(node, &raw mut of_node))?;
        pmpi!(PMPI_Comm_group(comm, &raw mut of_all))?;
        let zero: c_int = 0;
        pmpi!(PMPI_Group_translate_ranks(
            of_node,
            1,
            &raw const zero,
            of_all,
            &raw mut first
        ))?;
        pmpi!(PMPI_Group_free(&raw mut of_node))?;
        pmpi!(PMPI_Group_free(&raw mut of_all))?;
        info::comm_free(node)?;
        pmpi!(PMPI_Allgather(
            (&raw const first).cast(),
            1,
            constants::int(),
            firsts.as_mut_ptr().cast(),
            1,
            constants::int(),
            comm
        ))?;
    }
    Ok(Nodes::new(&firsts))
}

/// True if all ranks of `comm` are on one node; the same on all ranks. It calls no collective of data, which in a
/// program with the drop-in may be the drop-in's.
///
/// # Safety
/// `comm` is an intracommunicator; all its ranks make the same call.
pub unsafe fn is_one_node(comm: MPI_Comm) -> Result<bool, MpiError> {
    let mut node = constants::comm_null();
    // SAFETY: a handle is written and freed; collective by this function's contract.
    unsafe {
        pmpi!(PMPI_Comm_split_type(
            comm,
            constants::comm_type_shared(),
            0,
            constants::info_null(),
            &raw mut node
        ))?;
        let all_here = info::size(node)? == info::size(comm)?;
        info::comm_free(node)?;
        Ok(all_here)
    }
}
