//! Short messages in a row to the same rank, which could be one.

use std::collections::{BTreeMap, BTreeSet};

use super::{Counters, place};
use crate::trace::{Rank, Role, Trace, communicator_of};

/// Bytes below which a message costs its call, whatever it carries.
const SHORT_BYTES: u64 = 1024;

pub(super) fn count(trace: &Trace, rank: &Rank, counters: &mut Counters) {
    // Communicators and ranks to which a short message went since something else was done, by thread.
    let mut rows: BTreeMap<u32, BTreeSet<(usize, i32)>> = BTreeMap::new();
    for event in &rank.events {
        let row = rows.entry(event.thread).or_default();
        // Receives that begin ask for nothing yet.
        let is_of_sends = |role: Role| matches!(role, Role::Send | Role::Posted | Role::Prepared);
        if event.parts.iter().any(|part| !is_of_sends(part.role)) || event.parts.is_empty() {
            row.clear();
            continue;
        }
        let sends = event
            .parts
            .iter()
            .filter(|part| part.role == Role::Send && part.plain.world >= 0);
        let mut joinable = 0;
        for part in sends.filter(|part| part.plain.bytes < SHORT_BYTES) {
            let Some(communicator) = communicator_of(part) else {
                continue;
            };
            joinable += u64::from(!row.insert((communicator, part.plain.peer)));
        }
        if joinable > 0 {
            counters.count(
                rank.rank,
                format!("short messages at {}.joinable", place(trace, event)),
                joinable,
            );
            let length = event.end_ns.saturating_sub(event.begin_ns);
            counters.seconds(rank.rank, "short messages.spent".to_owned(), length);
        }
    }
}
