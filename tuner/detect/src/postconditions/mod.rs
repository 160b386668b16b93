//! Postconditions: what the data of a group of messages must have reached for the group to be a collective.

pub(crate) mod allgather;
pub(crate) mod barrier;
pub(crate) mod broadcast;
pub(crate) mod chance;
pub(crate) mod delivery;
pub(crate) mod forwarding;
pub(crate) mod layout;
pub(crate) mod origin;
pub(crate) mod personalised;
pub(crate) mod reduction;

use std::collections::BTreeSet;

use crate::arena::{Arena, Step};
use crate::arithmetic::Operators;
use crate::epochs::spans;
use crate::flows::View;
use crate::model::finding::{Collective, Confidence};
use crate::provenance::{Ground, Provenance};
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

/// Sum of the bytes of messages that a view shows: all, or those of chunks.
pub(crate) fn shown_bytes(arena: &Arena<'_>, messages: &[u32], view: View) -> u64 {
    let of = |id: &u32| {
        let payload = arena.messages[*id as usize].sent;
        match view {
            View::Chunks => payload
                .sampled(arena.chunk_sample)
                .map(|chunk| chunk.bytes)
                .fold(0, u64::saturating_add),
            View::Content | View::Own => payload.bytes,
        }
    };
    messages.iter().map(of).fold(0, u64::saturating_add)
}

/// Weakest ground of the ropes of messages, and the words for it if it is not a checksum.
pub(crate) fn ground(provenance: &Provenance, messages: &[u32]) -> (Ground, Option<&'static str>) {
    let weakest = messages
        .iter()
        .map(|&id| provenance.grounds[id as usize])
        .min()
        .unwrap_or(Ground::Checksum);
    let why = match weakest {
        Ground::Checksum => None,
        Ground::Chunks => Some("parts of messages are told by their addresses and by chunks of their content"),
        Ground::Addresses => Some("parts of messages are told by their addresses alone"),
    };
    (weakest, why)
}

/// True if all numbers are equal.
pub(crate) fn all_equal(mut numbers: impl Iterator<Item = u64>) -> bool {
    numbers.next().is_none_or(|first| numbers.all(|one| one == first))
}

/// True if ranks exchange other messages, by the same call sites and with the same tags, while they are at an operation with these messages: it is
/// none of its own.
pub(crate) fn is_interleaved(arena: &Arena<'_>, groups: &[u32], messages: &[u32]) -> bool {
    let key = |id: u32| (groups[id as usize], arena.messages[id as usize].tag);
    let keys: BTreeSet<(u32, i32)> = messages.iter().map(|&id| key(id)).collect();
    let others = spans(arena, messages).into_iter().flat_map(|(rank, (first, last))| {
        let steps = &arena.steps_of[rank as usize][first as usize..=last as usize];
        steps.iter().filter_map(|&step| message_of(arena, step))
    });
    let is_other = |id: u32| messages.binary_search(&id).is_err() && keys.contains(&key(id));
    others.into_iter().any(is_other)
}

/// True if, for half of the messages, the receiver gives the sender other data of the same length at once, by the same call sites and with the same tag.
/// Partners that exchange what they have may keep what they get, so that data of one rank come to others step by step, as in a sort: none of these
/// messages is there to spread them. Where a pair of ranks has several of the messages, an answer to each by whatever call is enough: these are requests.
pub(crate) fn is_exchanged(arena: &Arena<'_>, groups: &[u32], messages: &[u32]) -> bool {
    let ends = |id: &u32| (arena.messages[*id as usize].from, arena.messages[*id as usize].to);
    let pairs: BTreeSet<(u32, u32)> = messages.iter().map(ends).collect();
    let are_requests = pairs.len() < messages.len();
    let is_answered = |id: &&u32| {
        let one = &arena.messages[**id as usize];
        let steps = &arena.steps_of[one.to as usize];
        let beside = [one.receive_at.wrapping_sub(1), one.receive_at + 1];
        let mut beside = beside
            .iter()
            .filter_map(|&at| message_of(arena, *steps.get(at as usize)?));
        beside.any(|other| {
            let answer = &arena.messages[other as usize];
            let is_alike = answer.tag == one.tag && groups[other as usize] == groups[**id as usize];
            (answer.from, answer.to) == (one.to, one.from)
                && answer.receive_at.abs_diff(one.send_at) == 1
                && answer.sent.bytes == one.sent.bytes
                && (is_alike || are_requests)
                && messages.binary_search(&other).is_err()
        })
    };
    messages.iter().filter(is_answered).count() * 2 >= messages.len()
}

/// Message of a step, unless the rank shows something to itself.
fn message_of(arena: &Arena<'_>, step: u32) -> Option<u32> {
    match arena.steps[step as usize] {
        Step::Send(id) | Step::Receive(id) => Some(id),
        Step::Own(..) => None,
    }
}

/// Number of instances that all parts of an operation have; `None` if they differ. A trace may end within an instance, so that some have one
/// more than others, if there are several.
pub(crate) fn common_count(counts: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    let (least, most) = (counts.clone().min()?, counts.max()?);
    let is_cut = most == least + 1 && least >= FEWEST_RECURRENCES;
    (least == most || is_cut).then_some(least).filter(|count| *count > 0)
}
