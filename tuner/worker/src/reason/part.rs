//! Reasons why a part of the ranks does not carry an item out.

/// Reason why a part of the ranks does not carry an item out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoPart {
    /// The part is empty.
    #[error("no rank takes part")]
    Nobody,
    /// The part has a rank that the job does not have.
    #[error("rank {rank} takes part, and the job has ranks 0 to {last}")]
    NoRank { rank: usize, last: usize },
    /// The part names a rank again.
    #[error("rank {0} takes part twice")]
    Twice(usize),
    /// The root is outside.
    #[error("root {root} is none of the {ranks} ranks that take part")]
    NoRoot { root: usize, ranks: usize },
    /// The part is one of another part.
    #[error("a part of a part of the ranks: name the ranks of the job")]
    OfPart,
    /// The side needs a program, which is compiled for all ranks.
    #[error("a part of the ranks carries out plain collectives, rows and schedules alone")]
    NotPlain,
}
