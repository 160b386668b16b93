//! Blocking messages next to computation of their rank, behind which they could be hidden.
//!
//! A receive could begin before the work that comes before it, and a send end after the work that follows it. No more is hidden than both sides of a
//! message take together once they have come, and no more than the work between this call of MPI and the one next to it.

use std::collections::HashMap;

use kilter_protocol::functions::Function;

use super::waits::posted;
use super::{Counters, place};
use crate::matching::{Matches, Place};
use crate::trace::{Event, Rank, Trace};

/// The rank that computes meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Sender,
    Receiver,
}

/// The share of a message, from 0 to 1, that the library hides behind computation: by the rank that computes, the message's bytes, and the
/// nanoseconds of computation. `None` where nobody has measured it.
pub type Hides<'h> = dyn Fn(Side, u64, u64) -> Option<f64> + 'h;

pub(super) fn count(trace: &Trace, matches: &Matches, hides: &Hides<'_>, counters: &mut Counters) {
    let posted = posted(trace);
    let work: Vec<HashMap<usize, Work>> = trace.ranks.iter().map(work).collect();
    let waits = |event: &Event, is: fn(Function) -> bool| trace.known_function(event).is_some_and(is);
    let event = |at: Place| trace.ranks.get(at.rank)?.events.get(at.event);
    for message in &matches.messages {
        let (Some(send), Some(receive)) = (event(message.send), event(message.receive)) else {
            continue;
        };
        let bytes = message.send.of(trace).map_or(0, |part| part.plain.bytes);
        let mut beside = |side: Side, at: Place, call: &Event, moving_ns: u64| {
            let work = work.get(at.rank).and_then(|of| of.get(&at.event));
            let work_ns = work.map_or(0, |work| match side {
                Side::Sender => work.after_ns,
                Side::Receiver => work.before_ns,
            });
            let Some(rank) = trace.ranks.get(at.rank) else { return };
            let most_ns = moving_ns.min(work_ns);
            let (rank, name) = (rank.rank, format!("{} at {}", trace.function(call), place(trace, call)));
            counters.seconds(rank, format!("{name}.next to work"), most_ns);
            if let Some(share) = hides(side, bytes, work_ns).filter(|_| most_ns > 0) {
                counters.count(rank, "overlap map.messages".to_owned(), 1);
                let hidden_ns = most_ns as f64 * share.clamp(0.0, 1.0);
                counters.seconds(rank, format!("{name}.hideable"), hidden_ns as u64);
            }
        };
        if waits(receive, Function::waits_to_receive) {
            let together_ns = receive.begin_ns.max(send.begin_ns);
            let moving_ns = receive.end_ns.saturating_sub(together_ns);
            beside(Side::Receiver, message.receive, receive, moving_ns);
        }
        if waits(send, Function::waits_to_send) {
            let operation = message.receive.of(trace).map_or(0, |part| part.plain.operation);
            let began = posted.get(&(message.receive.rank, operation));
            let together_ns = send.begin_ns.max(began.copied().unwrap_or(receive.begin_ns));
            beside(
                Side::Sender,
                message.send,
                send,
                send.end_ns.saturating_sub(together_ns),
            );
        }
    }
}

/// Nanoseconds without a call of MPI in a thread, next to a call.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    before_ns: u64,
    after_ns: u64,
}

/// The work next to each event of a rank, by the event's place.
fn work(rank: &Rank) -> HashMap<usize, Work> {
    let mut all: HashMap<usize, Work> = HashMap::new();
    let mut last: HashMap<u32, usize> = HashMap::new();
    for (at, event) in rank.events.iter().enumerate() {
        let Some(earlier) = last.insert(event.thread, at) else {
            continue;
        };
        let ended_ns = rank.events.get(earlier).map_or(0, |event| event.end_ns);
        let between_ns = event.begin_ns.saturating_sub(ended_ns);
        all.entry(earlier).or_default().after_ns = between_ns;
        all.entry(at).or_default().before_ns = between_ns;
    }
    all
}
