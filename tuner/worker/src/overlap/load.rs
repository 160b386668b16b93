//! Threads that compute in the background while messages travel.
//!
//! They call nothing of MPI, so that `MPI_THREAD_FUNNELED` is enough, and inherit the processors to which the launcher has bound
//! the rank. Between two rounds they sleep: the other items of the block are measured without them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::computation::{Computation, Speed};
use crate::reason::NoOverlap;

/// The threads; dropping this ends them.
#[derive(Debug)]
pub(super) struct Load {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Looked at between two chunks, without the lock.
    goes_on: AtomicBool,
    chunks: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Rounds begun so far.
    round: u64,
    ends: bool,
    computing: usize,
}

impl Load {
    /// Starts so many threads, which sleep.
    pub(super) fn new(threads: u32, speed: Speed) -> Result<Load, NoOverlap> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            goes_on: AtomicBool::new(false),
            chunks: AtomicU64::new(0),
        });
        let mut load = Load {
            shared,
            threads: Vec::new(),
        };
        for i in 0..threads {
            let shared = Arc::clone(&load.shared);
            let thread = std::thread::Builder::new()
                .name(format!("load {i}"))
                .spawn(move || shared.serve(Computation::chunk(speed)))
                .map_err(|error| NoOverlap::Thread {
                    number: i + 1,
                    threads,
                    error,
                })?;
            load.threads.push(thread);
        }
        Ok(load)
    }

    /// Lets them compute; returns when all have begun.
    pub(super) fn begin(&self) {
        let shared = &self.shared;
        shared.goes_on.store(true, Ordering::Relaxed);
        let mut state = shared.lock();
        state.round += 1;
        shared.changed.notify_all();
        while state.computing < self.threads.len() {
            state = shared.wait(state);
        }
    }

    /// Lets them sleep; returns when none computes any more.
    pub(super) fn end(&self) {
        let shared = &self.shared;
        shared.goes_on.store(false, Ordering::Relaxed);
        let mut state = shared.lock();
        while state.computing > 0 {
            state = shared.wait(state);
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.shared.goes_on.store(false, Ordering::Relaxed);
        self.shared.lock().ends = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked is over, too.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Loop of a thread until the end.
    fn serve(&self, chunk: Computation) {
        let mut state = self.lock();
        let mut served = 0;
        loop {
            while state.round == served && !state.ends {
                state = self.wait(state);
            }
            if state.ends {
                return;
            }
            served = state.round;
            state.computing += 1;
            self.changed.notify_all();
            drop(state);
            // One chunk at least, however short the round.
            loop {
                chunk.run();
                self.chunks.fetch_add(1, Ordering::Relaxed);
                if !self.goes_on.load(Ordering::Relaxed) {
                    break;
                }
            }
            state = self.lock();
            state.computing -= 1;
            self.changed.notify_all();
        }
    }

    // No panic under the lock can leave half a state.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_compute_between_begin_and_end_and_none_outside() {
        let load = Load::new(3, Speed::UNKNOWN).unwrap();
        let computing = || load.shared.lock().computing;
        let chunks = || load.shared.chunks.load(Ordering::Relaxed);
        assert_eq!((computing(), chunks()), (0, 0));
        for round in 1..=5 {
            load.begin();
            assert_eq!(computing(), 3);
            load.end();
            assert_eq!(computing(), 0);
            assert!(chunks() >= 3 * round, "{} chunks after round {round}", chunks());
        }
        let before = chunks();
        std::thread::yield_now();
        assert_eq!(chunks(), before);
    }

    #[test]
    fn threads_that_sleep_or_compute_end_when_they_are_dropped() {
        drop(Load::new(2, Speed::UNKNOWN).unwrap());
        let load = Load::new(2, Speed::UNKNOWN).unwrap();
        let shared = Arc::clone(&load.shared);
        load.begin();
        drop(load);
        // Each thread held one.
        assert_eq!(Arc::strong_count(&shared), 1);
    }
}
