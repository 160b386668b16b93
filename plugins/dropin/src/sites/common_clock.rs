//! The common clock of a communicator: compared in `MPI_Init`, and again in calls of the program where that was long ago.
//!
//! A comparison is within a call in which an exchange is adopted, on the private communicator, and due by the times that were adopted: all ranks make it in
//! the same call, before any message of what that call runs. A rank waits for those that it asks, which no program may rely on not to happen. The time that it takes
//! is part of the adoption's.

use std::cell::Cell;

use kilter_mpi::clocks::{self, Tree};
use kilter_mpi::{MPI_Comm, info};
use kilter_online::Clock;

use crate::world::World;

/// Nanoseconds now, on this rank's own clock.
#[inline]
pub(crate) fn own_ns() -> i64 {
    clocks::nanoseconds().cast_signed()
}

/// The common clock, as this rank keeps it.
pub(super) struct CommonClock {
    clock: Cell<Clock>,
    /// The ranks that ask each other; `None` where all ranks read one clock, which does not run apart.
    tree: Option<Tree>,
    /// This rank in the communicator.
    rank: u32,
}

impl CommonClock {
    /// That of ranks of the world.
    pub(super) fn new(world: &World, comm: MPI_Comm) -> Option<CommonClock> {
        let rank = info::rank(comm).ok()?;
        let clocks = world.clocks(comm)?;
        let is_one = clocks.iter().all(|clock| Some(clock) == clocks.first());
        Some(CommonClock {
            clock: Cell::new(world.clock()),
            tree: (!is_one).then(|| Tree::new(&clocks, rank)),
            rank: u32::try_from(rank).ok()?,
        })
    }

    /// Nanoseconds now.
    #[inline]
    pub(super) fn now_ns(&self) -> i64 {
        self.at_ns(own_ns())
    }

    /// Common time where this rank's own clock says `own_ns`.
    pub(super) fn at_ns(&self, own_ns: i64) -> i64 {
        self.clock.get().common_ns(own_ns)
    }

    /// An epoch was adopted whose last call ended at this time: compares the clocks if that is due.
    ///
    /// # Safety
    /// All ranks of the communicator, whose private one `private` is, make this call and have adopted the same.
    #[cold]
    pub(super) unsafe fn adopted(&self, ended_ns: i64, private: MPI_Comm) {
        let Some(tree) = &self.tree else { return };
        let mut clock = self.clock.get();
        if clock.is_due(ended_ns) {
            // SAFETY: by this function's contract; all ranks find the same.
            match unsafe { tree.offset_ns(private, self.rank) } {
                Ok(offset_ns) => clock.compared(own_ns(), offset_ns),
                Err(error) => {
                    // The others' common clock may be another one now.
                    kilter_mpi::say(format_args!(
                        "error: clocks cannot be compared: {error}; ending the job (KILTER_ONLINE=0 compares none)"
                    ));
                    // SAFETY: MPI is running.
                    unsafe { kilter_mpi::abort(private, 1) }
                }
            }
        }
        self.clock.set(clock);
    }
}
