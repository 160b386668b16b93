//! Shared memory of the ranks of one run, and when they published what.

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::clock::{KINDS, Moment};
use super::in_turn::Turn;
use super::switchboard::Switchboard;
use crate::{SharedMemory, TransportError};

/// So long a rank waits for one that is there. Many times what any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The regions of all ranks.
#[derive(Debug)]
pub(super) struct Memory {
    /// Each rank's region, zeros at first.
    regions: Vec<Region>,
    slot_bytes: usize,
    /// Times at which ranks published epochs; index: rank, then epoch less one.
    published: Vec<Mutex<Vec<Moment>>>,
}

/// A heap allocation of words that is accessed through its address only.
#[derive(Debug)]
struct Region(NonNull<[u64]>);

// SAFETY: it owns its memory, which `SharedMemory` sees to be accessed without races.
unsafe impl Send for Region {}
// SAFETY: the same.
unsafe impl Sync for Region {}

impl Region {
    fn new(bytes: usize) -> Region {
        let words = vec![0_u64; bytes.div_ceil(size_of::<u64>())].into_boxed_slice();
        Region(NonNull::from(Box::leak(words)))
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: from a box in `new`, given back once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Memory {
    pub(super) fn new(p: usize, slot_bytes: usize) -> Memory {
        Memory {
            regions: (0..p)
                .map(|_| Region::new(SharedMemory::region_bytes(slot_bytes)))
                .collect(),
            slot_bytes,
            published: (0..p).map(|_| Mutex::default()).collect(),
        }
    }

    pub(super) fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }
}

/// One rank's end.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The view, while no call has taken it.
    view: Option<Box<SharedMemory>>,
    /// The memory that the view points to. Held here so that it lives as long as the view.
    memory: Option<Arc<Memory>>,
    /// The rank that was found gone when its flag had been looked at: it may have published something in between.
    doubted: Option<usize>,
    waiting_since: Option<Instant>,
}

impl Shared {
    pub(super) fn take(&mut self, rank: usize, switchboard: &Switchboard, piece_bytes: usize) -> Box<SharedMemory> {
        if let Some(view) = self.view.take_if(|view| view.slot_bytes() >= piece_bytes) {
            return view;
        }
        let slot_bytes = SharedMemory::slot_for(piece_bytes);
        let memory = switchboard.memory(slot_bytes);
        let regions = memory.regions.iter().map(|region| region.0.cast()).collect();
        self.memory = Some(memory);
        // SAFETY: the regions are as long, aligned and zero at first; `self`, and so the transport, keeps them while a call has
        // the view. All ranks ask for the same lengths in the same order, none twice after a larger one.
        Box::new(unsafe { SharedMemory::new(rank, slot_bytes, regions) })
    }

    /// Bytes of this rank's region, where there is one.
    pub(super) fn region_bytes(&self) -> usize {
        let memory = self.memory.as_ref();
        memory.map_or(0, |memory| SharedMemory::region_bytes(memory.slot_bytes()))
    }

    pub(super) fn give(&mut self, view: Box<SharedMemory>) {
        self.view = Some(view);
    }

    pub(super) fn publish(&mut self, rank: usize, epoch: u64, now: Moment) {
        if let Some(memory) = &self.memory {
            let mut moments = memory.published[rank].lock().unwrap_or_else(PoisonError::into_inner);
            assert_eq!(
                moments.len() as u64 + 1,
                epoch,
                "rank {rank} publishes every epoch once"
            );
            moments.push(now);
        }
    }

    /// Time at which a rank published an epoch that this rank has seen.
    pub(super) fn published(&self, rank: usize, epoch: u64) -> Moment {
        let memory = self.memory.as_ref();
        memory.map_or([0.0; KINDS], |memory| {
            let moments = memory.published[rank].lock().unwrap_or_else(PoisonError::into_inner);
            moments[epoch as usize - 1]
        })
    }

    /// One more look at the flag of `rank` was in vain.
    pub(super) fn relax(&mut self, rank: usize, has_gone: bool, turn: Turn<'_>) -> Result<(), TransportError> {
        if has_gone && self.doubted.replace(rank) == Some(rank) {
            return Err(TransportError::PeerGone { peer: rank });
        }
        if self.waiting_since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            return Err(TransportError::Deadlock { peer: rank });
        }
        turn.hand_on();
        Ok(())
    }

    /// The wait is over.
    pub(super) fn is_going_on(&mut self) {
        self.doubted = None;
        self.waiting_since = None;
    }
}
