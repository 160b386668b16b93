//! From calls to records. A sent payload is hashed when the call has returned, a received one when it is complete.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use kilter_mpi::{MPI_Datatype, constants};
use kilter_protocol::trace::record::{self, ANY_TAG, Part, Role, flag, peer};
use mpi_sys::MPI_Status;

use super::act::{Act, Kind, Side, bits_of, known};
use super::local::{self, Local};
use super::payload::{Elements, describe};
use super::requests::{self, Found, Pending};
use super::{Trace, completion, sites};
use crate::communicator::State;
use crate::functions::Function;
use crate::record::Number;
use crate::start;

/// A call that has ended.
pub(crate) struct Happened {
    pub(crate) function: Function,
    pub(crate) state: Option<&'static State>,
    /// Return address.
    pub(crate) site: usize,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// What a collective passes: bytes, class and operator.
    pub(crate) bytes: u64,
    pub(crate) class: u8,
    pub(crate) operator: u8,
    pub(crate) root: Option<i32>,
}

/// A rank as it is recorded.
#[inline]
fn other(rank: i32) -> i32 {
    match rank {
        0.. => rank,
        mpi_sys::MPI_PROC_NULL => peer::NOBODY,
        mpi_sys::MPI_ANY_SOURCE => peer::ANY,
        mpi_sys::MPI_ROOT => peer::ROOT,
        _ => peer::UNKNOWN,
    }
}

fn tag_of(tag: i32) -> i32 {
    if tag == mpi_sys::MPI_ANY_TAG { ANY_TAG } else { tag }
}

/// A part about a rank of a communicator.
#[inline]
fn part(role: Role, operation: u64, state: Option<&State>, rank: i32, tag: i32) -> Part {
    let mut part = Part::new(role);
    part.communicator = state.map_or(0, |state| state.id + 1);
    part.operation = operation;
    part.peer = other(rank);
    part.world = match state.zip(u32::try_from(part.peer).ok()) {
        Some((state, rank)) => {
            let found = state.peers().world_rank(rank).and_then(|rank| i32::try_from(rank).ok());
            found.unwrap_or(peer::UNKNOWN)
        }
        None => part.peer,
    };
    part.tag = tag_of(tag);
    part
}

/// Keeps the payload that is about to be overwritten by a message which comes into the same buffer.
///
/// # Safety
/// The elements may be read.
#[inline]
pub(crate) unsafe fn before<N: Number>(buffer: *const c_void, count: N, datatype: MPI_Datatype) {
    let Some(trace) = start::tracing().filter(|_| local::is_outermost()) else {
        return;
    };
    let local = local::of(trace);
    let mut part = Part::new(Role::Send);
    // SAFETY: by this function's contract.
    unsafe {
        let elements = Elements::new(buffer, count.unsigned(), datatype);
        describe(
            &elements,
            elements.bytes(),
            trace.hash_limit,
            &mut local.scratch,
            &mut part,
        );
    }
    part.chunks = local.scratch.chunks.clone();
    local.before = Some(part);
}

/// Records a call.
///
/// # Safety
/// The call was valid and returned 0; what it names is still there.
#[inline(never)]
pub(crate) unsafe fn record(trace: &Trace, happened: &Happened, act: &Act) {
    let local = local::of(trace);
    let before = local.before.take();
    let site = sites::find(&trace.space, happened.site);
    if local.is_full() {
        trace.space.lose(1);
        local.handles.clear();
        return;
    }
    if site.is_own {
        local.handles.clear();
        return;
    }
    if let Some(state) = happened.state
        && !state.is_traced.load(Ordering::Relaxed)
    {
        trace.define(state);
    }
    let call = record::Call {
        function: happened.function as u8,
        communicator: happened.state.map_or(0, |state| state.id + 1),
        begin: happened.begin,
        end: happened.end,
        site: site.number,
        polls: 0,
        parts: 0,
    };
    let mut recorder = Recorder {
        trace,
        local,
        state: happened.state,
        call,
    };
    // SAFETY: by this function's contract.
    unsafe {
        match act.kind {
            Kind::Messages if happened.function.is_collective() => recorder.collective(happened, act),
            Kind::Messages => recorder.messages(act, None),
            Kind::Replaces => recorder.messages(act, before),
            Kind::Prepares => recorder.prepared(act),
            Kind::Starts(count) => recorder.started(act, usize::try_from(count).unwrap_or(0)),
            Kind::Probes(flag, message) => recorder.probed(act, flag, message),
            Kind::ReceivesFound(handle) => recorder.received_found(act, handle),
            Kind::Completes(done) => {
                completion::collect(trace, recorder.local, done);
                recorder.completed(act.status, happened.function);
            }
            Kind::Frees(handle) => recorder.ended(Role::Freed, trace.requests.forget(handle)),
            Kind::Cancels => recorder.ended(Role::Completed, trace.requests.cancel(bits_of(act.request))),
        }
    }
}

/// The call that is recorded.
struct Recorder<'t> {
    trace: &'t Trace,
    local: &'static mut Local,
    state: Option<&'static State>,
    call: record::Call,
}

impl Recorder<'_> {
    /// Writes the call, which has so many parts.
    #[inline]
    fn call(&mut self, parts: usize) -> bool {
        self.call.parts = parts as u32;
        self.local.call(&self.call)
    }

    /// Writes a part with the payload in these elements.
    ///
    /// # Safety
    /// The elements may be read, and hold so many bytes.
    #[inline]
    unsafe fn payload(&mut self, mut part: Part, elements: &Elements, bytes: u64) {
        // SAFETY: by this function's contract.
        unsafe {
            describe(
                elements,
                bytes,
                self.trace.hash_limit,
                &mut self.local.scratch,
                &mut part,
            )
        };
        part.chunks = std::mem::take(&mut self.local.scratch.chunks);
        self.local.part(&part);
        // The memory is used again.
        self.local.scratch.chunks = part.chunks;
    }

    /// Messages that are sent, received, or begun to be.
    ///
    /// # Safety
    /// As for [`record`].
    #[inline]
    unsafe fn messages(&mut self, act: &Act, before: Option<Part>) {
        let parts = usize::from(act.sends.is_some()) + usize::from(act.receives.is_some());
        if !self.call(parts) {
            return;
        }
        // SAFETY: by this function's contract.
        unsafe {
            if let Some(side) = &act.sends {
                let operation = self.trace.operation();
                self.sent(side, operation, before);
                if !act.request.is_null() && act.receives.is_none() {
                    self.add(act, requests::Kind::Send, operation, side, None);
                }
            }
            if let Some(side) = &act.receives {
                let operation = self.trace.operation();
                let elements = Elements::new(side.buffer, side.count, side.datatype);
                if act.request.is_null() {
                    self.received(operation, self.state, (side.peer, side.tag), &elements, act.status);
                } else {
                    self.posted(operation, self.state, side, &elements);
                    self.add(act, requests::Kind::Receive, operation, side, Some(elements.kept()));
                }
            }
        }
    }

    /// # Safety
    /// As for [`record`].
    unsafe fn sent(&mut self, side: &Side, operation: u64, before: Option<Part>) {
        let mut part = part(Role::Send, operation, self.state, side.peer, side.tag);
        if let Some(before) = before {
            part.bytes = before.bytes;
            part.address = before.address;
            (part.class, part.element_bytes) = (before.class, before.element_bytes);
            part.flags |= before.flags;
            (part.crc, part.prefix, part.chunks) = (before.crc, before.prefix, before.chunks);
            self.local.part(&part);
            return;
        }
        // SAFETY: by this function's contract.
        unsafe {
            let elements = Elements::new(side.buffer, side.count, side.datatype);
            let bytes = if side.peer == mpi_sys::MPI_PROC_NULL {
                0
            } else {
                elements.bytes()
            };
            self.payload(part, &elements, bytes);
        }
    }

    /// A receive that begins.
    fn posted(&mut self, operation: u64, state: Option<&State>, side: &Side, elements: &Elements) {
        let mut part = part(Role::Posted, operation, state, side.peer, side.tag);
        place(&mut part, elements);
        self.local.part(&part);
    }

    /// A message that has come.
    ///
    /// # Safety
    /// As for [`record`]; the elements may be read.
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
        let (source, found) = status.map_or((from, tag), |status| (status.MPI_SOURCE, status.MPI_TAG));
        let is_nobody = from == mpi_sys::MPI_PROC_NULL;
        let (source, found) = if is_nobody { (from, tag) } else { (source, found) };
        let mut part = part(Role::Received, operation, state, source, found);
        if from == mpi_sys::MPI_ANY_SOURCE {
            part.flags |= flag::ANY_SOURCE;
        }
        if tag == mpi_sys::MPI_ANY_TAG {
            part.flags |= flag::ANY_TAG;
        }
        let came = status.and_then(constants::received_bytes).map(|bytes| bytes as u64);
        match came {
            _ if is_nobody => {
                // SAFETY: no byte is read.
                unsafe { self.payload(part, elements, 0) };
            }
            // SAFETY: by this function's contract; so many bytes have come into it.
            Some(bytes) => unsafe { self.payload(part, elements, bytes) },
            None => {
                place(&mut part, elements);
                part.flags |= flag::NOT_HASHED;
                self.local.part(&part);
            }
        }
    }

    /// Adds the operation of the call's request to those that are under way.
    ///
    /// # Safety
    /// As for [`record`].
    unsafe fn add(&mut self, act: &Act, kind: requests::Kind, operation: u64, side: &Side, elements: Option<Elements>) {
        // SAFETY: by this function's contract.
        let handle = unsafe { bits_of(act.request) };
        let persistent = matches!(act.kind, Kind::Prepares);
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

    /// A persistent operation that is prepared.
    ///
    /// # Safety
    /// As for [`record`].
    unsafe fn prepared(&mut self, act: &Act) {
        let (kind, side) = match (&act.sends, &act.receives) {
            (Some(side), _) => (requests::Kind::Send, side),
            (None, Some(side)) => (requests::Kind::Receive, side),
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
    /// As for [`record`].
    unsafe fn started(&mut self, act: &Act, count: usize) {
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
            if pending.kind == requests::Kind::Send {
                let bytes = if pending.peer == mpi_sys::MPI_PROC_NULL {
                    0
                } else {
                    elements.bytes()
                };
                // SAFETY: by this function's contract: the program may read the buffer of a send that was started.
                unsafe { self.payload(one, &elements, bytes) };
            } else {
                one.role = Role::Posted;
                place(&mut one, &elements);
                self.local.part(&one);
            }
        }
    }

    /// A probe.
    ///
    /// # Safety
    /// As for [`record`].
    unsafe fn probed(&mut self, act: &Act, flag: *const i32, message: *const mpi_sys::MPI_Message) {
        let Some(side) = &act.receives else { return };
        // SAFETY: by this function's contract.
        let (is_found, status) = unsafe { (flag.as_ref().is_none_or(|flag| *flag != 0), known(act.status)) };
        let asked = (other(side.peer), tag_of(side.tag));
        let question = part(Role::Asked, 0, self.state, side.peer, side.tag);
        if !is_found {
            self.nothing(Some(asked));
            if self.local.asked.is_none() {
                self.local.part(&question);
                self.local.asked = Some(asked);
            }
            return;
        }
        // A message that a probe has taken is matched here.
        let operation = if message.is_null() { 0 } else { self.trace.operation() };
        let (from, tag) = status.map_or((side.peer, side.tag), |status| (status.MPI_SOURCE, status.MPI_TAG));
        if self.call(2) {
            self.local.part(&question);
            let mut found = part(Role::Probed, operation, self.state, from, tag);
            found.bytes = status
                .and_then(constants::received_bytes)
                .map_or(0, |bytes| bytes as u64);
            self.local.part(&found);
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

    /// A call that found nothing.
    fn nothing(&mut self, asked: Option<(i32, i32)>) {
        self.call.polls = 1;
        if !self.local.poll(&self.call, asked) {
            let _ = self.local.call(&self.call);
        }
    }

    /// A message that a probe had found is received, or begun to be.
    ///
    /// # Safety
    /// As for [`record`].
    unsafe fn received_found(&mut self, act: &Act, handle: usize) {
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
        let is_put = self.call(1);
        // SAFETY: by this function's contract.
        unsafe {
            let elements = Elements::new(side.buffer, side.count, side.datatype);
            if act.request.is_null() {
                if is_put {
                    self.received(
                        found.operation,
                        found.state,
                        (side.peer, side.tag),
                        &elements,
                        act.status,
                    );
                }
                return;
            }
            if is_put {
                self.posted(found.operation, found.state, &side, &elements);
            }
            self.state = found.state;
            self.add(
                act,
                requests::Kind::Receive,
                found.operation,
                &side,
                Some(elements.kept()),
            );
        }
    }

    /// Operations that are complete.
    ///
    /// # Safety
    /// As for [`record`].
    unsafe fn completed(&mut self, statuses: *const MPI_Status, function: Function) {
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
    /// As for [`record`].
    unsafe fn finished(&mut self, pending: &Pending, status: *const MPI_Status) {
        // SAFETY: by this function's contract.
        unsafe {
            if completion::was_cancelled(pending, status) {
                self.local.part(&short(Role::Cancelled, pending));
            } else if let (requests::Kind::Receive, Some(elements)) = (pending.kind, &pending.elements) {
                let asked = (pending.peer, pending.tag);
                self.received(pending.operation, pending.state, asked, elements, status);
            } else {
                self.local.part(&short(Role::Completed, pending));
            }
        }
    }

    /// A request that is given up, or asked to be cancelled.
    fn ended(&mut self, role: Role, pending: Option<Pending>) {
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

    /// A collective.
    ///
    /// # Safety
    /// As for [`record`].
    unsafe fn collective(&mut self, happened: &Happened, act: &Act) {
        let operation = if act.request.is_null() {
            0
        } else {
            self.trace.operation()
        };
        if self.call(1) {
            let root = happened.root.unwrap_or(i32::MIN);
            let mut part = part(Role::Collective, operation, self.state, root, 0);
            part.bytes = happened.bytes;
            (part.class, part.operator) = (happened.class, happened.operator);
            self.local.part(&part);
        }
        if !act.request.is_null() {
            let side = Side::new(std::ptr::null(), 0_i32, constants::byte(), 0, 0);
            // SAFETY: by this function's contract.
            unsafe { self.add(act, requests::Kind::Collective, operation, &side, None) };
        }
    }
}

/// Says where elements lie, and how many there may be.
fn place(part: &mut Part, elements: &Elements) {
    part.bytes = elements.bytes();
    part.address = elements.address as u64;
    part.class = elements.class;
    part.element_bytes = u32::try_from(elements.element_bytes).unwrap_or(u32::MAX);
}

fn short(role: Role, pending: &Pending) -> Part {
    let mut part = Part::new(role);
    part.communicator = pending.state.map_or(0, |state| state.id + 1);
    part.operation = pending.operation;
    part
}
