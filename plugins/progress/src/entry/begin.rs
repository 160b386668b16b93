//! Calls that begin operations.
//!
//! Operations begun by other calls (one-sided operations, files, generalised requests, `MPI_Comm_idup`) are not
//! counted, neither here nor at their completion.

use std::ffi::{c_int, c_void};

use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op, constants, handle};
use mpi_sys::{MPI_Aint, MPI_Message, MPI_Request};

use super::{exported, library};
use crate::start::{self, SHARED};

type In = *const c_void;
type Out = *mut c_void;
type Types = *const MPI_Datatype;

/// An operation with this request was begun.
#[inline]
unsafe fn begun(request: *const MPI_Request) {
    if !start::is_counting() {
        return;
    }
    // SAFETY: the library has just written or read it.
    let request = unsafe { *request };
    if request != constants::request_null() && SHARED.outstanding.begin(handle::bits(request)) {
        start::wake();
    }
}

/// One function, under both names: the library's, and then its request is counted.
macro_rules! form {
    ($mpi:ident $pmpi:ident ($($argument:ident: $type:ty),*)) => {
        exported! {
            $mpi $pmpi($($argument: $type,)* request: *mut MPI_Request) = call;
        }

        #[allow(clippy::too_many_arguments, reason = "MPI's functions have as many as they have")]
        #[inline]
        unsafe fn call($($argument: $type,)* request: *mut MPI_Request) -> c_int {
            // SAFETY: the caller's call is valid.
            unsafe {
                let code = library!($pmpi($($argument => $type,)* request => *mut MPI_Request));
                if code == 0 {
                    begun(request);
                }
                code
            }
        }
    };
}

/// Functions that take these arguments and then a request, in both forms. `N` stands for the type of a count, `D` for that of a
/// displacement.
macro_rules! begins {
    ($($arguments:tt: $($mpi:ident $pmpi:ident $mpi_c:ident $pmpi_c:ident),* $(,)?;)*) => {$($(
        begins!(@int $mpi $pmpi $arguments);
        begins!(@large $mpi_c $pmpi_c $arguments);
    )*)*};
    (@int $mpi:ident $pmpi:ident $arguments:tt) => {
        const _: () = {
            #[allow(dead_code, reason = "not every function has one")]
            type N = c_int;
            #[allow(dead_code, reason = "not every function has one")]
            type D = c_int;
            form!($mpi $pmpi $arguments);
        };
    };
    (@large $mpi:ident $pmpi:ident $arguments:tt) => {
        #[cfg(large_counts)]
        const _: () = {
            #[allow(dead_code, reason = "not every function has one")]
            type N = mpi_sys::MPI_Count;
            #[allow(dead_code, reason = "not every function has one")]
            type D = MPI_Aint;
            form!($mpi $pmpi $arguments);
        };
    };
}

begins! {
    (buffer: In, count: N, datatype: MPI_Datatype, peer: c_int, tag: c_int, comm: MPI_Comm):
        MPI_Isend PMPI_Isend MPI_Isend_c PMPI_Isend_c,
        MPI_Ibsend PMPI_Ibsend MPI_Ibsend_c PMPI_Ibsend_c,
        MPI_Irsend PMPI_Irsend MPI_Irsend_c PMPI_Irsend_c,
        MPI_Issend PMPI_Issend MPI_Issend_c PMPI_Issend_c,
        MPI_Irecv PMPI_Irecv MPI_Irecv_c PMPI_Irecv_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, message: *mut MPI_Message):
        MPI_Imrecv PMPI_Imrecv MPI_Imrecv_c PMPI_Imrecv_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm):
        MPI_Ibcast PMPI_Ibcast MPI_Ibcast_c PMPI_Ibcast_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm):
        MPI_Igather PMPI_Igather MPI_Igather_c PMPI_Igather_c,
        MPI_Iscatter PMPI_Iscatter MPI_Iscatter_c PMPI_Iscatter_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_counts: *const N, recv_displacements: *const D,
     recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm):
        MPI_Igatherv PMPI_Igatherv MPI_Igatherv_c PMPI_Igatherv_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype, recv: Out, recv_count: N,
     recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm):
        MPI_Iscatterv PMPI_Iscatterv MPI_Iscatterv_c PMPI_Iscatterv_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, comm: MPI_Comm):
        MPI_Iallgather PMPI_Iallgather MPI_Iallgather_c PMPI_Iallgather_c,
        MPI_Ialltoall PMPI_Ialltoall MPI_Ialltoall_c PMPI_Ialltoall_c,
        MPI_Ineighbor_allgather PMPI_Ineighbor_allgather MPI_Ineighbor_allgather_c PMPI_Ineighbor_allgather_c,
        MPI_Ineighbor_alltoall PMPI_Ineighbor_alltoall MPI_Ineighbor_alltoall_c PMPI_Ineighbor_alltoall_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_counts: *const N, recv_displacements: *const D,
     recv_type: MPI_Datatype, comm: MPI_Comm):
        MPI_Iallgatherv PMPI_Iallgatherv MPI_Iallgatherv_c PMPI_Iallgatherv_c,
        MPI_Ineighbor_allgatherv PMPI_Ineighbor_allgatherv MPI_Ineighbor_allgatherv_c PMPI_Ineighbor_allgatherv_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype,
     recv: Out, recv_counts: *const N, recv_displacements: *const D, recv_type: MPI_Datatype, comm: MPI_Comm):
        MPI_Ialltoallv PMPI_Ialltoallv MPI_Ialltoallv_c PMPI_Ialltoallv_c,
        MPI_Ineighbor_alltoallv PMPI_Ineighbor_alltoallv MPI_Ineighbor_alltoallv_c PMPI_Ineighbor_alltoallv_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_types: Types,
     recv: Out, recv_counts: *const N, recv_displacements: *const D, recv_types: Types, comm: MPI_Comm):
        MPI_Ialltoallw PMPI_Ialltoallw MPI_Ialltoallw_c PMPI_Ialltoallw_c;
    (send: In, send_counts: *const N, send_displacements: *const MPI_Aint, send_types: Types,
     recv: Out, recv_counts: *const N, recv_displacements: *const MPI_Aint, recv_types: Types, comm: MPI_Comm):
        MPI_Ineighbor_alltoallw PMPI_Ineighbor_alltoallw MPI_Ineighbor_alltoallw_c PMPI_Ineighbor_alltoallw_c;
    (send: In, recv: Out, count: N, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm):
        MPI_Iallreduce PMPI_Iallreduce MPI_Iallreduce_c PMPI_Iallreduce_c,
        MPI_Iscan PMPI_Iscan MPI_Iscan_c PMPI_Iscan_c,
        MPI_Iexscan PMPI_Iexscan MPI_Iexscan_c PMPI_Iexscan_c,
        MPI_Ireduce_scatter_block PMPI_Ireduce_scatter_block MPI_Ireduce_scatter_block_c PMPI_Ireduce_scatter_block_c;
    (send: In, recv: Out, count: N, datatype: MPI_Datatype, op: MPI_Op, root: c_int, comm: MPI_Comm):
        MPI_Ireduce PMPI_Ireduce MPI_Ireduce_c PMPI_Ireduce_c;
    (send: In, recv: Out, recv_counts: *const N, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm):
        MPI_Ireduce_scatter PMPI_Ireduce_scatter MPI_Ireduce_scatter_c PMPI_Ireduce_scatter_c;
}

const _: () = {
    form!(MPI_Ibarrier PMPI_Ibarrier (comm: MPI_Comm));
};

const _: () = {
    // A persistent request, of whatever kind: it is counted while it is active.
    form!(MPI_Start PMPI_Start ());
};

exported! {
    MPI_Startall PMPI_Startall(count: c_int, requests: *mut MPI_Request) = start_all;
}

unsafe fn start_all(count: c_int, requests: *mut MPI_Request) -> c_int {
    // SAFETY: the caller's call is valid; there are so many requests.
    unsafe {
        let code = library!(PMPI_Startall(count => c_int, requests => *mut MPI_Request));
        if code == 0 {
            (0..usize::try_from(count).unwrap_or(0)).for_each(|index| begun(requests.add(index)));
        }
        code
    }
}

// These calls came with MPI 4.
#[cfg(large_counts)]
begins! {
    (send: In, send_count: N, send_type: MPI_Datatype, to: c_int, send_tag: c_int,
     recv: Out, recv_count: N, recv_type: MPI_Datatype, from: c_int, recv_tag: c_int, comm: MPI_Comm):
        MPI_Isendrecv PMPI_Isendrecv MPI_Isendrecv_c PMPI_Isendrecv_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, to: c_int, send_tag: c_int, from: c_int, recv_tag: c_int, comm: MPI_Comm):
        MPI_Isendrecv_replace PMPI_Isendrecv_replace MPI_Isendrecv_replace_c PMPI_Isendrecv_replace_c;
}
