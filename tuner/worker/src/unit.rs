//! Types of data for a library.

use kilter_mpi::{MPI_Datatype, MPI_Op, constants};

use crate::problem::Problem;
use crate::program::datatypes;

/// Type of data for a library; found before the measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    pub(crate) datatype: MPI_Datatype,
    pub(crate) op: MPI_Op,
    /// Number of elements in the total volume.
    pub(crate) count: usize,
}

impl Unit {
    /// Volumes of a guideline are whole elements; a call beside the data may not be, and is only moved, and so are blocks of any length.
    pub(crate) fn of(problem: &Problem) -> Unit {
        let operand = problem.operand;
        let bytes = operand.bytes() as usize;
        let blocks = if problem.task.functionality.has_blocks() {
            problem.p_ranks
        } else {
            1
        };
        if problem.lengths.is_some() || !problem.n_bytes.is_multiple_of(bytes * blocks) {
            return Unit {
                datatype: constants::byte(),
                op: constants::bor(),
                count: problem.n_bytes,
            };
        }
        Unit {
            datatype: datatypes::element_type(operand.element),
            op: datatypes::operator(operand.operator),
            count: problem.n_bytes / bytes,
        }
    }
}
