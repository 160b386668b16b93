//! The transport of all cases: one on which an operation may fail.
//!
//! Every algorithm is compiled for each type of transport that it runs on: for a second one, that takes 11 seconds of a processor.

use kilter_algorithms::shared_memory::Event;
use kilter_algorithms::threads::{ThreadRequest, ThreadTransport};
use kilter_algorithms::{SharedMemory, Transport, TransportError};

/// A transport whose operation of this number fails, and all after it that communicate, except waiting for what is
/// under way.
pub(crate) struct Failing<'t, 'a> {
    pub(crate) inner: &'t mut ThreadTransport<'a>,
    pub(crate) left: usize,
}

pub(crate) const FAULT: TransportError = TransportError::Library {
    operation: "PMPI_Test",
    peer: 0,
    code: 16,
};

impl<'t, 'a> Failing<'t, 'a> {
    /// A transport that does not fail.
    pub(crate) fn never(inner: &'t mut ThreadTransport<'a>) -> Failing<'t, 'a> {
        Failing {
            inner,
            left: usize::MAX,
        }
    }

    fn count(&mut self) -> Result<(), TransportError> {
        self.left = self.left.checked_sub(1).ok_or(FAULT)?;
        Ok(())
    }
}

impl<'a> Transport for Failing<'_, 'a> {
    type Request<'b> = <ThreadTransport<'a> as Transport>::Request<'b>;

    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn nodes(&mut self) -> Result<std::sync::Arc<kilter_algorithms::Nodes>, TransportError> {
        self.count()?;
        self.inner.nodes()
    }

    fn element_bytes(&self) -> usize {
        self.inner.element_bytes()
    }

    fn send(&mut self, to: usize, data: &[u8]) -> Result<(), TransportError> {
        self.count()?;
        self.inner.send(to, data)
    }

    fn recv(&mut self, from: usize, data: &mut [u8]) -> Result<(), TransportError> {
        self.count()?;
        self.inner.recv(from, data)
    }

    fn sendrecv(&mut self, to: usize, send: &[u8], from: usize, recv: &mut [u8]) -> Result<(), TransportError> {
        self.count()?;
        self.inner.sendrecv(to, send, from, recv)
    }

    unsafe fn isend<'b>(&mut self, to: usize, data: &'b [u8]) -> Result<ThreadRequest<'b>, TransportError> {
        self.count()?;
        // SAFETY: the caller's promise is the one asked for.
        unsafe { self.inner.isend(to, data) }
    }

    unsafe fn irecv<'b>(&mut self, from: usize, data: &'b mut [u8]) -> Result<ThreadRequest<'b>, TransportError> {
        self.count()?;
        // SAFETY: the caller's promise is the one asked for.
        unsafe { self.inner.irecv(from, data) }
    }

    fn wait(&mut self, request: ThreadRequest<'_>) -> Result<(), TransportError> {
        // A request is done for, whether or not it succeeds.
        let waited = self.inner.wait(request);
        self.count().and(waited)
    }

    fn reduce_local(&mut self, input: &[u8], inout: &mut [u8]) -> Result<(), TransportError> {
        self.count()?;
        self.inner.reduce_local(input, inout)
    }

    fn copy(&mut self, from: &[u8], to: &mut [u8]) {
        self.inner.copy(from, to);
    }

    fn take_scratch(&mut self, bytes: usize) -> Result<Vec<u8>, TransportError> {
        self.count()?;
        self.inner.take_scratch(bytes)
    }

    fn give_scratch(&mut self, scratch: Vec<u8>) {
        self.inner.give_scratch(scratch);
    }

    fn take_shared(&mut self, piece_bytes: usize) -> Result<Box<SharedMemory>, TransportError> {
        self.count()?;
        self.inner.take_shared(piece_bytes)
    }

    fn give_shared(&mut self, memory: Box<SharedMemory>) {
        self.inner.give_shared(memory);
    }

    fn looks(&self) -> u32 {
        self.inner.looks()
    }

    // The number of unsuccessful polls is random, so polls are not counted.
    fn relax(&mut self, rank: usize) -> Result<(), TransportError> {
        self.inner.relax(rank)
    }

    fn observe(&mut self, event: Event) {
        self.inner.observe(event);
    }
}
