//! The arguments of an MPI call, as the program gives them.

use std::ffi::{c_int, c_void};

use kilter_mpi::{MPI_Datatype, MPI_Op, constants};

/// A count or displacement of either form of a function.
pub(crate) trait Number: Copy + TryInto<i64> + Default {}

impl Number for i32 {}
impl Number for i64 {}
impl Number for isize {}

/// The arguments of a call by the names of the plugin ABI, with counts of type `N` and displacements of type `D`; what the
/// function does not have is null or 0.
#[derive(Clone, Copy)]
pub(crate) struct Given<N, D> {
    pub(crate) send: *const c_void,
    pub(crate) send_count: N,
    pub(crate) send_counts: *const N,
    pub(crate) send_displacements: *const D,
    pub(crate) send_type: MPI_Datatype,
    pub(crate) recv: *mut c_void,
    pub(crate) recv_count: N,
    pub(crate) recv_counts: *const N,
    pub(crate) recv_displacements: *const D,
    pub(crate) recv_type: MPI_Datatype,
    pub(crate) op: MPI_Op,
    pub(crate) root: c_int,
}

impl<N: Number, D: Number> Given<N, D> {
    #[inline]
    pub(crate) fn nothing() -> Given<N, D> {
        Given {
            send: std::ptr::null(),
            send_count: N::default(),
            send_counts: std::ptr::null(),
            send_displacements: std::ptr::null(),
            send_type: constants::datatype_null(),
            recv: std::ptr::null_mut(),
            recv_count: N::default(),
            recv_counts: std::ptr::null(),
            recv_displacements: std::ptr::null(),
            recv_type: constants::datatype_null(),
            op: constants::op_null(),
            root: 0,
        }
    }
}
