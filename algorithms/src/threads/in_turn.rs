//! Light threads, of which one of the system carries all: each goes on until it hands its turn on.

use std::cell::RefCell;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// Bytes of a light thread's stack: as many as the standard library gives a thread. Memory is taken by what is used of them alone.
const STACK_BYTES: usize = 2 << 20;

thread_local! {
    /// Stacks of light threads that have ended, for the next ones: a new one takes system calls, and a page fault for each of its pages.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A rank's turn on the thread that carries it. Whoever holds a lock while handing it on stops all ranks.
#[derive(Clone, Copy)]
pub(super) struct Turn<'t>(Option<&'t Yielder<(), ()>>);

impl Turn<'_> {
    /// The turn of a thread of the system, which hands on to whom the system chooses.
    pub(super) const OF_SYSTEM: Turn<'static> = Turn(None);

    pub(super) fn is_of_system(self) -> bool {
        self.0.is_none()
    }

    /// Lets others run. Returns when it is this one's turn again, whether or not what it waits for is there.
    pub(super) fn hand_on(self) {
        match self.0 {
            Some(light) => light.suspend(()),
            None => std::thread::yield_now(),
        }
    }
}

/// One light thread for each rank; their results when all have ended.
pub(super) fn run<T>(p: usize, of_rank: impl Fn(usize, Turn<'_>) -> T) -> Vec<T> {
    let of_rank = &of_rank;
    let light = |rank| {
        let body = move |turn: &Yielder<(), ()>, ()| of_rank(rank, Turn(Some(turn)));
        // SAFETY: this function drops what is returned, and `of_rank` outlives it.
        unsafe { Coroutine::with_stack_unchecked(stack(), body) }
    };
    let mut ranks: Vec<_> = (0..p).map(light).collect();
    let mut results: Vec<Option<T>> = ranks.iter().map(|_| None).collect();
    // Who waits for a message looks for it when its turn comes. When all wait, the last one was told so, and tells the others.
    while results.iter().any(Option::is_none) {
        for (rank, result) in ranks.iter_mut().zip(&mut results) {
            if result.is_none()
                && let CoroutineResult::Return(value) = rank.resume(())
            {
                *result = Some(value);
            }
        }
    }
    STACKS.with_borrow_mut(|stacks| stacks.extend(ranks.into_iter().map(Coroutine::into_stack)));
    results.into_iter().flatten().collect()
}

/// # Panics
/// If the system has no memory for it.
fn stack() -> DefaultStack {
    let ended = STACKS.with_borrow_mut(Vec::pop);
    ended.unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("memory for the stack of a rank"))
}
