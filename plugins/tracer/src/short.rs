//! The short way of a poll that finds nothing and is not timed, from where the thread polled last with the same function.
//!
//! A program that polls in a loop spends its time in such calls, so that each instruction for them counts. What has to be found out for another call is known
//! of this one: that it is counted and not traced, that one thread alone counts, and its cell. Two numbers of the cell grow, and that is all. The exported
//! function tells such a poll by two numbers of the thread's state; what they do not tell is looked at here.

use std::mem::offset_of;
use std::sync::atomic::Ordering;

use kilter_protocol::functions::Function;

use crate::call::Call;
use crate::number::Number;
use crate::polled::Places;
use crate::polls::Polls;
use crate::start;
use crate::thread::{self, Thread};

/// Distance of the number of polls left that are not timed from the state of a thread.
pub(crate) const LEFT: usize = offset_of!(Thread, polls) + Polls::LEFT;

/// Distance of the call site from which polls of a function may go the short way from the state of a thread.
pub(crate) const fn site(function: Function) -> usize {
    offset_of!(Thread, polled) + Places::short(function)
}

/// A poll on the short way: it comes from the call site at [`site`], and is one of those at [`LEFT`].
pub(crate) struct Short {
    function: Function,
    thread: *mut Thread,
}

impl Short {
    /// Begins a poll. `None` if it has to go the ordinary way: it asks for something else than those before, is within another call of MPI, or calls are not
    /// counted now.
    ///
    /// # Safety
    /// The exported function has found the thread at such a call site, with polls left that are not timed.
    #[inline(always)]
    pub(crate) unsafe fn begun<N: Number>(function: Function, call: &Call<N>) -> Option<Short> {
        // SAFETY: the state of this thread, which nobody else looks at.
        unsafe {
            let thread = thread::current();
            let asks_the_same = (*thread).polled.of(function).asks_for(function, call.asked());
            if asks_the_same && !(*thread).is_in_mpi() && start::active().is_some() {
                (*thread).enter();
                (*thread).polls.pass();
                return Some(Short { function, thread });
            }
            (*thread).site = (*thread).polled.of(function).short();
            None
        }
    }

    /// Counts a poll that found nothing.
    ///
    /// # Safety
    /// The library has returned from the poll.
    #[inline(always)]
    pub(crate) unsafe fn in_vain(self) {
        // SAFETY: the state of this thread, which nobody else looks at, at a place with a call site.
        unsafe {
            (*self.thread).polled.of(self.function).count(self.function);
            (*self.thread).leave();
        }
    }

    /// Counts a poll that found something, was no operation's, or failed.
    ///
    /// # Safety
    /// As for [`Short::in_vain`].
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn ended(self, has_failed: bool, has_found: bool) {
        // SAFETY: the state of this thread, which nobody else looks at, at a place with a call site.
        unsafe {
            let thread = self.thread;
            if has_found {
                (*thread).polls.found();
            }
            if !has_failed {
                (*thread).polled.of(self.function).count(self.function);
            } else if let Some(tracer) = start::active() {
                tracer.failed.fetch_add(1, Ordering::Relaxed);
            }
            (*thread).leave();
        }
    }
}
