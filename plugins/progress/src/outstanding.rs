//! Table of the operations under way, by their handles: a call began them, and no call has completed them yet.
//!
//! The table is a multiset. A library may give the same handle to several operations that were complete from the start.
//! It may also use a handle again as soon as its operation is complete, perhaps before the completing call is reported
//! here. Operations that nobody reported (one-sided, of files, generalised) are not in the table, and completing them
//! changes nothing. A persistent request is in it while it is active.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Parts of the table, each with a lock of its own, as a power of two. So many that a part has few handles, even where a program has
/// thousands of operations under way: they are looked through one by one.
const PARTS_LOG2: u32 = 8;
const PARTS: usize = 1 << PARTS_LOG2;

type Part = Mutex<Vec<usize>>;

/// Operations under way in this process, and the threads that look after them.
#[derive(Debug)]
pub(crate) struct Outstanding {
    parts: [Part; PARTS],
    begun: AtomicU64,
    /// Operations in the table.
    count: AtomicUsize,
    /// Threads of the program in a call that waits for operations: these make progress themselves.
    waiting: AtomicUsize,
    /// True if the program wants the thread's help.
    enabled: AtomicBool,
    /// True if the thread sleeps until it is woken.
    asleep: AtomicBool,
}

impl Outstanding {
    pub(crate) const fn new() -> Outstanding {
        Outstanding {
            parts: [const { Mutex::new(Vec::new()) }; PARTS],
            begun: AtomicU64::new(0),
            count: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            enabled: AtomicBool::new(true),
            asleep: AtomicBool::new(false),
        }
    }

    /// Handles are addresses or small numbers, and spread by multiplication (Fibonacci hashing, Knuth, The Art of Computer Programming
    /// 3, 6.4).
    fn part(&self, handle: usize) -> MutexGuard<'_, Vec<usize>> {
        let spread = (handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PARTS_LOG2);
        self.parts[spread as usize]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// An operation was begun. True where the thread is to be woken.
    pub(crate) fn begin(&self, handle: usize) -> bool {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let mut part = self.part(handle);
        part.push(handle);
        // Within the lock: who completes the operation finds it counted.
        self.count.fetch_add(1, Ordering::SeqCst);
        drop(part);
        self.is_to_be_woken()
    }

    /// A call completed what has this handle, if it is in the table.
    pub(crate) fn complete(&self, handle: usize) {
        let mut part = self.part(handle);
        if let Some(index) = part.iter().rposition(|known| *known == handle) {
            part.swap_remove(index);
            self.count.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// A thread of the program begins to wait for operations.
    pub(crate) fn wait_begins(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// It ends to wait. True where the thread is to be woken: operations are left.
    pub(crate) fn wait_ends(&self) -> bool {
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.is_to_be_woken()
    }

    /// Lets the thread help or not; what it was before, and whether the thread is to be woken.
    pub(crate) fn enable(&self, on: bool) -> (bool, bool) {
        (self.enabled.swap(on, Ordering::SeqCst), self.is_to_be_woken())
    }

    /// True if there is anything to do for the thread.
    pub(crate) fn needs_progress(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
            && self.waiting.load(Ordering::SeqCst) == 0
            && self.enabled.load(Ordering::SeqCst)
    }

    /// True if the thread sleeps although there is work for it; true for one caller alone.
    fn is_to_be_woken(&self) -> bool {
        self.asleep.load(Ordering::SeqCst) && self.needs_progress() && self.asleep.swap(false, Ordering::SeqCst)
    }

    /// Announces that the thread is about to sleep: from now on, a call that gives it something to do wakes it. False if there is something to do.
    pub(crate) fn may_sleep(&self) -> bool {
        self.asleep.store(true, Ordering::SeqCst);
        !self.needs_progress()
    }

    /// The thread is awake.
    pub(crate) fn awake(&self) {
        self.asleep.store(false, Ordering::SeqCst);
    }

    /// True if the thread sleeps or is about to.
    #[cfg(test)]
    pub(crate) fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::SeqCst)
    }

    /// Operations begun so far, and those under way.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (
            self.begun.load(Ordering::Relaxed),
            self.count.load(Ordering::SeqCst) as u64,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Outstanding;

    #[test]
    fn each_operation_is_completed_once() {
        let table = Outstanding::new();
        for handle in 0..100 {
            table.begin(handle * 64);
        }
        // A handle of two operations, as of those that are complete at once.
        table.begin(64);
        assert_eq!(table.counts(), (101, 101));
        for _ in 0..3 {
            table.complete(64);
        }
        assert_eq!(table.counts(), (101, 99));
        // A handle that nobody reported.
        table.complete(7);
        for handle in 0..100 {
            table.complete(handle * 64);
        }
        assert_eq!(table.counts(), (101, 0));
        assert!(!table.needs_progress());
    }

    #[test]
    fn threads_that_use_the_same_handles_stay_balanced() {
        let table = Outstanding::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..2000 {
                        table.begin(round % 5);
                        table.complete(round % 5);
                    }
                });
            }
        });
        assert_eq!(table.counts(), (8000, 0));
    }

    #[test]
    fn the_thread_is_woken_once_and_only_for_something() {
        let table = Outstanding::new();
        assert!(!table.begin(1), "it does not sleep");
        assert!(!table.may_sleep());
        table.complete(1);
        assert!(table.may_sleep());
        assert!(table.begin(1));
        assert!(!table.begin(2), "it was woken");
        assert!(table.needs_progress());
        table.wait_begins();
        assert!(!table.needs_progress(), "the program makes progress itself");
        assert!(table.may_sleep());
        assert!(!table.begin(3));
        assert!(table.wait_ends(), "operations are left");
        table.wait_begins();
        assert!(table.may_sleep());
        (1..4).for_each(|handle| table.complete(handle));
        assert!(!table.wait_ends(), "none is left");
        assert_eq!(table.enable(false), (true, false));
        assert!(!table.begin(4));
        assert_eq!(table.enable(true), (false, true));
        table.awake();
        assert_eq!(table.enable(true), (true, false));
    }
}
