//! The one thing that ranks exchange to agree: numbers, of which all learn the largest.

use std::ffi::{c_int, c_void};

use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op, MpiError, Real, constants};

/// The largest of the numbers that the ranks give, place by place.
///
/// # Safety
/// All ranks of the intracommunicator make the same call.
pub(crate) unsafe fn maxima<const N: usize>(comm: MPI_Comm, numbers: [u64; N]) -> Result<[u64; N], MpiError> {
    // The one behind the drop-in's.
    static ALLREDUCE: Real = Real::new("PMPI_Allreduce\0");
    type Allreduce = unsafe extern "C" fn(*const c_void, *mut c_void, c_int, MPI_Datatype, MPI_Op, MPI_Comm) -> c_int;
    let mut largest = [0_u64; N];
    // SAFETY: this is the library's function of this name; as many numbers are given as are taken; collective by this function's contract.
    let code = unsafe {
        let allreduce: Allreduce = std::mem::transmute(ALLREDUCE.address());
        allreduce(
            numbers.as_ptr().cast(),
            largest.as_mut_ptr().cast(),
            N as c_int,
            constants::uint64(),
            constants::max(),
            comm,
        )
    };
    if code == 0 {
        Ok(largest)
    } else {
        Err(MpiError {
            operation: "PMPI_Allreduce",
            code,
        })
    }
}
