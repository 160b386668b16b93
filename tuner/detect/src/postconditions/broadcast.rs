//! Broadcast: data that one rank has in the beginning, and every rank in the end.
//!
//! A piece of data spreads: by whatever way, in whatever pieces. Spreads of the same root that are not separable, or that lie in memory one
//! behind the other and follow each other at once, are one broadcast. It must account for all data of its messages: what the last rank of a
//! chain gather sends visits every rank as well, but in messages that carry other data, too.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::forwarding::OwnPlaces;
use super::{Operation, all_equal, ground, shown_bytes, united};
use crate::arena::Arena;
use crate::epochs::{inseparable, is_adjacent, spans};
use crate::filters::Filters;
use crate::flows::{Flow, View, occurrences, participants};
use crate::joined::Joined;
use crate::model::finding::{Collective, Confidence, Reason};
use crate::provenance::{Ground, Provenance};
use crate::ranks::RankSet;

/// Ranks that may have the same data in the beginning, where a message is redundant.
const MOST_ORIGINS: usize = 2;

/// Part of the bytes of its messages that a broadcast explains: of ropes, and of chunks, whose borders break some.
const EXPLAINED: f64 = 0.95;
const EXPLAINED_BY_CHUNKS: f64 = 0.5;

/// Occurrence of a piece of data that spreads.
#[derive(Debug, Clone)]
pub(crate) struct Spread {
    pub(crate) ranks: RankSet,
    /// Ranks that may be the root.
    pub(crate) roots: Vec<u32>,
    pub(crate) bytes: u64,
    pub(crate) hops: Vec<u32>,
}

/// Roots of the messages that carry a piece: ranks that send it before they receive it, and from which it comes to all others.
fn roots(arena: &Arena<'_>, hops: &[u32], ranks: &RankSet) -> (Vec<u32>, usize) {
    let (mut sends, mut receives): (FxHashMap<u32, u32>, FxHashMap<u32, u32>) =
        (FxHashMap::default(), FxHashMap::default());
    for &hop in hops {
        let [(from, sent), (to, received)] = arena.ends(hop);
        sends.entry(from).and_modify(|at| *at = sent.min(*at)).or_insert(sent);
        receives
            .entry(to)
            .and_modify(|at| *at = received.min(*at))
            .or_insert(received);
    }
    let begins = |(rank, sent): (&u32, &u32)| {
        let is_first = receives.get(rank).is_none_or(|received| sent < received);
        is_first.then_some(*rank)
    };
    let mut origins: Vec<u32> = sends.iter().filter_map(begins).collect();
    origins.sort_unstable();
    if origins.len() > MOST_ORIGINS {
        return (Vec::new(), origins.len());
    }
    let reaches_all = |root: &u32| {
        let mut has: FxHashMap<u32, u32> = FxHashMap::default();
        for &hop in hops {
            let [(from, sent), (to, received)] = arena.ends(hop);
            if from == *root || has.get(&from).is_some_and(|since| *since < sent) {
                has.entry(to).or_insert(received);
            }
        }
        has.insert(*root, 0);
        has.len() == ranks.len()
    };
    let count = origins.len();
    origins.retain(reaches_all);
    (origins, count)
}

/// Messages without those that a rank sends of equal data of its own, to ranks that have them already: these are another exchange.
fn without_equal(arena: &Arena<'_>, provenance: &Provenance, root: u32, hops: Vec<u32>) -> Vec<u32> {
    let mut has = RankSet::one(arena.size, root);
    let is_own = |hop: u32| match provenance.ropes[hop as usize].as_slice() {
        [segment] => provenance.data[segment.datum as usize].class != segment.datum,
        _ => false,
    };
    let is_needed = |&hop: &u32| has.insert(arena.messages[hop as usize].to) || !is_own(hop);
    hops.into_iter().filter(is_needed).collect()
}

fn spread(
    arena: &Arena<'_>,
    (provenance, own_places): (&Provenance, &OwnPlaces),
    flow: &Flow,
    hops: Vec<u32>,
    filters: &mut Filters,
) -> Option<Spread> {
    let ranks = participants(arena, &hops);
    if ranks.len() < super::FEWEST_RANKS {
        return None;
    }
    let (roots, origins) = roots(arena, &hops, &ranks);
    if roots.is_empty() {
        if origins > 1 && ranks.len() == arena.size {
            filters.count(Reason::SeveralRoots);
        }
        return None;
    }
    let hops = match roots[..] {
        [root] => without_equal(arena, provenance, root, hops),
        _ => hops,
    };
    let is_own = |hop: &u32| {
        let message = &arena.messages[*hop as usize];
        !roots.contains(&message.from) && own_places.have(message)
    };
    if hops.iter().any(is_own) {
        filters.add(Reason::Chance, u64::from(ranks.len() == arena.size));
        return None;
    }
    Some(Spread {
        ranks,
        roots,
        bytes: flow.bytes,
        hops,
    })
}

/// Spreads among flows.
pub(crate) fn spreads(
    arena: &Arena<'_>,
    known: (&Provenance, &OwnPlaces),
    flows: &[Flow],
    filters: &mut Filters,
) -> Vec<Spread> {
    let mut all = Vec::new();
    for flow in flows.iter().filter(|flow| flow.hops.len() + 1 >= super::FEWEST_RANKS) {
        for way in ways(arena, &flow.hops) {
            let times = occurrences(arena, &way);
            let several = times.len() > 1;
            let found: Vec<Spread> = times
                .into_iter()
                .filter_map(|hops| spread(arena, known, flow, hops, filters))
                .collect();
            // Data that come by different ways in turn are one piece, with one spread.
            if several && !found.iter().any(|one| one.ranks.len() == arena.size) {
                let whole = spread(arena, known, flow, way, filters);
                if let Some(whole) = whole.filter(|one| one.ranks.len() == arena.size && one.roots.len() == 1) {
                    all.push(whole);
                    continue;
                }
            }
            all.extend(found);
        }
    }
    all
}

/// Messages of a piece by groups of call sites, if each group brings it to all ranks: the same data are sent again by other code.
fn ways(arena: &Arena<'_>, hops: &[u32]) -> Vec<Vec<u32>> {
    let mut by_sites: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for &hop in hops {
        by_sites.entry(arena.sites[hop as usize]).or_default().push(hop);
    }
    if by_sites
        .values()
        .all(|hops| participants(arena, hops).len() == arena.size)
    {
        return by_sites.into_values().collect();
    }
    vec![hops.to_vec()]
}

/// Counts what would be broadcasts of equal bytes.
pub(crate) fn count_constant(arena: &Arena<'_>, used: &[bool], filters: &mut Filters) {
    let mut by_content: BTreeMap<(u32, u64), Vec<u32>> = BTreeMap::new();
    for (id, message) in (0..).zip(&arena.messages) {
        if message.sent.is_constant && message.sent.bytes > 0 && !used[id as usize] {
            by_content
                .entry((message.sent.crc32, message.sent.bytes))
                .or_default()
                .push(id);
        }
    }
    for hops in by_content.values() {
        let whole = |hops: &Vec<u32>| participants(arena, hops).len() == arena.size;
        let count = occurrences(arena, hops).iter().filter(|hops| whole(hops)).count();
        filters.add(Reason::LowEntropy, count as u64);
    }
}

/// Spreads with the indexes of those that an operation has.
pub(crate) struct Candidate {
    pub(crate) roots: Vec<u32>,
    pub(crate) members: Vec<usize>,
    pub(crate) messages: Vec<u32>,
    pub(crate) bytes: u64,
}

/// Spreads on one group of ranks and one group of call sites, joined to what may be broadcasts.
pub(crate) fn candidates(arena: &Arena<'_>, spreads: &[Spread]) -> Vec<Candidate> {
    let mut by_root: BTreeMap<&[u32], Vec<usize>> = BTreeMap::new();
    for (at, one) in spreads.iter().enumerate() {
        by_root.entry(&one.roots).or_default().push(at);
    }
    let mut all = Vec::new();
    for members in by_root.values() {
        let tags = tag_groups(arena, spreads, members);
        let nodes: Vec<&[u32]> = members.iter().map(|&at| spreads[at].hops.as_slice()).collect();
        let components = inseparable(arena, &nodes);
        let mut joined: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (at, &member) in members.iter().enumerate() {
            joined.entry((components[at], tags[at])).or_default().push(member);
        }
        for members in joined.into_values() {
            all.push(Candidate {
                roots: spreads[members[0]].roots.clone(),
                messages: united(members.iter().map(|&at| spreads[at].hops.as_slice())),
                bytes: members.iter().map(|&at| spreads[at].bytes).fold(0, u64::saturating_add),
                members,
            });
        }
    }
    all.sort_by(|a, b| a.messages.cmp(&b.messages));
    all
}

/// Group of tags of each member: operations that are under way at once are told apart by their tags.
fn tag_groups(arena: &Arena<'_>, spreads: &[Spread], members: &[usize]) -> Vec<usize> {
    let mut sets = Joined::new(members.len());
    let mut first: FxHashMap<i32, usize> = FxHashMap::default();
    for (at, &member) in members.iter().enumerate() {
        for &hop in &spreads[member].hops {
            let known = *first.entry(arena.messages[hop as usize].tag).or_insert(at);
            sets.join(known, at);
        }
    }
    (0..members.len()).map(|at| sets.find(at)).collect()
}

/// True if the spreads of a candidate are all that its messages carry.
pub(crate) fn explains(arena: &Arena<'_>, spreads: &[Spread], members: &[usize], messages: &[u32], view: View) -> bool {
    let explained = members
        .iter()
        .map(|&at| spreads[at].bytes.saturating_mul(spreads[at].hops.len() as u64));
    let explained = explained.fold(0, u64::saturating_add);
    let part = if view == View::Chunks {
        EXPLAINED_BY_CHUNKS
    } else {
        EXPLAINED
    };
    explained as f64 >= part * shown_bytes(arena, messages, view) as f64
}

/// Grade of data that spread by these messages.
pub(crate) fn grade(
    arena: &Arena<'_>,
    provenance: &Provenance,
    messages: &[u32],
    view: View,
) -> (Confidence, Vec<&'static str>) {
    if view == View::Chunks {
        return (
            Confidence::Likely,
            vec!["followed by chunks of its content, as messages cut it differently"],
        );
    }
    if let (ground, Some(why)) = ground(provenance, messages) {
        let is_shown = ground == Ground::Chunks;
        return (
            if is_shown {
                Confidence::Likely
            } else {
                Confidence::Possible
            },
            vec![why],
        );
    }
    // Small numbers are equal by chance.
    let is_plain = |id: &u32| {
        let payload = arena.messages[*id as usize].sent;
        payload.bytes <= 8 && payload.prefix.iter().filter(|byte| **byte != 0).count() <= 1
    };
    if messages.iter().any(is_plain) {
        return (Confidence::Likely, vec!["the data are a small number"]);
    }
    (Confidence::Certain, Vec::new())
}

/// Broadcasts among candidates.
pub(crate) fn operations(
    arena: &Arena<'_>,
    provenance: &Provenance,
    spreads: &[Spread],
    candidates: &[Candidate],
    view: View,
) -> Vec<Operation> {
    let mut all: Vec<Operation> = Vec::new();
    for one in candidates {
        if !explains(arena, spreads, &one.members, &one.messages, view) {
            continue;
        }
        let (mut confidence, mut why) = grade(arena, provenance, &one.messages, view);
        why.insert(0, "every byte that the root has reaches every rank");
        if one.roots.len() > 1 {
            confidence = confidence.min(Confidence::Likely);
            why.push("a redundant message leaves open which rank is the root");
        }
        let operation = Operation {
            collective: Collective::Broadcast,
            group: spreads[one.members[0]].ranks.clone(),
            roots: one.roots.clone(),
            messages: one.messages.clone(),
            bytes: if view == View::Chunks {
                one.bytes.max(least_received(arena, one))
            } else {
                one.bytes
            },
            varied: false,
            confidence,
            why,
            operators: 0,
        };
        match all.last_mut() {
            Some(last) if is_segment_after(arena, last, &operation) => {
                last.messages = united([last.messages.as_slice(), &operation.messages]);
                last.bytes = last.bytes.saturating_add(operation.bytes);
                last.confidence = last.confidence.min(operation.confidence);
                if !last.why.contains(&SEGMENTS) {
                    last.why.push(SEGMENTS);
                }
            }
            _ => all.push(operation),
        }
    }
    all
}

/// Fewest bytes that a rank receives which is not the root: chunks do not show all that is broadcast, but everyone receives it.
fn least_received(arena: &Arena<'_>, candidate: &Candidate) -> u64 {
    let mut received: BTreeMap<u32, u64> = BTreeMap::new();
    for &id in &candidate.messages {
        let message = &arena.messages[id as usize];
        if !candidate.roots.contains(&message.to) {
            let bytes = received.entry(message.to).or_default();
            *bytes = bytes.saturating_add(message.sent.bytes);
        }
    }
    received.into_values().min().unwrap_or(0)
}

const SEGMENTS: &str = "it is sent in segments that lie one behind the other";

/// True if a broadcast brings the data that lie, on every rank, behind those of the one before, and follows it at once.
fn is_segment_after(arena: &Arena<'_>, before: &Operation, after: &Operation) -> bool {
    if before.roots != after.roots || before.group != after.group {
        return false;
    }
    let ends = |operation: &Operation| {
        let mut ends: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        for &id in &operation.messages {
            let message = &arena.messages[id as usize];
            for (rank, payload) in [(message.from, message.sent), (message.to, message.received)] {
                let end = payload.place(message.sent.bytes);
                ends.entry(rank).or_default().push((payload.address, end));
            }
        }
        ends
    };
    let (old, new) = (ends(before), ends(after));
    let adjoins = |(rank, spans): (&u32, &Vec<(u64, u64)>)| {
        let begin = spans.iter().map(|span| span.0).min();
        let is_one_place = all_equal(spans.iter().map(|span| span.0));
        let end = old.get(rank).and_then(|spans| spans.iter().map(|span| span.1).max());
        is_one_place && begin == end
    };
    new.iter().all(adjoins) && is_adjacent(&spans(arena, &before.messages), &spans(arena, &after.messages))
}
