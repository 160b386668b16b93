//! The exported functions.

use std::ffi::{c_int, c_void};

use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op};

use crate::describe;
use crate::real::Real;
use crate::replace::{replace, ruled};

/// `MPI_X` and `PMPI_X`, both `$function`: the replacement that the profile has for the call, else the library's function.
macro_rules! intercept {
    ($(
        $function:ident, $mpi:ident, $pmpi:ident, $symbol:literal, $number:literal,
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
                if let Some(($state, started)) = ruled(comm, $number)
                    && let Some(arguments) = $described
                    && let Some(code) = replace($state, started, arguments)
                {
                    return code;
                }
                let real: unsafe extern "C" fn($($type,)* MPI_Comm) -> c_int = std::mem::transmute(REAL.address());
                real($($argument,)* comm)
            }
        }
    )*};
}

// The numbers are those of `kilter_abi::COLLECTIVES`; a test compares.
intercept! {
    allgather, MPI_Allgather, PMPI_Allgather, c"PMPI_Allgather", 0, (
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype
    ), state => describe::allgather(state, 0, (sendbuf, (sendcount, sendtype)), (recvbuf, (recvcount, recvtype)));

    allreduce, MPI_Allreduce, PMPI_Allreduce, c"PMPI_Allreduce", 1, (
        sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op
    ), state => describe::reduction(state, 1, (sendbuf, recvbuf), ((count, datatype), op), 0, 1);

    bcast, MPI_Bcast, PMPI_Bcast, c"PMPI_Bcast", 2, (
        buffer: *mut c_void, count: c_int, datatype: MPI_Datatype, root: c_int
    ), state => describe::bcast(state, 2, (buffer, (count, datatype)), root);

    gather, MPI_Gather, PMPI_Gather, c"PMPI_Gather", 3, (
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, root: c_int
    ), state => describe::gather(state, 3, (sendbuf, (sendcount, sendtype)), (recvbuf, (recvcount, recvtype)), root);

    reduce, MPI_Reduce, PMPI_Reduce, c"PMPI_Reduce", 4, (
        sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op, root: c_int
    ), state => describe::reduction(state, 4, (sendbuf, recvbuf), ((count, datatype), op), root, 1);

    reduce_scatter, MPI_Reduce_scatter, PMPI_Reduce_scatter, c"PMPI_Reduce_scatter", 5, (
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: MPI_Datatype, op: MPI_Op
    ), state => describe::reduce_scatter(state, 5, (sendbuf, recvbuf), recvcounts, (datatype, op));

    reduce_scatter_block, MPI_Reduce_scatter_block, PMPI_Reduce_scatter_block, c"PMPI_Reduce_scatter_block", 6, (
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: c_int, datatype: MPI_Datatype, op: MPI_Op
    ), state => describe::reduction(state, 6, (sendbuf, recvbuf), ((recvcount, datatype), op), 0, state.size);

    scan, MPI_Scan, PMPI_Scan, c"PMPI_Scan", 7, (
        sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op
    ), state => describe::reduction(state, 7, (sendbuf, recvbuf), ((count, datatype), op), 0, 1);

    scatter, MPI_Scatter, PMPI_Scatter, c"PMPI_Scatter", 8, (
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, root: c_int
    ), state => describe::scatter(state, 8, (sendbuf, (sendcount, sendtype)), (recvbuf, (recvcount, recvtype)), root);
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_those_of_the_abi() {
        let source = include_str!("entry.rs");
        for (number, name) in kilter_abi::COLLECTIVES.iter().enumerate() {
            let mut symbol = name.to_string();
            symbol[..1].make_ascii_uppercase();
            let heading = format!("{name}, MPI_{symbol}, PMPI_{symbol}, c\"PMPI_{symbol}\", {number}, (");
            assert_eq!(source.matches(&heading).count(), 1, "{heading}");
            let body = &source[source.find(&heading).unwrap()..];
            let described = format!("(state, {number}, ");
            assert!(
                body[..body.find(";\n").unwrap()].contains(&described),
                "{name}: {described}"
            );
        }
    }
}
