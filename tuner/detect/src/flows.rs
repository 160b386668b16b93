//! Ways of data: the messages that carry one and the same piece, from where it was first to where it came last.

use rustc_hash::FxHashMap;

use crate::arena::Arena;
use crate::provenance::Provenance;
use crate::ranks::RankSet;

/// Borders of pieces in one datum.
const MOST_CUTS: usize = 8192;

/// Pieces in messages, over all of an arena.
const MOST_CARRIED: usize = 1 << 23;

/// Pieces of data, and what makes two of them the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Equal content is the same data on all ranks.
    Content,
    /// Data of two ranks are two, even if they are equal.
    Own,
    /// Chunks with equal hashes are the same data, wherever they lie in messages.
    Chunks,
}

/// Piece of data with the messages that carry it.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    /// Datum and beginning in it; of chunks, nothing.
    pub(crate) datum: u32,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Messages in causal order.
    pub(crate) hops: Vec<u32>,
}

/// Flows of an arena, and the data that were cut too finely.
pub(crate) fn flows(arena: &Arena<'_>, provenance: &Provenance, view: View, used: &[bool]) -> (Vec<Flow>, u64) {
    if view == View::Chunks {
        return (of_chunks(arena, used), 0);
    }
    let key = |datum: u32| {
        let one = &provenance.data[datum as usize];
        if view == View::Content { one.class } else { datum }
    };
    // Equal bytes are not the same data.
    let is_left_out = |id: usize| view == View::Content && arena.messages[id].sent.is_constant;
    let is_followed = |id: usize| !used[id] && !is_left_out(id);
    let mut data: FxHashMap<u32, Cut> = FxHashMap::default();
    let followed: Vec<usize> = (0..arena.messages.len()).filter(|&id| is_followed(id)).collect();
    for &id in &followed {
        for segment in &provenance.ropes[id] {
            let borders = &mut data.entry(key(segment.datum)).or_default().borders;
            borders.push(segment.offset);
            borders.push(segment.offset + segment.bytes);
        }
    }
    let mut too_fine = 0;
    data.retain(|_, cut| {
        cut.borders.sort_unstable();
        cut.borders.dedup();
        let is_too_fine = cut.borders.len() > MOST_CUTS;
        too_fine += u64::from(is_too_fine);
        if !is_too_fine {
            cut.hops = vec![Vec::new(); cut.borders.len().saturating_sub(1)];
        }
        !is_too_fine
    });
    let mut carried = 0;
    for &id in &followed {
        for segment in &provenance.ropes[id] {
            let Some(cut) = data.get_mut(&key(segment.datum)) else {
                continue;
            };
            let first = cut.borders.partition_point(|&border| border < segment.offset);
            let end = segment.offset + segment.bytes;
            for (begin, hops) in cut.borders[first..].iter().zip(&mut cut.hops[first..]) {
                if *begin >= end {
                    break;
                }
                carried += 1;
                if carried > MOST_CARRIED {
                    return (joined(data), too_fine + 1);
                }
                if hops.last() != Some(&(id as u32)) {
                    hops.push(id as u32);
                }
            }
        }
    }
    (joined(data), too_fine)
}

/// A datum cut into pieces.
#[derive(Default)]
struct Cut {
    /// Borders of the pieces, ascending.
    borders: Vec<u64>,
    /// Messages that carry the piece behind each border but the last.
    hops: Vec<Vec<u32>>,
}

/// Flows of data in their order. Neighbours that take the same way are one; pieces that no message carries are none.
fn joined(data: FxHashMap<u32, Cut>) -> Vec<Flow> {
    let mut sorted: Vec<_> = data.into_iter().collect();
    sorted.sort_unstable_by_key(|(datum, _)| *datum);
    let mut flows: Vec<Flow> = Vec::new();
    for (datum, cut) in sorted {
        for (ends, hops) in cut.borders.windows(2).zip(cut.hops) {
            let (offset, bytes) = (ends[0], ends[1] - ends[0]);
            match flows.last_mut() {
                _ if hops.is_empty() => {}
                Some(last) if last.datum == datum && last.hops == hops => last.bytes += bytes,
                _ => flows.push(Flow {
                    datum,
                    offset,
                    bytes,
                    hops,
                }),
            }
        }
    }
    flows
}

/// Flows of chunks.
fn of_chunks(arena: &Arena<'_>, used: &[bool]) -> Vec<Flow> {
    let mut found: FxHashMap<(u64, u64), Flow> = FxHashMap::default();
    let free = arena.messages.iter().enumerate().filter(|(id, _)| !used[*id]);
    for (id, message) in free {
        if !message.intact || message.sent.is_constant {
            continue;
        }
        for chunk in message.sent.sampled(arena.chunk_sample) {
            let flow = found.entry((chunk.hash, chunk.bytes)).or_insert_with(|| Flow {
                datum: u32::MAX,
                offset: 0,
                bytes: chunk.bytes,
                hops: Vec::new(),
            });
            if flow.hops.last() != Some(&(id as u32)) {
                flow.hops.push(id as u32);
            }
        }
    }
    // Chunks that take the same way are one flow.
    let mut ways: FxHashMap<Vec<u32>, Flow> = FxHashMap::default();
    for flow in found.into_values() {
        ways.entry(flow.hops.clone())
            .and_modify(|one| one.bytes = one.bytes.saturating_add(flow.bytes))
            .or_insert(flow);
    }
    let mut flows: Vec<Flow> = ways.into_values().collect();
    flows.sort_unstable_by(|a, b| a.hops.cmp(&b.hops));
    flows
}

/// Occurrences of a flow: the k-th message that carries it from one rank to another belongs to the k-th occurrence.
pub(crate) fn occurrences(arena: &Arena<'_>, hops: &[u32]) -> Vec<Vec<u32>> {
    let mut count: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    let mut all: Vec<Vec<u32>> = Vec::new();
    for &hop in hops {
        let message = &arena.messages[hop as usize];
        let at = count.entry((message.from, message.to)).or_default();
        if all.len() <= *at {
            all.resize(*at + 1, Vec::new());
        }
        all[*at].push(hop);
        *at += 1;
    }
    all
}

/// Ranks that messages connect.
pub(crate) fn participants(arena: &Arena<'_>, messages: &[u32]) -> RankSet {
    let mut ranks = RankSet::new(arena.size);
    for &id in messages {
        let message = &arena.messages[id as usize];
        ranks.insert(message.from);
        ranks.insert(message.to);
    }
    ranks
}
