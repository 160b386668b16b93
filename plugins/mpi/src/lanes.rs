//! The communicators of nodes and lanes of a communicator: made once, and kept with its arena.

use std::ffi::c_int;

use kilter_algorithms::Nodes;
use mpi_sys::MPI_Comm;

use crate::error::pmpi;
use crate::{MpiError, constants, info};

/// The ranks of this rank's node, and those with its number on all nodes.
#[derive(Debug)]
pub(crate) struct Lanes {
    pub(crate) node: MPI_Comm,
    pub(crate) lane: MPI_Comm,
    /// Number of nodes, and ranks of each.
    pub(crate) nodes: usize,
    pub(crate) ranks_each: usize,
    /// Node of each rank, and its number there.
    pub(crate) places: Vec<(usize, usize)>,
    /// The ranks lane by lane, of each node by node; none where that is their order.
    pub(crate) by_lane: Option<Vec<usize>>,
    /// The ranks node by node; none where that is their order.
    pub(crate) by_node: Option<Vec<usize>>,
}

/// Reason why there are no lanes, the same on all ranks, or an error of this rank.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LanesError {
    /// Nodes have different numbers of ranks.
    #[error("not equally many of them are on every node ({fewest} to {most}), and lanes need that")]
    Uneven {
        /// Ranks of the smallest node.
        fewest: usize,
        /// Ranks of the largest node.
        most: usize,
    },
    /// The library makes no more communicators on some rank.
    #[error("the library could not make communicators of nodes and lanes on every rank")]
    NotMade,
    /// The library's.
    #[error(transparent)]
    Mpi(#[from] MpiError),
}

impl LanesError {
    /// True if all ranks have the same reason, and nothing was done yet.
    #[must_use]
    pub fn is_common(&self) -> bool {
        !matches!(self, LanesError::Mpi(_))
    }
}

impl Lanes {
    /// Makes both communicators of `comm`, whose ranks are on these nodes.
    ///
    /// # Safety
    /// `comm` is an intracommunicator that returns errors; all its ranks make the same call, with the same nodes.
    pub(crate) unsafe fn new(comm: MPI_Comm, nodes: &Nodes) -> Result<Lanes, LanesError> {
        let rank = info::rank(comm)?;
        let sizes = || (0..nodes.count()).map(|node| nodes.members(node).len());
        let (fewest, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        if fewest != most {
            return Err(LanesError::Uneven { fewest, most });
        }
        let ranks: usize = sizes().sum();
        let mut places = vec![(0, 0); ranks];
        for node in 0..nodes.count() {
            for (number, &member) in nodes.members(node).iter().enumerate() {
                places[member] = (node, number);
            }
        }
        let (node, number) = places[rank];
        // SAFETY: by this function's contract.
        let made = unsafe { [split(comm, node, number), split(comm, number, node)] };
        let (failed, mut failed_somewhere) = (c_int::from(made.iter().any(Result::is_err)), 0);
        // SAFETY: one int of every rank of `comm`, which all come here.
        unsafe {
            pmpi!(PMPI_Allreduce(
                (&raw const failed).cast(),
                (&raw mut failed_somewhere).cast(),
                1,
                constants::int(),
                constants::bor(),
                comm
            ))?;
        }
        let [Ok(of_node), Ok(of_lane)] = made else {
            return Err(LanesError::NotMade);
        };
        if failed_somewhere != 0 {
            // Freeing is collective: what only some ranks have stays.
            return Err(LanesError::NotMade);
        }
        let in_order = |order: Vec<usize>| (!order.is_sorted()).then_some(order);
        let members = |node: usize| nodes.members(node);
        Ok(Lanes {
            node: of_node,
            lane: of_lane,
            nodes: nodes.count(),
            ranks_each: most,
            by_lane: in_order(
                (0..most)
                    .flat_map(|number| (0..nodes.count()).map(move |node| members(node)[number]))
                    .collect(),
            ),
            by_node: in_order(
                (0..nodes.count())
                    .flat_map(|node| members(node).iter().copied())
                    .collect(),
            ),
            places,
        })
    }

    /// Frees both.
    ///
    /// # Safety
    /// MPI is running, and all ranks of the communicator make the same call.
    pub(crate) unsafe fn free(self) -> Result<(), MpiError> {
        // SAFETY: made here, and freed once, by this function's contract.
        unsafe {
            info::comm_free(self.lane)?;
            info::comm_free(self.node)
        }
    }
}

/// The communicator of the ranks of one colour, in the order of their keys. It returns errors, as `comm` does, and has the name by which the
/// drop-in leaves it alone.
///
/// # Safety
/// As for [`Lanes::new`].
unsafe fn split(comm: MPI_Comm, color: usize, key: usize) -> Result<MPI_Comm, MpiError> {
    let (color, key) = (
        MpiError::count("PMPI_Comm_split", color)?,
        MpiError::count("PMPI_Comm_split", key)?,
    );
    let mut made = constants::comm_null();
    // SAFETY: writes one handle; collective by this function's contract.
    unsafe {
        pmpi!(PMPI_Comm_split(comm, color, key, &raw mut made))?;
        pmpi!(PMPI_Comm_set_errhandler(made, constants::errors_return()))?;
        info::name_private(made)?;
    }
    Ok(made)
}
