//! Reasons why a rank cannot carry an item out.
//!
//! A reason is data until it is reported: [`crate::session::Session::refused`] makes its text part of the report, where users read it.
//!
//! * [`program`]: sides that cannot be compiled, and [`unfit`]: terms that cannot stand where they do.
//! * [`row`]: algorithms, mock-ups and rows of plugins. [`replay`]: schedules. [`part`]: parts of the ranks. [`irregular`]: blocks
//!   of different lengths. [`overlap`]: items that measure overlap.

mod irregular;
mod overlap;
mod part;
mod program;
mod replay;
mod row;
mod unfit;

use std::ffi::c_int;

use kilter_mpi::{MpiError, PipelineError};
use kilter_protocol::expression::{ExpressionError, QuantityError};
use kilter_protocol::plan::Element;
use kilter_protocol::task::{NoTask, Task};

pub(crate) use irregular::NoIrregular;
pub(crate) use overlap::NoOverlap;
pub(crate) use part::NoPart;
pub(crate) use program::NoProgram;
pub(crate) use replay::NoReplay;
pub(crate) use row::NoRow;
pub(crate) use unfit::Unfit;

/// Reason why a rank cannot carry an item out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    /// The task is no collective operation.
    #[error("reduce_local is no collective operation: give one that is, such as scan")]
    NoCollective,
    /// The task needs more ranks.
    #[error("not available: {task} needs {ranks} ranks or more")]
    FewRanks { task: Task, ranks: usize },
    /// The text of the item is no side of a guideline.
    #[error("expression `{text}` cannot be read: {error}")]
    Expression { text: String, error: ExpressionError },
    /// No number was filled in for `k`.
    #[error("`{0}` has a `k`: fill in a number before it is measured")]
    HasK(String),
    /// No function was filled in for `A`.
    #[error("`{0}` has an `A`: fill in a function before it is measured")]
    HasA(String),
    /// A size or a repeat has no value.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// A term does nothing that can be checked.
    #[error(transparent)]
    Task(#[from] NoTask),
    /// Calls that do not do the collective's task one after the other.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// More calls than a plan means.
    #[error("`{term}` makes {calls} calls; at most {most} are allowed")]
    ManyCalls { term: String, calls: u64, most: u64 },
    /// A pair has a rank that the job does not have.
    #[error("`{side}`: there is no rank {rank} among {ranks}")]
    NoRank { side: String, rank: u64, ranks: usize },
    /// A volume that is not divided evenly among the ranks.
    #[error("{bytes} bytes cannot be divided into {ranks} blocks, one per rank")]
    Blocks { bytes: u64, ranks: usize },
    /// A volume beyond an int.
    #[error("{bytes} bytes are more than an MPI count holds ({})", c_int::MAX)]
    Count { bytes: u64 },
    /// A volume that is no whole number of strided types.
    #[error("{bytes} bytes are no multiple of {unit} for strided data")]
    Strided { bytes: u64, unit: u64 },
    /// Strided data with counts of its own for each rank.
    #[error("strided data is divided evenly")]
    StridedCounts,
    /// A volume that cannot be combined element by element.
    #[error("{bytes} bytes are no whole number of {} of {} bytes", element.name(), element.bytes())]
    Elements { bytes: u64, element: Element },
    /// Memory is short.
    #[error("no memory for a buffer of {0} bytes")]
    Memory(usize),
    /// The library's error.
    #[error(transparent)]
    Mpi(#[from] MpiError),
    /// A row does not do it.
    #[error(transparent)]
    Row(#[from] NoRow),
    /// A side is not compiled.
    #[error(transparent)]
    Program(#[from] NoProgram),
    /// Blocks of different lengths are not carried out.
    #[error(transparent)]
    Irregular(#[from] NoIrregular),
    /// A schedule is not carried out.
    #[error(transparent)]
    Replay(#[from] NoReplay),
    /// A part of the ranks does not do it.
    #[error(transparent)]
    Part(#[from] NoPart),
    /// Overlap is not measured.
    #[error(transparent)]
    Overlap(#[from] NoOverlap),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports and their readers know these words.
    #[test]
    fn a_reason_reads_as_a_sentence_of_the_report() {
        let unfit = NoProgram::Unfit {
            side: "isend(n) + wait".to_owned(),
            term: "wait".to_owned(),
            why: Unfit::Size { bytes: 4, data: 8 },
        };
        for (reason, text) in [
            (
                Reason::Blocks { bytes: 31, ranks: 3 },
                "31 bytes cannot be divided into 3 blocks, one per rank",
            ),
            (
                Reason::Count { bytes: 1 << 31 },
                "2147483648 bytes are more than an MPI count holds (2147483647)",
            ),
            (
                Reason::Elements {
                    bytes: 3,
                    element: Element::Float,
                },
                "3 bytes are no whole number of float of 4 bytes",
            ),
            (
                unfit.into(),
                "`isend(n) + wait`: `wait` cannot be carried out here: its size is 4 bytes, and the data there is 8",
            ),
            (
                NoProgram::NoPersistent("PMPI_Bcast_init".to_owned()).into(),
                "not available: the library has no MPI_Bcast_init (MPI-4)",
            ),
            (
                NoReplay::Int {
                    what: "length",
                    value: 1 << 31,
                    message: 7,
                }
                .into(),
                "length 2147483648 of message 7 is more than an MPI int holds",
            ),
            (
                NoOverlap::Blocks { bytes: 100, block: 32 }.into(),
                "100 bytes are no whole number of blocks of 32: measure 96 or 128",
            ),
        ] {
            assert_eq!(reason.to_string(), text);
        }
    }
}
