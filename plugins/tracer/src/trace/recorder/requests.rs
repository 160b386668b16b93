//! Persistent operations, and the end of operations.

use std::ffi::c_int;

use kilter_protocol::trace::record::{Role, flag};
use mpi_sys::MPI_Status;

use super::Recorder;
use super::told::{only, part, place};
use crate::trace::act::{Act, bits_of, known};
use crate::trace::completion;
use crate::trace::operations::{self, Pending};
use crate::trace::payload::Elements;

impl Recorder<'_> {
    /// A persistent operation that is prepared.
    ///
    /// # Safety
    /// As for [`record`](super::super::event::record).
    pub(in crate::trace) unsafe fn prepared(&mut self, act: &Act) {
        let (kind, side) = match (&act.sends, &act.receives) {
            (Some(side), _) => (operations::Kind::Send, side),
            (None, Some(side)) => (operations::Kind::Receive, side),
            (None, None) => return,
        };
        // SAFETY: by this function's contract.
        unsafe {
            let elements = Elements::new(side);
            let mut part = part(0, self.state, side.peer, side.tag);
            part.flags |= flag::PERSISTENT;
            place(&mut part, &elements);
            self.put(Role::Prepared, &part);
            self.add((act.request, true), (kind, 0), side, Some(elements.kept()));
        }
    }

    /// Persistent operations that are started.
    ///
    /// # Safety
    /// As for [`record`](super::super::event::record).
    pub(in crate::trace) unsafe fn started(&mut self, act: &Act, count: usize) {
        let mut started = Vec::new();
        for at in 0..count {
            // SAFETY: there are so many requests, by this function's contract.
            let handle = unsafe { bits_of(act.request.add(at)) };
            started.extend(self.trace.requests.start(handle, || self.trace.operation()));
        }
        if !self.call(started.len()) {
            return;
        }
        for pending in started {
            let Some(elements) = pending.elements else { continue };
            let mut one = part(pending.operation, pending.state, pending.peer, pending.tag);
            one.flags |= flag::PERSISTENT;
            if pending.kind == operations::Kind::Send {
                let bytes = if pending.peer == mpi_sys::MPI_PROC_NULL {
                    0
                } else {
                    elements.bytes()
                };
                // SAFETY: by this function's contract: the program may read the buffer of a send that was started.
                unsafe { self.payload(Role::Send, one, &elements, bytes) };
            } else {
                place(&mut one, &elements);
                self.put(Role::Posted, &one);
            }
        }
    }

    /// The operation of the one request of a call, if the flag is null or set.
    ///
    /// # Safety
    /// As for [`record`](super::super::event::record).
    #[inline(always)]
    pub(in crate::trace) unsafe fn completes(&mut self, handle: usize, flag: *const c_int, status: *const MPI_Status) {
        // SAFETY: by this function's contract.
        let is_set = unsafe { flag.as_ref() }.is_none_or(|flag| *flag != 0);
        let finished = if is_set {
            self.trace.requests.complete(handle)
        } else {
            None
        };
        match finished {
            // SAFETY: by this function's contract.
            Some(pending) => unsafe { self.finished(&pending, status) },
            None if self.function.is_test() => {
                self.nothing((0, 0));
            }
            None => {
                self.call(0);
            }
        }
    }

    /// Operations that are complete.
    ///
    /// # Safety
    /// As for [`record`](super::super::event::record).
    pub(in crate::trace) unsafe fn completed(&mut self, statuses: *const MPI_Status) {
        let done = std::mem::take(&mut self.local.done);
        if done.is_empty() && self.function.is_test() {
            self.nothing((0, 0));
        } else {
            let is_put = self.call(done.len());
            for (pending, number) in &done {
                if !is_put {
                    freed(pending);
                    continue;
                }
                // SAFETY: by this function's contract; the library has written so many statuses, if the program wants them.
                unsafe {
                    let status = known(statuses).map_or(statuses, |first| std::ptr::from_ref(first).add(*number));
                    self.finished(pending, status);
                }
            }
        }
        self.local.done = done;
    }

    /// An operation that is complete, and nothing of it is needed any more.
    ///
    /// # Safety
    /// As for [`record`](super::super::event::record).
    #[inline(always)]
    unsafe fn finished(&mut self, pending: &Pending, status: *const MPI_Status) {
        // SAFETY: by this function's contract.
        unsafe {
            if completion::was_cancelled(pending, status) {
                self.put(Role::Cancelled, &only(pending));
            } else if let (operations::Kind::Receive, Some(elements)) = (pending.kind, &pending.elements) {
                let asked = (pending.peer, pending.tag);
                self.received(pending.operation, pending.state, asked, elements, status);
            } else {
                self.put(Role::Completed, &only(pending));
            }
        }
        freed(pending);
    }

    /// A request that is given up, or asked to be cancelled.
    pub(in crate::trace) fn ended(&mut self, role: Role, pending: Option<Pending>) {
        if let (Role::Freed, Some(mut pending)) = (role, pending) {
            self.put(role, &only(&pending));
            if let Some(elements) = &mut pending.elements {
                elements.free();
            }
        } else {
            self.call(0);
        }
    }
}

/// Frees what a completed operation has kept for its completion.
#[inline(always)]
fn freed(pending: &Pending) {
    if let Some(mut elements) = pending.elements.filter(|_| !pending.persistent) {
        elements.free();
    }
}
