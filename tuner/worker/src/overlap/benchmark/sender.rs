//! Sender-side overlap: does a message leave while its sender computes?
//!
//! Rank 0: `MPI_Isend`, computation, `MPI_Wait`, then it waits for an acknowledgement of zero bytes. The last rank: `MPI_Recv`,
//! acknowledgement.

use kilter_mpi::MpiError;
use kilter_protocol::overlap::Benchmark;

use super::super::messages::Form;
use super::super::round::Round;
use super::{How, Row};

pub(super) static ROW: Row = Row {
    benchmark: Benchmark::Sender,
    sequences: 1,
    all_compute: false,
    how: How::Messages {
        form: Form::Contiguous,
        flows: |extent| vec![extent.whole(0, extent.last())],
        lead,
        follow,
    },
};

pub(super) fn lead(round: Round<'_>) -> Result<(), MpiError> {
    let message = round.isend()?;
    round.compute();
    message.wait()?;
    round.await_signal()
}

pub(super) fn follow(round: Round<'_>) -> Result<(), MpiError> {
    round.ready()?;
    round.receive()?;
    round.signal()
}
