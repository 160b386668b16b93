//! Probes, and receives of what they found.

use kilter_mpi::constants;
use kilter_protocol::trace::record::Role;

use super::Recorder;
use super::told::part;
use crate::trace::act::{Act, Side, bits_of, known};
use crate::trace::local::Run;
use crate::trace::operations::{self, Found};
use crate::trace::payload::Elements;

impl Recorder<'_> {
    /// A probe.
    ///
    /// # Safety
    /// As for [`record`](super::super::event::record).
    pub(in crate::trace) unsafe fn probed(
        &mut self,
        act: &Act,
        flag: *const i32,
        message: *const mpi_sys::MPI_Message,
    ) {
        let Some(side) = &act.receives else { return };
        // SAFETY: by this function's contract.
        let (is_found, status) = unsafe { (flag.as_ref().is_none_or(|flag| *flag != 0), known(act.status)) };
        let question = part(0, self.state, side.peer, side.tag);
        if !is_found {
            if self.nothing((side.peer, side.tag)) {
                self.local.plain(Role::Asked, &question);
            }
            return;
        }
        // A message that a probe has taken is matched here.
        let operation = if message.is_null() { 0 } else { self.trace.operation() };
        let (from, tag) = status.map_or((side.peer, side.tag), |status| (status.MPI_SOURCE, status.MPI_TAG));
        if self.call(2) {
            self.put(Role::Asked, &question);
            let mut found = part(operation, self.state, from, tag);
            found.bytes = status
                .and_then(constants::received_bytes)
                .map_or(0, |bytes| bytes as u64);
            self.put(Role::Probed, &found);
        }
        if !message.is_null() {
            // SAFETY: by this function's contract.
            let handle = unsafe { bits_of(message) };
            self.trace.requests.add_message(
                handle,
                Found {
                    operation,
                    state: self.state,
                    peer: from,
                    tag,
                },
            );
        }
    }

    /// A call that found nothing. True if it has a record of its own now.
    #[inline(always)]
    pub(super) fn nothing(&mut self, asked: (i32, i32)) -> bool {
        let run = Run {
            function: self.function,
            communicator: self.state.map(|state| state.id),
            site: self.address,
            asked,
        };
        if self.local.poll(&run, self.call.begin) {
            return false;
        }
        self.call.polls = 1;
        let is_put = self.local.call(&{ self.call });
        if is_put {
            self.local.polls(&run);
        }
        is_put
    }

    /// A message that a probe had found is received, or begun to be.
    ///
    /// # Safety
    /// As for [`record`](super::super::event::record).
    pub(in crate::trace) unsafe fn received_found(&mut self, act: &Act, handle: usize) {
        let Some(side) = &act.receives else { return };
        let found = self.trace.requests.take_message(handle).unwrap_or(Found {
            operation: self.trace.operation(),
            state: None,
            peer: side.peer,
            tag: side.tag,
        });
        let side = Side {
            peer: found.peer,
            tag: found.tag,
            ..*side
        };
        self.call.communicator = found.state.map_or(0, |state| state.id + 1);
        self.state = found.state;
        // SAFETY: by this function's contract.
        unsafe {
            let elements = Elements::new(&side);
            if act.request.is_null() {
                let asked = (side.peer, side.tag);
                self.received(found.operation, found.state, asked, &elements, act.status);
                return;
            }
            self.posted(found.operation, found.state, &side, &elements);
            let kind = (operations::Kind::Receive, found.operation);
            self.add((act.request, false), kind, &side, Some(elements.kept()));
        }
    }
}
