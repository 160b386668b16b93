//! The call that makes progress: a test of a receive that no message will ever match, on a private communicator of this rank
//! alone.
//!
//! Nothing is agreed with other ranks for it, no callback of the program's runs, and no message is looked at but the library's
//! progress is made for all of them: `MPI_Test` of a request that is not complete does so in Open MPI and in MPICH, where
//! `MPI_Iprobe` on such a communicator does not.

use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

use kilter_mpi::{MPI_Comm, MpiError, Real, constants, info};
use mpi_sys::{MPI_Datatype, MPI_Request, MPI_Status};

static IRECV: Real = Real::new("PMPI_Irecv\0");
static TEST: Real = Real::new("PMPI_Test\0");

type Irecv = unsafe extern "C" fn(*mut c_void, c_int, MPI_Datatype, c_int, c_int, MPI_Comm, *mut MPI_Request) -> c_int;
type Test = unsafe extern "C" fn(*mut MPI_Request, *mut c_int, *mut MPI_Status) -> c_int;

/// The receive and its communicator.
#[derive(Debug)]
pub(crate) struct Probe {
    comm: MPI_Comm,
    request: MPI_Request,
}

// SAFETY: handles of a library that is initialised for several threads; one thread at a time uses them.
unsafe impl Send for Probe {}

impl Probe {
    /// Posts the receive.
    ///
    /// # Safety
    /// MPI runs.
    pub(crate) unsafe fn new() -> Result<Probe, MpiError> {
        // SAFETY: this rank is all ranks of the communicator.
        let comm = unsafe { info::comm_private(constants::comm_self()) }?;
        let mut request = constants::request_null();
        // SAFETY: the library's function of this name, by its own address: this object exports the name, too. The message is empty.
        let code = unsafe {
            let irecv: Irecv = std::mem::transmute(IRECV.address());
            irecv(std::ptr::null_mut(), 0, constants::byte(), 0, 0, comm, &raw mut request)
        };
        MpiError::check("PMPI_Irecv", code)?;
        Ok(Probe { comm, request })
    }

    /// Makes progress; returns whether the receive has ended, which it never does by itself.
    pub(crate) fn make(&mut self) -> Result<bool, MpiError> {
        let mut flag = 0;
        // SAFETY: the library's function by its own address; writes a request, an int and no status.
        let code = unsafe {
            let test: Test = std::mem::transmute(TEST.address());
            test(&raw mut self.request, &raw mut flag, constants::status_ignore())
        };
        MpiError::check("PMPI_Test", code)?;
        Ok(flag != 0)
    }

    /// Cancels the receive and frees the communicator. An error if the library does not cancel it.
    ///
    /// # Safety
    /// MPI runs.
    pub(crate) unsafe fn end(mut self) -> Result<(), MpiError> {
        if self.request != constants::request_null() {
            // SAFETY: the request is active.
            MpiError::check("PMPI_Cancel", unsafe { mpi_sys::PMPI_Cancel(&raw mut self.request) })?;
        }
        let begin = Instant::now();
        while !self.make()? {
            if begin.elapsed() > Duration::from_secs(1) {
                return Err(MpiError {
                    operation: "waiting for a cancelled receive",
                    code: constants::err_other(),
                });
            }
        }
        // SAFETY: no other rank is part of it, and it is not used any more.
        unsafe { info::comm_free(self.comm) }
    }
}
