//! Processor time that sending takes from a computing rank.
//!
//! Rank 0: `MPI_Isend`, computation, `MPI_Wait`, and no acknowledgement; without computation it is a blocking `MPI_Send`. The last
//! rank: `MPI_Recv`. It has received the message of a round before it is ready for the next.

use kilter_mpi::MpiError;
use kilter_protocol::overlap::Benchmark;

use super::super::messages::Form;
use super::super::round::Round;
use super::{How, Row};

pub(super) static ROW: Row = Row {
    benchmark: Benchmark::CpuOverhead,
    sequences: 1,
    all_compute: false,
    how: How::Messages {
        form: Form::Contiguous,
        flows: |extent| vec![extent.whole(0, extent.last())],
        lead,
        follow,
    },
};

fn lead(round: Round<'_>) -> Result<(), MpiError> {
    if !round.is_computing() {
        return round.send();
    }
    let message = round.isend()?;
    round.compute();
    message.wait()
}

fn follow(round: Round<'_>) -> Result<(), MpiError> {
    round.ready()?;
    round.receive()
}
