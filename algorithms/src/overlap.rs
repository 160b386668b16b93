//! Messages under way while the rank does something else, with the trait's unsafe requests behind a safe interface.

use std::mem::MaybeUninit;

use crate::{Transport, TransportError};

/// Sends, and receives, that may be under way at once; a further one first waits for the oldest.
///
/// Enough that a rendezvous' handshake (two latencies) of one message hides behind the data of others, and few enough
/// that a library's queues, which are searched linearly, stay short.
pub(crate) const WINDOW: usize = 8;

/// A transport with messages under way. Buffers are lent for `'d`; all messages are completed before this value is
/// gone.
///
/// Values of this type must not be leaked (`std::mem::forget`), which nothing in this crate does: the type is not
/// public.
pub(crate) struct Overlap<'t, 'd, T: Transport, const LANES: usize = 1> {
    transport: &'t mut T,
    sends: Queue<T::Request<'d>>,
    /// Lanes are waited for independently of each other.
    receives: [Queue<Receive<T::Request<'d>>>; LANES],
}

/// Messages up to this length are sent at once by every library in use, whether or not their receives are posted; what matters for
/// them is the time of a call.
pub(crate) const SHORT_BYTES: usize = 1024;

/// Requests in the order they were started, at most [`WINDOW`]. On the stack: collectives must not allocate in each
/// call.
struct Queue<R> {
    /// Those from `oldest` on, round the end, `len` of them, hold requests. The others hold nothing, not even a mark of that: to
    /// write one into each would take a call of a few bytes longer than its messages.
    slots: [MaybeUninit<R>; WINDOW],
    oldest: usize,
    len: usize,
}

struct Receive<R> {
    request: R,
    buffer: *mut u8,
    bytes: usize,
}

impl<R> Queue<R> {
    #[inline]
    const fn new() -> Queue<R> {
        Queue {
            slots: [const { MaybeUninit::uninit() }; WINDOW],
            oldest: 0,
            len: 0,
        }
    }

    const fn is_full(&self) -> bool {
        self.len == WINDOW
    }

    /// Adds the newest. The queue is not full.
    fn push(&mut self, request: R) {
        assert!(!self.is_full(), "a request is taken before a ninth is put");
        self.slots[(self.oldest + self.len) % WINDOW].write(request);
        self.len += 1;
    }

    /// Takes the oldest.
    fn pop(&mut self) -> Option<R> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: there was at least one, so that the oldest place holds a request; it does not from now on.
        let request = unsafe { self.slots[self.oldest].assume_init_read() };
        self.oldest = (self.oldest + 1) % WINDOW;
        Some(request)
    }
}

impl<R> Drop for Queue<R> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

impl<'t, 'd, T: Transport> Overlap<'t, 'd, T> {
    /// Nothing is under way yet.
    pub(crate) fn new(transport: &'t mut T) -> Overlap<'t, 'd, T> {
        Overlap::with_lanes(transport)
    }

    /// Starts to receive `data.len()` bytes from rank `from`.
    pub(crate) fn receive(&mut self, from: usize, data: &'d mut [u8]) -> Result<(), TransportError> {
        self.receive_in(0, from, data)
    }

    /// Waits for the oldest receive and gives its buffer back; an empty one if there is none.
    pub(crate) fn received(&mut self) -> Result<&'d mut [u8], TransportError> {
        self.received_in(0)
    }
}

impl<'t, 'd, T: Transport, const LANES: usize> Overlap<'t, 'd, T, LANES> {
    /// Nothing is under way yet.
    pub(crate) fn with_lanes(transport: &'t mut T) -> Overlap<'t, 'd, T, LANES> {
        Overlap {
            transport,
            sends: Queue::new(),
            receives: [const { Queue::new() }; LANES],
        }
    }

    /// The transport, for what is done meanwhile.
    pub(crate) fn transport(&mut self) -> &mut T {
        self.transport
    }

    /// Starts to send `data` to rank `to`.
    pub(crate) fn send(&mut self, to: usize, data: &'d [u8]) -> Result<(), TransportError> {
        if self.sends.is_full() {
            self.sent()?;
        }
        // SAFETY: the request goes into the queue, which `drop` empties by `wait`, and `'d` outlives this value.
        let request = unsafe { self.transport.isend(to, data) }?;
        self.sends.push(request);
        Ok(())
    }

    /// Starts to receive `data.len()` bytes from rank `from` in one of the lanes.
    pub(crate) fn receive_in(&mut self, lane: usize, from: usize, data: &'d mut [u8]) -> Result<(), TransportError> {
        if self.receives[lane].is_full() {
            self.received_in(lane)?;
        }
        let (buffer, bytes) = (data.as_mut_ptr(), data.len());
        // SAFETY: `buffer` and `bytes` are those of `data`, lent for `'d` and not used otherwise until the request is
        // done. The request goes into the queue, which `drop` empties by `wait`, and `'d` outlives this value.
        let request = unsafe {
            self.transport
                .irecv(from, std::slice::from_raw_parts_mut(buffer, bytes))
        }?;
        self.receives[lane].push(Receive { request, buffer, bytes });
        Ok(())
    }

    /// Waits for the oldest receive of a lane and gives its buffer back; an empty one if there is none.
    pub(crate) fn received_in(&mut self, lane: usize) -> Result<&'d mut [u8], TransportError> {
        let Some(Receive { request, buffer, bytes }) = self.receives[lane].pop() else {
            return Ok(&mut []);
        };
        self.transport.wait(request)?;
        // SAFETY: the slice is the one lent to `receive` for `'d`; its request, the only other user, is done and
        // consumed.
        Ok(unsafe { std::slice::from_raw_parts_mut(buffer, bytes) })
    }

    fn sent(&mut self) -> Result<(), TransportError> {
        self.sends.pop().map_or(Ok(()), |request| self.transport.wait(request))
    }

    /// Waits for everything under way.
    pub(crate) fn finish(mut self) -> Result<(), TransportError> {
        self.drain()
    }

    /// Waits for everything, also after an error, and returns the first error.
    fn drain(&mut self) -> Result<(), TransportError> {
        let mut result = Ok(());
        for lane in 0..LANES {
            while self.receives[lane].len > 0 {
                result = result.and(self.received_in(lane).map(drop));
            }
        }
        while self.sends.len > 0 {
            result = result.and(self.sent());
        }
        result
    }
}

impl<T: Transport, const LANES: usize> Drop for Overlap<'_, '_, T, LANES> {
    fn drop(&mut self) {
        // After an error or a panic, whose report matters more than what this one says.
        let _ = self.drain();
    }
}

/// Sends messages that may all be under way at once. A single one needs no request, which a few bytes would feel.
pub(crate) fn send_each<'d, T: Transport>(
    transport: &mut T,
    mut messages: impl Iterator<Item = (usize, &'d [u8])>,
) -> Result<(), TransportError> {
    let Some((to, data)) = messages.next() else {
        return Ok(());
    };
    let Some(second) = messages.next() else {
        return transport.send(to, data);
    };
    let mut overlap = Overlap::new(transport);
    overlap.send(to, data)?;
    for (to, data) in std::iter::once(second).chain(messages) {
        overlap.send(to, data)?;
    }
    overlap.finish()
}

/// Receives messages that may all be under way at once, and does `meanwhile`. Where they `are_short`, waiting for one after the
/// other is faster than requests for all.
pub(crate) fn receive_each<'d, T: Transport>(
    transport: &mut T,
    are_short: bool,
    mut messages: impl Iterator<Item = (usize, &'d mut [u8])>,
    meanwhile: impl FnOnce(&mut T),
) -> Result<(), TransportError> {
    if are_short {
        meanwhile(transport);
        return messages.try_for_each(|(from, data)| transport.recv(from, data));
    }
    let mut overlap = Overlap::new(transport);
    messages.try_for_each(|(from, data)| overlap.receive(from, data))?;
    meanwhile(overlap.transport());
    overlap.finish()
}

/// [`Transport::sendrecv`] that sends, or receives, nothing where a side is empty: both ends know the lengths, and an
/// empty message would cost a latency.
pub(crate) fn exchange<T: Transport>(
    transport: &mut T,
    to: usize,
    send: &[u8],
    from: usize,
    recv: &mut [u8],
) -> Result<(), TransportError> {
    match (send.is_empty(), recv.is_empty()) {
        (false, false) => transport.sendrecv(to, send, from, recv),
        (false, true) => transport.send(to, send),
        (true, false) => transport.recv(from, recv),
        (true, true) => Ok(()),
    }
}
