//! One rank's arguments of a collective call.

use std::ffi::{c_int, c_void};

use mpi_sys::{MPI_Datatype, MPI_Op};

/// The arguments of a collective in one form for all of them.
///
/// With `n` elements in total and `p` ranks, `send` holds `n` elements (contributions of a reduction or scan, blocks for
/// everyone in an alltoall, the root's data of a scatter) or `n/p` (gather, allgather); `recv` takes `n` elements or `n/p`
/// (scatter, reduce-scatter). A broadcast has one buffer, `recv`. Buffers that the collective does not define on this rank
/// may be null; neither may be `MPI_IN_PLACE`. (The address of an empty slice of bytes is 1, which Open MPI takes for
/// `MPI_IN_PLACE`, so pass null rather than that, except where `count` is 0.)
#[derive(Debug, Clone, Copy)]
pub struct CallArguments {
    /// Data that this rank gives.
    pub send: *const c_void,
    /// Buffer for the data that this rank gets.
    pub recv: *mut c_void,
    /// Elements of the total volume `n`; block collectives move `count/p` per rank, so it must then be a multiple of `p`.
    pub count: usize,
    /// Type of an element; dense: `n` elements occupy `n` times its size.
    pub datatype: MPI_Datatype,
    /// The operator; not read where the collective has none.
    pub op: MPI_Op,
    /// The root; not read where the collective has none.
    pub root: c_int,
}
