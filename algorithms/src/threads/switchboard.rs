//! Messages between the ranks of one run: an unbounded queue per pair, and who is there to fill them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::clock::Moment;
use super::in_turn::Turn;
use super::shared::Memory;
use crate::TransportError;

/// One message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) data: Vec<u8>,
    /// Time at which its sender's port took it.
    pub(super) start: Moment,
}

/// All queues. One lock: what is tested with it are schedules, not its own speed, and only so can a deadlock be seen
/// for sure.
#[derive(Debug)]
pub(super) struct Switchboard {
    p: usize,
    state: Mutex<State>,
    /// One per rank, which alone waits on it.
    wake: Vec<Condvar>,
    /// Shared memory, by the length of slots.
    memories: Mutex<Vec<Arc<Memory>>>,
    /// Index: rank. Beside `state`, for those that wait without the lock.
    gone: Vec<AtomicBool>,
    /// Index: rank. True for one that waits without the lock: in shared memory, or in [`Switchboard::fall_behind`].
    held_up: Vec<AtomicBool>,
}

#[derive(Debug)]
struct State {
    /// Index: `to * p + from`.
    queues: Vec<VecDeque<Message>>,
    ranks: Vec<Presence>,
    /// Messages received that belong to requests never completed.
    abandoned: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Running,
    /// Waits for a message from this rank.
    Waiting(usize),
    Gone,
    /// Was waiting when all were.
    Deadlocked,
}

impl Switchboard {
    pub(super) fn new(p: usize) -> Switchboard {
        let state = State {
            queues: (0..p * p).map(|_| VecDeque::new()).collect(),
            ranks: vec![Presence::Running; p],
            abandoned: 0,
        };
        Switchboard {
            p,
            state: Mutex::new(state),
            wake: (0..p).map(|_| Condvar::new()).collect(),
            memories: Mutex::default(),
            gone: (0..p).map(|_| AtomicBool::new(false)).collect(),
            held_up: (0..p).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    pub(super) fn ranks(&self) -> usize {
        self.p
    }

    /// No code that can panic runs under the lock in a way that leaves the state half changed, so a poisoned lock is as
    /// good as any.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn send(&self, from: usize, to: usize, message: Message) {
        let mut state = self.state();
        state.queues[to * self.p + from].push_back(message);
        // Nobody else is woken: it is a system call, which most messages need not pay, since they are early.
        if state.ranks[to] == Presence::Waiting(from) {
            drop(state);
            self.wake[to].notify_one();
        }
    }

    /// Waits for the next message from `from` to `to`.
    pub(super) fn receive(&self, from: usize, to: usize, turn: Turn<'_>) -> Result<Message, TransportError> {
        let mut state = self.state();
        loop {
            if let Some(message) = state.queues[to * self.p + from].pop_front() {
                state.ranks[to] = Presence::Running;
                return Ok(message);
            }
            if state.ranks[to] == Presence::Deadlocked {
                return Err(TransportError::Deadlock { peer: from });
            }
            if state.ranks[from] == Presence::Gone {
                return Err(TransportError::PeerGone { peer: from });
            }
            let waits = Presence::Waiting(from);
            // Whoever began to wait last has seen whether all do.
            if state.ranks[to] != waits {
                state.ranks[to] = waits;
                if self.is_deadlocked(&state) {
                    self.end_deadlock(&mut state);
                    continue;
                }
            }
            state = if turn.is_of_system() {
                self.wake[to].wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                drop(state);
                turn.hand_on();
                self.state()
            };
        }
    }

    /// Sends never wait; so the ranks are deadlocked when each one left waits for a message that is not there, from a
    /// rank that is.
    fn is_deadlocked(&self, state: &State) -> bool {
        state.ranks.iter().enumerate().all(|(to, presence)| match *presence {
            Presence::Gone | Presence::Deadlocked => true,
            Presence::Running => false,
            Presence::Waiting(from) => {
                state.queues[to * self.p + from].is_empty() && state.ranks[from] != Presence::Gone
            }
        })
    }

    fn end_deadlock(&self, state: &mut State) {
        for (rank, presence) in state.ranks.iter_mut().enumerate() {
            if matches!(presence, Presence::Waiting(_)) {
                *presence = Presence::Deadlocked;
                self.wake[rank].notify_one();
            }
        }
    }

    /// `rank` sends nothing more; who waits for it is told so.
    pub(super) fn leave(&self, rank: usize) {
        let mut state = self.state();
        state.ranks[rank] = Presence::Gone;
        self.gone[rank].store(true, Ordering::Release);
        for (waiting, presence) in state.ranks.iter().enumerate() {
            if *presence == Presence::Waiting(rank) {
                self.wake[waiting].notify_one();
            }
        }
        // It was the last that could have sent something.
        if self.is_deadlocked(&state) {
            self.end_deadlock(&mut state);
        }
    }

    /// True if a rank has gone: it publishes nothing more.
    pub(super) fn has_gone(&self, rank: usize) -> bool {
        self.gone[rank].load(Ordering::Acquire)
    }

    /// `rank` waits without the lock, or goes on.
    pub(super) fn set_held_up(&self, rank: usize, is_held_up: bool) {
        self.held_up[rank].store(is_held_up, Ordering::Release);
    }

    /// Returns when every other rank waits or has gone.
    pub(super) fn fall_behind(&self, rank: usize, turn: Turn<'_>) {
        self.set_held_up(rank, true);
        let stands_still = |other: usize| {
            other == rank
                || self.held_up[other].load(Ordering::Acquire)
                || self.state().ranks[other] != Presence::Running
        };
        while !(0..self.p).all(stands_still) {
            turn.hand_on();
        }
        self.set_held_up(rank, false);
    }

    /// The memory with slots of this length; made by the first rank that asks.
    pub(super) fn memory(&self, slot_bytes: usize) -> Arc<Memory> {
        let mut memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(memory) = memories.iter().find(|memory| memory.slot_bytes() == slot_bytes) {
            return Arc::clone(memory);
        }
        let memory = Arc::new(Memory::new(self.p, slot_bytes));
        memories.push(Arc::clone(&memory));
        memory
    }

    /// Counts messages that a rank took out of its queues, but no completed request got.
    pub(super) fn abandon(&self, messages: usize) {
        self.state().abandoned += messages;
    }

    /// Messages that nobody received.
    pub(super) fn undelivered(&self) -> usize {
        let state = self.state();
        state.abandoned + state.queues.iter().map(VecDeque::len).sum::<usize>()
    }
}
