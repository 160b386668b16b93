//! Calls that complete operations.
//!
//! A call overwrites the handles of what it completes, so they are read before it. What failed counts as complete as far as its
//! handle was overwritten, and in calls that wait for all; at worst the thread helps a little less after an error.

use std::ffi::c_int;

use kilter_mpi::{constants, handle};
use mpi_sys::{MPI_Request, MPI_Status};

use super::{exported, library};
use crate::start::{self, SHARED};

type Requests = *mut MPI_Request;
type Ints = *mut c_int;
type Statuses = *mut MPI_Status;

exported! {
    MPI_Wait PMPI_Wait(request: Requests, status: Statuses) = wait;
    MPI_Waitall PMPI_Waitall(count: c_int, requests: Requests, statuses: Statuses) = wait_all;
    MPI_Waitany PMPI_Waitany(count: c_int, requests: Requests, index: Ints, status: Statuses) = wait_any;
    MPI_Waitsome PMPI_Waitsome(count: c_int, requests: Requests, done: Ints, indices: Ints, statuses: Statuses) = wait_some;
    MPI_Test PMPI_Test(request: Requests, flag: Ints, status: Statuses) = test;
    MPI_Testall PMPI_Testall(count: c_int, requests: Requests, flag: Ints, statuses: Statuses) = test_all;
    MPI_Testany PMPI_Testany(count: c_int, requests: Requests, index: Ints, flag: Ints, status: Statuses) = test_any;
    MPI_Testsome PMPI_Testsome(count: c_int, requests: Requests, done: Ints, indices: Ints, statuses: Statuses) = test_some;
    MPI_Request_free PMPI_Request_free(request: Requests) = request_free;
}

/// Handles that are kept without asking for memory.
const FEW: usize = 8;

/// Handles as they were before a call; none where no thread runs.
struct Before {
    few: [usize; FEW],
    many: Vec<usize>,
    count: usize,
}

impl Before {
    /// # Safety
    /// There are so many requests.
    unsafe fn new(count: c_int, requests: *const MPI_Request) -> Before {
        let count = usize::try_from(count).unwrap_or(0);
        let count = if start::is_counting() { count } else { 0 };
        // SAFETY: by this function's contract.
        let read = |index| handle::bits(unsafe { *requests.add(index) });
        let (mut few, mut many) = ([0; FEW], Vec::new());
        if count > FEW {
            many.extend((0..count).map(read));
        } else {
            few.iter_mut()
                .take(count)
                .enumerate()
                .for_each(|(index, handle)| *handle = read(index));
        }
        Before { few, many, count }
    }

    fn handles(&self) -> &[usize] {
        if self.count > FEW {
            &self.many
        } else {
            &self.few[..self.count]
        }
    }

    /// Marks all of them as complete.
    fn complete_all(&self) {
        self.handles().iter().for_each(|handle| complete(*handle));
    }

    /// Those with these indices are complete, as far as there are any: MPI's `MPI_UNDEFINED` is negative.
    ///
    /// # Safety
    /// There are so many indices.
    unsafe fn complete_some(&self, count: c_int, indices: *const c_int) {
        for which in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: by this function's contract.
            self.complete(unsafe { *indices.add(which) });
        }
    }

    fn complete(&self, index: c_int) {
        if let Some(handle) = usize::try_from(index).ok().and_then(|index| self.handles().get(index)) {
            complete(*handle);
        }
    }

    /// Those that the call has overwritten are complete.
    ///
    /// # Safety
    /// There are as many requests as before.
    unsafe fn complete_overwritten(&self, requests: *const MPI_Request) {
        for (index, before) in self.handles().iter().enumerate() {
            // SAFETY: by this function's contract.
            if handle::bits(unsafe { *requests.add(index) }) != *before {
                complete(*before);
            }
        }
    }
}

fn complete(handle: usize) {
    if handle != handle::bits(constants::request_null()) {
        SHARED.outstanding.complete(handle);
    }
}

/// A thread of the program waits as long as this lives.
struct Waiting(bool);

impl Waiting {
    fn begin() -> Waiting {
        let is_counting = start::is_counting();
        if is_counting {
            SHARED.outstanding.wait_begins();
        }
        Waiting(is_counting)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.0 && SHARED.outstanding.wait_ends() {
            start::wake();
        }
    }
}

unsafe fn wait(request: Requests, status: Statuses) -> c_int {
    // SAFETY: the caller's call is valid.
    unsafe {
        let before = Before::new(1, request);
        let waiting = Waiting::begin();
        let code = library!(PMPI_Wait(request => Requests, status => Statuses));
        before.complete_all();
        drop(waiting);
        code
    }
}

unsafe fn wait_all(count: c_int, requests: Requests, statuses: Statuses) -> c_int {
    // SAFETY: the caller's call is valid.
    unsafe {
        let before = Before::new(count, requests);
        let waiting = Waiting::begin();
        let code = library!(PMPI_Waitall(count => c_int, requests => Requests, statuses => Statuses));
        before.complete_all();
        drop(waiting);
        code
    }
}

unsafe fn wait_any(count: c_int, requests: Requests, index: Ints, status: Statuses) -> c_int {
    // SAFETY: the caller's call is valid.
    unsafe {
        let before = Before::new(count, requests);
        let waiting = Waiting::begin();
        let code = library!(PMPI_Waitany(
            count => c_int, requests => Requests, index => Ints, status => Statuses
        ));
        if code == 0 {
            before.complete(*index);
        } else {
            before.complete_overwritten(requests);
        }
        drop(waiting);
        code
    }
}

unsafe fn wait_some(count: c_int, requests: Requests, done: Ints, indices: Ints, statuses: Statuses) -> c_int {
    // SAFETY: the caller's call is valid.
    unsafe {
        let before = Before::new(count, requests);
        let waiting = Waiting::begin();
        let code = library!(PMPI_Waitsome(
            count => c_int, requests => Requests, done => Ints, indices => Ints, statuses => Statuses
        ));
        if code == 0 {
            before.complete_some(*done, indices);
        } else {
            before.complete_overwritten(requests);
        }
        drop(waiting);
        code
    }
}

unsafe fn test(request: Requests, flag: Ints, status: Statuses) -> c_int {
    // SAFETY: the caller's call is valid.
    unsafe {
        let before = Before::new(1, request);
        let code = library!(PMPI_Test(request => Requests, flag => Ints, status => Statuses));
        if code != 0 {
            before.complete_overwritten(request);
        } else if *flag != 0 {
            before.complete_all();
        }
        code
    }
}

unsafe fn test_all(count: c_int, requests: Requests, flag: Ints, statuses: Statuses) -> c_int {
    // SAFETY: the caller's call is valid.
    unsafe {
        let before = Before::new(count, requests);
        let code = library!(PMPI_Testall(
            count => c_int, requests => Requests, flag => Ints, statuses => Statuses
        ));
        if code != 0 {
            before.complete_overwritten(requests);
        } else if *flag != 0 {
            before.complete_all();
        }
        code
    }
}

unsafe fn test_any(count: c_int, requests: Requests, index: Ints, flag: Ints, status: Statuses) -> c_int {
    // SAFETY: the caller's call is valid.
    unsafe {
        let before = Before::new(count, requests);
        let code = library!(PMPI_Testany(
            count => c_int, requests => Requests, index => Ints, flag => Ints, status => Statuses
        ));
        if code != 0 {
            before.complete_overwritten(requests);
        } else if *flag != 0 {
            before.complete(*index);
        }
        code
    }
}

unsafe fn test_some(count: c_int, requests: Requests, done: Ints, indices: Ints, statuses: Statuses) -> c_int {
    // SAFETY: the caller's call is valid.
    unsafe {
        let before = Before::new(count, requests);
        let code = library!(PMPI_Testsome(
            count => c_int, requests => Requests, done => Ints, indices => Ints, statuses => Statuses
        ));
        if code == 0 {
            before.complete_some(*done, indices);
        } else {
            before.complete_overwritten(requests);
        }
        code
    }
}

/// The operation may go on, but nobody will ask for it any more.
unsafe fn request_free(request: Requests) -> c_int {
    // SAFETY: the caller's call is valid.
    unsafe {
        let before = Before::new(1, request);
        let code = library!(PMPI_Request_free(request => Requests));
        if code == 0 {
            before.complete_all();
        }
        code
    }
}
