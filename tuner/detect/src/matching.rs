//! Sends joined with receives, and all events in an order in which every message is sent before it is received.
//!
//! Messages between two ranks with one tag on one communicator do not overtake each other: the first receive that was posted gets the first
//! message. Where the data at the two ends differ, more of both ends are looked at: a cancelled request leaves a send without a receive, and a
//! trace whose beginning is lost has receives without sends.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;

use crate::model::finding::Doubts;
use crate::model::trace::{Event, Kind, Payload, Trace};

/// Ends that are looked at beyond the first one that is waiting.
const LOOK_AHEAD: usize = 32;

/// Longest data that are believed.
pub(crate) const MOST_BYTES: u64 = 1 << 48;

/// Place of an event: rank of the world, and index among its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) rank: u32,
    pub(crate) event: u32,
}

/// Message that was sent and received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    pub(crate) communicator: u32,
    /// Ranks of the communicator.
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) tag: i32,
    pub(crate) send: Place,
    pub(crate) receive: Place,
    /// True if the data are the same at both ends.
    pub(crate) intact: bool,
}

/// Trace with its messages.
pub(crate) struct Matched<'t> {
    pub(crate) trace: &'t Trace,
    pub(crate) messages: Vec<Message>,
    /// For every rank and event the message that it sends or receives.
    pub(crate) message_of: Vec<Vec<Option<u32>>>,
    /// All events; each message is sent before it is received, where the trace allows it.
    pub(crate) order: Vec<Place>,
    pub(crate) doubts: Doubts,
}

impl Matched<'_> {
    pub(crate) fn event(&self, place: Place) -> &Event {
        &self.trace.events[place.rank as usize][place.event as usize]
    }
}

/// Data of a send, a receive or what a rank shows to itself.
pub(crate) fn payload(event: &Event) -> Option<&Payload> {
    match &event.kind {
        Kind::Send { payload, .. } | Kind::Receive { payload, .. } | Kind::ToSelf { payload, .. } => Some(payload),
        _ => None,
    }
}

/// Channel in which messages keep their order: communicator, sender, receiver, tag.
type Channel = (u32, u32, u32, i32);

#[derive(Default)]
struct Ends {
    sends: Vec<Place>,
    receives: Vec<(u64, Place)>,
}

/// Ranks of the world to ranks of each communicator.
pub(crate) fn local_ranks(trace: &Trace) -> Vec<FxHashMap<u32, u32>> {
    let of = |members: &Vec<u32>| members.iter().zip(0..).map(|(&world, local)| (world, local)).collect();
    trace.communicators.iter().map(|one| of(&one.members)).collect()
}

/// Joins the sends of a trace with its receives.
pub(crate) fn matched(trace: &Trace) -> Matched<'_> {
    let locals = local_ranks(trace);
    let mut doubts = Doubts::default();
    let mut channels: FxHashMap<Channel, Ends> = FxHashMap::default();
    for (rank, events) in (0..).zip(&trace.events) {
        for (index, event) in (0..).zip(events) {
            let place = Place { rank, event: index };
            let (communicator, peer, tag) = match event.kind {
                Kind::Send {
                    communicator, to, tag, ..
                } => (communicator, to, tag),
                Kind::Receive {
                    communicator,
                    from,
                    tag,
                    ..
                } => (communicator, from, tag),
                _ => continue,
            };
            let local = locals.get(communicator as usize).and_then(|ranks| ranks.get(&rank));
            let members = trace
                .communicators
                .get(communicator as usize)
                .map_or(0, |one| one.members.len());
            let (Some(&own), true) = (local, (peer as usize) < members) else {
                doubts.impossible += 1;
                continue;
            };
            if let Kind::Receive { posted_ns, .. } = event.kind {
                let ends = channels.entry((communicator, peer, own, tag)).or_default();
                ends.receives.push((posted_ns, place));
            } else {
                channels
                    .entry((communicator, own, peer, tag))
                    .or_default()
                    .sends
                    .push(place);
            }
        }
    }
    let mut channels: Vec<_> = channels.into_iter().collect();
    channels.sort_unstable_by_key(|(channel, _)| *channel);
    let mut messages = Vec::new();
    for (channel, ends) in channels {
        join(trace, channel, ends, &mut messages, &mut doubts);
    }
    doubts.matched = messages.len() as u64;
    let mut message_of: Vec<Vec<Option<u32>>> = trace.events.iter().map(|events| vec![None; events.len()]).collect();
    for (id, message) in (0..).zip(&messages) {
        for place in [message.send, message.receive] {
            message_of[place.rank as usize][place.event as usize] = Some(id);
        }
    }
    let order = causal_order(trace, &messages, &message_of);
    Matched {
        trace,
        messages,
        message_of,
        order,
        doubts,
    }
}

/// Joins the ends of one channel.
fn join(trace: &Trace, channel: Channel, mut ends: Ends, messages: &mut Vec<Message>, doubts: &mut Doubts) {
    let (communicator, from, to, tag) = channel;
    ends.receives.sort_unstable();
    let mut waiting: VecDeque<Place> = ends.sends.into();
    let data = |place: Place| payload(&trace.events[place.rank as usize][place.event as usize]);
    let same = |a: Place, b: Place| match (data(a), data(b)) {
        (Some(a), Some(b)) => a.bytes == b.bytes && a.crc32 == b.crc32,
        _ => false,
    };
    let event = |place: Place| &trace.events[place.rank as usize][place.event as usize];
    for (at, &(_, receive)) in ends.receives.iter().enumerate() {
        let found = (0..waiting.len().min(LOOK_AHEAD)).find(|&at| same(waiting[at], receive));
        // The beginning of a trace may be lost: a send that comes too late, or is sooner another receive's, is not this one's.
        let is_lost = waiting.front().is_some_and(|&send| {
            let mut later = ends.receives[at + 1..].iter().take(LOOK_AHEAD);
            let other = later.position(|&(_, later)| same(send, later));
            match found {
                Some(skipped) => other.is_some_and(|receives| receives + 1 < skipped),
                None => other.is_some() || event(send).begin_ns > event(receive).end_ns,
            }
        });
        if is_lost {
            doubts.receives_unmatched += 1;
            continue;
        }
        let skipped = found.unwrap_or(0);
        doubts.sends_unmatched += skipped as u64;
        waiting.drain(..skipped);
        let Some(send) = waiting.pop_front() else {
            doubts.receives_unmatched += 1;
            continue;
        };
        let intact = found.is_some() && data(send).is_some_and(|one| one.bytes <= MOST_BYTES);
        doubts.data_differ += u64::from(!intact);
        messages.push(Message {
            communicator,
            from,
            to,
            tag,
            send,
            receive,
            intact,
        });
    }
    doubts.sends_unmatched += waiting.len() as u64;
}

/// Events by the clock, but a receive after its send. Where events wait for each other in a circle, the first of them goes ahead.
fn causal_order(trace: &Trace, messages: &[Message], message_of: &[Vec<Option<u32>>]) -> Vec<Place> {
    let total = trace.events.iter().map(Vec::len).sum();
    let mut order = Vec::with_capacity(total);
    let mut next = vec![0_u32; trace.events.len()];
    let mut sent = vec![false; messages.len()];
    let mut ready = BinaryHeap::new();
    let mut waits_for: FxHashMap<u32, u32> = FxHashMap::default();
    let push = |ready: &mut BinaryHeap<_>, rank: u32, event: u32| {
        if let Some(first) = trace.events[rank as usize].get(event as usize) {
            ready.push(Reverse((first.end_ns, rank)));
        }
    };
    (0..trace.events.len() as u32).for_each(|rank| push(&mut ready, rank, 0));
    while order.len() < total {
        let (rank, forced) = match ready.pop() {
            Some(Reverse((_, rank))) => (rank, false),
            // A circle: the trace is damaged.
            None => match waits_for.iter().map(|(&message, &rank)| (rank, message)).min() {
                Some((rank, message)) => {
                    waits_for.remove(&message);
                    (rank, true)
                }
                None => break,
            },
        };
        let place = Place {
            rank,
            event: next[rank as usize],
        };
        if let Some(id) = message_of[rank as usize][place.event as usize] {
            let message = messages[id as usize];
            if message.receive == place && !sent[id as usize] && !forced {
                waits_for.insert(id, rank);
                continue;
            }
            if message.send == place {
                sent[id as usize] = true;
                if let Some(receiver) = waits_for.remove(&id) {
                    push(&mut ready, receiver, next[receiver as usize]);
                }
            }
        }
        order.push(place);
        next[rank as usize] += 1;
        push(&mut ready, rank, next[rank as usize]);
    }
    order
}
