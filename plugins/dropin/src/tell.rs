//! Collectives of the library behind the drop-in's own, by which ranks tell each other what they know.

use std::ffi::{c_int, c_void};

use kilter_mpi::{MPI_Comm, MPI_Datatype, MpiError, Real, constants};

use crate::maxima::maxima;

/// The numbers of every rank.
///
/// # Safety
/// All ranks of the intracommunicator, which has so many, make the same call.
pub(crate) unsafe fn gather<const N: usize>(
    comm: MPI_Comm,
    own: [u64; N],
    ranks: usize,
) -> Result<Vec<[u64; N]>, MpiError> {
    static ALLGATHER: Real = Real::new("PMPI_Allgather\0");
    type Allgather =
        unsafe extern "C" fn(*const c_void, c_int, MPI_Datatype, *mut c_void, c_int, MPI_Datatype, MPI_Comm) -> c_int;
    let mut all = vec![[0; N]; ranks];
    // SAFETY: this is the library's function of this name; as many numbers are taken from each rank as it gives; collective by this function's contract.
    let code = unsafe {
        let allgather: Allgather = std::mem::transmute(ALLGATHER.address());
        let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
        let (count, datatype) = (N as c_int, constants::uint64());
        allgather(from, count, datatype, to, count, datatype, comm)
    };
    MpiError::check("PMPI_Allgather", code)?;
    Ok(all)
}

/// The bytes of rank 0, of which the others give none, and the largest of the numbers that the ranks give.
///
/// # Safety
/// All ranks of the intracommunicator make the same call.
pub(crate) unsafe fn from_first(comm: MPI_Comm, own: Vec<u8>, number: u64) -> Result<(Vec<u8>, u64), MpiError> {
    static BCAST: Real = Real::new("PMPI_Bcast\0");
    type Bcast = unsafe extern "C" fn(*mut c_void, c_int, MPI_Datatype, c_int, MPI_Comm) -> c_int;
    let mut bytes = own;
    // SAFETY: by this function's contract.
    let [length, largest] = unsafe { maxima(comm, [bytes.len() as u64, number]) }?;
    let count = c_int::try_from(length).map_err(|_| MpiError {
        operation: "PMPI_Bcast",
        code: constants::err_count(),
    })?;
    if count == 0 {
        return Ok((bytes, largest));
    }
    bytes.resize(count as usize, 0);
    // SAFETY: this is the library's function of this name; so many bytes are there on each rank; collective by this function's contract.
    let code = unsafe {
        let bcast: Bcast = std::mem::transmute(BCAST.address());
        bcast(bytes.as_mut_ptr().cast(), count, constants::byte(), 0, comm)
    };
    MpiError::check("PMPI_Bcast", code)?;
    Ok((bytes, largest))
}
