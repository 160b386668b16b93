//! Calls of the library on a node or on a lane, in which every rank gives and gets as many elements.

use std::ffi::{c_int, c_void};

use mpi_sys::{MPI_Comm, MPI_Datatype, MPI_Op};

use crate::MpiError;
use crate::error::pmpi;

/// The communicator of a call, the number of the root there, and the type of the elements.
#[derive(Clone, Copy)]
pub(super) struct On {
    pub(super) comm: MPI_Comm,
    pub(super) root: c_int,
    pub(super) datatype: MPI_Datatype,
}

impl On {
    /// # Safety
    /// `from` holds `count` elements and `to` has room for as many of each rank; all ranks of the communicator make this call.
    pub(super) unsafe fn allgather(self, from: *const c_void, to: *mut c_void, count: c_int) -> Result<(), MpiError> {
        let On { comm, datatype, .. } = self;
        // SAFETY: by this function's contract.
        unsafe { pmpi!(PMPI_Allgather(from, count, datatype, to, count, datatype, comm)) }
    }

    /// # Safety
    /// `from` holds `count` elements, `to` has room on the root for as many of each rank; all ranks of the communicator make this call.
    pub(super) unsafe fn gather(self, from: *const c_void, to: *mut c_void, count: c_int) -> Result<(), MpiError> {
        let On { comm, root, datatype } = self;
        // SAFETY: by this function's contract.
        unsafe { pmpi!(PMPI_Gather(from, count, datatype, to, count, datatype, root, comm)) }
    }

    /// # Safety
    /// `from` holds on the root `count` elements for each rank, `to` has room for `count`; all ranks of the communicator make this call.
    pub(super) unsafe fn scatter(self, from: *const c_void, to: *mut c_void, count: c_int) -> Result<(), MpiError> {
        let On { comm, root, datatype } = self;
        // SAFETY: by this function's contract.
        unsafe { pmpi!(PMPI_Scatter(from, count, datatype, to, count, datatype, root, comm)) }
    }

    /// # Safety
    /// `from` holds `count` elements for each rank and `to` has room for as many; all ranks of the communicator make this call.
    pub(super) unsafe fn alltoall(self, from: *const c_void, to: *mut c_void, count: c_int) -> Result<(), MpiError> {
        let On { comm, datatype, .. } = self;
        // SAFETY: by this function's contract.
        unsafe { pmpi!(PMPI_Alltoall(from, count, datatype, to, count, datatype, comm)) }
    }

    /// # Safety
    /// `from` holds `count` elements for each rank, `to` has room for `count`, and `op` combines them; all ranks of the communicator make
    /// this call.
    pub(super) unsafe fn reduce_scatter_block(
        self,
        from: *const c_void,
        to: *mut c_void,
        count: c_int,
        op: MPI_Op,
    ) -> Result<(), MpiError> {
        let On { comm, datatype, .. } = self;
        // SAFETY: by this function's contract.
        unsafe { pmpi!(PMPI_Reduce_scatter_block(from, to, count, datatype, op, comm)) }
    }
}
