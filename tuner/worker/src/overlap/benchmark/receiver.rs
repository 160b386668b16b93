//! Receiver-side overlap: does a message arrive while its receiver computes?
//!
//! Rank 0 clears the sender by zero bytes, then: `MPI_Irecv`, computation, `MPI_Wait`. The last rank waits to be cleared, then:
//! `MPI_Send`.

use kilter_mpi::MpiError;
use kilter_protocol::overlap::Benchmark;

use super::super::messages::Form;
use super::super::round::Round;
use super::{How, Row};

pub(super) static ROW: Row = Row {
    benchmark: Benchmark::Receiver,
    sequences: 1,
    all_compute: false,
    how: How::Messages {
        form: Form::Contiguous,
        flows: |extent| vec![extent.whole(extent.last(), 0)],
        lead,
        follow,
    },
};

fn lead(round: Round<'_>) -> Result<(), MpiError> {
    round.signal()?;
    let message = round.irecv()?;
    round.compute();
    message.wait()
}

fn follow(round: Round<'_>) -> Result<(), MpiError> {
    round.ready()?;
    round.await_signal()?;
    round.send()
}
