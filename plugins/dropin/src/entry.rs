//! The exported functions.

use std::ffi::{c_int, c_void};

use kilter_algorithms::Collective;
use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op, Real};

use crate::given::Given;
use crate::online;
use crate::replace::{Function, Outcome, replace, ruled};

/// One form of one function, `MPI_X` and `PMPI_X` alike: the replacement that the profile has for the call, else the
/// library's function. `N` and `D` are the types of counts and displacements where the macro is used.
macro_rules! form {
    ($collective:ident, $mpi:ident, $pmpi:ident, ($($argument:ident: $type:ty),*)) => {
        /// The MPI function of this name.
        ///
        /// # Safety
        /// As MPI says.
        #[allow(clippy::too_many_arguments)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $mpi($($argument: $type,)* comm: MPI_Comm) -> c_int {
            // SAFETY: the caller passes valid arguments of this MPI function.
            unsafe { call($($argument,)* comm) }
        }

        /// The MPI function of this name.
        ///
        /// # Safety
        /// As MPI says.
        #[allow(clippy::too_many_arguments)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($argument: $type,)* comm: MPI_Comm) -> c_int {
            // SAFETY: the caller passes valid arguments of this MPI function.
            unsafe { call($($argument,)* comm) }
        }

        // MPI's functions have as many arguments as they have.
        #[allow(clippy::too_many_arguments)]
        #[inline]
        unsafe fn call($($argument: $type,)* comm: MPI_Comm) -> c_int {
            static REAL: Real = Real::new(concat!(stringify!($pmpi), "\0"));
            struct This;
            impl Function for This {
                const COLLECTIVE: Collective = Collective::$collective;
            }
            // SAFETY: the caller's call is valid; what is behind this object under this name is the library's function.
            unsafe {
                if let Some((state, started)) = ruled(comm, This::COLLECTIVE) {
                    let given = Given::<N, D> { $($argument,)* ..Given::nothing() };
                    match replace::<This, N, D>(state, started, given) {
                        Outcome::Done(code) => return code,
                        Outcome::Library => {}
                        Outcome::Online => {
                            // By copies, so that only this path writes the arguments to memory.
                            let library = move || {
                                let real: unsafe extern "C" fn($($type,)* MPI_Comm) -> c_int = std::mem::transmute(REAL.address());
                                real($($argument,)* comm)
                            };
                            let stored = given;
                            return online::call::<This, N, D>(state, started, &stored, &library);
                        }
                    }
                }
                let real: unsafe extern "C" fn($($type,)* MPI_Comm) -> c_int = std::mem::transmute(REAL.address());
                real($($argument,)* comm)
            }
        }
    };
}

/// A collective in both forms. Arguments have the names of the plugin ABI, so that a signature says all there is to say;
/// `N` stands for the type of a count, `D` for that of a displacement.
macro_rules! collectives {
    ($(
        $module:ident, $collective:ident: $mpi:ident $pmpi:ident, $mpi_c:ident $pmpi_c:ident, $arguments:tt;
    )*) => {$(
        #[allow(non_snake_case, reason = "the names are MPI's")]
        pub mod $module {
            //! The functions of one collective.

            /// Counts of type int.
            pub mod int {
                use crate::entry::*;

                type N = c_int;
                type D = c_int;

                form!($collective, $mpi, $pmpi, $arguments);
            }

            /// Large counts.
            #[cfg(large_counts)]
            #[allow(dead_code, unused_imports, reason = "a barrier has no counts")]
            pub mod large {
                use crate::entry::*;

                type N = mpi_sys::MPI_Count;
                type D = mpi_sys::MPI_Aint;

                collectives!(@large $collective, $mpi_c, $pmpi_c, $arguments);
            }
        }
    )*};
    // MPI_Barrier has no counts, and so no second form.
    (@large Barrier, $mpi:ident, $pmpi:ident, $arguments:tt) => {};
    (@large $collective:ident, $mpi:ident, $pmpi:ident, $arguments:tt) => {
        form!($collective, $mpi, $pmpi, $arguments);
    };
}

collectives! {
    allgather, Allgather: MPI_Allgather PMPI_Allgather, MPI_Allgather_c PMPI_Allgather_c,
        (send: *const c_void, send_count: N, send_type: MPI_Datatype, recv: *mut c_void, recv_count: N, recv_type: MPI_Datatype);
    allgatherv, Allgatherv: MPI_Allgatherv PMPI_Allgatherv, MPI_Allgatherv_c PMPI_Allgatherv_c,
        (send: *const c_void, send_count: N, send_type: MPI_Datatype,
         recv: *mut c_void, recv_counts: *const N, recv_displacements: *const D, recv_type: MPI_Datatype);
    allreduce, Allreduce: MPI_Allreduce PMPI_Allreduce, MPI_Allreduce_c PMPI_Allreduce_c,
        (send: *const c_void, recv: *mut c_void, recv_count: N, recv_type: MPI_Datatype, op: MPI_Op);
    alltoall, Alltoall: MPI_Alltoall PMPI_Alltoall, MPI_Alltoall_c PMPI_Alltoall_c,
        (send: *const c_void, send_count: N, send_type: MPI_Datatype, recv: *mut c_void, recv_count: N, recv_type: MPI_Datatype);
    alltoallv, Alltoallv: MPI_Alltoallv PMPI_Alltoallv, MPI_Alltoallv_c PMPI_Alltoallv_c,
        (send: *const c_void, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype,
         recv: *mut c_void, recv_counts: *const N, recv_displacements: *const D, recv_type: MPI_Datatype);
    barrier, Barrier: MPI_Barrier PMPI_Barrier, MPI_Barrier_c PMPI_Barrier_c,
        ();
    bcast, Bcast: MPI_Bcast PMPI_Bcast, MPI_Bcast_c PMPI_Bcast_c,
        (recv: *mut c_void, recv_count: N, recv_type: MPI_Datatype, root: c_int);
    exscan, Exscan: MPI_Exscan PMPI_Exscan, MPI_Exscan_c PMPI_Exscan_c,
        (send: *const c_void, recv: *mut c_void, recv_count: N, recv_type: MPI_Datatype, op: MPI_Op);
    gather, Gather: MPI_Gather PMPI_Gather, MPI_Gather_c PMPI_Gather_c,
        (send: *const c_void, send_count: N, send_type: MPI_Datatype,
         recv: *mut c_void, recv_count: N, recv_type: MPI_Datatype, root: c_int);
    gatherv, Gatherv: MPI_Gatherv PMPI_Gatherv, MPI_Gatherv_c PMPI_Gatherv_c,
        (send: *const c_void, send_count: N, send_type: MPI_Datatype,
         recv: *mut c_void, recv_counts: *const N, recv_displacements: *const D, recv_type: MPI_Datatype, root: c_int);
    reduce, Reduce: MPI_Reduce PMPI_Reduce, MPI_Reduce_c PMPI_Reduce_c,
        (send: *const c_void, recv: *mut c_void, recv_count: N, recv_type: MPI_Datatype, op: MPI_Op, root: c_int);
    reduce_scatter, ReduceScatter: MPI_Reduce_scatter PMPI_Reduce_scatter, MPI_Reduce_scatter_c PMPI_Reduce_scatter_c,
        (send: *const c_void, recv: *mut c_void, recv_counts: *const N, recv_type: MPI_Datatype, op: MPI_Op);
    reduce_scatter_block, ReduceScatterBlock: MPI_Reduce_scatter_block PMPI_Reduce_scatter_block,
        MPI_Reduce_scatter_block_c PMPI_Reduce_scatter_block_c,
        (send: *const c_void, recv: *mut c_void, recv_count: N, recv_type: MPI_Datatype, op: MPI_Op);
    scan, Scan: MPI_Scan PMPI_Scan, MPI_Scan_c PMPI_Scan_c,
        (send: *const c_void, recv: *mut c_void, recv_count: N, recv_type: MPI_Datatype, op: MPI_Op);
    scatter, Scatter: MPI_Scatter PMPI_Scatter, MPI_Scatter_c PMPI_Scatter_c,
        (send: *const c_void, send_count: N, send_type: MPI_Datatype,
         recv: *mut c_void, recv_count: N, recv_type: MPI_Datatype, root: c_int);
    scatterv, Scatterv: MPI_Scatterv PMPI_Scatterv, MPI_Scatterv_c PMPI_Scatterv_c,
        (send: *const c_void, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype,
         recv: *mut c_void, recv_count: N, recv_type: MPI_Datatype, root: c_int);
}
