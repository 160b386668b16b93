//! Overlap on both sides: does a message travel while both its sender and its receiver compute?
//!
//! Rank 0: `MPI_Isend`, computation, `MPI_Wait`, then `MPI_Irecv`, computation, `MPI_Wait`. The last rank does the same, receiving
//! first. Half of rank 0's time is reported.

use kilter_mpi::MpiError;
use kilter_protocol::overlap::Benchmark;

use super::super::messages::Form;
use super::super::round::Round;
use super::{How, Row};

pub(super) static ROW: Row = Row {
    benchmark: Benchmark::BothSides,
    sequences: 2,
    all_compute: true,
    how: How::Messages {
        form: Form::Contiguous,
        flows: |extent| vec![extent.whole(0, extent.last()), extent.whole(extent.last(), 0)],
        lead,
        follow,
    },
};

fn lead(round: Round<'_>) -> Result<(), MpiError> {
    give(round)?;
    get(round)
}

fn follow(round: Round<'_>) -> Result<(), MpiError> {
    // Before the computation, which begins when the message may come.
    let message = round.irecv()?;
    round.ready()?;
    round.compute();
    message.wait()?;
    give(round)
}

fn give(round: Round<'_>) -> Result<(), MpiError> {
    let message = round.isend()?;
    round.compute();
    message.wait()
}

fn get(round: Round<'_>) -> Result<(), MpiError> {
    let message = round.irecv()?;
    round.compute();
    message.wait()
}
