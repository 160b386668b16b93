//! Operations that have begun and are not complete, by their requests; and messages that were found and are not received.
//!
//! A library may give one request to many sends that are complete already (`ompi_request_empty` of Open MPI, MPICH's lightweight requests), so that
//! those of sends may repeat. A request of a receive that comes again belongs to a new operation, and the old one was completed unseen.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::communicator::State;

use super::by_handle::ByHandle;
use super::payload::Elements;

/// Kinds of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Send,
    Receive,
    Collective,
}

/// An operation.
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) kind: Kind,
    pub(crate) operation: u64,
    /// None for one that is not in the memory.
    pub(crate) state: Option<&'static State>,
    pub(crate) elements: Option<Elements>,
    pub(crate) peer: i32,
    pub(crate) tag: i32,
    pub(crate) persistent: bool,
    /// False for a persistent one that is not started.
    pub(crate) active: bool,
    /// True once it was asked to be cancelled.
    pub(crate) cancelled: bool,
}

impl Pending {
    /// True if nothing is read when it is complete.
    fn reads_nothing(&self) -> bool {
        self.kind != Kind::Receive || self.peer == mpi_sys::MPI_PROC_NULL
    }
}

/// A message that a probe found.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) operation: u64,
    pub(crate) state: Option<&'static State>,
    pub(crate) peer: i32,
    pub(crate) tag: i32,
}

#[derive(Default)]
struct Tables {
    pending: ByHandle<Pending>,
    /// Further ones of the same requests, in their order.
    repeated: VecDeque<(usize, Pending)>,
    messages: ByHandle<Found>,
}

/// All of them.
pub(crate) struct Requests {
    /// True if several threads call MPI at the same time.
    shared: bool,
    lock: Mutex<()>,
    tables: UnsafeCell<Tables>,
}

/// The tables, while nobody else has them.
struct Held<'r> {
    tables: &'r mut Tables,
    _lock: Option<MutexGuard<'r, ()>>,
}

impl Deref for Held<'_> {
    type Target = Tables;

    #[inline(always)]
    fn deref(&self) -> &Tables {
        self.tables
    }
}

impl DerefMut for Held<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Tables {
        self.tables
    }
}

// SAFETY: the tables are reached by `hold` alone: by one thread at a time, which the lock ensures, or the program's level of threads.
unsafe impl Sync for Requests {}
// SAFETY: handles are numbers, and states live as long as the process.
unsafe impl Send for Requests {}

impl Requests {
    pub(crate) fn new(shared: bool) -> Requests {
        Requests {
            shared,
            lock: Mutex::new(()),
            tables: UnsafeCell::default(),
        }
    }

    /// No function of this is called while they are held.
    #[inline(always)]
    fn hold(&self) -> Held<'_> {
        let lock = if self.shared { Some(self.locked()) } else { None };
        Held {
            // SAFETY: nobody else is here: the lock is held, or threads do not call MPI at the same time; and this thread does not come back.
            tables: unsafe { &mut *self.tables.get() },
            _lock: lock,
        }
    }

    #[cold]
    fn locked(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an operation.
    #[inline(always)]
    pub(crate) fn add(&self, handle: usize, new: Pending) {
        let mut tables = self.hold();
        if !tables.pending.put_in_front(handle, new) {
            // The address taken is that of a copy: the original stays in registers on the short way.
            tables.add(handle, &{ new });
        }
    }

    /// The operation of a request that is complete; a persistent one stays, and is not active any more. `None` for one that is not known or
    /// not active.
    #[inline(always)]
    pub(crate) fn complete(&self, handle: usize) -> Option<Pending> {
        let mut tables = self.hold();
        if tables.repeated.is_empty()
            && let Some(only) = tables.pending.take_from_front(handle, |known| !known.persistent)
        {
            return Some(only);
        }
        tables.complete(handle)
    }

    /// Forgets a request, active or not.
    pub(crate) fn forget(&self, handle: usize) -> Option<Pending> {
        self.hold().taken(handle)
    }

    /// Starts a persistent operation with a new number.
    pub(crate) fn start(&self, handle: usize, operation: impl FnOnce() -> u64) -> Option<Pending> {
        let mut tables = self.hold();
        let known = tables.pending.get_mut(handle).filter(|known| known.persistent)?;
        known.operation = operation();
        known.active = true;
        Some(*known)
    }

    /// Notes that an operation was asked to be cancelled.
    pub(crate) fn cancel(&self, handle: usize) -> Option<Pending> {
        let mut tables = self.hold();
        let known = tables.pending.get_mut(handle)?;
        known.cancelled = true;
        Some(*known)
    }

    /// Adds a message that was found.
    pub(crate) fn add_message(&self, handle: usize, found: Found) {
        self.hold().messages.insert(handle, found);
    }

    /// A message that is received.
    pub(crate) fn take_message(&self, handle: usize) -> Option<Found> {
        self.hold().messages.remove(handle)
    }

    /// Forgets everything: what completes from now on is not seen.
    pub(crate) fn clear(&self) {
        let mut tables = self.hold();
        for known in tables.pending.values_mut() {
            free(known);
        }
        *tables = Tables::default();
    }
}

impl Tables {
    /// Adds an operation of a request that may have one.
    #[inline(never)]
    fn add(&mut self, handle: usize, new: &Pending) {
        let Some(known) = self.pending.get_mut(handle) else {
            self.pending.insert(handle, *new);
            return;
        };
        if known.reads_nothing() && new.reads_nothing() && !known.persistent {
            self.repeated.push_back((handle, *new));
            return;
        }
        free(known);
        *known = *new;
        self.repeated.retain(|(repeated, _)| *repeated != handle);
    }

    /// The operation of a request that may be persistent or have several.
    #[inline(never)]
    fn complete(&mut self, handle: usize) -> Option<Pending> {
        let known = self.pending.get_mut(handle)?;
        if known.persistent {
            let was = *known;
            known.active = false;
            known.cancelled = false;
            return was.active.then_some(was);
        }
        self.taken(handle)
    }

    /// Takes the oldest operation of a request, in whose place the next one of the same request comes.
    fn taken(&mut self, handle: usize) -> Option<Pending> {
        let was = self.pending.remove(handle);
        let at = self.repeated.iter().position(|(repeated, _)| *repeated == handle);
        if let Some((_, later)) = at.and_then(|at| self.repeated.remove(at)) {
            self.pending.insert(handle, later);
        }
        was
    }
}

fn free(pending: &mut Pending) {
    if let Some(elements) = &mut pending.elements {
        elements.free();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(kind: Kind, operation: u64) -> Pending {
        Pending {
            kind,
            operation,
            state: None,
            elements: None,
            peer: 0,
            tag: 0,
            persistent: false,
            active: true,
            cancelled: false,
        }
    }

    fn completed(requests: &Requests, handle: usize) -> Option<u64> {
        requests.complete(handle).map(|pending| pending.operation)
    }

    #[test]
    fn sends_may_share_a_request_and_receives_take_it_over() {
        for shared in [false, true] {
            let requests = Requests::new(shared);
            for operation in 1..=3 {
                requests.add(7, pending(Kind::Send, operation));
            }
            requests.add(8, pending(Kind::Receive, 4));
            assert_eq!(completed(&requests, 7), Some(1));
            assert_eq!(completed(&requests, 7), Some(2));
            requests.add(7, pending(Kind::Receive, 5));
            assert_eq!(completed(&requests, 7), Some(5));
            assert_eq!(completed(&requests, 7), None);
            requests.add(8, pending(Kind::Send, 6));
            assert_eq!(completed(&requests, 8), Some(6), "the receive was completed unseen");
            assert_eq!(completed(&requests, 8), None);
        }
    }

    #[test]
    fn persistent_operations_stay() {
        let requests = Requests::new(false);
        let prepared = Pending {
            persistent: true,
            active: false,
            ..pending(Kind::Receive, 0)
        };
        requests.add(3, prepared);
        assert_eq!(completed(&requests, 3), None);
        for operation in 1..=2 {
            assert!(requests.start(3, || operation).is_some());
            assert_eq!(completed(&requests, 3), Some(operation));
            assert_eq!(completed(&requests, 3), None);
        }
        assert!(requests.forget(3).is_some());
        assert!(requests.start(3, || 9).is_none());
    }
}
