//! The state of a thread: where its call comes from, how deep it is in MPI, and the communicators that it used last.
//!
//! On x86-64 it has a fixed place behind the thread's pointer (initial-exec), so that the exported functions can store their return address in
//! two instructions, before any argument has moved.

use std::ffi::c_void;

use crate::communicator::State;
use crate::polled::Places;
use crate::polls::Polls;

/// Communicators that a thread remembers, as a power of two.
pub(crate) const WAYS: usize = 4;

/// A communicator that a thread remembers.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Remembered {
    pub(crate) generation: u64,
    pub(crate) handle: usize,
    /// Null or a state, which is never freed.
    pub(crate) state: *const State,
}

/// State of a thread; zeros at its start.
#[repr(C)]
pub(crate) struct Thread {
    /// Return address of the latest call; 0 where the exported functions do not store it.
    pub(crate) site: usize,
    /// Calls of MPI that this thread is in, below 0: going into the outermost one borrows, so that one subtraction changes the depth and tells it.
    depth: u64,
    pub(crate) polls: Polls,
    pub(crate) polled: Places,
    pub(crate) remembered: [Remembered; WAYS],
    /// The trace's memory of the thread; null until its first call that is traced.
    pub(crate) trace: *mut c_void,
}

impl Thread {
    /// Goes into a call of MPI. True for the program's own call, false for one within another.
    #[inline(always)]
    pub(crate) fn enter(&mut self) -> bool {
        let (depth, is_outermost) = self.depth.overflowing_sub(1);
        self.depth = depth;
        is_outermost
    }

    /// Leaves a call of MPI.
    #[inline(always)]
    pub(crate) fn leave(&mut self) {
        self.depth = self.depth.wrapping_add(1);
    }

    /// True in a call of MPI.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn is_in_mpi(&self) -> bool {
        self.depth != 0
    }

    /// True in the program's own call, and not in one within it.
    #[inline(always)]
    pub(crate) fn is_in_outermost(&self) -> bool {
        self.depth == u64::MAX
    }
}

#[cfg(target_arch = "x86_64")]
mod place {
    use super::Thread;

    std::arch::global_asm!(
        ".pushsection .tbss,\"awT\",@nobits",
        ".globl kilter_tracer_thread",
        ".hidden kilter_tracer_thread",
        ".type kilter_tracer_thread, @object",
        ".size kilter_tracer_thread, {size}",
        ".p2align 4",
        "kilter_tracer_thread:",
        ".zero {size}",
        ".popsection",
        size = const size_of::<Thread>(),
    );

    /// This thread's state.
    #[inline(always)]
    pub(crate) fn current() -> *mut Thread {
        let thread: *mut Thread;
        // SAFETY: reads the thread's pointer and the distance of the variable from it, as the ABI says.
        unsafe {
            std::arch::asm!(
                "mov {thread}, qword ptr fs:[0]",
                "add {thread}, qword ptr [rip + kilter_tracer_thread@GOTTPOFF]",
                thread = out(reg) thread,
                options(nostack, pure, readonly),
            );
        }
        thread
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod place {
    use std::cell::UnsafeCell;

    use super::{Places, Polls, Remembered, Thread, WAYS};

    thread_local! {
        static THREAD: UnsafeCell<Thread> = const {
            UnsafeCell::new(Thread {
                site: 0,
                depth: 0,
                polls: Polls::NONE,
                polled: Places::NONE,
                remembered: [Remembered { generation: 0, handle: 0, state: std::ptr::null() }; WAYS],
                trace: std::ptr::null_mut(),
            })
        };
    }

    /// This thread's state.
    pub(crate) fn current() -> *mut Thread {
        THREAD.with(UnsafeCell::get)
    }
}

pub(crate) use place::current;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_call_is_told_from_those_within_it() {
        // SAFETY: zeros are a thread's state at its start.
        let mut thread: Thread = unsafe { std::mem::zeroed() };
        for _ in 0..2 {
            assert!(!thread.is_in_outermost());
            assert!(thread.enter() && thread.is_in_outermost());
            assert!(!thread.enter() && !thread.enter() && !thread.is_in_outermost());
            thread.leave();
            thread.leave();
            assert!(thread.is_in_outermost());
            thread.leave();
        }
    }
}
