//! One rank's end.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::clock::{Clocks, Moment};
use super::in_turn::Turn;
use super::shared::Shared;
use super::switchboard::{Message, Switchboard};
use super::{Arena, Config};
use crate::shared_memory::Event;
use crate::{Cost, Nodes, SharedMemory, Transport, TransportError};

/// Counts of one rank's work so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Messages sent.
    pub messages_sent: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes combined by [`Transport::reduce_local`].
    pub bytes_reduced: u64,
    /// Bytes copied by [`Transport::copy`].
    pub bytes_copied: u64,
    /// Requests started by [`Transport::isend`] or [`Transport::irecv`] and not yet waited for: more than 0 after a
    /// call breaks their contract.
    pub requests_open: u64,
    /// Scratch buffers taken and not yet given back: more than 0 after a call means an allocation in the next one.
    pub scratch_open: u64,
    /// Scratch buffers really allocated.
    pub scratch_allocations: u64,
    /// Bytes of these buffers, and of this rank's region of shared memory.
    pub scratch_bytes: u64,
    /// Model time in seconds.
    pub seconds: f64,
    /// The critical path to this rank's state: messages one after the other, bytes sent and bytes combined. Each is the model
    /// time with `alpha`, `beta` or `gamma` 1 and all other prices 0.
    pub critical_path: Cost,
}

impl Default for Statistics {
    fn default() -> Statistics {
        Statistics {
            messages_sent: 0,
            bytes_sent: 0,
            bytes_reduced: 0,
            bytes_copied: 0,
            requests_open: 0,
            scratch_open: 0,
            scratch_allocations: 0,
            scratch_bytes: 0,
            seconds: 0.0,
            critical_path: Cost::ZERO,
        }
    }
}

/// [`Transport`] of one rank of a [`super::run`].
pub struct ThreadTransport<'a> {
    rank: usize,
    turn: Turn<'a>,
    switchboard: &'a Switchboard,
    config: &'a Config,
    nodes: Arc<Nodes>,
    arena: Arena,
    clocks: Clocks,
    counters: Statistics,
    /// Index: sender.
    incoming: Vec<Incoming>,
    shared: Shared,
    /// An operation has failed; the others know that this rank sends nothing more.
    left: bool,
}

/// Receives from one sender: each takes the message of its number, in whatever order the receives are completed.
#[derive(Debug, Default)]
struct Incoming {
    posted: u64,
    arrived: u64,
    /// Arrived before their receives were waited for, by number.
    early: BTreeMap<u64, Message>,
}

/// A message under way. To drop it without [`Transport::wait`] is harmless; a message so left counts as undelivered.
#[derive(Debug)]
pub struct ThreadRequest<'b>(Kind<'b>);

#[derive(Debug)]
enum Kind<'b> {
    Send {
        end: Moment,
    },
    Receive {
        from: usize,
        number: u64,
        posted: Moment,
        data: &'b mut [u8],
    },
}

impl<'a> ThreadTransport<'a> {
    pub(super) fn new(
        rank: usize,
        turn: Turn<'a>,
        switchboard: &'a Switchboard,
        config: &'a Config,
        nodes: Arc<Nodes>,
    ) -> ThreadTransport<'a> {
        ThreadTransport {
            rank,
            turn,
            switchboard,
            config,
            nodes,
            arena: Arena::default(),
            clocks: Clocks::new(config.network),
            counters: Statistics::default(),
            incoming: (0..switchboard.ranks()).map(|_| Incoming::default()).collect(),
            shared: Shared::default(),
            left: false,
        }
    }

    /// Counts of this rank's work so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let [seconds, rounds, bytes_sent, bytes_reduced] = self.clocks.now();
        Statistics {
            scratch_allocations: self.arena.allocations(),
            scratch_bytes: self.arena.bytes() + self.shared.region_bytes() as u64,
            seconds,
            critical_path: Cost {
                rounds,
                bytes_sent,
                bytes_reduced,
            },
            ..self.counters.clone()
        }
    }

    /// Lets the others go as far as they can without this rank: returns when each of them waits for somebody, falls behind as well, or has gone.
    pub fn fall_behind(&self) {
        self.switchboard.fall_behind(self.rank, self.turn);
    }

    fn start_send(&mut self, to: usize, data: &[u8]) -> Moment {
        let (start, end) = self.clocks.start_send(data.len());
        self.counters.messages_sent += 1;
        self.counters.bytes_sent += data.len() as u64;
        self.switchboard.send(
            self.rank,
            to,
            Message {
                data: data.to_vec(),
                start,
            },
        );
        end
    }

    fn post_receive<'b>(&mut self, from: usize, data: &'b mut [u8]) -> ThreadRequest<'b> {
        let number = self.incoming[from].posted;
        self.incoming[from].posted += 1;
        ThreadRequest(Kind::Receive {
            from,
            number,
            posted: self.clocks.now(),
            data,
        })
    }

    fn complete(&mut self, request: ThreadRequest<'_>) -> Result<(), TransportError> {
        let (from, number, posted, data) = match request.0 {
            Kind::Send { end } => {
                self.clocks.wait_until(end);
                return Ok(());
            }
            Kind::Receive {
                from,
                number,
                posted,
                data,
            } => (from, number, posted, data),
        };
        let message = self.message(from, number)?;
        if message.data.len() != data.len() {
            let error = TransportError::Length {
                peer: from,
                expected: data.len(),
                got: message.data.len(),
            };
            self.leave();
            return Err(error);
        }
        data.copy_from_slice(&message.data);
        self.clocks.receive(message.start, posted, data.len());
        Ok(())
    }

    /// The message of this number from `from`.
    fn message(&mut self, from: usize, number: u64) -> Result<Message, TransportError> {
        // After an error, or while a panic unwinds, a receive is only clean-up. It must not wait, since other ranks may be
        // waiting for this one.
        if self.left || std::thread::panicking() {
            self.leave();
            return Err(TransportError::PeerGone { peer: self.rank });
        }
        let incoming = &mut self.incoming[from];
        loop {
            if let Some(message) = incoming.early.remove(&number) {
                return Ok(message);
            }
            match self.switchboard.receive(from, self.rank, self.turn) {
                Ok(message) => {
                    incoming.early.insert(incoming.arrived, message);
                    incoming.arrived += 1;
                }
                Err(error) => {
                    self.leave();
                    return Err(error);
                }
            }
        }
    }

    /// Tells the others that nothing more will come: an error is final, and what still runs on this rank only cleans
    /// up.
    fn leave(&mut self) {
        if !self.left {
            self.left = true;
            self.switchboard.leave(self.rank);
        }
    }
}

impl Drop for ThreadTransport<'_> {
    fn drop(&mut self) {
        self.leave();
        self.switchboard
            .abandon(self.incoming.iter().map(|incoming| incoming.early.len()).sum());
    }
}

impl Transport for ThreadTransport<'_> {
    type Request<'b> = ThreadRequest<'b>;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.switchboard.ranks()
    }

    fn nodes(&mut self) -> Result<Arc<Nodes>, TransportError> {
        Ok(Arc::clone(&self.nodes))
    }

    fn element_bytes(&self) -> usize {
        self.config.element_bytes
    }

    fn send(&mut self, to: usize, data: &[u8]) -> Result<(), TransportError> {
        let end = self.start_send(to, data);
        self.clocks.wait_until(end);
        Ok(())
    }

    fn recv(&mut self, from: usize, data: &mut [u8]) -> Result<(), TransportError> {
        let request = self.post_receive(from, data);
        self.complete(request)
    }

    fn sendrecv(&mut self, to: usize, send: &[u8], from: usize, recv: &mut [u8]) -> Result<(), TransportError> {
        let receive = self.post_receive(from, recv);
        let end = self.start_send(to, send);
        self.complete(receive)?;
        self.clocks.wait_until(end);
        Ok(())
    }

    // The two below are safe whatever the caller does: the data is copied at once, or the request holds the borrow and
    // no one writes behind its back.

    unsafe fn isend<'b>(&mut self, to: usize, data: &'b [u8]) -> Result<ThreadRequest<'b>, TransportError> {
        self.counters.requests_open += 1;
        Ok(ThreadRequest(Kind::Send {
            end: self.start_send(to, data),
        }))
    }

    unsafe fn irecv<'b>(&mut self, from: usize, data: &'b mut [u8]) -> Result<ThreadRequest<'b>, TransportError> {
        self.counters.requests_open += 1;
        Ok(self.post_receive(from, data))
    }

    fn wait(&mut self, request: ThreadRequest<'_>) -> Result<(), TransportError> {
        self.counters.requests_open -= 1;
        self.complete(request)
    }

    fn reduce_local(&mut self, input: &[u8], inout: &mut [u8]) -> Result<(), TransportError> {
        assert_eq!(input.len(), inout.len(), "operands of rank {}", self.rank);
        assert_eq!(
            input.len() % self.config.element_bytes,
            0,
            "operands of rank {} are whole elements",
            self.rank
        );
        (self.config.operator)(input, inout);
        self.counters.bytes_reduced += input.len() as u64;
        self.clocks.reduce(input.len());
        Ok(())
    }

    fn copy(&mut self, from: &[u8], to: &mut [u8]) {
        to.copy_from_slice(from);
        self.counters.bytes_copied += from.len() as u64;
    }

    fn take_scratch(&mut self, bytes: usize) -> Result<Vec<u8>, TransportError> {
        let scratch = self.arena.take(bytes)?;
        self.counters.scratch_open += 1;
        Ok(scratch)
    }

    fn give_scratch(&mut self, scratch: Vec<u8>) {
        self.counters.scratch_open = self.counters.scratch_open.saturating_sub(1);
        self.arena.give(scratch);
    }

    fn take_shared(&mut self, piece_bytes: usize) -> Result<Box<SharedMemory>, TransportError> {
        if self.nodes.count() != 1 {
            return Err(TransportError::NoSharedMemory {
                reason: "they are on several nodes",
            });
        }
        Ok(self.shared.take(self.rank, self.switchboard, piece_bytes))
    }

    fn give_shared(&mut self, memory: Box<SharedMemory>) {
        self.shared.give(memory);
    }

    /// There are mostly more ranks than processors: the one that is waited for is likely to need this one.
    fn looks(&self) -> u32 {
        1
    }

    fn relax(&mut self, rank: usize) -> Result<(), TransportError> {
        self.switchboard.set_held_up(self.rank, true);
        let ended = self.shared.relax(rank, self.switchboard.has_gone(rank), self.turn);
        if ended.is_err() {
            self.leave();
        }
        ended
    }

    fn observe(&mut self, event: Event) {
        match event {
            Event::Published { epoch } => self.shared.publish(self.rank, epoch, self.clocks.now()),
            Event::Awaited { rank, epoch } => self.clocks.wait_until(self.shared.published(rank, epoch)),
            Event::Round => self.clocks.round(),
            Event::Copied { bytes } => self.clocks.copy(bytes),
        }
        self.shared.is_going_on();
        self.switchboard.set_held_up(self.rank, false);
    }
}
