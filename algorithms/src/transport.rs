//! The boundary between algorithms and whatever moves their bytes.

use std::sync::Arc;

use crate::Nodes;
use crate::shared_memory::{Event, SharedMemory};

/// Services that a rank needs from its surroundings to run a collective algorithm.
///
/// Buffers are bytes; an element has [`Transport::element_bytes`] of them, and every slice passed to a method is a whole
/// number of elements, but for messages of an algorithm's own (lengths), which are only sent and received. Sources and destinations are ranks of the communicator. Messages between one pair of ranks arrive in
/// the order they were sent; algorithms need no tags.
///
/// An `Err` is final: the algorithm returns it at once, and whoever started it ends the job or the test, since the other
/// ranks may be waiting.
pub trait Transport {
    /// A message under way, whose buffer is lent for `'b`.
    type Request<'b>;

    /// This rank, `0..size()`.
    fn rank(&self) -> usize;

    /// The number of ranks `p`, at least 1.
    fn size(&self) -> usize;

    /// The mapping of ranks to nodes, the same on all ranks. The first call may communicate, so all ranks must make it at the
    /// same point of an algorithm.
    fn nodes(&mut self) -> Result<Arc<Nodes>, TransportError>;

    /// Bytes of one element, at least 1; a segment or block boundary may lie only between elements.
    fn element_bytes(&self) -> usize;

    /// Sends `data` to rank `to`; returns when `data` may be written again.
    fn send(&mut self, to: usize, data: &[u8]) -> Result<(), TransportError>;

    /// Receives exactly `data.len()` bytes from rank `from`.
    fn recv(&mut self, from: usize, data: &mut [u8]) -> Result<(), TransportError>;

    /// Sends and receives at the same time, without deadlock when the peers do so too.
    fn sendrecv(&mut self, to: usize, send: &[u8], from: usize, recv: &mut [u8]) -> Result<(), TransportError>;

    /// Starts to send.
    ///
    /// # Safety
    /// The request must be passed to [`Transport::wait`] before the lent buffer ends its life; it must not be forgotten.
    unsafe fn isend<'b>(&mut self, to: usize, data: &'b [u8]) -> Result<Self::Request<'b>, TransportError>;

    /// Starts to receive exactly `data.len()` bytes.
    ///
    /// # Safety
    /// As for [`Transport::isend`].
    unsafe fn irecv<'b>(&mut self, from: usize, data: &'b mut [u8]) -> Result<Self::Request<'b>, TransportError>;

    /// Completes a request.
    fn wait(&mut self, request: Self::Request<'_>) -> Result<(), TransportError>;

    /// `inout[i] = input[i] op inout[i]` for each element: `input` is the operand of the lower ranks, as in `MPI_Reduce_local`.
    fn reduce_local(&mut self, input: &[u8], inout: &mut [u8]) -> Result<(), TransportError>;

    /// Copies `from` to `to`, of equal length. A method, so that a cost model sees it.
    fn copy(&mut self, from: &[u8], to: &mut [u8]) {
        to.copy_from_slice(from);
    }

    /// Takes a scratch buffer of at least `bytes` bytes with unspecified contents out of the communicator's arena; it is
    /// allocated at the first call of a size class only (PGMPI case 2 found an allocation in each call ruinous).
    fn take_scratch(&mut self, bytes: usize) -> Result<Vec<u8>, TransportError>;

    /// Gives a scratch buffer back to the arena.
    fn give_scratch(&mut self, scratch: Vec<u8>);

    /// Takes the memory that all ranks share, for a call in which `piece_bytes` bytes must fit into a slot. All ranks ask at the
    /// same point of an algorithm with the same number, since they may have to make it together; it is made at the first call
    /// and when a piece is larger than any before.
    ///
    /// # Errors
    /// [`TransportError::NoSharedMemory`], on all ranks.
    fn take_shared(&mut self, piece_bytes: usize) -> Result<Box<SharedMemory>, TransportError> {
        let _ = piece_bytes;
        Err(TransportError::NoSharedMemory {
            reason: "these ranks are a part of a communicator",
        })
    }

    /// Gives it back for the next call.
    fn give_shared(&mut self, memory: Box<SharedMemory>) {
        drop(memory);
    }

    /// Number of looks at a flag in shared memory before [`Transport::relax`] is called.
    fn looks(&self) -> u32 {
        64
    }

    /// Called again and again while this rank waits for `rank` in shared memory: lets others have the processor and the layer
    /// below go on with what it has to do.
    ///
    /// # Errors
    /// An error if it will never come.
    fn relax(&mut self, rank: usize) -> Result<(), TransportError> {
        let _ = rank;
        std::thread::yield_now();
        Ok(())
    }

    /// Told what happens in shared memory, so that a cost model sees it.
    fn observe(&mut self, event: Event) {
        let _ = event;
    }
}

/// Why a message or a local operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The layer below (an MPI library) returned an error code.
    #[error("{operation} with rank {peer} failed with MPI error code {code}")]
    Library {
        /// The call that failed, such as `PMPI_Send`.
        operation: &'static str,
        /// The other rank.
        peer: usize,
        /// The library's error code.
        code: i32,
    },
    /// A peer ended or a message had another length than the schedule says: a defect of the algorithm.
    #[error("message from rank {peer}: {expected} bytes expected, {got} came")]
    Length {
        /// The sender.
        peer: usize,
        /// Bytes the schedule expects.
        expected: usize,
        /// Bytes that came.
        got: usize,
    },
    /// A peer has gone.
    #[error("rank {peer} has gone")]
    PeerGone {
        /// The rank.
        peer: usize,
    },
    /// Every rank waits for another one, so that none will ever go on: a defect of the algorithm. Only a transport that sees all
    /// ranks ([`crate::threads`]) can tell.
    #[error("deadlock: all ranks wait, this one for a message from rank {peer}")]
    Deadlock {
        /// The rank whose message is missing.
        peer: usize,
    },
    /// There is no memory that all ranks share.
    #[error("the ranks have no memory in common: {reason}; use another algorithm on this communicator")]
    NoSharedMemory {
        /// Why not.
        reason: &'static str,
    },
    /// No memory for scratch.
    #[error("no memory for {bytes} bytes of scratch")]
    NoMemory {
        /// Bytes asked for.
        bytes: usize,
    },
}
