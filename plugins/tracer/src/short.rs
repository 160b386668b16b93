//! The short way of a poll that finds nothing and is not timed, from where the thread polled last with the same function.
//!
//! A program that polls in a loop spends its time in such calls, so that each instruction for them counts. What has to be found out for another call is known
//! of this one: that it is counted and not traced, that one thread alone counts, and its cell. Two numbers of the cell grow, and that is all. The exported
//! function knows such a poll, counts it and calls the library (`entry::polls`); here it has where to find what, and whoever ends otherwise.

use std::ffi::c_int;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

use kilter_protocol::functions::Function;

use crate::polled::{Places, Polled};
use crate::start;
use crate::thread::{self, Thread};
use crate::trace::act::{Act, Kind};

/// Distances of its parts from the state of a thread.
pub(crate) const GATE: usize = offset_of!(Thread, gate);
pub(crate) const KEPT: usize = offset_of!(Thread, kept);

/// Distance of the call site from which polls of a function may go the short way.
pub(crate) const fn site(function: Function) -> usize {
    place(function) + Polled::SHORT
}

/// Distance of the number of requests, or of the handle of a communicator, of polls of a function.
pub(crate) const fn bits(function: Function) -> usize {
    place(function) + Polled::BITS
}

/// Distance of the generation of communicators.
pub(crate) const fn generation(function: Function) -> usize {
    place(function) + Polled::GENERATION
}

/// Distance of the address of the cell.
pub(crate) const fn cell(function: Function) -> usize {
    place(function) + Polled::CELL
}

const fn place(function: Function) -> usize {
    offset_of!(Thread, polled) + Places::distance(function)
}

/// Ends a poll on the short way that returned this code, and found something, was no operation's, or failed. It is counted already. Its act is made of what
/// was kept of it. Returns the code.
///
/// # Safety
/// An exported function has let the poll go the short way, and the library has returned from it.
#[cold]
pub(crate) unsafe fn ended(function: Function, code: c_int, act: impl FnOnce(usize) -> Kind) -> c_int {
    // SAFETY: the state of this thread, which nobody else looks at, at a place with a call site.
    unsafe {
        let thread = thread::current();
        if code == 0 {
            let act = Act {
                kind: act((*thread).kept),
                ..Act::NONE
            };
            if act.looked_in_vain().is_none() {
                (*thread).polls.found((*thread).gate);
            }
        } else {
            (*thread).polled.of(function).take_back(function);
            if let Some(tracer) = start::active() {
                tracer.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        (*thread).gate.leave();
    }
    code
}
