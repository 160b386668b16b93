//! Fields of the ABI that a collective fills on a rank.

use kilter_algorithms::Collective;

/// Description of one side of a call for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Nothing: MPI has no such argument, or it means nothing on this rank.
    Nothing,
    /// The count of all.
    Whole,
    /// The count of one block.
    Block,
    /// Counts and displacements of each rank's block.
    Lists,
}

/// Fields of the ABI that describe the send or the receive side of a collective on this rank.
pub(super) fn sides(collective: Collective, is_root: bool, is_send: bool) -> Side {
    match (collective, is_send) {
        (Collective::Barrier | Collective::ReduceLocal, _) => Side::Nothing,
        // One count and type for both sides, and one buffer.
        (Collective::ReduceScatter, false) => Side::Lists,
        (Collective::ReduceScatterBlock, false) => Side::Block,
        (Collective::Bcast, false) => Side::Whole,
        (Collective::Bcast, true) => Side::Nothing,
        (collective, is_send) if collective.has_operator() => {
            if is_send {
                Side::Nothing
            } else {
                Side::Whole
            }
        }
        (Collective::Alltoallv, _) | (Collective::Allgatherv, false) => Side::Lists,
        (Collective::Gatherv, false) | (Collective::Scatterv, true) => {
            if is_root {
                Side::Lists
            } else {
                Side::Nothing
            }
        }
        _ => Side::Block,
    }
}
