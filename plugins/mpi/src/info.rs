//! Identity of the library and of this rank, and communicators.

use std::ffi::{CStr, c_char, c_int};

use mpi_sys::MPI_Comm;

use crate::error::pmpi;
use crate::{MpiError, constants};

/// The first line of `MPI_Get_library_version`.
pub fn library_version() -> Result<String, MpiError> {
    Ok(library_description()?
        .lines()
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned())
}

/// Every line of `MPI_Get_library_version`: MPICH names its device there.
pub fn library_description() -> Result<String, MpiError> {
    // SAFETY: the buffer has MPI_MAX_LIBRARY_VERSION_STRING bytes, as the standard asks.
    string(constants::max_library_version_string(), |text, length| unsafe {
        pmpi!(PMPI_Get_library_version(text, length))
    })
}

/// The name of the host this rank runs on.
pub fn host_name() -> Result<String, MpiError> {
    // SAFETY: the buffer has MPI_MAX_PROCESSOR_NAME bytes, as the standard asks.
    string(constants::max_processor_name(), |text, length| unsafe {
        pmpi!(PMPI_Get_processor_name(text, length))
    })
}

fn string(max: c_int, get: impl FnOnce(*mut c_char, *mut c_int) -> Result<(), MpiError>) -> Result<String, MpiError> {
    let mut text = vec![0_u8; usize::try_from(max).unwrap_or(8192) + 1];
    let mut length: c_int = 0;
    get(text.as_mut_ptr().cast(), &raw mut length)?;
    Ok(CStr::from_bytes_until_nul(&text)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default())
}

/// True if MPI calls are legal now: after initialisation and before the end of finalisation.
#[must_use]
pub fn is_running() -> bool {
    let (mut initialized, mut finalized): (c_int, c_int) = (0, 0);
    // SAFETY: both are legal at any time and write one int.
    unsafe {
        mpi_sys::PMPI_Initialized(&raw mut initialized);
        mpi_sys::PMPI_Finalized(&raw mut finalized);
    }
    initialized != 0 && finalized == 0
}

/// This rank in `comm`.
pub fn rank(comm: MPI_Comm) -> Result<usize, MpiError> {
    let mut rank: c_int = 0;
    // SAFETY: writes one int; the library checks the handle.
    unsafe { pmpi!(PMPI_Comm_rank(comm, &raw mut rank))? };
    MpiError::count_back("PMPI_Comm_rank", rank)
}

/// True if several threads may call MPI at the same time.
pub fn is_thread_multiple() -> Result<bool, MpiError> {
    let mut provided: c_int = 0;
    // SAFETY: writes one int.
    unsafe { pmpi!(PMPI_Query_thread(&raw mut provided))? };
    Ok(provided >= constants::thread_multiple())
}

/// The number of ranks of `comm` (of the local group of an intercommunicator).
pub fn size(comm: MPI_Comm) -> Result<usize, MpiError> {
    let mut size: c_int = 0;
    // SAFETY: writes one int; the library checks the handle.
    unsafe { pmpi!(PMPI_Comm_size(comm, &raw mut size))? };
    MpiError::count_back("PMPI_Comm_size", size)
}

/// True if `comm` is an intercommunicator.
pub fn is_inter(comm: MPI_Comm) -> Result<bool, MpiError> {
    let mut inter: c_int = 0;
    // SAFETY: writes one int; the library checks the handle.
    unsafe { pmpi!(PMPI_Comm_test_inter(comm, &raw mut inter))? };
    Ok(inter != 0)
}

/// Duplicates `comm` with `MPI_Comm_dup`, attributes and all.
///
/// # Safety
/// All ranks of `comm` make the same call.
pub unsafe fn comm_dup(comm: MPI_Comm) -> Result<MPI_Comm, MpiError> {
    let mut duplicate = constants::comm_null();
    // SAFETY: writes one handle; collective by this function's contract.
    unsafe { pmpi!(PMPI_Comm_dup(comm, &raw mut duplicate))? };
    Ok(duplicate)
}

/// A communicator of the same ranks without the attributes of `comm`, so that no copy callback of the program's runs; its
/// errors are returned, and so is that it cannot be made, whatever handler `comm` has: libraries have only so many communicators.
///
/// # Safety
/// `comm` is an intracommunicator; all its ranks make the same call.
pub unsafe fn comm_private(comm: MPI_Comm) -> Result<MPI_Comm, MpiError> {
    let mut private = constants::comm_null();
    // SAFETY: handles are written once each and the group is freed; collective by this function's contract.
    unsafe {
        let mut group = std::mem::zeroed();
        let mut handler = std::mem::zeroed();
        pmpi!(PMPI_Comm_group(comm, &raw mut group))?;
        pmpi!(PMPI_Comm_get_errhandler(comm, &raw mut handler))?;
        pmpi!(PMPI_Comm_set_errhandler(comm, constants::errors_return()))?;
        let created = pmpi!(PMPI_Comm_create(comm, group, &raw mut private));
        pmpi!(PMPI_Comm_set_errhandler(comm, handler))?;
        pmpi!(PMPI_Errhandler_free(&raw mut handler))?;
        pmpi!(PMPI_Group_free(&raw mut group))?;
        created?;
        pmpi!(PMPI_Comm_set_errhandler(private, constants::errors_return()))?;
    }
    Ok(private)
}

/// Frees a communicator.
///
/// # Safety
/// `comm` is not used afterwards; all its ranks make the same call.
pub unsafe fn comm_free(mut comm: MPI_Comm) -> Result<(), MpiError> {
    // SAFETY: by this function's contract.
    unsafe { pmpi!(PMPI_Comm_free(&raw mut comm)) }
}

/// The name of communicators that implementations make for themselves, whose calls are no program's.
const PRIVATE_NAME: &CStr = c"kilter_private";

/// Names a communicator as one that an implementation has made for itself: the drop-in leaves its calls alone.
///
/// # Safety
/// A valid communicator.
pub unsafe fn name_private(comm: MPI_Comm) -> Result<(), MpiError> {
    // SAFETY: by this function's contract; the name ends with a NUL and is read alone.
    unsafe { pmpi!(PMPI_Comm_set_name(comm, PRIVATE_NAME.as_ptr())) }
}

/// True if a communicator was named by [`name_private`]. The call is local.
#[must_use]
pub fn is_named_private(comm: MPI_Comm) -> bool {
    // SAFETY: the buffer has MPI_MAX_OBJECT_NAME bytes, as the standard asks; the library checks the handle.
    let name = string(constants::max_object_name(), |text, length| unsafe {
        pmpi!(PMPI_Comm_get_name(comm, text, length))
    });
    name.is_ok_and(|name| name.as_bytes() == PRIVATE_NAME.to_bytes())
}

/// True if two communicators have the same processes in the same order. The call is local, and each rank finds the
/// same.
pub fn is_congruent(one: MPI_Comm, other: MPI_Comm) -> Result<bool, MpiError> {
    let mut result: c_int = 0;
    // SAFETY: writes one int; the library checks the handles.
    unsafe { pmpi!(PMPI_Comm_compare(one, other, &raw mut result))? };
    Ok(result == mpi_sys::MPI_IDENT as c_int || result == mpi_sys::MPI_CONGRUENT as c_int)
}

/// True if all processes of a communicator belong to this process's `MPI_COMM_WORLD`. Processes that it spawned, or
/// that connected to it, do not.
pub fn is_within_world(comm: MPI_Comm) -> Result<bool, MpiError> {
    let world = constants::comm_world();
    if comm == world {
        return Ok(true);
    }
    let ranks = size(comm)?;
    if ranks > size(world)? {
        return Ok(false);
    }
    Ok(ranks_in_world(comm)?.is_some())
}

/// The ranks in `MPI_COMM_WORLD` of the ranks of a communicator; `None` if any of its processes does not belong to it.
pub fn ranks_in_world(comm: MPI_Comm) -> Result<Option<Vec<usize>>, MpiError> {
    let world = constants::comm_world();
    let ranks = size(comm)?;
    let numbers: Vec<c_int> = (0..ranks as c_int).collect();
    let mut in_world = numbers.clone();
    let mut groups = [constants::group_null(); 2];
    // SAFETY: the library checks the handles; groups are written, read and freed; as many ranks are written as are given.
    unsafe {
        pmpi!(PMPI_Comm_group(comm, &raw mut groups[0]))?;
        pmpi!(PMPI_Comm_group(world, &raw mut groups[1]))?;
        let translated = pmpi!(PMPI_Group_translate_ranks(
            groups[0],
            ranks as c_int,
            numbers.as_ptr(),
            groups[1],
            in_world.as_mut_ptr()
        ));
        for group in &mut groups {
            pmpi!(PMPI_Group_free(group))?;
        }
        translated?;
    }
    // A rank that is not in the world has no number, which is negative in every library in use.
    let number = |rank: &c_int| usize::try_from(*rank).ok().filter(|_| *rank != constants::undefined());
    Ok(in_world.iter().map(number).collect())
}

/// True if `op` is commutative.
pub fn is_commutative(op: mpi_sys::MPI_Op) -> Result<bool, MpiError> {
    let mut commutative: c_int = 0;
    // SAFETY: writes one int; the library checks the handle.
    unsafe { pmpi!(PMPI_Op_commutative(op, &raw mut commutative))? };
    Ok(commutative != 0)
}
