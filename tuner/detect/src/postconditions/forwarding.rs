//! Forwarding: data that came to a rank, and that it sends on, lie where they came, or were copied. Short data tell of no copy by their content: a number
//! that a rank sends from a place into which no message comes may be its own, and equal to what came by chance, or because ranks count alike. In a ring of
//! ranks that count up, the number that comes is the one that the rank itself sends a step later. So a place from which a rank also sends what never came
//! to it has its own numbers, and nothing is forwarded from there. Long data are known by their content, wherever they were copied to.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::{Arena, Message};
use crate::model::trace::Payload;
use crate::provenance::TELLING_BYTES;

/// Places from which ranks send numbers of their own: rank and address, as far as no message comes there.
pub(crate) struct OwnPlaces {
    places: FxHashSet<(u32, u64)>,
}

impl OwnPlaces {
    pub(crate) fn new(arena: &Arena<'_>) -> Self {
        let received = received(arena);
        // The first time that a rank receives this content.
        let mut came: FxHashMap<(u32, u64, u32), u32> = FxHashMap::default();
        for message in &arena.messages {
            let at = came.entry(content(message.to, message.received)).or_insert(u32::MAX);
            *at = message.receive_at.min(*at);
        }
        let is_own = |message: &&Message<'_>| {
            let known = came.get(&content(message.from, message.sent));
            is_short(message) && known.is_none_or(|at| *at > message.send_at)
        };
        let is_apart = |message: &&Message<'_>| {
            let (begin, end) = interval(message.sent);
            let all = &received[message.from as usize];
            let next = all.partition_point(|place| place.1 <= begin);
            all.get(next).is_none_or(|place| place.0 >= end)
        };
        let own = arena.messages.iter().filter(is_own).filter(is_apart);
        Self {
            places: own.map(|message| (message.from, message.sent.address)).collect(),
        }
    }

    /// True if the data of a message are its sender's own.
    pub(crate) fn have(&self, message: &Message<'_>) -> bool {
        is_short(message) && self.places.contains(&(message.from, message.sent.address))
    }
}

/// Short data in a known place.
fn is_short(message: &Message<'_>) -> bool {
    message.sent.bytes < TELLING_BYTES && message.sent.address != 0
}

fn content(rank: u32, payload: &Payload) -> (u32, u64, u32) {
    (rank, payload.bytes, payload.crc32)
}

/// Places into which each rank receives: intervals of addresses, ascending and apart.
fn received(arena: &Arena<'_>) -> Vec<Vec<(u64, u64)>> {
    let mut of_rank = vec![Vec::new(); arena.size];
    for message in &arena.messages {
        of_rank[message.to as usize].push(interval(message.received));
    }
    for all in &mut of_rank {
        all.sort_unstable();
        all.dedup_by(|next, last: &mut (u64, u64)| {
            let joins = next.0 <= last.1;
            last.1 = if joins { last.1.max(next.1) } else { last.1 };
            joins
        });
    }
    of_rank
}

/// From the first byte of data to behind the last one; with what lies between blocks, of which there may be too many to look at each.
fn interval(payload: &Payload) -> (u64, u64) {
    let end = payload.place(payload.bytes);
    (payload.address.min(end), payload.address.max(end))
}
