//! Deliveries: data that go from one rank to one other, straight or through others that pass them on.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::arena::Arena;
use crate::epochs::site_groups;
use crate::flows::{Flow, View, occurrences};
use crate::joined::Joined;
use crate::model::trace::Blocks;
use crate::provenance::Provenance;
use crate::ranks::RankSet;

/// Data of one rank that come to another.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) origin: u32,
    pub(crate) to: u32,
    pub(crate) bytes: u64,
    /// Messages, from the first to the last.
    pub(crate) path: Vec<u32>,
    /// Lowest addresses at both ends; 0 for chunks.
    pub(crate) from_address: u64,
    pub(crate) to_address: u64,
    /// Blocks in which the data lie there.
    pub(crate) from_blocks: Option<Blocks>,
    pub(crate) to_blocks: Option<Blocks>,
}

/// Deliveries among a group of ranks, by one group of call sites.
pub(crate) struct Stream {
    pub(crate) group: RankSet,
    /// Deliveries of each pair of ranks, in their order.
    pub(crate) pairs: BTreeMap<(u32, u32), Vec<Delivery>>,
}

/// Single path of messages, each sent by the rank that received the one before.
fn is_path(arena: &Arena<'_>, hops: &[u32]) -> bool {
    let passes_on = |pair: &[u32]| {
        let [_, (at, received)] = arena.ends(pair[0]);
        let [(from, sent), _] = arena.ends(pair[1]);
        at == from && received < sent
    };
    hops.windows(2).all(passes_on)
}

/// Address and blocks of the data of a flow where its last message puts them.
fn place_at_end(arena: &Arena<'_>, provenance: &Provenance, flow: &Flow, last: u32) -> (u64, Option<Blocks>) {
    let mut offset = 0;
    for segment in &provenance.ropes[last as usize] {
        let ahead = flow.offset.wrapping_sub(segment.offset);
        if segment.datum == flow.datum && ahead < segment.bytes {
            offset += ahead;
            break;
        }
        offset += segment.bytes;
    }
    let received = arena.messages[last as usize].received;
    let blocks = received.blocks.as_ref().map(|one| one.from(offset));
    (received.place(offset), blocks)
}

/// Deliveries among flows; flows that branch are none.
fn deliveries(arena: &Arena<'_>, provenance: &Provenance, flows: &[Flow], view: View) -> Vec<Delivery> {
    let mut all: FxHashMap<Vec<u32>, Delivery> = FxHashMap::default();
    for flow in flows {
        for path in occurrences(arena, &flow.hops) {
            let (Some(&first), Some(&last)) = (path.first(), path.last()) else {
                continue;
            };
            let (origin, to) = (arena.messages[first as usize].from, arena.messages[last as usize].to);
            if origin == to || !is_path(arena, &path) {
                continue;
            }
            let ((from_address, from_blocks), (to_address, to_blocks)) = if view == View::Chunks {
                Default::default()
            } else {
                let datum = &provenance.data[flow.datum as usize];
                let from = Blocks::place(datum.blocks.as_ref(), datum.address, flow.offset);
                let blocks = datum.blocks.as_ref().map(|one| one.from(flow.offset));
                ((from, blocks), place_at_end(arena, provenance, flow, last))
            };
            all.entry(path.clone())
                .and_modify(|one| {
                    one.bytes = one.bytes.saturating_add(flow.bytes);
                    one.from_address = one.from_address.min(from_address);
                    one.to_address = one.to_address.min(to_address);
                })
                .or_insert(Delivery {
                    origin,
                    to,
                    bytes: flow.bytes,
                    path,
                    from_address,
                    to_address,
                    from_blocks,
                    to_blocks,
                });
        }
    }
    let mut all: Vec<Delivery> = all.into_values().collect();
    all.sort_unstable_by(|a, b| (a.path.last(), &a.path).cmp(&(b.path.last(), &b.path)));
    all
}

/// Streams of an arena: deliveries by groups of call sites, and by the ranks that they connect.
pub(crate) fn streams(arena: &Arena<'_>, provenance: &Provenance, flows: &[Flow], view: View) -> Vec<Stream> {
    let all = deliveries(arena, provenance, flows, view);
    let groups = site_groups(arena, all.iter().map(|one| one.path.as_slice()));
    let mut by_sites: BTreeMap<u32, Vec<Delivery>> = BTreeMap::new();
    for one in all {
        by_sites.entry(groups[one.path[0] as usize]).or_default().push(one);
    }
    by_sites.into_values().flat_map(|all| by_ranks(arena, all)).collect()
}

/// Streams of the ranks that deliveries connect.
fn by_ranks(arena: &Arena<'_>, deliveries: Vec<Delivery>) -> Vec<Stream> {
    let mut sets = Joined::new(arena.size);
    for one in &deliveries {
        for &id in &one.path {
            let message = &arena.messages[id as usize];
            sets.join(message.from as usize, message.to as usize);
        }
    }
    let mut streams: BTreeMap<usize, Stream> = BTreeMap::new();
    for one in deliveries {
        let stream = streams.entry(sets.find(one.origin as usize)).or_insert_with(|| Stream {
            group: RankSet::new(arena.size),
            pairs: BTreeMap::new(),
        });
        for &id in &one.path {
            stream.group.insert(arena.messages[id as usize].from);
            stream.group.insert(arena.messages[id as usize].to);
        }
        stream.pairs.entry((one.origin, one.to)).or_default().push(one);
    }
    streams.into_values().collect()
}

impl Stream {
    /// The stream's parts by the tag of the first message; none if there is one tag.
    pub(crate) fn by_tag(&self, arena: &Arena<'_>) -> Vec<Self> {
        let mut tags: BTreeMap<i32, Vec<Delivery>> = BTreeMap::new();
        for one in self.pairs.values().flatten() {
            let tag = arena.messages[one.path[0] as usize].tag;
            tags.entry(tag).or_default().push(one.clone());
        }
        if tags.len() < 2 {
            return Vec::new();
        }
        tags.into_values().flat_map(|all| by_ranks(arena, all)).collect()
    }
}
