//! The words that the benchmarks' sequences are made of.

use kilter_mpi::MpiError;

use super::calls::{self, Batch, Started};
use super::computation::Computation;
use super::messages::Messages;
use super::team::Team;

/// One round of an item on this rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round<'a> {
    /// Data of the round.
    pub(super) messages: &'a Messages,
    /// Ranks of the round.
    pub(super) team: &'a Team,
    /// Computation meanwhile; `None` if communication is measured by itself.
    pub(super) computation: Option<&'a Computation>,
}

impl<'a> Round<'a> {
    /// Computes, where that belongs to the round.
    #[inline]
    pub(super) fn compute(&self) {
        if let Some(computation) = self.computation {
            computation.run();
        }
    }

    /// True if this rank computes.
    #[inline]
    pub(super) fn is_computing(&self) -> bool {
        self.computation.is_some()
    }

    /// Tells rank 0 that this rank is ready; for all other ranks. The next step must follow at once, since rank 0 counts on it.
    pub(super) fn ready(&self) -> Result<(), MpiError> {
        self.team.ready()
    }

    /// Begins to send this rank's messages.
    #[inline]
    pub(super) fn isend(&self) -> Result<Started<'a>, MpiError> {
        // SAFETY: the buffers are those of `messages`, which live for `'a` and are shared: nobody writes them meanwhile.
        unsafe { calls::isend(self.messages.first_given()?) }
    }

    /// Begins to receive this rank's messages.
    #[inline]
    pub(super) fn irecv(&self) -> Result<Started<'a>, MpiError> {
        // SAFETY: as above; nobody else looks at them before the round is over.
        unsafe { calls::irecv(self.messages.first_got()?) }
    }

    /// Begins to give everything that this rank gives, in as many operations.
    pub(super) fn isend_all(&self) -> Result<Batch<'a>, MpiError> {
        let given = self.messages.given();
        let mut batch = Batch::with_capacity(given.len());
        for envelope in given {
            // SAFETY: as in `isend`.
            batch.push(unsafe { calls::isend(envelope)? });
        }
        Ok(batch)
    }

    /// Begins to get everything that this rank gets.
    pub(super) fn irecv_all(&self) -> Result<Batch<'a>, MpiError> {
        let got = self.messages.got();
        let mut batch = Batch::with_capacity(got.len());
        for envelope in got {
            // SAFETY: as in `irecv`; the messages lie side by side.
            batch.push(unsafe { calls::irecv(envelope)? });
        }
        Ok(batch)
    }

    /// Sends this rank's messages.
    #[inline]
    pub(super) fn send(&self) -> Result<(), MpiError> {
        // SAFETY: the buffers live through the call.
        unsafe { calls::send(self.messages.first_given()?) }
    }

    /// Receives this rank's messages.
    #[inline]
    pub(super) fn receive(&self) -> Result<(), MpiError> {
        // SAFETY: the buffers live through the call, and nobody else looks at them before the round is over.
        unsafe { calls::receive(self.messages.first_got()?) }
    }

    /// Sends zero bytes to every peer: an acknowledgement, or that it may send.
    #[inline]
    pub(super) fn signal(&self) -> Result<(), MpiError> {
        let comm = self.messages.comm();
        self.messages
            .peers()
            .iter()
            .try_for_each(|peer| calls::signal(comm, *peer))
    }

    /// Waits for zero bytes from every peer.
    #[inline]
    pub(super) fn await_signal(&self) -> Result<(), MpiError> {
        let comm = self.messages.comm();
        let mut peers = self.messages.peers().iter();
        peers.try_for_each(|peer| calls::await_signal(comm, *peer))
    }
}
