//! Barrier: no rank leaves before every rank has entered.
//!
//! Messages of a barrier carry nothing, so that only causality tells. Each rank begins to know that it entered itself, a message brings all
//! that its sender knows, and a rank that knows of all is through: it only sends on what others still wait for. An instance is the least
//! that brings everyone through. In it, a pair of ranks exchanges at most one message each way; ranks that wait for their neighbours, or a
//! token that goes round, bring everyone through some time, too, but with the same pairs again and again.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{FEWEST_RANKS, FEWEST_RECURRENCES, Operation};
use crate::arena::{Arena, Message};
use crate::filters::Filters;
use crate::joined::Joined;
use crate::model::finding::{Collective, Confidence, Reason};
use crate::ranks::RankSet;

/// Longest payload that may carry nothing.
const MOST_BYTES: u64 = 16;

/// Attempts that are made in vain, for each message.
const EFFORT: u64 = 64;

/// True if a message can only say that it was sent.
pub(crate) fn is_empty(message: &Message<'_>) -> bool {
    message.sent.is_constant && message.sent.bytes <= MOST_BYTES
}

/// Barriers of an arena: among all ranks, or among parts that exchange empty messages with nobody else.
pub(crate) fn operations(arena: &Arena<'_>, used: &[bool], filters: &mut Filters) -> Vec<Operation> {
    let is_left = |id: &u32| {
        let message = &arena.messages[*id as usize];
        !used[*id as usize] && message.intact && message.from != message.to && is_empty(message)
    };
    let messages: Vec<u32> = (0..arena.messages.len() as u32).filter(is_left).collect();
    let mut sets = Joined::new(arena.size);
    for &id in &messages {
        sets.join(
            arena.messages[id as usize].from as usize,
            arena.messages[id as usize].to as usize,
        );
    }
    let mut groups: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for rank in 0..arena.size {
        groups.entry(sets.find(rank)).or_default().push(rank as u32);
    }
    let mut found = Vec::new();
    for ranks in groups.into_values().filter(|ranks| ranks.len() >= FEWEST_RANKS) {
        let is_among = |id: &&u32| ranks.binary_search(&arena.messages[**id as usize].from).is_ok();
        let messages: Vec<u32> = messages.iter().filter(is_among).copied().collect();
        let all = among(arena, &ranks, &messages, filters);
        if ranks.len() < arena.size && all.len() < FEWEST_RECURRENCES {
            filters.add(Reason::SubsetOnce, all.len() as u64);
            continue;
        }
        found.extend(all);
    }
    found
}

/// Barriers among some ranks.
fn among(arena: &Arena<'_>, ranks: &[u32], messages: &[u32], filters: &mut Filters) -> Vec<Operation> {
    let size = ranks.len();
    let at = |rank: u32| ranks.binary_search(&rank).unwrap_or(0);
    let mut ends: Vec<Vec<End>> = vec![Vec::new(); size];
    for &id in messages {
        let message = &arena.messages[id as usize];
        let (from, to) = (at(message.from), at(message.to));
        ends[from].push(End {
            at: message.send_at,
            message: id,
            is_send: true,
            peer: to,
        });
        ends[to].push(End {
            at: message.receive_at,
            message: id,
            is_send: false,
            peer: from,
        });
    }
    ends.iter_mut().for_each(|all| all.sort_unstable_by_key(|end| end.at));
    let mut begin = vec![0; size];
    let mut effort = EFFORT * messages.len() as u64 + (size * size) as u64;
    let mut found = Vec::new();
    while effort > 0 {
        let attempt = Attempt::run(&ends, &begin, &mut effort);
        if attempt.is_whole() {
            begin.clone_from(&attempt.next);
            if attempt.repeats {
                filters.count(Reason::RepeatedPairs);
            } else {
                found.push(operation(arena, ranks, attempt.messages));
            }
            continue;
        }
        // The earliest end is none of a barrier.
        let first = |rank: usize| {
            let end = ends[rank].get(begin[rank])?;
            Some((arena.messages[end.message as usize].begin_ns, end.message, rank))
        };
        let Some((_, _, rank)) = (0..size).filter_map(first).min() else {
            break;
        };
        begin[rank] += 1;
    }
    found
}

/// End of a message without content.
#[derive(Debug, Clone, Copy)]
struct End {
    at: u32,
    message: u32,
    is_send: bool,
    peer: usize,
}

/// Attempt to bring everyone through from given positions on.
struct Attempt {
    next: Vec<usize>,
    knows: Vec<RankSet>,
    messages: Vec<u32>,
    repeats: bool,
}

impl Attempt {
    fn is_whole(&self) -> bool {
        self.knows.iter().all(|known| known.len() == self.knows.len())
    }

    fn run(ends: &[Vec<End>], begin: &[usize], effort: &mut u64) -> Self {
        let size = ends.len();
        let mut one = Self {
            next: begin.to_vec(),
            knows: (0..size as u32).map(|rank| RankSet::one(size, rank)).collect(),
            messages: Vec::new(),
            repeats: false,
        };
        let mut under_way: FxHashMap<u32, RankSet> = FxHashMap::default();
        let mut pairs = FxHashSet::default();
        while *effort > 0 {
            let mut moves = false;
            for rank in 0..size {
                while let Some(end) = ends[rank].get(one.next[rank]) {
                    *effort = effort.saturating_sub(1);
                    let is_through = one.knows[rank].len() == size;
                    if end.is_send {
                        // A rank that is through sends on only what its receiver waits for.
                        let peer = end.peer;
                        let waits = ends[peer]
                            .get(one.next[peer])
                            .is_some_and(|next| next.message == end.message);
                        if is_through && (one.knows[peer].len() == size || !waits) {
                            break;
                        }
                        under_way.insert(end.message, one.knows[rank].clone());
                        one.repeats |= !pairs.insert((rank, peer));
                        one.messages.push(end.message);
                    } else {
                        let Some(known) = under_way.remove(&end.message) else {
                            break;
                        };
                        one.knows[rank].unite(&known);
                    }
                    one.next[rank] += 1;
                    moves = true;
                }
            }
            if !moves {
                break;
            }
        }
        if !under_way.is_empty() {
            one.knows.iter_mut().for_each(|known| *known = RankSet::new(size));
        }
        one
    }
}

fn operation(arena: &Arena<'_>, ranks: &[u32], mut messages: Vec<u32>) -> Operation {
    messages.sort_unstable();
    let is_bare = messages.iter().all(|&id| arena.messages[id as usize].sent.bytes == 0);
    let mut why = vec!["no rank gets through before every rank has sent a message"];
    why.push(if is_bare {
        "the messages are empty"
    } else {
        "the messages carry equal bytes"
    });
    Operation {
        collective: Collective::Barrier,
        group: RankSet::of(arena.size, ranks),
        roots: Vec::new(),
        messages,
        bytes: 0,
        varied: false,
        confidence: if is_bare {
            Confidence::Certain
        } else {
            Confidence::Likely
        },
        why,
        operators: 0,
    }
}
