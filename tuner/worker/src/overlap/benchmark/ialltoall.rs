//! Overlap of a non-blocking alltoall with computation on all ranks.
//!
//! All ranks: `MPI_Ialltoall`, computation, `MPI_Wait`. The time is from when all begin to the last rank's end.

use kilter_algorithms::Collective;
use kilter_mpi::MpiError;
use kilter_protocol::overlap::Benchmark;
use mpi::ffi;

use super::super::calls::Started;
use super::super::operands::Operands;
use super::{Row, start_on_blocks};

pub(super) static ROW: Row = Row::of_all_ranks(Benchmark::Ialltoall, Collective::Alltoall, start);

fn start(on: &Operands) -> Result<Started<'_>, MpiError> {
    // SAFETY: a function of MPI's, which all ranks call.
    unsafe { start_on_blocks("MPI_Ialltoall", ffi::MPI_Ialltoall, on) }
}
