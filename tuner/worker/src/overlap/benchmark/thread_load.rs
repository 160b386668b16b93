//! Blocking communication while threads compute: who gets the processor?
//!
//! Rank 0: `MPI_Send`, `MPI_Recv`. The last rank, the other way round. Half of the time is reported. Threads compute in the
//! background on both ranks where the whole sequence is measured ([`super::super::load`]), none where communication is measured
//! by itself. The threads that communicate compute nothing.

use kilter_mpi::MpiError;
use kilter_protocol::overlap::Benchmark;

use super::super::messages::Form;
use super::super::round::Round;
use super::{How, Row};

pub(super) static ROW: Row = Row {
    benchmark: Benchmark::ThreadLoad,
    sequences: 2,
    all_compute: false,
    how: How::Messages {
        form: Form::Contiguous,
        flows: |extent| vec![extent.whole(0, extent.last()), extent.whole(extent.last(), 0)],
        lead,
        follow,
    },
};

fn lead(round: Round<'_>) -> Result<(), MpiError> {
    round.send()?;
    round.receive()
}

fn follow(round: Round<'_>) -> Result<(), MpiError> {
    round.ready()?;
    round.receive()?;
    round.send()
}
