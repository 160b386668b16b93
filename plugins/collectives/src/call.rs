//! One call, as the drop-in hands it over.

use kilter_abi::{Arguments, Context};
use kilter_algorithms::Collective;
use kilter_mpi::MPI_Comm;

use crate::row::Row;

/// A call as seen by this plugin.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) collective: Collective,
    pub(crate) comm: MPI_Comm,
    pub(crate) rank: usize,
    pub(crate) p_ranks: usize,
    /// The root's rank; 0 where the collective has none.
    pub(crate) root: usize,
    pub(crate) row: &'a Row,
    pub(crate) arguments: &'a Arguments,
    /// The host's, for calls inside this one.
    pub(crate) context: *mut Context,
}

impl<'a> Call<'a> {
    pub(crate) fn is_root(&self) -> bool {
        self.root == self.rank
    }

    /// Counts per rank, where the collective has them.
    pub(crate) fn counts(&self) -> Option<&'a [i64]> {
        let counts = self.arguments.recv_counts;
        // SAFETY: by the ABI, one count for each rank.
        (!counts.is_null()).then(|| unsafe { std::slice::from_raw_parts(counts, self.p_ranks) })
    }
}
