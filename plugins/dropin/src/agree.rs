//! Agreement among the ranks of a communicator, made before any call on it is replaced.
//!
//! Ranks that follow the profile must not replace a call while another rank makes it through the library: that would deadlock. So every rank
//! that has the drop-in takes part at its first intercepted call on the communicator, whatever its environment says.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kilter_mpi::{MPI_Comm, info};

use crate::device::{self, Policy};
use crate::maxima::maxima;
use crate::private::{self, Private};
use crate::started::Started;
use crate::warning::warn;

/// Result of the agreement.
pub(crate) enum Agreed {
    /// Not all ranks follow the same profile with the same code.
    Differ,
    /// All ranks follow the same profile with the same code.
    Follow {
        /// The private communicator that serves this one, too.
        shared: Option<Arc<Private>>,
        /// True if all ranks are on one node.
        one_node: bool,
        /// Policy on buffers in a GPU's memory.
        device: Policy,
    },
}

/// Reaches the agreement.
///
/// # Safety
/// All ranks of the intracommunicator make the same collective call.
pub(crate) unsafe fn agree(comm: MPI_Comm, size: usize, started: &'static Started) -> Agreed {
    let shared = private::congruent(comm, size, started);
    if size < 2 {
        return if started.digest == 0 {
            Agreed::Differ
        } else {
            Agreed::Follow {
                shared,
                one_node: true,
                device: device::own_policy(),
            }
        };
    }
    let number = shared.as_ref().map_or(0, |shared| shared.number);
    let (digest, node) = (started.digest, started.node);
    // The largest complement is the complement of the smallest.
    let mine = [
        digest,
        !digest,
        number,
        !number,
        node,
        !node,
        device::own_policy() as u64,
    ];
    // SAFETY: by this function's contract.
    let Ok(largest) = (unsafe { maxima(comm, mine) }) else {
        return Agreed::Differ;
    };
    let is_same = |place: usize| largest[place..place + 2] == mine[place..place + 2];
    if is_same(0) && started.digest != 0 {
        return Agreed::Follow {
            shared: shared.filter(|_| is_same(2)),
            one_node: is_same(4),
            device: Policy::of(largest[6]),
        };
    }
    if !is_same(0) {
        say_that_they_differ(comm, size, started);
    }
    Agreed::Differ
}

#[cold]
fn say_that_they_differ(comm: MPI_Comm, size: usize, started: &'static Started) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    let rank = started.rank;
    if let Err(reason) = &started.rules {
        warn(rank != 0, &format!("rank {rank}: {reason}"));
    }
    let speaks = info::rank(comm).is_ok_and(|rank| rank == 0);
    let text = format!(
        "the {size} ranks of a communicator do not follow the same profile with the same code (another file, mode, plugin or build of \
         libkilter.so, or a failure on some); the library's own collectives are used on it"
    );
    warn(speaks, &text);
}
