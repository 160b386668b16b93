//! From calls to records. A sent payload is hashed when the call has returned, a received one when it is complete.

use std::ffi::{c_int, c_void};

use kilter_mpi::MPI_Datatype;
use kilter_protocol::trace::record::{Plain, Role};
use mpi_sys::{MPI_Request, MPI_Status};

use super::act::{Act, Done, Kind, Side, bits_of};
use super::local::Run;
use super::payload::{Elements, describe};
use super::recorder::{Happened, Passed, Recorder};
use super::{Trace, completion, local};
use crate::datatype::{self, Element};
use crate::number::Number;

/// Keeps the payload that is about to be overwritten by a message which comes into the same buffer.
///
/// # Safety
/// The elements may be read.
#[inline]
pub(crate) unsafe fn before<N: Number>(buffer: *const c_void, count: N, datatype: MPI_Datatype) {
    let Some(trace) = super::active().filter(|_| local::is_outermost()) else {
        return;
    };
    let local = local::of(trace);
    let mut plain = Plain::NONE;
    // SAFETY: by this function's contract.
    unsafe {
        let elements = Elements::new(&Side::new(buffer, count, datatype, 0, 0));
        let bytes = elements.bytes();
        describe(&elements, bytes, trace.hash_limit, &mut local.scratch, &mut plain);
    }
    local.before = Some(local.scratch.whole(Role::Send, &plain));
}

/// Adds a call that found nothing, and began then, to the thread's latest record; false if that is of other calls.
#[inline(always)]
pub(crate) fn polled(trace: &Trace, run: &Run, begin: u64) -> bool {
    let local = local::of(trace);
    let is_added = local.poll(run, begin);
    if is_added {
        local.handles.clear();
    }
    is_added
}

/// Records a call. Each wrapper has the way for its kind of call alone; messages of predefined types have shorter ones.
///
/// # Safety
/// The call was valid and returned 0; what it names is still there.
#[inline(always)]
pub(crate) unsafe fn record(trace: &Trace, happened: &Happened, act: &Act) {
    // SAFETY: by this function's contract.
    unsafe {
        match (act.kind, act.sends, act.receives) {
            (Kind::Messages, Some(side), None) => {
                if let Some(element) = plain(&side) {
                    return sent(trace, happened, &side, element, act.request);
                }
            }
            (Kind::Messages, None, Some(side)) => match plain(&side) {
                Some(element) if act.request.is_null() => return came(trace, happened, &side, element, act.status),
                Some(element) => return posted(trace, happened, &side, element, act.request),
                None => {}
            },
            (Kind::Completes(Done::One(handle, flag)), ..) => {
                return completed(trace, happened, handle, flag, act.status);
            }
            _ => {}
        }
        // The address taken is that of a copy: the original stays in registers on the short ways.
        other(trace, happened, &{ *act });
    }
}

/// Element of a predefined type that lies in memory as in a message.
///
/// # Safety
/// The type is valid.
#[inline(always)]
unsafe fn plain(side: &Side) -> Option<Element> {
    // SAFETY: by this function's contract.
    Some(unsafe { datatype::element(side.datatype) }).filter(|element| element.is_plain)
}

/// A message that is sent, or begun to be.
///
/// # Safety
/// As for [`record`].
#[inline(never)]
unsafe fn sent(trace: &Trace, happened: &Happened, side: &Side, element: Element, request: *const MPI_Request) {
    if let Some(mut recorder) = Recorder::begun(trace, happened) {
        // SAFETY: by this function's contract.
        unsafe { recorder.sends(side, &Elements::plain(side, element), request) };
    }
}

/// A message that has come.
///
/// # Safety
/// As for [`record`].
#[inline(never)]
unsafe fn came(trace: &Trace, happened: &Happened, side: &Side, element: Element, status: *const MPI_Status) {
    if let Some(mut recorder) = Recorder::begun(trace, happened) {
        // SAFETY: by this function's contract.
        unsafe { recorder.receives(side, &Elements::plain(side, element), status) };
    }
}

/// A receive that is begun.
///
/// # Safety
/// As for [`record`].
#[inline(never)]
unsafe fn posted(trace: &Trace, happened: &Happened, side: &Side, element: Element, request: *const MPI_Request) {
    if let Some(mut recorder) = Recorder::begun(trace, happened) {
        // SAFETY: by this function's contract.
        unsafe { recorder.posts(side, &Elements::plain(side, element), request) };
    }
}

/// A call that waits for one request, or asks for it.
///
/// # Safety
/// As for [`record`].
#[inline(never)]
unsafe fn completed(trace: &Trace, happened: &Happened, handle: usize, flag: *const c_int, status: *const MPI_Status) {
    if let Some(mut recorder) = Recorder::begun(trace, happened) {
        // SAFETY: by this function's contract.
        unsafe { recorder.completes(handle, flag, status) };
    }
}

/// A collective.
///
/// # Safety
/// As for [`record`].
#[inline(never)]
pub(crate) unsafe fn collective(trace: &Trace, happened: &Happened, passed: &Passed, request: *const MPI_Request) {
    if let Some(mut recorder) = Recorder::begun(trace, happened) {
        // SAFETY: by this function's contract.
        unsafe { recorder.collective(passed, request) };
    }
}

/// Any other call.
///
/// # Safety
/// As for [`record`].
#[inline(never)]
unsafe fn other(trace: &Trace, happened: &Happened, act: &Act) {
    let Some(mut recorder) = Recorder::begun(trace, happened) else {
        return;
    };
    // SAFETY: by this function's contract.
    unsafe {
        match act.kind {
            Kind::Messages => recorder.messages(act, None),
            // A payload is long: other calls do not move it.
            Kind::Replaces => {
                let before = recorder.local.before.take();
                recorder.messages(act, before);
            }
            Kind::Prepares => recorder.prepared(act),
            Kind::Starts(count) => recorder.started(act, usize::try_from(count).unwrap_or(0)),
            Kind::Probes(flag, message) => recorder.probed(act, flag, message),
            Kind::ReceivesFound(handle) => recorder.received_found(act, handle),
            Kind::Completes(done) => {
                completion::collect(trace, recorder.local, done);
                recorder.completed(act.status);
            }
            Kind::Frees(handle) => recorder.ended(Role::Freed, trace.requests.forget(handle)),
            Kind::Shows => recorder.shown(act),
            Kind::Cancels => recorder.ended(Role::Completed, trace.requests.cancel(bits_of(act.request))),
        }
    }
}
