//! Polls, and receives from any source.

use std::collections::{BTreeMap, BTreeSet};

use super::{Counters, place};
use crate::trace::{Rank, Role, Trace, flag};

pub(super) fn count(trace: &Trace, rank: &Rank, counters: &mut Counters) {
    // Number of messages, and their sources.
    let mut of_anybody: BTreeMap<String, (u64, BTreeSet<i32>)> = BTreeMap::new();
    for event in &rank.events {
        if event.polls > 0 {
            let name = format!("{} at {}.polls", trace.function(event), place(trace, event));
            counters.count(rank.rank, name, u64::from(event.polls));
        }
        let received = event.parts.iter().filter(|part| part.role == Role::Received);
        for part in received.filter(|part| part.plain.flags & flag::ANY_SOURCE != 0) {
            let (count, sources) = of_anybody.entry(place(trace, event)).or_default();
            *count += 1;
            sources.insert(part.plain.world);
        }
    }
    for (place, (count, sources)) in of_anybody {
        counters.count(rank.rank, format!("receives of anybody at {place}.calls"), count);
        if sources.len() == 1 {
            counters.count(rank.rank, format!("receives of anybody at {place}.of one"), count);
        }
    }
}
