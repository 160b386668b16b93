//! Overlap of a non-blocking allreduce with computation on all ranks.
//!
//! All ranks: `MPI_Iallreduce`, computation, `MPI_Wait`. The time is from when all begin to the last rank's end.

use kilter_algorithms::Collective;
use kilter_mpi::MpiError;
use kilter_protocol::overlap::Benchmark;
use mpi::ffi;

use super::super::calls::Started;
use super::super::operands::Operands;
use super::Row;

pub(super) static ROW: Row = Row::of_all_ranks(Benchmark::Iallreduce, Collective::Allreduce, start);

fn start(on: &Operands) -> Result<Started<'_>, MpiError> {
    // SAFETY: the buffers are those of `on`, as long as its counts say; they live as long as it is borrowed, and nobody uses them
    // before the operation is complete. All ranks make the same call.
    unsafe {
        Started::new("MPI_Iallreduce", |request| {
            ffi::MPI_Iallreduce(on.send(), on.recv(), on.count, on.datatype, on.op, on.comm, request)
        })
    }
}
