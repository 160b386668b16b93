//! A call on its way into the stream of its thread: messages and collectives here, [`probes`] and [`requests`] in files of their own.

mod probes;
mod requests;

use kilter_mpi::constants;
use kilter_protocol::trace::record::{self, ANY_TAG, Part, Role, flag, peer};
use mpi_sys::MPI_Status;

use super::Trace;
use super::act::{Act, Kind, Side, bits_of, known};
use super::local::Local;
use super::operations::{self, Pending};
use super::payload::{Elements, describe};
use crate::communicator::State;
use kilter_protocol::functions::Function;

/// A call that has ended.
pub(crate) struct Happened {
    pub(crate) function: Function,
    pub(crate) state: Option<&'static State>,
    /// Return address.
    pub(crate) site: usize,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Bytes that a collective passes; class and operator follow.
    pub(crate) bytes: u64,
    pub(crate) class: u8,
    pub(crate) operator: u8,
    pub(crate) root: Option<i32>,
}

/// The call that is recorded.
pub(super) struct Recorder<'t> {
    pub(super) trace: &'t Trace,
    pub(super) local: &'static mut Local,
    pub(super) state: Option<&'static State>,
    pub(super) call: record::Call,
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
    unsafe fn payload(&mut self, part: &mut Part, elements: &Elements, bytes: u64) {
        // SAFETY: by this function's contract.
        unsafe { describe(elements, bytes, self.trace.hash_limit, &mut self.local.scratch, part) };
        if self.local.scratch.chunks.is_empty() {
            self.local.part(part);
            return;
        }
        std::mem::swap(&mut part.chunks, &mut self.local.scratch.chunks);
        self.local.part(part);
        // The memory is used again.
        std::mem::swap(&mut part.chunks, &mut self.local.scratch.chunks);
    }

    /// Messages that are sent, received, or begun to be.
    ///
    /// # Safety
    /// As for [`record`](super::event::record).
    #[inline]
    pub(in crate::trace) unsafe fn messages(&mut self, act: &Act, before: Option<&Part>) {
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
                    self.add(act, operations::Kind::Send, operation, side, None);
                }
            }
            if let Some(side) = &act.receives {
                let operation = self.trace.operation();
                let elements = Elements::new(side.buffer, side.count, side.datatype);
                if act.request.is_null() {
                    self.received(operation, self.state, (side.peer, side.tag), &elements, act.status);
                } else {
                    self.posted(operation, self.state, side, &elements);
                    self.add(act, operations::Kind::Receive, operation, side, Some(elements.kept()));
                }
            }
        }
    }

    /// # Safety
    /// As for [`record`](super::event::record).
    unsafe fn sent(&mut self, side: &Side, operation: u64, before: Option<&Part>) {
        let mut part = part(Role::Send, operation, self.state, side.peer, side.tag);
        if let Some(before) = before {
            part = Part {
                role: part.role,
                communicator: part.communicator,
                operation: part.operation,
                peer: part.peer,
                world: part.world,
                tag: part.tag,
                ..before.clone()
            };
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
            self.payload(&mut part, &elements, bytes);
        }
    }

    /// Data that stay here.
    ///
    /// # Safety
    /// As for [`record`](super::event::record).
    pub(in crate::trace) unsafe fn shown(&mut self, act: &Act) {
        let Some(side) = act.sends.filter(|_| self.call(1)) else {
            return;
        };
        // SAFETY: by this function's contract.
        unsafe {
            let elements = Elements::new(side.buffer, side.count, side.datatype);
            let mut part = part(Role::Own, 0, self.state, side.peer, side.tag);
            self.payload(&mut part, &elements, elements.bytes());
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
    /// As for [`record`](super::event::record); the elements may be read.
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
                unsafe { self.payload(&mut part, elements, 0) };
            }
            // SAFETY: by this function's contract; so many bytes have come into it.
            Some(bytes) => unsafe { self.payload(&mut part, elements, bytes) },
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
    /// As for [`record`](super::event::record).
    unsafe fn add(
        &mut self,
        act: &Act,
        kind: operations::Kind,
        operation: u64,
        side: &Side,
        elements: Option<Elements>,
    ) {
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

    /// A collective.
    ///
    /// # Safety
    /// As for [`record`](super::event::record).
    pub(in crate::trace) unsafe fn collective(&mut self, happened: &Happened, act: &Act) {
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
            unsafe { self.add(act, operations::Kind::Collective, operation, &side, None) };
        }
    }
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
