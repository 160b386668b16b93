//! From calls to records. A sent payload is hashed when the call has returned, a received one when it is complete.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use kilter_mpi::MPI_Datatype;
use kilter_protocol::trace::record::{self, Part, Role};

use super::act::{Act, Kind, bits_of};
use super::payload::{Elements, describe};
use super::recorder::{Happened, Recorder};
use super::{Trace, completion, local, sites};
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
            // A payload is long: other calls do not move it.
            Kind::Replaces => {
                let before = recorder.local.before.take();
                recorder.messages(act, before.as_ref());
            }
            Kind::Prepares => recorder.prepared(act),
            Kind::Starts(count) => recorder.started(act, usize::try_from(count).unwrap_or(0)),
            Kind::Probes(flag, message) => recorder.probed(act, flag, message),
            Kind::ReceivesFound(handle) => recorder.received_found(act, handle),
            Kind::Completes(done) => {
                completion::collect(trace, recorder.local, done);
                recorder.completed(act.status, happened.function);
            }
            Kind::Frees(handle) => recorder.ended(Role::Freed, trace.requests.forget(handle)),
            Kind::Shows => recorder.shown(act),
            Kind::Cancels => recorder.ended(Role::Completed, trace.requests.cancel(bits_of(act.request))),
        }
    }
}
