//! The communicators of the matrix, and how the ranks agree on what they found.

use std::ffi::c_int;

use kilter_mpi::{MPI_Comm, MpiError, constants, info};

use crate::case::Comm;

/// Bytes of a finding that reach rank 0.
const FINDING_BYTES: usize = 400;

/// All ranks, with a communicator for what they tell each other.
pub(crate) struct World {
    control: MPI_Comm,
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

impl World {
    /// # Safety
    /// MPI is running; all ranks make this call.
    pub(crate) unsafe fn new() -> Result<World, MpiError> {
        // SAFETY: by this function's contract.
        let control = unsafe { info::comm_private(constants::comm_world()) }?;
        let (rank, size) = (info::rank(control)?, info::size(control)?);
        Ok(World { control, rank, size })
    }

    /// A communicator as a program would have it; its errors are returned.
    ///
    /// # Safety
    /// All ranks make this call.
    pub(crate) unsafe fn program(&self, comm: Comm) -> Result<MPI_Comm, MpiError> {
        let (color, key) = match comm {
            Comm::World => (0, self.rank as c_int),
            Comm::Split => ((self.rank % 2) as c_int, self.rank as c_int),
            Comm::Reversed => (0, -(self.rank as c_int)),
        };
        let mut made = constants::comm_null();
        // SAFETY: by this function's contract; one handle is written.
        unsafe {
            let code = mpi_sys::PMPI_Comm_split(constants::comm_world(), color, key, &raw mut made);
            MpiError::check("PMPI_Comm_split", code)?;
            let code = mpi_sys::PMPI_Comm_set_errhandler(made, constants::errors_return());
            MpiError::check("PMPI_Comm_set_errhandler", code)?;
        }
        Ok(made)
    }

    /// Waits for all ranks: none runs what rank 0 has not announced.
    ///
    /// # Safety
    /// All ranks make this call.
    pub(crate) unsafe fn together(&self) -> Result<(), MpiError> {
        // SAFETY: by this function's contract.
        MpiError::check("PMPI_Barrier", unsafe { mpi_sys::PMPI_Barrier(self.control) })
    }

    /// The finding of the lowest rank that has one, on all ranks.
    ///
    /// # Safety
    /// All ranks make this call.
    pub(crate) unsafe fn agree(&self, mine: Option<String>) -> Result<Option<String>, MpiError> {
        // SAFETY: by this function's contract.
        Ok(unsafe { self.agree_on_run(true, mine) }?.1)
    }

    /// Tells all ranks whether any rank ran the case, and the finding of the lowest rank that has one.
    ///
    /// # Safety
    /// All ranks make this call.
    pub(crate) unsafe fn agree_on_run(
        &self,
        ran: bool,
        mine: Option<String>,
    ) -> Result<(bool, Option<String>), MpiError> {
        // 0: the case did not run. 1: it ran, without a finding. Above 1: it has a finding; lower ranks vote higher.
        let vote = match mine {
            Some(_) => (1 + self.size - self.rank) as c_int,
            None => c_int::from(ran),
        };
        let mut highest: c_int = 0;
        // SAFETY: one int each; collective by this function's contract.
        let code = unsafe {
            mpi_sys::PMPI_Allreduce(
                (&raw const vote).cast(),
                (&raw mut highest).cast(),
                1,
                constants::int(),
                constants::max(),
                self.control,
            )
        };
        MpiError::check("PMPI_Allreduce", code)?;
        let Some(teller) = usize::try_from(highest).ok().filter(|highest| *highest > 1) else {
            return Ok((highest > 0, None));
        };
        let teller = 1 + self.size - teller;
        let mut text = [b' '; FINDING_BYTES];
        if teller == self.rank {
            let finding = format!("rank {}: {}", self.rank, mine.unwrap_or_default());
            let length = finding.len().min(FINDING_BYTES);
            text[..length].copy_from_slice(&finding.as_bytes()[..length]);
        }
        let (length, teller) = (FINDING_BYTES as c_int, teller as c_int);
        // SAFETY: as many bytes on all ranks; collective by this function's contract.
        let code = unsafe {
            mpi_sys::PMPI_Bcast(
                text.as_mut_ptr().cast(),
                length,
                constants::byte(),
                teller,
                self.control,
            )
        };
        MpiError::check("PMPI_Bcast", code)?;
        Ok((true, Some(String::from_utf8_lossy(&text).trim_end().to_owned())))
    }
}
