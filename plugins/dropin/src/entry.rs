//! The exported functions.

use std::ffi::{c_int, c_void};

use kilter_algorithms::Collective;
use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op};

use crate::describe;
use crate::real::Real;
use crate::replace::{replace, ruled};

/// `MPI_X` and `PMPI_X`, both `$function`: the replacement that the profile has for the call, else the library's function.
macro_rules! intercept {
    ($(
        $function:ident, $mpi:ident, $pmpi:ident, $symbol:literal, $collective:ident,
        ($($argument:ident: $type:ty),*), $state:ident => $described:expr;
    )*) => {$(
        /// The MPI function of this name.
        ///
        /// # Safety
        /// As MPI says.
        #[allow(clippy::too_many_arguments)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $mpi($($argument: $type,)* comm: MPI_Comm) -> c_int {
            // SAFETY: the same contract.
            unsafe { $function($($argument,)* comm) }
        }

        /// The MPI function of this name.
        ///
        /// # Safety
        /// As MPI says.
        #[allow(clippy::too_many_arguments)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($argument: $type,)* comm: MPI_Comm) -> c_int {
            // SAFETY: the same contract.
            unsafe { $function($($argument,)* comm) }
        }

        // MPI's functions have as many arguments as they have.
        #[allow(clippy::too_many_arguments)]
        #[inline]
        unsafe fn $function($($argument: $type,)* comm: MPI_Comm) -> c_int {
            static REAL: Real = Real::new($symbol);
            // SAFETY: the caller's call is valid; what is behind this object under this name is the library's function.
            unsafe {
                if let Some(($state, started)) = ruled(comm, Collective::$collective)
                    && let Some(arguments) = $described
                    && let Some(code) = replace($state, started, Collective::$collective, arguments)
                {
                    return code;
                }
                let real: unsafe extern "C" fn($($type,)* MPI_Comm) -> c_int = std::mem::transmute(REAL.address());
                real($($argument,)* comm)
            }
        }
    )*};
}

intercept! {
    allgather, MPI_Allgather, PMPI_Allgather, c"PMPI_Allgather", Allgather, (
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype
    ), state => describe::allgather(state, Collective::Allgather, (sendbuf, (sendcount, sendtype)), (recvbuf, (recvcount, recvtype)));

    allreduce, MPI_Allreduce, PMPI_Allreduce, c"PMPI_Allreduce", Allreduce, (
        sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op
    ), state => describe::reduction(state, Collective::Allreduce, (sendbuf, recvbuf), ((count, datatype), op), 0, 1);

    bcast, MPI_Bcast, PMPI_Bcast, c"PMPI_Bcast", Bcast, (
        buffer: *mut c_void, count: c_int, datatype: MPI_Datatype, root: c_int
    ), state => describe::bcast(state, Collective::Bcast, (buffer, (count, datatype)), root);

    gather, MPI_Gather, PMPI_Gather, c"PMPI_Gather", Gather, (
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, root: c_int
    ), state => describe::gather(state, Collective::Gather, (sendbuf, (sendcount, sendtype)), (recvbuf, (recvcount, recvtype)), root);

    reduce, MPI_Reduce, PMPI_Reduce, c"PMPI_Reduce", Reduce, (
        sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op, root: c_int
    ), state => describe::reduction(state, Collective::Reduce, (sendbuf, recvbuf), ((count, datatype), op), root, 1);

    reduce_scatter, MPI_Reduce_scatter, PMPI_Reduce_scatter, c"PMPI_Reduce_scatter", ReduceScatter, (
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: MPI_Datatype, op: MPI_Op
    ), state => describe::reduce_scatter(state, Collective::ReduceScatter, (sendbuf, recvbuf), recvcounts, (datatype, op));

    reduce_scatter_block, MPI_Reduce_scatter_block, PMPI_Reduce_scatter_block, c"PMPI_Reduce_scatter_block", ReduceScatterBlock, (
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: c_int, datatype: MPI_Datatype, op: MPI_Op
    ), state => describe::reduction(state, Collective::ReduceScatterBlock, (sendbuf, recvbuf), ((recvcount, datatype), op), 0, state.size);

    scan, MPI_Scan, PMPI_Scan, c"PMPI_Scan", Scan, (
        sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op
    ), state => describe::reduction(state, Collective::Scan, (sendbuf, recvbuf), ((count, datatype), op), 0, 1);

    scatter, MPI_Scatter, PMPI_Scatter, c"PMPI_Scatter", Scatter, (
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, root: c_int
    ), state => describe::scatter(state, Collective::Scatter, (sendbuf, (sendcount, sendtype)), (recvbuf, (recvcount, recvtype)), root);
}
