//! A trace in numbers, as it is shown.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::matching::Matches;
use crate::trace::{CommonClock, Event, Role, Trace};

/// Version of the JSON.
pub const SCHEMA: u32 = 1;

/// A trace in numbers; its schema is `configs/schema/trace.schema.json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Version of this format.
    pub schema: u32,
    /// The command as it was typed; empty if nobody says it.
    pub command: String,
    /// Its exit status.
    pub status: i32,
    /// First line of `MPI_Get_library_version`.
    pub library: String,
    /// Size of `MPI_COMM_WORLD`.
    pub world: u32,
    /// Each rank that left a file.
    pub ranks: Vec<OfRank>,
    /// Ranks that left none.
    pub missing: Vec<u32>,
    /// The clocks that became one; none where those of the day put the nodes together.
    pub common_clock: Option<CommonClock>,
    /// Messages whose send and receive are both in the trace.
    pub matched: usize,
    /// Sends without a receive.
    pub unmatched_sends: usize,
    /// Receives without a send.
    pub unmatched_receives: usize,
    /// Messages whose sides differ in length or content.
    pub different: usize,
    /// Each communicator.
    pub communicators: Vec<OfCommunicator>,
    /// Each function at each call site.
    pub sites: Vec<OfSite>,
}

/// A rank.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OfRank {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Its node.
    pub host: String,
    /// Its process number.
    pub process: u32,
    /// Seconds from `MPI_Init` to `MPI_Finalize` or, if that was not reached, to the last call.
    pub seconds: f64,
    /// True if the program called `MPI_Finalize`.
    pub finalized: bool,
    /// True if the process was killed, so that nothing said the end of its file.
    pub killed: bool,
    /// Numbers of its calls.
    #[serde(flatten)]
    pub counts: Counts,
    /// Calls that are not in the file.
    pub lost_calls: u64,
    /// Parts of calls that are not in the file, and parts whose calls are not.
    pub lost_parts: u64,
    /// Call sites and communicators that are not in the file.
    pub lost_definitions: u64,
    /// Calls that returned an error.
    pub failed_calls: u64,
    /// `stop` or `ring`: what was done when the file was full.
    pub when_full: &'static str,
    /// Bytes that the file may have.
    pub limit: u64,
    /// Bytes of a payload that were hashed at most.
    pub hash_limit: u64,
}

/// Numbers of calls and of what they did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Counts {
    /// Calls.
    pub calls: u64,
    /// Calls that looked for something and found nothing.
    pub polls: u64,
    /// Messages sent.
    pub sent: u64,
    /// Bytes of them.
    pub sent_bytes: u64,
    /// Messages received.
    pub received: u64,
    /// Bytes of them.
    pub received_bytes: u64,
    /// Collectives.
    pub collectives: u64,
}

impl Counts {
    fn join(&mut self, other: &Counts) {
        self.calls += other.calls;
        self.polls += other.polls;
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.collectives += other.collectives;
    }

    fn add(&mut self, event: &Event) {
        if event.polls > 0 {
            self.polls += u64::from(event.polls);
        } else {
            self.calls += 1;
        }
        for part in &event.parts {
            match part.role {
                Role::Send => {
                    self.sent += 1;
                    self.sent_bytes += part.plain.bytes;
                }
                Role::Received => {
                    self.received += 1;
                    self.received_bytes += part.plain.bytes;
                }
                Role::Collective => self.collectives += 1,
                _ => {}
            }
        }
    }
}

/// A communicator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OfCommunicator {
    /// Its name.
    pub name: String,
    /// Name that the program gave it; empty if it gave none.
    pub label: String,
    /// Number of its members on both sides.
    pub members: usize,
    /// Numbers of the calls on it. Completions have no communicator of their own.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A function at a call site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OfSite {
    /// Such as `MPI_Send`.
    pub function: String,
    /// Line of the source, symbol, or offset.
    pub place: String,
    /// File of the program or library.
    pub module: String,
    /// Offset of the return address in it.
    pub offset: u64,
    /// Ranks that made calls there.
    pub ranks: usize,
    /// Nanoseconds in these calls on all ranks.
    pub nanoseconds: u64,
    /// Numbers of these calls.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A trace and its messages in numbers.
#[must_use]
pub fn of(trace: &Trace, matches: &Matches) -> Summary {
    Summary {
        schema: SCHEMA,
        command: trace.job.command.clone(),
        status: trace.job.status,
        library: trace.library.clone(),
        world: trace.world,
        ranks: ranks(trace),
        missing: trace.missing(),
        common_clock: trace.common_clock,
        matched: matches.messages.len(),
        unmatched_sends: matches.sends.len(),
        unmatched_receives: matches.receives.len(),
        different: matches.different(),
        communicators: communicators(trace),
        sites: sites(trace),
    }
}

fn ranks(trace: &Trace) -> Vec<OfRank> {
    let of = |rank: &crate::trace::Rank| {
        let mut counts = Counts::default();
        rank.events.iter().for_each(|event| counts.add(event));
        let last = rank
            .events
            .iter()
            .map(|event| event.end_ns)
            .max()
            .unwrap_or(rank.begin_ns);
        let end = rank.end_ns.unwrap_or(last);
        OfRank {
            rank: rank.rank,
            host: rank.host.clone(),
            process: rank.process,
            seconds: end.saturating_sub(rank.begin_ns) as f64 * 1e-9,
            finalized: rank.finalized,
            killed: rank.end_ns.is_none(),
            counts,
            lost_calls: rank.lost_calls,
            lost_parts: rank.lost_parts,
            lost_definitions: rank.lost_definitions,
            failed_calls: rank.failed_calls,
            when_full: rank.when_full.word(),
            limit: rank.limit,
            hash_limit: rank.hash_limit,
        }
    };
    trace.ranks.iter().map(of).collect()
}

fn communicators(trace: &Trace) -> Vec<OfCommunicator> {
    let mut counts = vec![Counts::default(); trace.communicators.len()];
    for event in trace.ranks.iter().flat_map(|rank| &rank.events) {
        if let Some(counts) = event.communicator.and_then(|at| counts.get_mut(at)) {
            counts.add(event);
        }
    }
    let mut shown: Vec<OfCommunicator> = Vec::new();
    for (one, counts) in trace.communicators.iter().zip(counts) {
        // That of each rank alone has the same name on all of them.
        if let Some(known) = shown.iter_mut().find(|known| known.name == one.name) {
            known.counts.join(&counts);
            continue;
        }
        shown.push(OfCommunicator {
            name: one.name.clone(),
            label: one.label.clone(),
            members: one.members.len() + one.remote.as_ref().map_or(0, Vec::len),
            counts,
        });
    }
    shown
}

/// Calls of a function at a site.
#[derive(Default)]
struct AtSite {
    ranks: BTreeSet<u32>,
    nanoseconds: u64,
    counts: Counts,
}

fn sites(trace: &Trace) -> Vec<OfSite> {
    let mut all: BTreeMap<(Option<usize>, usize), AtSite> = BTreeMap::new();
    for rank in &trace.ranks {
        for event in &rank.events {
            let at = all.entry((event.site, event.function)).or_default();
            at.ranks.insert(rank.rank);
            at.nanoseconds += event.end_ns.saturating_sub(event.begin_ns);
            at.counts.add(event);
        }
    }
    let mut sites: Vec<OfSite> = all
        .into_iter()
        .map(|((site, function), at)| {
            let site = site.and_then(|at| trace.sites.get(at));
            OfSite {
                function: trace
                    .functions
                    .get(function)
                    .cloned()
                    .unwrap_or_else(|| "MPI_?".to_owned()),
                place: site.map_or_else(|| "unknown".to_owned(), |site| site.place()),
                module: site.map(|site| site.module.clone()).unwrap_or_default(),
                offset: site.map_or(0, |site| site.offset),
                ranks: at.ranks.len(),
                nanoseconds: at.nanoseconds,
                counts: at.counts,
            }
        })
        .collect();
    sites.sort_by(|one, other| {
        let key = |site: &OfSite| (u64::MAX - site.nanoseconds, site.place.clone(), site.function.clone());
        key(one).cmp(&key(other))
    });
    sites
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_the_schema_that_is_published() {
        kilter_fixtures::published::assert_current("trace", &kilter_render::json::schema::<Summary>().unwrap());
    }
}
