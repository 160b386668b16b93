//! Allgather: every rank has data in the beginning, and the data of all ranks in the end.
//!
//! It is a broadcast from every rank. The broadcasts belong together if they are not separable, or if they follow each other at once and
//! leave their data one behind the other in the order of the ranks.

use std::collections::BTreeMap;

use super::broadcast::{Candidate, Spread, explains, grade};
use super::{Operation, all_equal, united};
use crate::arena::Arena;
use crate::epochs::{inseparable, is_adjacent, spans};
use crate::flows::View;
use crate::model::finding::{Collective, Confidence};
use crate::provenance::Provenance;

/// Allgathers among candidates for broadcasts, and the candidates that are left.
pub(crate) fn operations(
    arena: &Arena<'_>,
    provenance: &Provenance,
    spreads: &[Spread],
    candidates: Vec<Candidate>,
    view: View,
) -> (Vec<Operation>, Vec<Candidate>) {
    let nodes: Vec<&[u32]> = candidates.iter().map(|one| one.messages.as_slice()).collect();
    let mut joined: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, component) in inseparable(arena, &nodes).into_iter().enumerate() {
        joined.entry(component).or_default().push(at);
    }
    let mut found = Vec::new();
    let mut used = vec![false; candidates.len()];
    for members in joined.values() {
        if let Some(one) = allgather(arena, provenance, spreads, &candidates, members, view) {
            members.iter().for_each(|&at| used[at] = true);
            found.push(one);
        }
    }
    // Broadcasts in turn.
    let rest: Vec<usize> = (0..candidates.len()).filter(|&at| !used[at]).collect();
    let ranks = spreads.first().map_or(0, |one| one.ranks.len());
    let mut at = 0;
    while ranks > 0 && at + ranks <= rest.len() {
        let turn = &rest[at..at + ranks];
        if follow_each_other(arena, &candidates, turn)
            && let Some(mut one) = allgather(arena, provenance, spreads, &candidates, turn, view)
        {
            turn.iter().for_each(|&at| used[at] = true);
            one.confidence = one.confidence.min(Confidence::Likely);
            one.why
                .push("each rank broadcasts in turn, and the blocks lie in the order of the ranks");
            found.push(one);
            at += ranks;
        } else {
            at += 1;
        }
    }
    let mut used = used.into_iter();
    let rest = candidates
        .into_iter()
        .filter(|_| !used.next().unwrap_or(false))
        .collect();
    (found, rest)
}

fn allgather(
    arena: &Arena<'_>,
    provenance: &Provenance,
    spreads: &[Spread],
    candidates: &[Candidate],
    members: &[usize],
    view: View,
) -> Option<Operation> {
    let mut by_root: BTreeMap<u32, u64> = BTreeMap::new();
    for &at in members {
        let one = &candidates[at];
        let &[root] = one.roots.as_slice() else { return None };
        let bytes = by_root.entry(root).or_default();
        *bytes = bytes.saturating_add(one.bytes);
    }
    let group = &spreads[candidates[*members.first()?].members[0]].ranks;
    if by_root.len() != group.len() {
        return None;
    }
    // Borders that ranks cut anew are chunks of their own: little beside the data of the one root.
    let (most, total) = by_root.values().fold((0, 0_u64), |(most, total), &bytes| {
        (bytes.max(most), total.saturating_add(bytes))
    });
    if view == View::Chunks && most > total / 2 {
        return None;
    }
    let messages = united(members.iter().map(|&at| candidates[at].messages.as_slice()));
    let all: Vec<usize> = members
        .iter()
        .flat_map(|&at| candidates[at].members.iter().copied())
        .collect();
    if !explains(arena, spreads, &all, &messages, view) {
        return None;
    }
    let (confidence, mut why) = grade(arena, provenance, &messages, view);
    why.insert(0, "the data of every rank reach every rank");
    Some(Operation {
        collective: Collective::Allgather,
        group: group.clone(),
        roots: Vec::new(),
        messages,
        bytes: by_root.values().copied().max().unwrap_or(0),
        varied: view != View::Chunks && !all_equal(by_root.values().copied()),
        confidence,
        why,
        operators: 0,
    })
}

/// True if broadcasts follow each other at once and their data lie on every rank in the order of the roots' ranks, without gaps.
fn follow_each_other(arena: &Arena<'_>, candidates: &[Candidate], turn: &[usize]) -> bool {
    let bytes = candidates[turn[0]].bytes;
    if !turn
        .iter()
        .all(|&at| candidates[at].bytes == bytes && candidates[at].roots.len() == 1)
    {
        return false;
    }
    let spans: Vec<_> = turn.iter().map(|&at| spans(arena, &candidates[at].messages)).collect();
    if !spans.windows(2).all(|pair| is_adjacent(&pair[0], &pair[1])) {
        return false;
    }
    // Address of the first block of the group, told from each block on each rank, is the same on that rank.
    let mut roots: Vec<u32> = turn.iter().map(|&at| candidates[at].roots[0]).collect();
    roots.sort_unstable();
    let mut base: BTreeMap<u32, u64> = BTreeMap::new();
    turn.iter().all(|&at| {
        let one = &candidates[at];
        let Ok(block) = roots.binary_search(&one.roots[0]) else {
            return false;
        };
        one.messages.iter().all(|&id| {
            let message = &arena.messages[id as usize];
            let places = [(message.from, message.sent), (message.to, message.received)];
            places.into_iter().all(|(rank, payload)| {
                let offset = payload.pitch().wrapping_mul(block as u64);
                let first = payload.address.wrapping_sub(offset);
                message.sent.bytes == bytes && *base.entry(rank).or_insert(first) == first
            })
        })
    })
}
