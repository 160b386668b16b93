//! Point-to-point messages of an MPI communicator, as the algorithms want them.

mod piece;

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::Arc;

use kilter_algorithms::schedule::elements;
use kilter_algorithms::shared_memory::Event;
use kilter_algorithms::{Family, Nodes, SharedMemory, Transport, TransportError};
use mpi_sys::{MPI_Comm, MPI_Datatype, MPI_Op, MPI_Status};

use self::piece::{Piece, bytes, check_length, complete};
use crate::error::pmpi;
use crate::{Arena, constants};

/// Tag of every message; the communicator is the algorithm's own, so that one suffices.
const TAG: c_int = 7;

/// Bytes of a message, at most: counts are ints. Longer ones travel in pieces, whose lengths both sides know.
pub const PIECE_BYTES: usize = 1 << 30;

/// Messages up to this length are sent before `PMPI_Isend` returns by every library in use (Open MPI's `btl_sendi` takes as many).
const SENT_AT_ONCE_BYTES: usize = 256;

/// [`Transport`] over a communicator, for one call.
pub struct MpiTransport<'a> {
    comm: MPI_Comm,
    rank: usize,
    size: usize,
    datatype: MPI_Datatype,
    op: MPI_Op,
    element_bytes: usize,
    piece_bytes: usize,
    arena: &'a mut Arena,
    /// Number of fruitless looks at shared memory by this rank, in the wait under way.
    looks: u32,
}

/// Transports over communicators, for [`kilter_algorithms::Entry`].
pub struct OverMpi;

impl Family for OverMpi {
    type Of<'a> = MpiTransport<'a>;
}

/// After so many looks in vain a rank lets others have the processor, even where there seem to be enough.
const PATIENT_LOOKS: u32 = 32;

/// A message under way.
pub struct MpiRequest<'b> {
    operation: &'static str,
    peer: usize,
    first: Piece,
    /// The other pieces of a long message.
    rest: Vec<Piece>,
    buffer: PhantomData<&'b mut [u8]>,
}

impl<'a> MpiTransport<'a> {
    /// A transport over `comm`, whose rank `rank` of `size` this is, on which nothing else may be received meanwhile, for
    /// elements of `element_bytes` bytes that `PMPI_Reduce_local` combines as `datatype` with `op` (any handle where the
    /// collective has no operator).
    ///
    /// # Safety
    /// MPI is initialised; `comm` is a valid intracommunicator; `element_bytes` is the extent of `datatype`, whose elements do
    /// not reach beyond it, and `op` works on it, if anything is reduced.
    #[inline]
    pub unsafe fn new(
        (comm, rank, size): (MPI_Comm, usize, usize),
        datatype: MPI_Datatype,
        op: MPI_Op,
        element_bytes: usize,
        arena: &'a mut Arena,
    ) -> MpiTransport<'a> {
        MpiTransport {
            comm,
            rank,
            size,
            datatype,
            op,
            element_bytes: element_bytes.max(1),
            piece_bytes: PIECE_BYTES,
            arena,
            looks: 0,
        }
    }

    /// The same with shorter pieces, the same on all ranks: for tests, as messages of 1 GiB take long.
    #[must_use]
    pub fn with_piece_bytes(mut self, piece_bytes: usize) -> MpiTransport<'a> {
        self.piece_bytes = piece_bytes.clamp(1, PIECE_BYTES);
        self
    }

    #[inline]
    fn fits(&self, data: &[u8]) -> bool {
        data.len() <= self.piece_bytes
    }

    /// Combines a piece.
    fn combine(&self, input: &[u8], inout: &mut [u8]) -> Result<(), TransportError> {
        // The library may refuse the address of an empty slice.
        if inout.is_empty() {
            return Ok(());
        }
        let (operation, peer) = ("PMPI_Reduce_local", self.rank);
        let length = inout.len().min(input.len());
        let elements = bytes(operation, peer, elements(length, self.element_bytes))?;
        // SAFETY: both buffers have `elements` elements of the datatype, by the contract of `new`, and do not overlap.
        unsafe {
            let (input, inout): (*const c_void, *mut c_void) = (input.as_ptr().cast(), inout.as_mut_ptr().cast());
            pmpi!(PMPI_Reduce_local(input, inout, elements, self.datatype, self.op))
        }
        .map_err(|error| error.with_peer(peer))
    }

    /// Begins to send a piece.
    ///
    /// # Safety
    /// It stays as it is until the request has been waited for.
    #[inline]
    unsafe fn begin_send(&self, to: usize, data: &[u8]) -> Result<Piece, TransportError> {
        let length = bytes("PMPI_Isend", to, data.len())?;
        let mut request = constants::request_null();
        // SAFETY: the buffer has `length` bytes and lives until the caller has waited, by this function's contract.
        unsafe {
            let buffer: *const c_void = data.as_ptr().cast();
            let (byte, request) = (constants::byte(), &raw mut request);
            pmpi!(PMPI_Isend(buffer, length, byte, to as c_int, TAG, self.comm, request))
        }
        .map_err(|error| error.with_peer(to))?;
        let expected = None;
        Ok(Piece { request, expected })
    }

    /// Begins to receive a piece.
    ///
    /// # Safety
    /// It is left alone until the request has been waited for.
    #[inline]
    unsafe fn begin_recv(&self, from: usize, data: &mut [u8]) -> Result<Piece, TransportError> {
        let length = bytes("PMPI_Irecv", from, data.len())?;
        let mut request = constants::request_null();
        // SAFETY: the buffer has `length` bytes and lives until the caller has waited, by this function's contract.
        unsafe {
            let buffer: *mut c_void = data.as_mut_ptr().cast();
            let (byte, request) = (constants::byte(), &raw mut request);
            pmpi!(PMPI_Irecv(buffer, length, byte, from as c_int, TAG, self.comm, request))
        }
        .map_err(|error| error.with_peer(from))?;
        let expected = Some(data.len());
        Ok(Piece { request, expected })
    }

    /// Receives what needs no more than a piece. A part of each function that does so, as they are called for every message.
    #[inline(always)]
    fn recv_piece(&self, from: usize, data: &mut [u8]) -> Result<(), TransportError> {
        let length = bytes("PMPI_Recv", from, data.len())?;
        let mut status = MaybeUninit::zeroed();
        // SAFETY: the buffer has `length` bytes and is lent for the call, which fills the status (zeros are a valid one).
        let status: MPI_Status = unsafe {
            let buffer = data.as_mut_ptr().cast();
            pmpi!(PMPI_Recv(
                buffer,
                length,
                constants::byte(),
                from as c_int,
                TAG,
                self.comm,
                status.as_mut_ptr()
            ))
            .map_err(|error| error.with_peer(from))?;
            status.assume_init()
        };
        check_length(&status, from, data.len())
    }

    /// [`Transport::sendrecv`] of few bytes: the message has left when `PMPI_Isend` returns, and a blocking receive needs no request
    /// of the library's. `PMPI_Sendrecv` makes one to receive first, for which the message would wait (in Open MPI 4.1).
    #[inline]
    fn exchange_few(&mut self, to: usize, send: &[u8], from: usize, recv: &mut [u8]) -> Result<(), TransportError> {
        // SAFETY: waited for below, whatever becomes of the receive.
        let outgoing = unsafe { self.begin_send(to, send)? };
        let received = self.recv_piece(from, recv);
        complete("PMPI_Wait of PMPI_Isend", to, outgoing)?;
        received
    }
}

impl Transport for MpiTransport<'_> {
    type Request<'b> = MpiRequest<'b>;

    #[inline]
    fn rank(&self) -> usize {
        self.rank
    }

    #[inline]
    fn size(&self) -> usize {
        self.size
    }

    fn nodes(&mut self) -> Result<Arc<Nodes>, TransportError> {
        let comm = self.comm;
        self.arena
            // SAFETY: a valid intracommunicator, by the contract of `new`; all ranks ask at the same point.
            .nodes(|| unsafe { crate::nodes(comm) })
            .map_err(|error| error.with_peer(self.rank))
    }

    #[inline]
    fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    #[inline]
    fn send(&mut self, to: usize, data: &[u8]) -> Result<(), TransportError> {
        if !self.fits(data) {
            // SAFETY: waited for at once.
            let request = unsafe { self.isend(to, data)? };
            return self.wait(request);
        }
        let length = bytes("PMPI_Send", to, data.len())?;
        // SAFETY: the buffer has `length` bytes and is lent for the call.
        unsafe {
            pmpi!(PMPI_Send(
                data.as_ptr().cast(),
                length,
                constants::byte(),
                to as c_int,
                TAG,
                self.comm
            ))
        }
        .map_err(|error| error.with_peer(to))
    }

    #[inline]
    fn recv(&mut self, from: usize, data: &mut [u8]) -> Result<(), TransportError> {
        if !self.fits(data) {
            // SAFETY: waited for at once.
            let request = unsafe { self.irecv(from, data)? };
            return self.wait(request);
        }
        self.recv_piece(from, data)
    }

    #[inline]
    fn sendrecv(&mut self, to: usize, send: &[u8], from: usize, recv: &mut [u8]) -> Result<(), TransportError> {
        if !self.fits(send) || !self.fits(recv) {
            // SAFETY: both are waited for at once; an error ends the job, as other ranks may be waiting.
            let (incoming, outgoing) = unsafe { (self.irecv(from, recv)?, self.isend(to, send)?) };
            self.wait(incoming)?;
            return self.wait(outgoing);
        }
        if send.len().max(recv.len()) <= SENT_AT_ONCE_BYTES {
            return self.exchange_few(to, send, from, recv);
        }
        let send_length = bytes("PMPI_Sendrecv", to, send.len())?;
        let recv_length = bytes("PMPI_Sendrecv", from, recv.len())?;
        let mut status = MaybeUninit::zeroed();
        // SAFETY: the buffers have these lengths, do not overlap and are lent for the call, which fills the status.
        let status: MPI_Status = unsafe {
            pmpi!(PMPI_Sendrecv(
                send.as_ptr().cast(),
                send_length,
                constants::byte(),
                to as c_int,
                TAG,
                recv.as_mut_ptr().cast(),
                recv_length,
                constants::byte(),
                from as c_int,
                TAG,
                self.comm,
                status.as_mut_ptr(),
            ))
            .map_err(|error| error.with_peer(from))?;
            status.assume_init()
        };
        check_length(&status, from, recv.len())
    }

    #[inline]
    unsafe fn isend<'b>(&mut self, to: usize, data: &'b [u8]) -> Result<MpiRequest<'b>, TransportError> {
        let (first, rest) = data.split_at(data.len().min(self.piece_bytes));
        // SAFETY: the pieces live until the caller has waited, by the trait's contract.
        let begin = |piece| unsafe { self.begin_send(to, piece) };
        Ok(MpiRequest {
            operation: "PMPI_Wait of PMPI_Isend",
            peer: to,
            first: begin(first)?,
            rest: if rest.is_empty() {
                Vec::new()
            } else {
                rest.chunks(self.piece_bytes).map(begin).collect::<Result<_, _>>()?
            },
            buffer: PhantomData,
        })
    }

    #[inline]
    unsafe fn irecv<'b>(&mut self, from: usize, data: &'b mut [u8]) -> Result<MpiRequest<'b>, TransportError> {
        let (first, rest) = data.split_at_mut(data.len().min(self.piece_bytes));
        // SAFETY: the pieces live until the caller has waited, by the trait's contract.
        let begin = |piece| unsafe { self.begin_recv(from, piece) };
        Ok(MpiRequest {
            operation: "PMPI_Wait of PMPI_Irecv",
            peer: from,
            first: begin(first)?,
            rest: if rest.is_empty() {
                Vec::new()
            } else {
                rest.chunks_mut(self.piece_bytes).map(begin).collect::<Result<_, _>>()?
            },
            buffer: PhantomData,
        })
    }

    #[inline]
    fn wait(&mut self, request: MpiRequest<'_>) -> Result<(), TransportError> {
        let MpiRequest {
            operation,
            peer,
            first,
            rest,
            ..
        } = request;
        complete(operation, peer, first)?;
        // The rest after an error is given up.
        rest.into_iter().try_for_each(|piece| complete(operation, peer, piece))
    }

    #[inline]
    fn reduce_local(&mut self, input: &[u8], inout: &mut [u8]) -> Result<(), TransportError> {
        debug_assert_eq!(input.len(), inout.len());
        if self.fits(inout) {
            return self.combine(input, inout);
        }
        let piece = (self.piece_bytes / self.element_bytes).max(1) * self.element_bytes;
        input
            .chunks(piece)
            .zip(inout.chunks_mut(piece))
            .try_for_each(|(input, inout)| self.combine(input, inout))
    }

    #[inline]
    fn take_scratch(&mut self, bytes: usize) -> Result<Vec<u8>, TransportError> {
        self.arena.take(bytes).ok_or(TransportError::NoMemory { bytes })
    }

    #[inline]
    fn give_scratch(&mut self, scratch: Vec<u8>) {
        self.arena.give(scratch);
    }

    #[inline]
    fn take_shared(&mut self, piece_bytes: usize) -> Result<Box<SharedMemory>, TransportError> {
        // SAFETY: the arena is the communicator's; all ranks ask at the same point.
        unsafe { self.arena.take_shared(self.comm, piece_bytes) }
    }

    #[inline]
    fn give_shared(&mut self, memory: Box<SharedMemory>) {
        self.arena.give_shared(memory);
    }

    /// The rank waited for may itself wait for a message of this one's, or be inside the library until it gets one: a rank that
    /// waits outside the library must call it now and then, or nothing under way goes on.
    fn relax(&mut self, rank: usize) -> Result<(), TransportError> {
        let mut found: c_int = 0;
        let mut status: MaybeUninit<MPI_Status> = MaybeUninit::zeroed();
        // SAFETY: an int and a status are written. A message of this rank to itself is never under way.
        unsafe {
            let (own, found, status) = (self.rank as c_int, &raw mut found, status.as_mut_ptr());
            pmpi!(PMPI_Iprobe(own, TAG, self.comm, found, status))
        }
        .map_err(|error| error.with_peer(rank))?;
        self.looks = self.looks.saturating_add(1);
        if self.arena.crowded || self.looks > PATIENT_LOOKS {
            std::thread::yield_now();
        }
        Ok(())
    }

    #[inline]
    fn observe(&mut self, event: Event) {
        if let Event::Round = event {
            self.looks = 0;
        }
    }
}
