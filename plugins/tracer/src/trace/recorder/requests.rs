//! Persistent operations, and the end of operations.

use kilter_protocol::trace::record::{Role, flag};
use mpi_sys::MPI_Status;

use super::{Recorder, part, place, short};
use crate::trace::act::{Act, bits_of, known};
use crate::trace::completion;
use crate::trace::operations::{self, Pending};
use crate::trace::payload::Elements;
use kilter_protocol::functions::Function;

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
            let elements = Elements::new(side.buffer, side.count, side.datatype);
            if self.call(1) {
                let mut part = part(Role::Prepared, 0, self.state, side.peer, side.tag);
                part.flags |= flag::PERSISTENT;
                place(&mut part, &elements);
                self.local.part(&part);
            }
            self.add(act, kind, 0, side, Some(elements.kept()));
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
            let mut one = part(Role::Send, pending.operation, pending.state, pending.peer, pending.tag);
            one.flags |= flag::PERSISTENT;
            if pending.kind == operations::Kind::Send {
                let bytes = if pending.peer == mpi_sys::MPI_PROC_NULL {
                    0
                } else {
                    elements.bytes()
                };
                // SAFETY: by this function's contract: the program may read the buffer of a send that was started.
                unsafe { self.payload(&mut one, &elements, bytes) };
            } else {
                one.role = Role::Posted;
                place(&mut one, &elements);
                self.local.part(&one);
            }
        }
    }

    /// Operations that are complete.
    ///
    /// # Safety
    /// As for [`record`](super::super::event::record).
    pub(in crate::trace) unsafe fn completed(&mut self, statuses: *const MPI_Status, function: Function) {
        let done = std::mem::take(&mut self.local.done);
        if done.is_empty() && function.is_test() {
            self.nothing(None);
        } else {
            let is_put = self.call(done.len());
            for (pending, number) in &done {
                // SAFETY: by this function's contract; the library has written so many statuses, if the program wants them.
                unsafe {
                    let status = known(statuses).map_or(statuses, |first| std::ptr::from_ref(first).add(*number));
                    if is_put {
                        self.finished(pending, status);
                    }
                }
                if let Some(mut elements) = pending.elements.filter(|_| !pending.persistent) {
                    elements.free();
                }
            }
        }
        self.local.done = done;
    }

    /// # Safety
    /// As for [`record`](super::super::event::record).
    unsafe fn finished(&mut self, pending: &Pending, status: *const MPI_Status) {
        // SAFETY: by this function's contract.
        unsafe {
            if completion::was_cancelled(pending, status) {
                self.local.part(&short(Role::Cancelled, pending));
            } else if let (operations::Kind::Receive, Some(elements)) = (pending.kind, &pending.elements) {
                let asked = (pending.peer, pending.tag);
                self.received(pending.operation, pending.state, asked, elements, status);
            } else {
                self.local.part(&short(Role::Completed, pending));
            }
        }
    }

    /// A request that is given up, or asked to be cancelled.
    pub(in crate::trace) fn ended(&mut self, role: Role, pending: Option<Pending>) {
        let is_put = self.call(usize::from(role == Role::Freed && pending.is_some()));
        if let (Role::Freed, Some(mut pending)) = (role, pending) {
            if is_put {
                self.local.part(&short(role, &pending));
            }
            if let Some(elements) = &mut pending.elements {
                elements.free();
            }
        }
    }
}
