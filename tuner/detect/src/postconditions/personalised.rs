//! Gather, scatter and all-to-all: data of one rank that are for one other.
//!
//! The k-th data of every pair of ranks are the k-th instance. All pairs that the collective has must have the same number of them, and no
//! rank may begin an instance before it is through with the one before. The data of gathers and scatters must lie apart at the root, in the
//! order of the ranks: without this, a master that asks its workers is a gather.

use std::collections::{BTreeMap, BTreeSet};

use super::delivery::{Delivery, Stream};
use super::layout::{Block, Layout, layout};
use super::{
    FEWEST_RANKS, FEWEST_RECURRENCES, Operation, all_equal, barrier, common_count, ground, is_interleaved, shown_bytes,
    united,
};
use crate::arena::{Arena, Step};
use crate::epochs::{is_before, spans};
use crate::filters::Filters;
use crate::flows::View;
use crate::model::finding::{Collective, Confidence, Reason};
use crate::provenance::{Ground, Provenance};

/// Part of the bytes of its messages that must be data of the collective, of ropes and of chunks.
const EXPLAINED: f64 = 0.95;
const EXPLAINED_BY_CHUNKS: f64 = 0.5;

/// Gathers, scatters and all-to-alls of a stream. Messages of an instance within which the trace begins or ends are added to `cut`.
pub(crate) fn operations(
    arena: &Arena<'_>,
    provenance: &Provenance,
    stream: &Stream,
    view: View,
    filters: &mut Filters,
    cut: &mut Vec<u32>,
) -> Vec<Operation> {
    let ranks: Vec<u32> = stream.group.iter().collect();
    if ranks.len() < FEWEST_RANKS {
        filters.add(Reason::TooFewRanks, u64::from(stream.pairs.len() > 1));
        return Vec::new();
    }
    let others = ranks.len() - 1;
    if stream.pairs.len() == ranks.len() * others {
        let all_pairs: Vec<(u32, u32)> = stream.pairs.keys().copied().collect();
        return alltoalls(arena, provenance, stream, &all_pairs, view, filters, cut);
    }
    if view == View::Chunks {
        return Vec::new();
    }
    // Ranks with the number of those that they get data from, and give data to.
    let mut degrees: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for &(from, to) in stream.pairs.keys() {
        degrees.entry(to).or_default().0 += 1;
        degrees.entry(from).or_default().1 += 1;
    }
    let mut found = Vec::new();
    for (&root, &(gets, gives)) in &degrees {
        for (collective, degree) in [(Collective::Gather, gets), (Collective::Scatter, gives)] {
            if degree < others {
                continue;
            }
            let is_one = |pair: &&(u32, u32)| {
                root == if collective == Collective::Gather {
                    pair.1
                } else {
                    pair.0
                }
            };
            let star: Vec<(u32, u32)> = stream.pairs.keys().filter(is_one).copied().collect();
            found.extend(stars(
                arena, provenance, stream, collective, root, &ranks, &star, filters, cut,
            ));
        }
    }
    found
}

/// Instances of the given pairs, or nothing if these are not instances of one collective.
fn instances<'s>(
    arena: &Arena<'_>,
    stream: &'s Stream,
    pairs: &[(u32, u32)],
    view: View,
    filters: &mut Filters,
    cut: &mut Vec<u32>,
) -> Vec<(Vec<&'s Delivery>, Vec<u32>)> {
    let Some(count) = common_count(pairs.iter().map(|pair| stream.pairs[pair].len())) else {
        filters.count(Reason::UnequalCounts);
        return Vec::new();
    };
    if stream.group.len() < arena.size && count < FEWEST_RECURRENCES {
        filters.count(Reason::SubsetOnce);
        return Vec::new();
    }
    // Instances are counted from the beginning of a trace that lacks an end, and from the end of one that lacks a beginning.
    let from_begin = |at: usize, _: usize| at;
    let from_end = |at: usize, of_pair: usize| at + of_pair - count;
    let all = aligned(arena, stream, pairs, view, count, from_begin);
    let Some(all) = all.or_else(|| aligned(arena, stream, pairs, view, count, from_end)) else {
        filters.count(Reason::OverlappingEpochs);
        return Vec::new();
    };
    if !all.is_empty() {
        let explained: BTreeSet<u32> = all.iter().flat_map(|(_, messages)| messages.iter().copied()).collect();
        let of_pairs = pairs
            .iter()
            .flat_map(|pair| &stream.pairs[pair])
            .flat_map(|one| &one.path);
        cut.extend(of_pairs.filter(|id| !explained.contains(id)));
    }
    all
}

/// Instances whose deliveries are found by a rule from their number and the number of deliveries of a pair; `None` if they interleave.
fn aligned<'s>(
    arena: &Arena<'_>,
    stream: &'s Stream,
    pairs: &[(u32, u32)],
    view: View,
    count: usize,
    index: impl Fn(usize, usize) -> usize,
) -> Option<Vec<(Vec<&'s Delivery>, Vec<u32>)>> {
    let mut all = Vec::new();
    let mut before: Option<BTreeMap<u32, (u32, u32)>> = None;
    for at in 0..count {
        let delivery = |pair: &(u32, u32)| {
            let of_pair = &stream.pairs[pair];
            of_pair.get(index(at, of_pair.len()))
        };
        let deliveries: Vec<&Delivery> = pairs.iter().map(delivery).collect::<Option<_>>()?;
        let messages = united(deliveries.iter().map(|one| one.path.as_slice()));
        let span = spans(arena, &messages);
        if before.is_some_and(|before| !is_before(&before, &span)) {
            return None;
        }
        before = Some(span);
        let delivered = deliveries
            .iter()
            .map(|one| one.bytes.saturating_mul(one.path.len() as u64));
        let delivered = delivered.fold(0, u64::saturating_add);
        let part = if view == View::Chunks {
            EXPLAINED_BY_CHUNKS
        } else {
            EXPLAINED
        };
        if (delivered as f64) < part * shown_bytes(arena, &messages, view) as f64 {
            return Some(Vec::new());
        }
        all.push((deliveries, messages));
    }
    Some(all)
}

fn alltoalls(
    arena: &Arena<'_>,
    provenance: &Provenance,
    stream: &Stream,
    pairs: &[(u32, u32)],
    view: View,
    filters: &mut Filters,
    cut: &mut Vec<u32>,
) -> Vec<Operation> {
    // Equal bytes that everyone sends to everyone are a barrier.
    let is_bare = |one: &Delivery| {
        one.path
            .iter()
            .all(|&id| barrier::is_empty(&arena.messages[id as usize]))
    };
    if stream.pairs.values().flatten().all(is_bare) {
        return Vec::new();
    }
    let found = instances(arena, stream, pairs, view, filters, cut);
    let repeats = found.len() > 1;
    let operation = |(deliveries, messages): (Vec<&Delivery>, Vec<u32>)| {
        let mut why = vec!["every rank has other data for every other rank, and they come there"];
        let (ground, words) = ground(provenance, &messages);
        why.extend(words);
        if view == View::Chunks {
            why.push("followed by chunks of its content, as messages cut it differently");
        }
        if !repeats {
            why.push("it occurs once");
        }
        let is_sure = repeats && ground == Ground::Checksum && view == View::Own;
        Operation {
            collective: Collective::Alltoall,
            group: stream.group.clone(),
            roots: Vec::new(),
            bytes: deliveries.iter().map(|one| one.bytes).max().unwrap_or(0),
            varied: view != View::Chunks && !all_equal(deliveries.iter().map(|one| one.bytes)),
            messages,
            confidence: if is_sure {
                Confidence::Certain
            } else {
                Confidence::Likely
            },
            why,
            operators: 0,
        }
    };
    found.into_iter().map(operation).collect()
}

#[allow(clippy::too_many_arguments, reason = "parts of one candidate")]
fn stars(
    arena: &Arena<'_>,
    provenance: &Provenance,
    stream: &Stream,
    collective: Collective,
    root: u32,
    ranks: &[u32],
    pairs: &[(u32, u32)],
    filters: &mut Filters,
    cut: &mut Vec<u32>,
) -> Vec<Operation> {
    let position = |rank: u32| ranks.binary_search(&rank).unwrap_or(0);
    let mut found = Vec::new();
    let all = instances(arena, stream, pairs, View::Own, filters, cut);
    let count = all.len();
    for (deliveries, messages) in all {
        let block = |one: &&Delivery| {
            let (rank, address, blocks) = if collective == Collective::Gather {
                (one.origin, one.to_address, &one.to_blocks)
            } else {
                (one.to, one.from_address, &one.from_blocks)
            };
            Block {
                position: position(rank),
                address,
                bytes: one.bytes,
                pieces: blocks.clone(),
            }
        };
        let blocks: Vec<Block> = deliveries.iter().map(block).collect();
        let order = layout(&blocks, position(root), ranks.len());
        if order == Layout::Shared {
            filters.count(Reason::BufferReused);
            continue;
        }
        // Blocks that lie apart in no order are seen by chance, but not again and again.
        if order == Layout::Apart && count < FEWEST_RECURRENCES {
            filters.count(Reason::NoOrder);
            continue;
        }
        if order == Layout::Apart && is_interleaved(arena, &arena.sites, &messages) {
            filters.count(Reason::OverlappingEpochs);
            continue;
        }
        let mut why = vec![match collective {
            Collective::Gather => "data of every rank come to the root",
            _ => "every rank gets data of the root that no other gets",
        }];
        why.push(match order {
            Layout::Ordered => "the blocks lie at the root in the order of the ranks",
            Layout::FromRoot => "the blocks lie at the root in the order of the ranks, counted from the root",
            _ => "the blocks lie apart at the root, in no order",
        });
        let mut confidence = if order == Layout::Apart {
            Confidence::Possible
        } else {
            Confidence::Likely
        };
        if order != Layout::Apart && root_shows_its_block(arena, provenance, root, &messages, &deliveries) {
            confidence = Confidence::Certain;
            why.push("the root shows its own block");
        } else {
            why.push("the root's own block travels in no message");
        }
        let (ground, words) = ground(provenance, &messages);
        why.extend(words);
        if ground == Ground::Addresses {
            confidence = Confidence::Possible;
        }
        found.push(Operation {
            collective,
            group: stream.group.clone(),
            roots: vec![root],
            bytes: deliveries.iter().map(|one| one.bytes).max().unwrap_or(0),
            varied: !all_equal(deliveries.iter().map(|one| one.bytes)) || order == Layout::Apart,
            messages,
            confidence,
            why,
            operators: 0,
        });
    }
    found
}

/// True if the root shows data as long as a block to itself, between the messages before and behind those of the instance.
fn root_shows_its_block(
    arena: &Arena<'_>,
    provenance: &Provenance,
    root: u32,
    messages: &[u32],
    deliveries: &[&Delivery],
) -> bool {
    let Some(&(first, last)) = spans(arena, messages).get(&root) else {
        return false;
    };
    let steps = &arena.steps_of[root as usize];
    let is_own = |at: usize| matches!(arena.steps[steps[at] as usize], Step::Own(..));
    let mut begin = first as usize;
    while begin > 0 && is_own(begin - 1) {
        begin -= 1;
    }
    let mut end = last as usize;
    while end + 1 < steps.len() && is_own(end + 1) {
        end += 1;
    }
    let of_block = |&(rank, step, datum): &(u32, u32, u32)| {
        let bytes = provenance.data[datum as usize].bytes;
        rank == root && (steps[begin]..=steps[end]).contains(&step) && deliveries.iter().any(|one| one.bytes == bytes)
    };
    provenance.shown.iter().any(of_block)
}
