//! The state of a thread: where its call comes from, how deep it is in MPI, and the communicators that it used last.
//!
//! On x86-64 it has a fixed place behind the thread's pointer (initial-exec), so that the exported functions can store their return address in
//! two instructions, before any argument has moved.

use std::ffi::c_void;

use crate::communicator::State;
use crate::gate::Gate;
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
    pub(crate) gate: Gate,
    /// Handle of the request, or third argument, of the poll on the short way that the thread is in: the library overwrites it, or the register.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "there is no short way"))]
    pub(crate) kept: usize,
    pub(crate) polled: Places,
    pub(crate) polls: Polls,
    pub(crate) remembered: [Remembered; WAYS],
    /// The trace's memory of the thread; null until its first call that is traced.
    pub(crate) trace: *mut c_void,
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
        // A line of the cache: the first one has all that most polls need.
        ".p2align 6",
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

    use super::{Gate, Places, Polls, Remembered, Thread, WAYS};

    thread_local! {
        static THREAD: UnsafeCell<Thread> = const {
            UnsafeCell::new(Thread {
                site: 0,
                gate: Gate::START,
                kept: 0,
                polled: Places::NONE,
                polls: Polls::NONE,
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
