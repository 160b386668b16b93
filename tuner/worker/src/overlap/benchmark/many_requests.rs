//! Sender-side overlap of several messages to one rank.
//!
//! Rank 0: an `MPI_Isend` for each, computation, `MPI_Waitall`, then it waits for an acknowledgement of zero bytes. The last rank:
//! `MPI_Irecv` for each, `MPI_Waitall`, acknowledgement.

use kilter_mpi::MpiError;
use kilter_protocol::overlap::Benchmark;

use super::super::messages::Form;
use super::super::round::Round;
use super::{How, Row};

pub(super) static ROW: Row = Row {
    benchmark: Benchmark::ManyRequests,
    sequences: 1,
    all_compute: false,
    how: How::Messages {
        form: Form::Contiguous,
        flows: |extent| extent.divided(extent.requests, 1),
        lead,
        follow,
    },
};

pub(super) fn lead(round: Round<'_>) -> Result<(), MpiError> {
    let messages = round.isend_all()?;
    round.compute();
    messages.wait()?;
    round.await_signal()
}

pub(super) fn follow(round: Round<'_>) -> Result<(), MpiError> {
    let messages = round.irecv_all()?;
    round.ready()?;
    messages.wait()?;
    round.signal()
}
