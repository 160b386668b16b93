//! Differences of the ranks' clocks: asked for when the program begins and ends ([`kilter_mpi::clocks`]), by messages on a communicator of the
//! tracer's own. The two readings make a line with offset and drift, which `kilter-profiling` draws.

use std::ffi::c_int;

use kilter_mpi::clocks::{Tree, identity};
use kilter_mpi::{MPI_Comm, MpiError, constants, info};
use kilter_protocol::calls::{Clock, Reading};

/// A communicator of the tracer's own.
struct Private(MPI_Comm);

// SAFETY: a handle, which any thread may hold; it is used in MPI_Init and MPI_Finalize alone, which the program calls once each.
unsafe impl Send for Private {}
// SAFETY: as above.
unsafe impl Sync for Private {}

/// The clock of this rank.
pub(crate) struct CommonClock {
    tree: Tree,
    at_begin: Option<Reading>,
    /// Kept until the end if there is more than one clock.
    private: Option<Private>,
}

impl CommonClock {
    /// Compares the clocks for the first time.
    ///
    /// # Errors
    /// The library's.
    ///
    /// # Safety
    /// MPI was just initialised, and all ranks of the world make this call.
    pub(crate) unsafe fn at_begin(rank: usize, ranks: usize) -> Result<CommonClock, MpiError> {
        let own = identity();
        let mut clocks = vec![0_u64; ranks];
        // SAFETY: collective by this function's contract; as many numbers are written as there are ranks.
        let private = unsafe {
            let private = info::comm_private(constants::comm_world())?;
            let bytes = size_of::<u64>() as c_int;
            let code = mpi_sys::PMPI_Allgather(
                (&raw const own).cast(),
                bytes,
                constants::byte(),
                clocks.as_mut_ptr().cast(),
                bytes,
                constants::byte(),
                private,
            );
            MpiError::check("PMPI_Allgather", code)?;
            private
        };
        let tree = Tree::new(&clocks, rank);
        let is_one = clocks.iter().all(|clock| *clock == own);
        if is_one {
            // SAFETY: collective by this function's contract, since all ranks found the same.
            unsafe { info::comm_free(private)? };
        }
        let mut common = CommonClock {
            tree,
            at_begin: None,
            private: (!is_one).then_some(Private(private)),
        };
        // SAFETY: by this function's contract.
        common.at_begin = unsafe { common.compare() };
        Ok(common)
    }

    /// The clock as it is known at the begin.
    pub(crate) fn known(&self) -> Clock {
        Clock {
            leader: self.tree.leader,
            asks: self.tree.asks,
            at_begin: self.at_begin,
        }
    }

    /// Asks and answers; the reading of a leader other than rank 0.
    ///
    /// # Safety
    /// MPI runs, and all ranks of the world make this call, or are within MPI.
    pub(crate) unsafe fn compare(&self) -> Option<Reading> {
        let comm = self.private.as_ref()?.0;
        // SAFETY: by this function's contract; the communicator is the tracer's own.
        let question = unsafe { self.tree.compare(comm) }?;
        Some(Reading::new(
            question.asked_ns,
            question.theirs_ns,
            question.answered_ns,
        ))
    }
}
