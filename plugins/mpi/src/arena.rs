//! Scratch that is allocated once and kept, one arena per communicator.
//!
//! PGMPI's case 2 (Hunold et al. 2016): a temporary allocated in every call costs more than the collective itself once the
//! allocator maps fresh pages for it.

use std::ffi::c_int;
use std::sync::Arc;

use kilter_algorithms::scratch::class_bytes;
use kilter_algorithms::{Nodes, SharedMemory, TransportError};
use mpi_sys::MPI_Comm;

use crate::lanes::Lanes;
use crate::shared_memory::{Window, is_crowded};
use crate::{LanesError, MpiError, info};

/// Scratch buffers by power-of-two size class, and the count tables of v-variants.
#[derive(Debug, Default)]
pub struct Arena {
    /// Free buffers; index: binary logarithm of their length.
    free: Vec<Vec<Vec<u8>>>,
    /// The free buffer that was given back last, or an empty one: most calls want the one of the call before.
    last: Vec<u8>,
    allocations: u64,
    bytes: u64,
    /// This rank and the number of ranks, once known.
    place: Option<(usize, usize)>,
    /// Number and length of the equal blocks that the tables describe, if they do.
    equal: Option<(usize, c_int)>,
    counts: Vec<c_int>,
    displacements: Vec<c_int>,
    nodes: Option<Arc<Nodes>>,
    window: Option<Window>,
    /// Communicators of nodes and lanes, once made.
    pub(crate) lanes: Option<Box<Lanes>>,
    /// True if there are more ranks than processors; only known with a window.
    pub(crate) crowded: bool,
    /// An empty list with room, lent to a pipeline for the buffers it holds.
    pub(crate) held: Vec<Vec<u8>>,
}

impl Arena {
    /// An empty arena.
    #[must_use]
    pub fn new() -> Arena {
        Arena::default()
    }

    /// An arena for a communicator whose ranks are on these nodes, whatever the library says: for tests of several nodes on one.
    #[must_use]
    pub fn on_nodes(nodes: Nodes) -> Arena {
        Arena {
            nodes: Some(Arc::new(nodes)),
            ..Arena::default()
        }
    }

    /// Makes the communicators of nodes and lanes of `comm`, unless they are there.
    ///
    /// # Safety
    /// `comm` is the intracommunicator of this arena, and returns errors; all its ranks make the same call at the same point.
    #[inline]
    pub unsafe fn make_lanes(&mut self, comm: MPI_Comm) -> Result<(), LanesError> {
        if self.lanes.is_none() {
            // SAFETY: by this function's contract.
            let nodes = self.nodes(|| unsafe { crate::nodes(comm) })?;
            // SAFETY: by this function's contract.
            self.lanes = Some(Box::new(unsafe { Lanes::new(comm, &nodes) }?));
        }
        Ok(())
    }

    /// Number of buffers allocated so far; constant once every size has been seen.
    #[must_use]
    pub fn allocations(&self) -> u64 {
        self.allocations
    }

    /// Bytes of all of them: what it has kept if all were given back.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// This rank and the number of ranks of the arena's communicator `comm`; asked once.
    #[inline]
    pub fn place(&mut self, comm: MPI_Comm) -> Result<(usize, usize), MpiError> {
        if let Some(place) = self.place {
            return Ok(place);
        }
        let place = (info::rank(comm)?, info::size(comm)?);
        self.place = Some(place);
        Ok(place)
    }

    /// Nodes of the communicator's ranks; found once.
    pub(crate) fn nodes(&mut self, find: impl FnOnce() -> Result<Nodes, MpiError>) -> Result<Arc<Nodes>, MpiError> {
        if let Some(nodes) = &self.nodes {
            return Ok(Arc::clone(nodes));
        }
        let nodes = Arc::new(find()?);
        self.nodes = Some(Arc::clone(&nodes));
        Ok(nodes)
    }

    /// The communicator's shared memory with slots for `piece_bytes` bytes; made, and made anew when it is too small.
    ///
    /// # Safety
    /// `comm` is the intracommunicator of this arena; all its ranks make the same call at the same point.
    #[inline]
    pub(crate) unsafe fn take_shared(
        &mut self,
        comm: MPI_Comm,
        piece_bytes: usize,
    ) -> Result<Box<SharedMemory>, TransportError> {
        match self.window.as_mut().and_then(|window| window.take(piece_bytes)) {
            Some(view) => Ok(view),
            // SAFETY: by this function's contract.
            None => unsafe { self.make_shared(comm, piece_bytes) },
        }
    }

    /// Allocates memory that the ranks of `comm` share.
    ///
    /// # Safety
    /// As for [`Arena::release`].
    #[cold]
    unsafe fn make_shared(&mut self, comm: MPI_Comm, piece_bytes: usize) -> Result<Box<SharedMemory>, TransportError> {
        let own = info::rank(comm).map_err(|error| error.with_peer(0))?;
        let failed = |error: MpiError| error.with_peer(own);
        // SAFETY: all ranks of `comm` make this call, by this function's contract.
        let nodes = self.nodes(|| unsafe { crate::nodes(comm) }).map_err(failed)?;
        if nodes.count() != 1 {
            return Err(TransportError::NoSharedMemory {
                reason: "they are on several nodes",
            });
        }
        // Threads that may all call MPI wait for each other's processors, too.
        let threads = info::is_thread_multiple().map_err(failed)?;
        self.crowded = threads || is_crowded(info::size(comm).map_err(failed)?);
        // SAFETY: all ranks of `comm` make this call, by this function's contract. No call uses the view, as this call asks for it.
        unsafe { self.release() }.map_err(failed)?;
        // SAFETY: all ranks of `comm` make this call, by this function's contract.
        self.window = unsafe { Window::new(comm, piece_bytes) }.map_err(failed)?;
        let view = self.window.as_mut().and_then(|window| window.take(piece_bytes));
        view.ok_or(TransportError::NoSharedMemory {
            reason: "PMPI_Win_allocate_shared failed on a rank (is there room in /dev/shm?)",
        })
    }

    /// Gives the shared memory back for the next call.
    pub(crate) fn give_shared(&mut self, view: Box<SharedMemory>) {
        if let Some(window) = &mut self.window {
            window.give(view);
        }
    }

    /// Frees what ranks can free only together: the shared memory, and the communicators of nodes and lanes. To be called before the communicator is freed; an arena that
    /// has none does nothing, and one that is dropped without it leaves its window to the library.
    ///
    /// # Safety
    /// MPI is running; all ranks of the arena's communicator make the same call, and none is in another one on it.
    pub unsafe fn release(&mut self) -> Result<(), MpiError> {
        // SAFETY: by this function's contract.
        self.lanes.take().map_or(Ok(()), |lanes| unsafe { lanes.free() })?;
        // SAFETY: by this function's contract.
        self.window.take().map_or(Ok(()), |window| unsafe { window.free() })
    }

    /// Takes a buffer of at least `bytes` bytes with unspecified contents, aligned as `malloc` aligns; `None` without memory.
    #[inline]
    #[must_use]
    pub fn take(&mut self, bytes: usize) -> Option<Vec<u8>> {
        let length = class_bytes(bytes)?;
        if self.last.len() == length {
            return Some(std::mem::take(&mut self.last));
        }
        self.take_other(length)
    }

    /// [`Arena::take`] of a buffer of `length` bytes, a power of two, other than the last one.
    fn take_other(&mut self, length: usize) -> Option<Vec<u8>> {
        let class = length.trailing_zeros() as usize;
        if let Some(buffer) = self.free.get_mut(class).and_then(Vec::pop) {
            return Some(buffer);
        }
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(length).ok()?;
        // Writes every page now: the first message must not pay for page faults.
        buffer.resize(length, 0);
        self.allocations += 1;
        self.bytes += length as u64;
        Some(buffer)
    }

    /// Gives a buffer back.
    #[inline]
    pub fn give(&mut self, buffer: Vec<u8>) {
        let before = std::mem::replace(&mut self.last, buffer);
        if !before.is_empty() {
            self.give_other(before);
        }
    }

    /// Keeps a buffer that is not the last one any more.
    fn give_other(&mut self, buffer: Vec<u8>) {
        if !buffer.len().is_power_of_two() {
            return;
        }
        let class = buffer.len().trailing_zeros() as usize;
        if self.free.len() <= class {
            self.free.resize_with(class + 1, Vec::new);
        }
        self.free[class].push(buffer);
    }

    /// Counts and displacements of `p` equal blocks; computed once for each change of its arguments.
    pub(crate) fn equal_blocks(&mut self, p_ranks: usize, block: c_int) -> (*const c_int, *const c_int) {
        if self.equal != Some((p_ranks, block)) {
            self.fill(std::iter::repeat_n(block, p_ranks));
            self.equal = Some((p_ranks, block));
        }
        (self.counts.as_ptr(), self.displacements.as_ptr())
    }

    /// The same of blocks of these lengths, one behind the other.
    pub(crate) fn blocks(&mut self, counts: &[c_int]) -> (*const c_int, *const c_int) {
        self.equal = None;
        self.fill(counts.iter().copied());
        (self.counts.as_ptr(), self.displacements.as_ptr())
    }

    fn fill(&mut self, counts: impl Iterator<Item = c_int>) {
        self.counts.clear();
        self.displacements.clear();
        let mut begin: c_int = 0;
        for count in counts {
            self.counts.push(count);
            self.displacements.push(begin);
            // The total is at most `c_int::MAX`, as callers check.
            begin = begin.saturating_add(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arena;

    #[test]
    fn a_size_class_is_allocated_once() {
        let mut arena = Arena::new();
        for bytes in [0, 1, 255, 256, 1000, 1024, 600] {
            let buffer = arena.take(bytes).unwrap();
            assert!(buffer.len() >= bytes && buffer.len().is_power_of_two());
            arena.give(buffer);
        }
        assert_eq!((arena.allocations(), arena.bytes()), (2, 1280), "256 and 1024");
        let (first, second) = (arena.take(1000).unwrap(), arena.take(1000).unwrap());
        assert_ne!(first.as_ptr(), second.as_ptr());
        assert_eq!(arena.allocations(), 3);
    }

    #[test]
    fn buffers_are_aligned_for_any_element() {
        let mut arena = Arena::new();
        for bytes in [1, 300, 5000, 1 << 20] {
            let buffer = arena.take(bytes).unwrap();
            assert_eq!(buffer.as_ptr() as usize % 16, 0, "{bytes}");
        }
    }

    #[test]
    fn an_absurd_size_is_refused_and_not_fatal() {
        assert!(Arena::new().take(usize::MAX).is_none());
        assert!(Arena::new().take(1 << 62).is_none());
    }

    #[test]
    fn blocks_follow_each_other() {
        let mut arena = Arena::new();
        for _ in 0..2 {
            arena.equal_blocks(3, 5);
            assert_eq!(
                (&arena.counts[..], &arena.displacements[..]),
                (&[5, 5, 5][..], &[0, 5, 10][..])
            );
            arena.blocks(&[2, 0, 3]);
            assert_eq!(
                (&arena.counts[..], &arena.displacements[..]),
                (&[2, 0, 3][..], &[0, 2, 2][..])
            );
        }
        arena.equal_blocks(2, 0);
        assert_eq!(
            (&arena.counts[..], &arena.displacements[..]),
            (&[0, 0][..], &[0, 0][..])
        );
    }
}
