//! Communicators of windows and files, by their handles: files have no attributes that could keep them, as communicators have.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use kilter_mpi::{MPI_Comm, handle};

use crate::communicator::{self, State};
use crate::start;

/// Most windows and files at the same time whose communicators are known; calls on further ones are counted without.
const MOST: usize = 1 << 16;

/// Handles of one kind, which may be equal to those of another kind.
pub(crate) struct Handles(RwLock<Option<HashMap<usize, &'static State>>>);

pub(crate) static WINDOWS: Handles = Handles::new();
pub(crate) static FILES: Handles = Handles::new();

impl Handles {
    const fn new() -> Handles {
        Handles(RwLock::new(None))
    }

    /// Keeps the communicator on which a window or file was made.
    ///
    /// # Safety
    /// The library has just written the handle, and `comm` is valid.
    pub(crate) unsafe fn add<T: Copy>(&self, made: *const T, comm: MPI_Comm) -> Option<&'static State> {
        start::active()?;
        // SAFETY: by this function's contract.
        let (handle, state) = unsafe { (handle::bits(*made), communicator::look_up(comm)?) };
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        if all.len() < MOST || all.contains_key(&handle) {
            all.insert(handle, state);
        }
        Some(state)
    }

    /// The communicator of a window or file.
    pub(crate) fn find<T: Copy>(&self, handle: T) -> Option<&'static State> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.as_ref()?.get(&handle::bits(handle)).copied()
    }

    /// Forgets one that is about to be freed.
    ///
    /// # Safety
    /// The pointer is the program's argument.
    pub(crate) unsafe fn remove<T: Copy>(&self, handle: *const T) -> Option<&'static State> {
        if handle.is_null() {
            return None;
        }
        // SAFETY: by this function's contract, and not null.
        let handle = handle::bits(unsafe { *handle });
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.as_mut()?.remove(&handle)
    }
}
