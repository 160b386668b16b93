//! Reasons why blocks of different lengths are not carried out.

use kilter_algorithms::Collective;
use kilter_protocol::task::Task;

/// Reason why an item with a list of lengths is not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoIrregular {
    /// The list is of other ranks.
    #[error("lengths of blocks for {0} ranks are needed, one for each")]
    OtherRanks(usize),
    /// The list has another sum.
    #[error("the volume is {volume} bytes, and the blocks have {blocks}")]
    OtherVolume { volume: u64, blocks: u64 },
    /// An implementation that takes no list.
    #[error("blocks of different lengths are for `{0}(n)` and Kilter's algorithms for it")]
    NoCounts(Collective),
    /// A function that has no length for each rank.
    #[error("{0} takes no length for each rank; allowed are gatherv, scatterv and allgatherv")]
    NotListed(Task),
    /// A function that has no length for each pair.
    #[error("{0} takes no length for each pair; allowed is alltoallv")]
    NotInPairs(Task),
    /// A block beyond a rank's memory.
    #[error("no memory for a block of {0} bytes")]
    Memory(u64),
}
