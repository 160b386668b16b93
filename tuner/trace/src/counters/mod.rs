//! The counters of a trace, for the rules of `kilter advise`.
//!
//! A process is a rank. `AT` is a place of the program, as `kilter trace show` has it.
//!
//! | counter | meaning |
//! | --- | --- |
//! | `job time` | run time of the rank |
//! | `receives at AT.late` | seconds in which the rank waited there for messages that were not yet sent |
//! | `messages from A to B.late` | the same by sender and receiver |
//! | `sends at AT.held` | seconds in which a blocking send waited for a receive that had not yet begun |
//! | `CALL at AT.next to work` | seconds in which a blocking send or receive moves data, both ranks having come, and that lie next to as much work of its rank |
//! | `CALL at AT.hideable` | the part of them that the library hides behind work, by an overlap map |
//! | `overlap map.messages` | messages of which the map says something |
//! | `short messages at AT.joinable` | sends of less than 1 KiB that follow one to the same rank, with nothing but sends between them |
//! | `short messages.spent` | seconds in these |
//! | `CALL of each rank in turn at AT.times`, `.spent` | a rooted collective, called as often as there are ranks, with each rank as the root |
//! | `CALL then CALL at AT.times`, `.spent` | two collectives after each other that are one |
//! | `MPI_Barrier before CALL at AT.times`, `.spent` | barriers before a collective that waits for all ranks itself |
//! | `CALL at AT.polls` | calls that looked for something and found nothing |
//! | `receives of anybody at AT.calls`, `.of one` | receives of `MPI_ANY_SOURCE`, and those where all came from one rank |
//!
//! `spent` of collectives is the time after the last rank has come to the call: what a rank waits before is not the collective's.

mod hideable;
mod messages;
mod rows;
mod turns;
mod waits;

use std::collections::BTreeMap;

use kilter_advise::formats::recorded::{self, Sums};
use kilter_advise::listing::Unit;

pub use hideable::{Hides, Side};

use crate::matching::Matches;
use crate::trace::{Event, Trace};

/// Counters by rank.
struct Counters(BTreeMap<u32, Sums>);

impl Counters {
    fn seconds(&mut self, rank: u32, name: String, nanoseconds: u64) {
        self.add(rank, name, nanoseconds as f64 * 1e-9, Unit::Seconds);
    }

    fn count(&mut self, rank: u32, name: String, count: u64) {
        self.add(rank, name, count as f64, Unit::Count);
    }

    fn add(&mut self, rank: u32, name: String, value: f64, unit: Unit) {
        self.0.entry(rank).or_default().add(name, value, unit);
    }
}

/// The counters as `kilter advise` reads them. Those of value 0 are left out. `hides` says what the library hides behind computation.
#[must_use]
pub fn text(trace: &Trace, matches: &Matches, hides: &Hides<'_>) -> String {
    let mut counters = Counters(BTreeMap::new());
    for rank in &trace.ranks {
        let last = rank.events.iter().map(|event| event.end_ns).max();
        let end = rank.end_ns.or(last).unwrap_or(rank.begin_ns);
        counters.seconds(rank.rank, "job time".to_owned(), end.saturating_sub(rank.begin_ns));
        rows::count(trace, rank, &mut counters);
        messages::count(trace, rank, &mut counters);
    }
    waits::count(trace, matches, &mut counters);
    hideable::count(trace, matches, hides, &mut counters);
    turns::count(trace, &mut counters);
    recorded::text(recorded::TRACE, counters.0)
}

/// The place of a call.
fn place(trace: &Trace, event: &Event) -> String {
    let site = event.site.and_then(|at| trace.sites.get(at));
    site.map_or_else(|| "an unknown place".to_owned(), |site| site.place())
}

#[cfg(test)]
mod tests;
