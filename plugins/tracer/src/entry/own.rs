//! The function that a program may call itself: `include/kilter_trace.h` finds it by its name.

use std::ffi::c_int;

use kilter_mpi::{MPI_Comm, MPI_Datatype};
use kilter_protocol::functions::Function;

use super::{In, exported};
use crate::call::{Call, Data};
use crate::communicator;
use crate::record::Begun;
use crate::trace::act::Kind;

exported!(kilter_trace_own(buffer: In, count: c_int, datatype: MPI_Datatype, comm: MPI_Comm) = own);

/// Data that stay on this rank, as if it sent them to itself: they are traced, and not counted.
unsafe extern "C" fn own(buffer: In, count: c_int, datatype: MPI_Datatype, comm: MPI_Comm) -> c_int {
    let begun = Begun::now(Function::Send_to_self);
    // SAFETY: the caller's arguments are those of a valid send.
    unsafe {
        let state = begun.is_counted().then(|| communicator::look_up(comm)).flatten();
        let rank = state.map_or(mpi_sys::MPI_PROC_NULL, |state| state.rank.cast_signed());
        begun.end(0, || {
            Call::at(state, Data::Elements(count, datatype))
                .kind(Kind::Shows)
                .sends(buffer, rank, 0)
        });
    }
    0
}
