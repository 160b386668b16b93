//! Memory that all ranks of a communicator can load and store, and the steps in which collectives use it.
//!
//! Each rank has a *region*: a flag on cache lines of its own and two slots for data. Only its rank writes a region; all read
//! it. A call is a sequence of *steps*, numbered through all calls on the communicator by the *epoch*, which each rank counts
//! for itself. In epoch `e` a rank
//!
//! 1. if it has something to write: waits until those for whom it last wrote slot `e % 2`, in epoch `w <= e - 2`, have flags of
//!    at least `w + 1`, and writes the slot,
//! 2. stores `e` to its flag (*publishes*; release),
//! 3. waits until those whose slots it reads have flags of at least `e` (acquire), and reads their slots `e % 2`.
//!
//! Every rank publishes every epoch of every call, also where it has nothing to write, so that the counters agree.
//!
//! Why this is safe: a flag of `e` says that its rank has written its slot of epoch `e`, and that it has done with all slots of
//! epochs up to `e - 1`, since reads of an epoch come before the publication of the next one. The release store orders both
//! before the flag, the acquire load of a waiting rank orders its own accesses after it.
//!
//! * A reader in epoch `e` sees a flag of at least `e`, so what was written for `e` happened before. It is not overwritten
//!   meanwhile: the writer uses that slot again in epoch `e + 2` at the earliest, and then waits for this reader's flag to be
//!   `e + 1`, which the reader stores after its last read. The writer remembers for whom it wrote: the next use may be in a call
//!   with another root, whose readers say nothing about those of this one.
//! * Nobody waits for ever: each wait of epoch `e` is for a publication of epoch `e` or an earlier one, and what comes before
//!   that publication waits for earlier epochs, or, for data, for publications that wait for earlier epochs only.
//!
//! The flags are `AtomicU64` in memory that several processes map, which the processor treats as that of threads; an epoch does
//! not come to its end within centuries. The scheme is that of Li, Hoefler and Snir (HPDC 2013, doi:10.1145/2462902.2462903),
//! with two slots instead of a second synchronisation for each step.
//!
//! In [`crate::Cost`], a round is an epoch in which a rank waits for the data or the arrival of others, and the bytes sent are
//! those copied into and out of slots, and those that begin a combination, on the critical path.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::parameter::Parameter;
use crate::{Transport, TransportError};

/// Bytes of a slot, where elements are no larger: with both slots of two ranks, and what they are copied from and to, within
/// the second-level cache of current processors (256 KiB to 2 MiB per core).
pub const SLOT_BYTES: usize = 32 * 1024;

/// Bytes between what different ranks write: two cache lines, since processors fetch them in pairs.
const LINE_BYTES: usize = 128;

/// The tunable of rows over shared memory.
pub(crate) const SEGMENT_BYTES: Parameter = Parameter {
    name: "segment_bytes",
    min: 256,
    max: SLOT_BYTES as u64,
    default: 16_384,
    summary: "bytes of a slot that are used in a step, rounded down to whole elements (at least one)",
};

/// Parts of a slot begin at multiples of this many bytes where it has room: no element of a basic type is cut.
const GRAIN_BYTES: usize = 16;

/// The shared memory of a communicator as one rank sees it. Lent to an algorithm for a call by
/// [`Transport::take_shared`].
#[derive(Debug)]
pub struct SharedMemory {
    rank: usize,
    slot_bytes: usize,
    /// Each rank's region.
    regions: Box<[NonNull<u8>]>,
    /// The highest value that was read of each rank's flag.
    seen: Box<[u64]>,
    epoch: u64,
    /// For each of this rank's slots, who reads what it last wrote there, and in which epoch that was.
    readers: [(Ranks, u64); 2],
}

// SAFETY: the memory is not bound to a thread; a value is used by one at a time, as everything but flags is read and written
// through `&mut self`.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    /// Bytes of a slot for data of which `at_least` bytes must fit in one piece.
    #[must_use]
    pub fn slot_for(at_least: usize) -> usize {
        at_least.max(SLOT_BYTES).next_multiple_of(LINE_BYTES)
    }

    /// Bytes of a rank's region with slots of `slot_bytes` bytes.
    #[must_use]
    pub const fn region_bytes(slot_bytes: usize) -> usize {
        LINE_BYTES + 2 * slot_bytes
    }

    /// The memory as rank `rank` sees it, with slots of `slot_bytes` bytes ([`SharedMemory::slot_for`]).
    ///
    /// # Safety
    /// Each region has [`SharedMemory::region_bytes`] bytes, begins at a multiple of 8, is mapped for reading and this rank's
    /// own for writing while the value lives, and its first 8 bytes were 0 on all ranks before any of them came here. All ranks
    /// have the same regions in the same order and run the same algorithms over them, and nothing else writes them.
    #[must_use]
    pub unsafe fn new(rank: usize, slot_bytes: usize, regions: Vec<NonNull<u8>>) -> SharedMemory {
        assert!(rank < regions.len(), "rank {rank} of {} regions", regions.len());
        SharedMemory {
            rank,
            slot_bytes,
            seen: vec![0; regions.len()].into(),
            regions: regions.into(),
            epoch: 0,
            readers: [(Ranks::None, 0); 2],
        }
    }

    /// Bytes of a slot.
    #[must_use]
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    fn flag(&self, rank: usize) -> &AtomicU64 {
        // SAFETY: the first 8 bytes of a region are its flag, aligned, and accessed only as this type, by the contract of `new`.
        unsafe { AtomicU64::from_ptr(self.regions[rank].cast::<u64>().as_ptr()) }
    }

    /// Address of a part of a rank's slot of this epoch.
    fn slot(&self, rank: usize, at: usize, bytes: usize) -> NonNull<u8> {
        let end = at.checked_add(bytes);
        assert!(
            end.is_some_and(|end| end <= self.slot_bytes),
            "{bytes} bytes at {at} of {}",
            self.slot_bytes
        );
        let slot = usize::from(self.epoch % 2 == 1) * self.slot_bytes;
        // SAFETY: within the region, as was checked.
        unsafe { self.regions[rank].add(LINE_BYTES + slot + at) }
    }
}

/// Events in shared memory. The transport is told of them, so that a model can count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// This rank is about to publish an epoch.
    Published {
        /// Its number, from 1.
        epoch: u64,
    },
    /// This rank has seen that another one has published an epoch.
    Awaited {
        /// The other rank.
        rank: usize,
        /// The epoch's number.
        epoch: u64,
    },
    /// This rank has waited for others' data or arrival in an epoch: a round.
    Round,
    /// This rank has copied so many bytes.
    Copied {
        /// Bytes.
        bytes: usize,
    },
}

/// Some ranks of a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ranks {
    /// Nobody.
    None,
    /// From the first to before the second.
    Between(usize, usize),
    /// One.
    One(usize),
}

/// The steps of a call. Must come to its [`Steps::end`]; an error is final, as everywhere.
pub(crate) struct Steps<'t, T> {
    transport: &'t mut T,
    memory: Box<SharedMemory>,
}

impl<'t, T: Transport> Steps<'t, T> {
    /// Begins a call in which `piece_bytes`, the same on all ranks, must fit into a slot.
    pub(crate) fn begin(transport: &'t mut T, piece_bytes: usize) -> Result<Steps<'t, T>, TransportError> {
        let memory = transport.take_shared(piece_bytes)?;
        Ok(Steps { transport, memory })
    }

    /// Ends the call.
    pub(crate) fn end(self) {
        self.transport.give_shared(self.memory);
    }

    /// Everybody.
    pub(crate) fn all(&self) -> Ranks {
        Ranks::Between(0, self.memory.regions.len())
    }

    /// Begins a step: afterwards this rank may write its slot for `readers`.
    pub(crate) fn next(&mut self, readers: Ranks) -> Result<(), TransportError> {
        self.memory.epoch += 1;
        if readers != Ranks::None {
            let epoch = self.memory.epoch;
            let slot = usize::from(epoch % 2 == 1);
            let (before, written) = std::mem::replace(&mut self.memory.readers[slot], (readers, epoch));
            self.wait_for(before, written + 1)?;
        }
        Ok(())
    }

    /// Writes into this rank's slot, before it is published.
    pub(crate) fn put(&mut self, at: usize, data: &[u8]) {
        let slot = self.memory.slot(self.memory.rank, at, data.len());
        // SAFETY: within this rank's slot, which nobody reads between `next` and `publish`, as the module's text shows.
        let slot = unsafe { std::slice::from_raw_parts_mut(slot.as_ptr(), data.len()) };
        self.copy(data, slot);
    }

    /// Shows this rank's slot to the others, and that it has done with the steps before.
    pub(crate) fn publish(&mut self) {
        let epoch = self.memory.epoch;
        self.transport.observe(Event::Published { epoch });
        self.memory.flag(self.memory.rank).store(epoch, Ordering::Release);
    }

    /// Waits until these ranks have published the step; their slots may then be read until this rank's next step.
    pub(crate) fn wait(&mut self, ranks: Ranks) -> Result<(), TransportError> {
        self.wait_for(ranks, self.memory.epoch)?;
        self.transport.observe(Event::Round);
        Ok(())
    }

    /// Reads a rank's slot, for which this rank has waited.
    pub(crate) fn get(&mut self, rank: usize, at: usize, out: &mut [u8]) {
        let slot = self.memory.slot(rank, at, out.len());
        // SAFETY: within the slot, which its rank does not write before this one has published its next step.
        let slot = unsafe { std::slice::from_raw_parts(slot.as_ptr(), out.len()) };
        self.copy(slot, out);
    }

    /// `out = operand 0 op ... op operand last` in rank order, where a rank's operand lies at `at` in its slot, this rank's own
    /// in `own`.
    pub(crate) fn fold(&mut self, last: usize, at: usize, own: &[u8], out: &mut [u8]) -> Result<(), TransportError> {
        if last == self.memory.rank {
            self.copy(own, out);
        } else {
            self.get(last, at, out);
        }
        for rank in (0..last).rev() {
            if rank == self.memory.rank {
                self.transport.reduce_local(own, out)?;
            } else {
                let slot = self.memory.slot(rank, at, out.len());
                // SAFETY: as in `get`.
                let slot = unsafe { std::slice::from_raw_parts(slot.as_ptr(), out.len()) };
                self.transport.reduce_local(slot, out)?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, from: &[u8], to: &mut [u8]) {
        self.transport.copy(from, to);
        self.transport.observe(Event::Copied { bytes: to.len() });
    }

    /// The one place where a rank waits.
    fn wait_for(&mut self, ranks: Ranks, epoch: u64) -> Result<(), TransportError> {
        let ranks = match ranks {
            Ranks::None => 0..0,
            Ranks::Between(begin, end) => begin..end,
            Ranks::One(rank) => rank..rank + 1,
        };
        for rank in ranks {
            if rank == self.memory.rank {
                continue;
            }
            if self.memory.seen[rank] < epoch {
                let seen = self.look(rank, epoch)?;
                self.memory.seen[rank] = seen;
            }
            self.transport.observe(Event::Awaited { rank, epoch });
        }
        Ok(())
    }

    fn look(&mut self, rank: usize, epoch: u64) -> Result<u64, TransportError> {
        loop {
            for _ in 0..self.transport.looks() {
                let seen = self.memory.flag(rank).load(Ordering::Acquire);
                if seen >= epoch {
                    return Ok(seen);
                }
                std::hint::spin_loop();
            }
            self.transport.relax(rank)?;
        }
    }
}

/// Bytes of a segment in a call on whole slots; elements are never cut.
pub(crate) fn segment(parameters: &[u64], element_bytes: usize) -> usize {
    crate::schedule::whole_elements(used(parameters), element_bytes)
}

/// Bytes of each of `p` parts of a slot in a call; at least one element.
pub(crate) fn part(parameters: &[u64], p: usize, element_bytes: usize) -> usize {
    crate::schedule::whole_elements(cost_part(parameters, p), element_bytes)
}

/// The same where elements are small.
pub(crate) fn cost_part(parameters: &[u64], p: usize) -> usize {
    let even = used(parameters) / p;
    let grains = even / GRAIN_BYTES * GRAIN_BYTES;
    (if grains > 0 { grains } else { even }).max(1)
}

/// Bytes of a slot that a call uses.
pub(crate) fn used(parameters: &[u64]) -> usize {
    usize::try_from(parameters[0]).unwrap_or(SLOT_BYTES).min(SLOT_BYTES)
}

/// Steps for `bytes` bytes, `step` in each.
pub(crate) fn steps(bytes: usize, step: usize) -> f64 {
    bytes.div_ceil(step) as f64
}
