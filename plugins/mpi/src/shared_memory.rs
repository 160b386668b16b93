//! Memory that the ranks of a communicator share: a window.
//!
//! The code relies on the unified memory model of windows made by `MPI_Win_allocate_shared`, which every library in use
//! has. A store of one process is seen by the loads of another as between threads, so that the atomic flags of
//! [`kilter_algorithms::shared_memory`] order accesses. The window is locked for all ranks from its beginning to its
//! end, since the standard permits loads and stores in such an epoch only.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use kilter_algorithms::SharedMemory;
use mpi_sys::{MPI_Aint, MPI_Comm, MPI_Win};

use crate::error::pmpi;
use crate::{MpiError, constants, info};

/// Bytes of a page on every processor in use, or a part of one: regions are whole pages, so that each lies near its rank.
const PAGE_BYTES: usize = 4096;

/// A communicator's window, and this rank's view of it.
#[derive(Debug)]
pub(crate) struct Window {
    window: MPI_Win,
    slot_bytes: usize,
    /// While no call has it.
    view: Option<Box<SharedMemory>>,
}

impl Window {
    /// Makes a window whose slots take `piece_bytes` bytes; `None` on all ranks if any of them could not.
    ///
    /// # Safety
    /// `comm` is an intracommunicator on one node; all its ranks make the same call.
    pub(crate) unsafe fn new(comm: MPI_Comm, piece_bytes: usize) -> Result<Option<Window>, MpiError> {
        let (rank, size) = (info::rank(comm)?, info::size(comm)?);
        let slot_bytes = SharedMemory::slot_for(piece_bytes);
        // SAFETY: by this function's contract.
        let made = unsafe { allocate(comm, (rank, size), slot_bytes) };
        let (mine, mut failures): (c_int, c_int) = (c_int::from(made.is_err()), 0);
        // SAFETY: one int is given and taken; collective. It also is the barrier after which all flags are 0.
        unsafe {
            let (mine, failures): (*const c_void, *mut c_void) = ((&raw const mine).cast(), (&raw mut failures).cast());
            pmpi!(PMPI_Allreduce(
                mine,
                failures,
                1,
                constants::int(),
                constants::max(),
                comm
            ))?;
        }
        match made {
            Ok(window) if failures == 0 => {
                // SAFETY: the window is locked by this rank.
                unsafe { pmpi!(PMPI_Win_sync(window.window))? };
                Ok(Some(window))
            }
            // The other ranks lack the window, so that it cannot be freed together with them.
            _ => Ok(None),
        }
    }

    /// The view, if its slots are long enough.
    pub(crate) fn take(&mut self, piece_bytes: usize) -> Option<Box<SharedMemory>> {
        if self.slot_bytes < piece_bytes {
            return None;
        }
        self.view.take()
    }

    pub(crate) fn give(&mut self, view: Box<SharedMemory>) {
        self.view = Some(view);
    }

    /// Frees the memory.
    ///
    /// # Safety
    /// All ranks of its communicator make the same call; no call has the view.
    pub(crate) unsafe fn free(mut self) -> Result<(), MpiError> {
        self.view = None;
        // SAFETY: locked since it was made; freed once, by this function's contract together.
        unsafe {
            pmpi!(PMPI_Win_unlock_all(self.window))?;
            pmpi!(PMPI_Win_free(&raw mut self.window))
        }
    }
}

/// # Safety
/// As for [`Window::new`].
unsafe fn allocate(comm: MPI_Comm, (rank, size): (usize, usize), slot_bytes: usize) -> Result<Window, MpiError> {
    let region_bytes = SharedMemory::region_bytes(slot_bytes).next_multiple_of(PAGE_BYTES);
    let operation = "PMPI_Win_allocate_shared";
    let no_memory = || MpiError {
        operation,
        code: constants::err_no_mem(),
    };
    let bytes = MPI_Aint::try_from(region_bytes).map_err(|_| no_memory())?;
    let mut window = constants::win_null();
    let mut own: *mut c_void = std::ptr::null_mut();
    // SAFETY: the info is freed; the library writes the address of a pointer and a handle; collective.
    unsafe {
        let mut hints = constants::info_null();
        pmpi!(PMPI_Info_create(&raw mut hints))?;
        // Each region near its rank, and not one after the other.
        let (key, value) = (c"alloc_shared_noncontig", c"true");
        pmpi!(PMPI_Info_set(hints, key.as_ptr(), value.as_ptr()))?;
        let address: *mut *mut c_void = &raw mut own;
        let made = pmpi!(PMPI_Win_allocate_shared(
            bytes,
            1,
            hints,
            comm,
            address.cast(),
            &raw mut window
        ));
        pmpi!(PMPI_Info_free(&raw mut hints))?;
        made?;
        pmpi!(PMPI_Win_lock_all(0, window))?;
    }
    let mut regions = Vec::with_capacity(size);
    for of in 0..size {
        let (mut length, mut unit, mut base): (MPI_Aint, c_int, *mut c_void) = (0, 0, std::ptr::null_mut());
        let of = MpiError::count("PMPI_Win_shared_query", of)?;
        // SAFETY: the library writes a length, an int and the address of a pointer.
        unsafe {
            let address: *mut *mut c_void = &raw mut base;
            pmpi!(PMPI_Win_shared_query(
                window,
                of,
                &raw mut length,
                &raw mut unit,
                address.cast()
            ))?;
        }
        let region = NonNull::new(base.cast::<u8>()).filter(|region| region.cast::<u64>().is_aligned());
        regions.push(region.filter(|_| length >= bytes).ok_or_else(no_memory)?);
    }
    // Also touches every page now, so that this rank's are near it and the first call does not pay for them.
    // SAFETY: the region has so many bytes and is this rank's own; nobody reads it before all have agreed.
    unsafe {
        std::ptr::write_bytes(regions[rank].as_ptr(), 0, region_bytes);
        pmpi!(PMPI_Win_sync(window))?;
    }
    // SAFETY: the regions are as long and aligned, and flags 0 before `Window::new` lets any rank go on. Only this crate's
    // transports use the window, which `Window::free` alone ends.
    let view = unsafe { SharedMemory::new(rank, slot_bytes, regions) };
    Ok(Window {
        window,
        slot_bytes,
        view: Some(Box::new(view)),
    })
}

/// True if more ranks share the node than it has processors, so that a waiting rank should let others run.
pub(crate) fn is_crowded(ranks: usize) -> bool {
    // SAFETY: reads a number of the system's.
    let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(processors).is_ok_and(|processors| ranks > processors)
}
