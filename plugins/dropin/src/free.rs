//! `MPI_Comm_free` and `MPI_Comm_disconnect`: what is under way on a communicator is completed before the library begins to free it.
//!
//! The state of a communicator goes with its attribute, whichever way it ends. Some libraries hold a lock meanwhile, under which no rank should wait for
//! another one where several threads call MPI ([`crate::sites`]).

use std::ffi::c_int;

use kilter_mpi::{MPI_Comm, constants};

use crate::communicator;
use crate::exported::exported;
use crate::started;

exported! {
    MPI_Comm_free(comm: *mut MPI_Comm) = freed(comm);
    PMPI_Comm_free(comm: *mut MPI_Comm) = freed(comm);
    MPI_Comm_disconnect(comm: *mut MPI_Comm) = freed(comm);
    PMPI_Comm_disconnect(comm: *mut MPI_Comm) = freed(comm);
}

fn freed(comm: *const MPI_Comm, next: impl FnOnce() -> c_int) -> c_int {
    let tries = started::active().is_some_and(|started| started.online.is_some());
    // SAFETY: null, or the handle that the program frees.
    let comm = unsafe { comm.as_ref() }.filter(|comm| **comm != constants::comm_null());
    if let (true, Some(comm)) = (tries, comm) {
        // SAFETY: a communicator that the program frees, as all its ranks do.
        unsafe { communicator::before_freeing(*comm) };
    }
    next()
}
