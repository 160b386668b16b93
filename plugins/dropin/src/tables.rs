//! The memory of a call under way, and what cannot run on its communicator.

use crate::rules::Implementation;

/// Counts and displacements of a call in the ABI's form, one of each per rank; and the implementations that cannot run here.
pub(crate) struct Tables {
    /// Counts and displacements of the send side.
    pub(crate) send: (Box<[i64]>, Box<[i64]>),
    /// Counts and displacements of the receive side.
    pub(crate) recv: (Box<[i64]>, Box<[i64]>),
    /// Implementations that said, on all ranks, that they cannot run on this communicator.
    unavailable: Vec<&'static Implementation>,
}

impl Tables {
    pub(crate) fn new(p_ranks: usize) -> Tables {
        let table = || vec![0; p_ranks].into_boxed_slice();
        Tables {
            send: (table(), table()),
            recv: (table(), table()),
            unavailable: Vec::new(),
        }
    }

    /// True if the implementation may be tried.
    pub(crate) fn has(&self, implementation: &Implementation) -> bool {
        !self
            .unavailable
            .iter()
            .any(|unavailable| std::ptr::eq(*unavailable, implementation))
    }

    /// The implementation cannot run on this communicator.
    pub(crate) fn forgo(&mut self, implementation: &'static Implementation) {
        self.unavailable.push(implementation);
    }
}
