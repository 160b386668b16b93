//! What data is made of, as a library is told.

use kilter_mpi::{MPI_Datatype, MPI_Op, constants};

use crate::problem::Problem;
use crate::program::datatypes;

/// What a library is told that data is made of; found before anything is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    pub(crate) datatype: MPI_Datatype,
    pub(crate) op: MPI_Op,
    /// How many there are in the total volume.
    pub(crate) count: usize,
}

impl Unit {
    /// Volumes of a guideline are whole elements; a call beside the data may not be, and is only moved.
    pub(crate) fn of(problem: &Problem) -> Unit {
        let element = problem.element;
        let bytes = element.bytes() as usize;
        let blocks = if problem.task.functionality.has_blocks() {
            problem.p_ranks
        } else {
            1
        };
        if !problem.n_bytes.is_multiple_of(bytes * blocks) {
            return Unit {
                datatype: constants::byte(),
                op: constants::bor(),
                count: problem.n_bytes,
            };
        }
        Unit {
            datatype: datatypes::element_type(element),
            op: datatypes::element_op(element),
            count: problem.n_bytes / bytes,
        }
    }
}
