//! Reasons why a side is not compiled.

use std::ffi::c_int;

use kilter_algorithms::Shape;
use kilter_mpi::MpiError;
use kilter_protocol::expression::{Communicator, Layout, Quantity};

use super::Unfit;

/// Reason why a side is not compiled. Sides and terms are in their own words.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoProgram {
    /// A term cannot stand where it does.
    #[error("`{side}`: `{term}` cannot be carried out here: {why}")]
    Unfit { side: String, term: String, why: Unfit },
    /// A request was started and is not waited for.
    #[error("`{0}`: `wait` is missing at the end")]
    MissingWait(String),
    /// A put or get is outside of an epoch, where MPI ends the job.
    #[error("`{side}`: a `win_fence` must stand before `{term}`, and one after it")]
    NoEpoch { side: String, term: String },
    /// More calls than a guideline means.
    #[error("`{side}` makes more than {most} calls")]
    ManyCalls { side: String, most: usize },
    /// Leaders lead parts and lanes cross them, and there are none.
    #[error("`{side}`: {} of what? a call on node or part:N must be there too", .on.name())]
    NoParts { side: String, on: Communicator },
    /// Lanes have a rank in every part.
    #[error(
        "not available: lanes need equally many ranks on every node (or in every part), and here some have {fewest} and others {most}"
    )]
    UnequalParts { fewest: usize, most: usize },
    /// The data end with the leaders, or in shares.
    #[error(
        "`{0}` leaves its data with the leaders, or in shares of the lanes; a call on the parts, or on the lanes, must follow"
    )]
    EndsWithLeaders(String),
    /// The data end over other ranks than they should.
    #[error("`{side}` leaves its data as {has:?}, but {wanted:?} is wanted, and no local copy converts that")]
    EndsAs { side: String, has: Shape, wanted: Shape },
    /// The data end in another layout.
    #[error("`{side}` leaves its data as {lies}, but {wanted} is wanted")]
    EndsLying { side: String, lies: Layout, wanted: Layout },
    /// Counts that differ, where all ranks give to all.
    #[error("alltoallv from every rank to every rank has uniform counts")]
    AlltoallvCounts,
    /// A size or a repeat beyond what a rank addresses.
    #[error("`{0}` is too large")]
    TooLarge(Quantity),
    /// A size that is no whole number of elements.
    #[error("{bytes} bytes are no whole number of elements of {size} bytes")]
    Elements { bytes: usize, size: usize },
    /// More elements than an int.
    #[error("{0} elements are more than an MPI count holds ({most})", most = c_int::MAX)]
    Count(usize),
    /// The library makes no window.
    #[error("not available: {0}")]
    NoWindow(MpiError),
    /// The library lacks a function of MPI-4, named as it was looked for.
    #[error("not available: the library has no {} (MPI-4)", .0.trim_start_matches('P'))]
    NoPersistent(String),
}
