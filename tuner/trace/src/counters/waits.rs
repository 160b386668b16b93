//! Waiting of one rank for another: receives before the send has begun, and sends before the receive has.

use std::collections::{BTreeMap, HashMap};

use kilter_protocol::functions::Function;

use super::{Counters, place};
use crate::matching::Matches;
use crate::trace::{Event, Role, Trace};

pub(super) fn count(trace: &Trace, matches: &Matches, counters: &mut Counters) {
    let posted = posted(trace);
    // A call that completes several receives waits for the latest of their senders: (rank, event) to nanoseconds and sender.
    let mut late: BTreeMap<(usize, usize), (u64, u32)> = BTreeMap::new();
    for message in &matches.messages {
        let event = |at: crate::matching::Place| {
            let rank = trace.ranks.get(at.rank)?;
            Some((rank.rank, rank.events.get(at.event)?))
        };
        let (Some((sender, send)), Some((_, receive))) = (event(message.send), event(message.receive)) else {
            continue;
        };
        let waited = send.begin_ns.min(receive.end_ns).saturating_sub(receive.begin_ns);
        let of_call = late.entry((message.receive.rank, message.receive.event)).or_default();
        *of_call = (*of_call).max((waited, sender));
        let operation = message.receive.of(trace).map_or(0, |part| part.plain.operation);
        let began = posted
            .get(&(message.receive.rank, operation))
            .copied()
            .unwrap_or(receive.begin_ns);
        let held = began.saturating_sub(send.begin_ns);
        let waits = || trace.known_function(send).is_some_and(Function::waits_to_send);
        if held > 0 && send.end_ns > began && waits() {
            counters.seconds(sender, format!("sends at {}.held", place(trace, send)), held);
        }
    }
    for ((at, event), (nanoseconds, sender)) in late {
        let Some(rank) = trace.ranks.get(at) else { continue };
        let Some(event) = rank.events.get(event) else { continue };
        // Calls that found nothing are no waiting: the program works between them.
        if event.polls == 0 && nanoseconds > 0 {
            let number = rank.rank;
            counters.seconds(number, format!("receives at {}.late", place(trace, event)), nanoseconds);
            counters.seconds(number, format!("messages from {sender} to {number}.late"), nanoseconds);
        }
    }
}

/// Begin of each receive, by place of the rank and operation.
pub(super) fn posted(trace: &Trace) -> HashMap<(usize, u64), u64> {
    let mut begins = HashMap::new();
    for (at, rank) in trace.ranks.iter().enumerate() {
        let of_event = |event: &Event| {
            let parts = event.parts.iter().filter(|part| part.role == Role::Posted);
            let begun: Vec<((usize, u64), u64)> =
                parts.map(|part| ((at, part.plain.operation), event.begin_ns)).collect();
            begun
        };
        begins.extend(rank.events.iter().flat_map(of_event));
    }
    begins
}
