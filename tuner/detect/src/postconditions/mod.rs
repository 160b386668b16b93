//! Postconditions: what the data of a group of messages must have reached for the group to be a collective.

pub(crate) mod allgather;
pub(crate) mod barrier;
pub(crate) mod broadcast;
pub(crate) mod delivery;
pub(crate) mod layout;
pub(crate) mod origin;
pub(crate) mod personalised;
pub(crate) mod reduction;

use crate::arena::Arena;
use crate::arithmetic::Operators;
use crate::model::finding::{Collective, Confidence};
use crate::ranks::RankSet;

/// Fewest ranks of a group: any message is a broadcast among two.
pub(crate) const FEWEST_RANKS: usize = 3;

/// Fewest occurrences on a part of a communicator.
pub(crate) const FEWEST_RECURRENCES: usize = 3;

/// Occurrence of a collective.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) collective: Collective,
    pub(crate) group: RankSet,
    /// Ranks that may be the root; none for collectives without one.
    pub(crate) roots: Vec<u32>,
    /// Messages, ascending.
    pub(crate) messages: Vec<u32>,
    pub(crate) bytes: u64,
    /// True if the blocks of the ranks differ in length.
    pub(crate) varied: bool,
    /// Group of call sites.
    pub(crate) sites: u32,
    pub(crate) confidence: Confidence,
    pub(crate) why: Vec<&'static str>,
    /// Operators of a reduction that the values allow.
    pub(crate) operators: Operators,
}

/// Messages of several groups, ascending, each once.
pub(crate) fn united<'a>(groups: impl IntoIterator<Item = &'a [u32]>) -> Vec<u32> {
    let mut all: Vec<u32> = groups.into_iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Sum of the bytes of messages.
pub(crate) fn sent_bytes(arena: &Arena<'_>, messages: &[u32]) -> u64 {
    let bytes = messages.iter().map(|&id| arena.messages[id as usize].sent.bytes);
    bytes.fold(0, u64::saturating_add)
}

/// True if all numbers are equal.
pub(crate) fn all_equal(mut numbers: impl Iterator<Item = u64>) -> bool {
    numbers.next().is_none_or(|first| numbers.all(|one| one == first))
}
