//! Data that are sent on in pieces: which sends of a rank carry, one behind the other, all of what it received or sent as a whole.
//!
//! Addresses tell this where they are known. Where data lie in no place, the pieces have together the length and the CRC of the whole, and the first
//! of them begins like it. Ranks of a tree send the last piece first, so that this is known only when they have sent all of them: the arena is gone
//! through before it is replayed.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{TELLING_BYTES, begins_alike};
use crate::arena::{Arena, Step};
use crate::crc;
use crate::model::trace::Payload;

/// Steps of a rank behind the whole among which its pieces are looked for.
const MOST_STEPS: usize = 64;

/// Pieces that are put one behind the other, and orders whose CRC is computed.
const MOST_TRIED: usize = 256;
const MOST_ORDERS: usize = 8;

/// Piece of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// The message that has all of it.
    pub(super) whole: u32,
    pub(super) offset: u64,
}

/// Pieces by the steps that send them.
pub(super) fn pieces(arena: &Arena<'_>) -> FxHashMap<u32, Piece> {
    let mut found = FxHashMap::default();
    for steps in &arena.steps_of {
        for (at, &step) in steps.iter().enumerate() {
            let (whole, payload) = match arena.steps[step as usize] {
                Step::Send(id) => (id, arena.messages[id as usize].sent),
                Step::Receive(id) => (id, arena.messages[id as usize].received),
                Step::Own(..) => continue,
            };
            if payload.bytes < 2 * TELLING_BYTES || payload.is_constant || !arena.messages[whole as usize].intact {
                continue;
            }
            let behind = &steps[at + 1..(at + 1 + MOST_STEPS).min(steps.len())];
            // Few data begin like longer ones.
            let is_first = |&step: &u32| sent(arena, step, payload.bytes).is_some_and(|one| begins(one, payload));
            if !behind.iter().any(is_first) {
                continue;
            }
            let sends = sends(arena, behind, payload.bytes);
            let Some(order) = Search::new(payload, &sends).order() else {
                continue;
            };
            let mut offset = 0;
            for one in order {
                for &step in &sends[one].steps {
                    found.entry(step).or_insert(Piece { whole, offset });
                }
                offset += sends[one].payload.bytes;
            }
        }
    }
    found
}

/// Equal data that a rank sends.
struct Sends<'t> {
    payload: &'t Payload,
    steps: Vec<u32>,
}

/// Data that a rank sends by a step, if they may be a piece of so many bytes.
fn sent<'t>(arena: &Arena<'t>, step: u32, whole: u64) -> Option<&'t Payload> {
    let Step::Send(id) = arena.steps[step as usize] else {
        return None;
    };
    let message = &arena.messages[id as usize];
    let fits = (TELLING_BYTES..whole).contains(&message.sent.bytes);
    (fits && !message.sent.is_constant && message.intact).then_some(message.sent)
}

/// True if the whole begins with a piece.
fn begins(piece: &Payload, whole: &Payload) -> bool {
    begins_alike(&piece.prefix, piece.bytes, whole)
}

/// Data among these steps that a rank sends, shorter than the whole, in the order in which it first sends them.
fn sends<'t>(arena: &Arena<'t>, steps: &[u32], whole: u64) -> Vec<Sends<'t>> {
    let mut known: BTreeMap<(u32, u64), usize> = BTreeMap::new();
    let mut all: Vec<Sends<'t>> = Vec::new();
    for &step in steps {
        let Some(payload) = sent(arena, step, whole) else {
            continue;
        };
        let at = *known.entry((payload.crc32, payload.bytes)).or_insert(all.len());
        match all.get_mut(at) {
            Some(one) => one.steps.push(step),
            None => all.push(Sends {
                payload,
                steps: vec![step],
            }),
        }
    }
    all
}

/// Search for an order of pieces that are the whole.
struct Search<'s, 't> {
    whole: &'s Payload,
    sends: &'s [Sends<'t>],
    tried: usize,
    orders: usize,
}

impl<'s, 't> Search<'s, 't> {
    fn new(whole: &'s Payload, sends: &'s [Sends<'t>]) -> Self {
        Self {
            whole,
            sends,
            tried: 0,
            orders: 0,
        }
    }

    fn order(mut self) -> Option<Vec<usize>> {
        let firsts: Vec<usize> = (0..self.sends.len())
            .filter(|one| begins(self.sends[*one].payload, self.whole))
            .collect();
        firsts.into_iter().find_map(|first| {
            let mut order = vec![first];
            let rest = self.whole.bytes - self.sends[first].payload.bytes;
            self.goes_on(&mut order, rest).then_some(order)
        })
    }

    /// True if the pieces so far go on to the whole, of which so many bytes are left. Those that were sent just before the last one come first: trees
    /// send the last piece first.
    fn goes_on(&mut self, order: &mut Vec<usize>, rest: u64) -> bool {
        if rest == 0 {
            self.orders += 1;
            let part = |one: &usize| (self.sends[*one].payload.crc32, self.sends[*one].payload.bytes);
            return self.orders <= MOST_ORDERS && crc::join_all(order.iter().map(part)) == self.whole.crc32;
        }
        let last = order.last().copied().unwrap_or(0);
        for next in (0..last).rev().chain(last + 1..self.sends.len()) {
            let bytes = self.sends[next].payload.bytes;
            if bytes > rest || order.contains(&next) {
                continue;
            }
            self.tried += 1;
            if self.tried > MOST_TRIED || self.orders > MOST_ORDERS {
                return false;
            }
            order.push(next);
            if self.goes_on(order, rest - bytes) {
                return true;
            }
            order.pop();
        }
        false
    }
}
