//! A call on its way into the stream of its thread: messages and collectives here, [`probes`] and [`requests`] in files of their own. [`told`]: the
//! numbers of their parts.
//!
//! The way of a short call is inlined into one function for each kind of call, so that its numbers stay in registers from the program's arguments to the file.

mod probes;
mod requests;
mod told;

use std::sync::atomic::Ordering;

use kilter_mpi::constants;
use kilter_protocol::trace::record::{self, Part, Plain, Role, flag};
use mpi_sys::{MPI_Request, MPI_Status};

use super::act::{Act, Side, bits_of, known};
use super::local::{self, Local};
use super::operations::{self, Pending};
use super::payload::{Elements, describe};
use super::{Trace, sites};
use crate::communicator::State;
use kilter_protocol::functions::Function;
use told::{part, place};

/// A call that has ended.
pub(crate) struct Happened {
    pub(crate) function: Function,
    pub(crate) state: Option<&'static State>,
    /// Return address.
    pub(crate) site: usize,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

/// Data that a collective passes.
pub(crate) struct Passed {
    pub(crate) bytes: u64,
    pub(crate) class: u8,
    pub(crate) operator: u8,
    pub(crate) root: Option<i32>,
}

/// The call that is recorded.
pub(super) struct Recorder<'t> {
    pub(super) trace: &'t Trace,
    pub(super) local: &'t mut Local,
    pub(super) state: Option<&'static State>,
    function: Function,
    /// Return address.
    address: usize,
    pub(super) call: record::Call,
    /// True once the call is written: the parts follow. Else it is written with its only part.
    is_written: bool,
}

impl<'t> Recorder<'t> {
    /// Begins with a call; `None` where nothing is told of it.
    #[inline(always)]
    pub(super) fn begun(trace: &'t Trace, happened: &Happened) -> Option<Recorder<'t>> {
        let local = local::of(trace);
        let site = sites::find(&trace.space, happened.site);
        if local.is_full() || site.is_own {
            untold(trace, local);
            return None;
        }
        if let Some(state) = happened.state
            && !state.is_traced.load(Ordering::Relaxed)
        {
            trace.define(state);
        }
        Some(Recorder {
            trace,
            local,
            state: happened.state,
            function: happened.function,
            address: happened.site,
            call: record::Call {
                function: happened.function as u8,
                communicator: happened.state.map_or(0, |state| state.id + 1),
                begin: happened.begin,
                end: happened.end,
                site: site.number,
                polls: 0,
                parts: 0,
            },
            is_written: false,
        })
    }

    /// Writes the call, which has so many parts.
    #[inline(always)]
    fn call(&mut self, parts: usize) -> bool {
        self.is_written = true;
        self.call.parts = parts as u32;
        // Here and below the addresses taken are those of copies: the originals stay in registers on the short way.
        self.local.call(&{ self.call })
    }

    /// Writes a part, the only one together with the call; false if there is no space for the call.
    #[inline(always)]
    fn put(&mut self, role: Role, part: &Plain) -> bool {
        if self.is_written {
            self.local.plain(role, &{ *part });
            return true;
        }
        self.call.parts = 1;
        self.local.call_with(&self.call, role, part)
    }

    /// Writes a part with the payload in these elements; false if there is no space for the call.
    ///
    /// # Safety
    /// The elements may be read, and hold so many bytes.
    #[inline(always)]
    unsafe fn payload(&mut self, role: Role, mut part: Plain, elements: &Elements, bytes: u64) -> bool {
        let limit = self.trace.hash_limit;
        // SAFETY: by this function's contract.
        let is_plain = unsafe { describe(elements, bytes, limit, &mut self.local.scratch, &mut part) };
        if is_plain {
            return self.put(role, &part);
        }
        let mut call = self.call;
        call.parts = 1;
        put_whole(self.local, (!self.is_written).then_some(&call), role, &{ part })
    }

    /// A message that is sent, or begun to be.
    ///
    /// # Safety
    /// As for [`record`](super::event::record); the elements are those of the side.
    #[inline(always)]
    pub(super) unsafe fn sends(&mut self, side: &Side, elements: &Elements, request: *const MPI_Request) {
        let operation = self.trace.operation();
        // SAFETY: by this function's contract.
        unsafe {
            if self.sent(side, elements, operation) && !request.is_null() {
                self.add((request, false), (operations::Kind::Send, operation), side, None);
            }
        }
    }

    /// A message that has come.
    ///
    /// # Safety
    /// As for [`sends`](Recorder::sends).
    #[inline(always)]
    pub(super) unsafe fn receives(&mut self, side: &Side, elements: &Elements, status: *const MPI_Status) {
        let operation = self.trace.operation();
        // SAFETY: by this function's contract.
        unsafe { self.received(operation, self.state, (side.peer, side.tag), elements, status) };
    }

    /// A receive that is begun.
    ///
    /// # Safety
    /// As for [`sends`](Recorder::sends).
    #[inline(always)]
    pub(super) unsafe fn posts(&mut self, side: &Side, elements: &Elements, request: *const MPI_Request) {
        let operation = self.trace.operation();
        // SAFETY: by this function's contract.
        unsafe {
            if self.posted(operation, self.state, side, elements) {
                let kind = (operations::Kind::Receive, operation);
                self.add((request, false), kind, side, Some(elements.kept()));
            }
        }
    }

    /// Messages of both sides, of one, or none.
    ///
    /// # Safety
    /// As for [`record`](super::event::record).
    pub(super) unsafe fn messages(&mut self, act: &Act, before: Option<Part>) {
        let parts = usize::from(act.sends.is_some()) + usize::from(act.receives.is_some());
        // The only part comes together with the call.
        if parts != 1 && !self.call(parts) {
            return;
        }
        // SAFETY: by this function's contract.
        unsafe {
            if let Some(side) = &act.sends {
                // The request of both is that of the receive.
                let request = if act.receives.is_none() {
                    act.request
                } else {
                    std::ptr::null()
                };
                match before {
                    Some(before) => self.sent_before(side, before),
                    None => self.sends(side, &Elements::new(side), request),
                }
            }
            if let Some(side) = &act.receives {
                let elements = Elements::new(side);
                if act.request.is_null() {
                    self.receives(side, &elements, act.status);
                } else {
                    self.posts(side, &elements, act.request);
                }
            }
        }
    }

    /// # Safety
    /// As for [`sends`](Recorder::sends).
    #[inline(always)]
    unsafe fn sent(&mut self, side: &Side, elements: &Elements, operation: u64) -> bool {
        let part = part(operation, self.state, side.peer, side.tag);
        let bytes = if side.peer == mpi_sys::MPI_PROC_NULL {
            0
        } else {
            elements.bytes()
        };
        // SAFETY: by this function's contract.
        unsafe { self.payload(Role::Send, part, elements, bytes) }
    }

    /// A message whose payload was described before the call.
    fn sent_before(&mut self, side: &Side, mut before: Part) {
        let Plain {
            communicator,
            operation,
            peer,
            world,
            tag,
            ..
        } = part(self.trace.operation(), self.state, side.peer, side.tag);
        before.plain = Plain {
            communicator,
            operation,
            peer,
            world,
            tag,
            ..before.plain
        };
        self.local.part(&before);
    }

    /// Data that stay here.
    ///
    /// # Safety
    /// As for [`record`](super::event::record).
    pub(super) unsafe fn shown(&mut self, act: &Act) {
        let Some(side) = act.sends else { return };
        // SAFETY: by this function's contract.
        unsafe {
            let elements = Elements::new(&side);
            let part = part(0, self.state, side.peer, side.tag);
            self.payload(Role::Own, part, &elements, elements.bytes());
        }
    }

    /// A receive that begins; false if there is no space for the call.
    #[inline(always)]
    fn posted(&mut self, operation: u64, state: Option<&State>, side: &Side, elements: &Elements) -> bool {
        let mut part = part(operation, state, side.peer, side.tag);
        place(&mut part, elements);
        self.put(Role::Posted, &part)
    }

    /// A message that has come.
    ///
    /// # Safety
    /// As for [`record`](super::event::record); the elements may be read.
    #[inline(always)]
    unsafe fn received(
        &mut self,
        operation: u64,
        state: Option<&State>,
        (from, tag): (i32, i32),
        elements: &Elements,
        status: *const MPI_Status,
    ) {
        // SAFETY: by this function's contract.
        let status = unsafe { known(status) };
        let (source, found) = match status {
            Some(status) if from != mpi_sys::MPI_PROC_NULL => (status.MPI_SOURCE, status.MPI_TAG),
            _ => (from, tag),
        };
        let mut part = part(operation, state, source, found);
        if from == mpi_sys::MPI_ANY_SOURCE {
            part.flags |= flag::ANY_SOURCE;
        }
        if tag == mpi_sys::MPI_ANY_TAG {
            part.flags |= flag::ANY_TAG;
        }
        let came = if from == mpi_sys::MPI_PROC_NULL {
            Some(0)
        } else {
            status.and_then(constants::received_bytes)
        };
        if let Some(bytes) = came {
            // SAFETY: by this function's contract; so many bytes have come into them.
            unsafe { self.payload(Role::Received, part, elements, bytes as u64) };
        } else {
            place(&mut part, elements);
            part.flags |= flag::NOT_HASHED;
            self.put(Role::Received, &part);
        }
    }

    /// Adds the operation of a request, which may be persistent, to those that are under way.
    ///
    /// # Safety
    /// As for [`record`](super::event::record).
    #[inline(always)]
    unsafe fn add(
        &mut self,
        (request, persistent): (*const MPI_Request, bool),
        (kind, operation): (operations::Kind, u64),
        side: &Side,
        elements: Option<Elements>,
    ) {
        // SAFETY: by this function's contract.
        let handle = unsafe { bits_of(request) };
        self.trace.requests.add(
            handle,
            Pending {
                kind,
                operation,
                state: self.state,
                elements,
                peer: side.peer,
                tag: side.tag,
                persistent,
                active: !persistent,
                cancelled: false,
            },
        );
    }

    /// A collective.
    ///
    /// # Safety
    /// As for [`record`](super::event::record).
    #[inline(always)]
    pub(super) unsafe fn collective(&mut self, passed: &Passed, request: *const MPI_Request) {
        let operation = if request.is_null() { 0 } else { self.trace.operation() };
        let mut part = part(operation, self.state, passed.root.unwrap_or(i32::MIN), 0);
        part.bytes = passed.bytes;
        (part.class, part.operator) = (passed.class, passed.operator);
        self.put(Role::Collective, &part);
        if !request.is_null() {
            let side = Side::new(std::ptr::null(), 0_i32, constants::byte(), 0, 0);
            // SAFETY: by this function's contract.
            unsafe { self.add((request, false), (operations::Kind::Collective, operation), &side, None) };
        }
    }
}

/// A call that is not told: of a library of Kilter's, or for which there is no space.
#[cold]
fn untold(trace: &Trace, local: &mut Local) {
    if local.is_full() {
        trace.space.lose(1);
    }
    local.handles.clear();
}

/// Writes a part with blocks, pieces or chunks, which are in the thread's memory, after its call if it is the only one; false if there is no space for the
/// call. What it takes are copies, so that those of short payloads stay in registers.
#[inline(never)]
fn put_whole(local: &mut Local, call: Option<&record::Call>, role: Role, part: &Plain) -> bool {
    let whole = local.scratch.whole(role, part);
    let is_put = call.is_none_or(|call| local.call(call));
    if is_put {
        local.part(&whole);
    }
    local.scratch.reuse(whole);
    is_put
}
