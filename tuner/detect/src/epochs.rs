//! Epochs: which messages belong to one occurrence, and which to the next one.
//!
//! Two groups of messages are separable if every rank is through with one before it begins the other. Groups that are not are one operation:
//! they form a circle if each is contracted to a single step.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::arena::Arena;
use crate::joined::Joined;

/// Group of call sites of each message. Sites are in one group if a message goes from one to the other, or if they carry the same data.
pub(crate) fn site_groups<'a>(arena: &Arena<'_>, bundles: impl Iterator<Item = &'a [u32]>) -> Vec<u32> {
    let count = arena.sites.iter().max().map_or(0, |&last| last as usize + 1);
    let mut sets = Joined::new(count);
    for bundle in bundles {
        for pair in bundle.windows(2) {
            let site = |id: u32| arena.sites[id as usize] as usize;
            sets.join(site(pair[0]), site(pair[1]));
        }
    }
    arena
        .sites
        .iter()
        .map(|&site| sets.find(site as usize) as u32)
        .collect()
}

/// Component of each node, where nodes are groups of messages: those that are not separable, or share a message, are in one.
pub(crate) fn inseparable(arena: &Arena<'_>, nodes: &[&[u32]]) -> Vec<usize> {
    let mut ends: Vec<(u32, u32, u32)> = Vec::new();
    for (node, messages) in (0..).zip(nodes) {
        for &message in *messages {
            ends.extend(arena.ends(message).map(|(rank, at)| (rank, at, node)));
        }
    }
    ends.sort_unstable();
    let mut edges: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
    for pair in ends.windows(2) {
        let ((rank, at, a), (other, then, b)) = (pair[0], pair[1]);
        if rank != other || a == b {
            continue;
        }
        edges[a as usize].push(b);
        if at == then {
            edges[b as usize].push(a);
        }
    }
    components(&edges)
}

/// Strongly connected component of each node, numbered from 0 in the order of their first nodes. Tarjan's algorithm without recursion.
pub(crate) fn components(edges: &[Vec<u32>]) -> Vec<usize> {
    const NEW: usize = usize::MAX;
    let count = edges.len();
    let (mut index, mut low) = (vec![NEW; count], vec![0; count]);
    let (mut component, mut is_open) = (vec![NEW; count], vec![false; count]);
    let (mut open, mut path) = (Vec::new(), Vec::new());
    let (mut next, mut found) = (0, 0);
    for start in 0..count {
        if index[start] != NEW {
            continue;
        }
        path.push((start, 0));
        while let Some((node, edge)) = path.pop() {
            if edge == 0 {
                index[node] = next;
                low[node] = next;
                next += 1;
                open.push(node);
                is_open[node] = true;
            }
            if let Some(&to) = edges[node].get(edge) {
                path.push((node, edge + 1));
                let to = to as usize;
                if index[to] == NEW {
                    path.push((to, 0));
                } else if is_open[to] {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            if low[node] == index[node] {
                while let Some(member) = open.pop() {
                    is_open[member] = false;
                    component[member] = found;
                    if member == node {
                        break;
                    }
                }
                found += 1;
            }
            if let Some(&(above, _)) = path.last() {
                low[above] = low[above].min(low[node]);
            }
        }
    }
    let mut renamed: FxHashMap<usize, usize> = FxHashMap::default();
    for one in &mut component {
        let next = renamed.len();
        *one = *renamed.entry(*one).or_insert(next);
    }
    component
}

/// First and last position of messages among the steps of each rank.
pub(crate) fn spans(arena: &Arena<'_>, messages: &[u32]) -> BTreeMap<u32, (u32, u32)> {
    let mut spans: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for &message in messages {
        for (rank, at) in arena.ends(message) {
            let span = spans.entry(rank).or_insert((at, at));
            *span = (span.0.min(at), span.1.max(at));
        }
    }
    spans
}

/// True if every rank is through with `before` when it begins `after`.
pub(crate) fn is_before(before: &BTreeMap<u32, (u32, u32)>, after: &BTreeMap<u32, (u32, u32)>) -> bool {
    let late = |rank: &u32, last: u32| after.get(rank).is_some_and(|span| span.0 <= last);
    !before.iter().any(|(rank, span)| late(rank, span.1))
}

/// True if every rank goes from one straight to the other, with no message between them.
pub(crate) fn is_adjacent(before: &BTreeMap<u32, (u32, u32)>, after: &BTreeMap<u32, (u32, u32)>) -> bool {
    let follows = |(rank, span): (&u32, &(u32, u32))| after.get(rank).is_some_and(|next| next.0 == span.1 + 1);
    before.len() == after.len() && before.iter().all(follows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_components() {
        let edges = [vec![1], vec![2], vec![0, 3], vec![4], vec![], vec![5]];
        assert_eq!(components(&edges), [0, 0, 0, 1, 2, 3]);
    }
}
