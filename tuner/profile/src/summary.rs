//! The summary of a profile, which is shown; the JSON of `kilter profile show --format json`.

use std::collections::{BTreeMap, BTreeSet};

use kilter_protocol::calls::bytes_of;
use schemars::JsonSchema;
use serde::Serialize;

use crate::efficiency::{self, Efficiencies, Times};
use crate::gather;
use crate::pairs::{self, OfPair};
use crate::profile::{Calls, Profile, Rank};
use crate::waiting;

/// Version of the JSON.
pub const SCHEMA: u32 = 1;

/// A profile in sums; its schema is `configs/schema/calls.schema.json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Version of this format.
    pub schema: u32,
    /// The command as it was typed.
    pub command: String,
    /// Exit status of the command.
    pub status: i32,
    /// First line of `MPI_Get_library_version`.
    pub library: String,
    /// Size of `MPI_COMM_WORLD`.
    pub ranks: u32,
    /// Number of nodes of the ranks that left a file.
    pub nodes: usize,
    /// Ranks that left no file: they crashed, or were killed.
    pub missing_ranks: Vec<u32>,
    /// Ranks that ended without `MPI_Finalize`.
    pub unfinished_ranks: Vec<u32>,
    /// Run time: the longest time of a rank from `MPI_Init` to `MPI_Finalize`, in seconds.
    pub seconds: f64,
    /// POP's efficiencies; null if no rank computed.
    pub efficiencies: Option<Efficiencies>,
    /// Each rank.
    pub per_rank: Vec<OfRank>,
    /// Each function, by its time.
    pub functions: Vec<Total>,
    /// Each communicator, by its time.
    pub communicators: Vec<OfCommunicator>,
    /// Each kind of calls, by its time.
    pub calls: Vec<OfKind>,
    /// The matrix of messages: what each rank sent to each.
    pub messages: Vec<Sent>,
    /// Receives and probes by sender and place, by their time.
    pub received: Vec<OfPair>,
    /// Calls of kinds for which the tracer's memory did not reach.
    pub lost_calls: u64,
    /// Messages whose receiver is outside of the world, or for which the memory did not reach.
    pub lost_messages: u64,
    /// Receives that are in no pair's numbers: the memory did not reach.
    pub lost_receives: u64,
    /// Calls that returned an error.
    pub failed_calls: u64,
    /// Sampling of collective calls; null if there was none.
    pub sampling: Option<Sampling>,
}

/// Sampling of collective calls, which splits their time into waiting and transfer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Sampling {
    /// One call in so many was sampled.
    pub interval: u32,
    /// Number of clocks: hosts of the ranks.
    pub clocks: u32,
    /// The most by which the begin of a call can be wrong on the common clock, in seconds; 0 with one clock.
    pub bound: f64,
    /// Sampled calls that could not be split.
    pub unmatched: u64,
}

/// A rank that came last to collective calls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Last {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Number of sampled calls to which it came last.
    pub calls: u64,
    /// Seconds that other ranks waited for it in these.
    pub caused: f64,
}

/// Totals over calls.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Total {
    /// Name of the function.
    pub function: String,
    /// Number of calls on all ranks.
    pub calls: u64,
    /// Seconds of all ranks together.
    pub seconds: f64,
    /// The part of these seconds spent waiting: by samples where there are some, else an estimate (see the manual).
    pub waiting: f64,
    /// The rest.
    pub transfer: f64,
    /// Calls on all ranks whose waiting was measured.
    pub sampled: u64,
    /// Bytes of all calls.
    pub bytes: u64,
    /// Requests that calls were given which start or complete operations.
    pub requests: u64,
    /// Seconds of the rank with the fewest.
    pub least: f64,
    /// Seconds of the rank with the most.
    pub most: f64,
}

/// A rank.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OfRank {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Its node.
    pub host: String,
    /// Seconds from `MPI_Init` to `MPI_Finalize`.
    pub seconds: f64,
    /// Seconds inside of MPI.
    pub mpi: f64,
    /// The part of these seconds spent waiting.
    pub waiting: f64,
    /// Number of calls.
    pub calls: u64,
    /// Messages that it sent.
    pub messages: u64,
    /// Bytes of these.
    pub bytes: u64,
}

/// A communicator.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OfCommunicator {
    /// Name: `world`, `self`, or its members.
    pub name: String,
    /// Name that the program gave it.
    pub label: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of nodes; 0 if it is not known.
    pub nodes: u32,
    /// Ranks on the fullest node; 0 if it is not known.
    pub ranks_per_node: u32,
    /// Number of calls.
    pub calls: u64,
    /// Seconds of all ranks together.
    pub seconds: f64,
    /// The part of these seconds spent waiting.
    pub waiting: f64,
    /// The rest.
    pub transfer: f64,
    /// Calls on all ranks whose waiting was measured.
    pub sampled: u64,
    /// Ranks that came last to these calls, by what the others waited for them.
    pub last: Vec<Last>,
}

/// Calls of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OfKind {
    /// Name of the communicator; empty for calls without one.
    pub communicator: String,
    /// Its number of ranks; 0 for calls without one.
    pub ranks: u32,
    /// Place of the calls in the program.
    pub place: String,
    /// Smallest and largest number of bytes of the bucket.
    pub bucket: (u64, u64),
    /// Class of the datatype; empty for calls without one.
    pub datatype: String,
    /// Operator; empty for calls without one.
    pub operator: String,
    /// Ranks that make such calls.
    pub callers: usize,
    /// Ranks that came last to sampled calls of this kind, by what the others waited for them.
    pub last: Vec<Last>,
    /// Function and totals.
    #[serde(flatten)]
    pub total: Total,
}

/// Messages from one rank to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sent {
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Number of messages.
    pub messages: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// Calls with their waiting.
type Entry<'p> = (&'p Calls, f64);

fn total(entries: &[Entry<'_>], ranks: usize) -> Total {
    let mut total = Total::default();
    let mut by_rank: BTreeMap<u32, f64> = BTreeMap::new();
    for (calls, waiting) in entries {
        total.function.clone_from(&calls.function);
        total.calls += calls.calls;
        total.seconds += calls.seconds;
        total.waiting += waiting;
        total.transfer += calls.seconds - waiting;
        total.sampled += calls.measured.calls;
        total.bytes = total.bytes.saturating_add(calls.bytes);
        total.requests = total.requests.saturating_add(calls.requests);
        *by_rank.entry(calls.rank).or_insert(0.0) += calls.seconds;
    }
    total.most = by_rank.values().copied().fold(0.0, f64::max);
    if by_rank.len() >= ranks {
        total.least = by_rank.values().copied().fold(f64::INFINITY, f64::min);
    }
    total
}

/// Ranks that came last, by what the others waited for them.
fn last(entries: &[Entry<'_>]) -> Vec<Last> {
    let mut by_rank: BTreeMap<u32, (u64, f64)> = BTreeMap::new();
    for (calls, _) in entries.iter().filter(|(calls, _)| calls.measured.last > 0) {
        let sum = by_rank.entry(calls.rank).or_default();
        *sum = (sum.0 + calls.measured.last, sum.1 + calls.measured.caused);
    }
    let mut all: Vec<Last> = by_rank
        .into_iter()
        .map(|(rank, (calls, caused))| Last { rank, calls, caused })
        .collect();
    all.sort_by(|one, other| other.caused.total_cmp(&one.caused).then(other.calls.cmp(&one.calls)));
    all
}

fn grouped<'p, K: Ord>(entries: &[Entry<'p>], key: impl Fn(&'p Calls) -> K) -> BTreeMap<K, Vec<Entry<'p>>> {
    let mut groups: BTreeMap<K, Vec<Entry<'p>>> = BTreeMap::new();
    for entry in entries {
        groups.entry(key(entry.0)).or_default().push(*entry);
    }
    groups
}

/// Sums a profile up.
#[must_use]
pub fn of(profile: &Profile) -> Summary {
    let waiting = waiting::seconds(profile);
    let entries: Vec<Entry<'_>> = profile.calls.iter().zip(waiting).collect();
    let ranks = profile.ranks.len();
    let mut functions: Vec<Total> = grouped(&entries, |calls| calls.function.as_str())
        .values()
        .map(|group| total(group, ranks))
        .collect();
    functions.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    let communicators = grouped(&entries, |calls| calls.communicator);
    let mut communicators: Vec<OfCommunicator> = communicators
        .into_iter()
        .filter_map(|(number, group)| {
            let communicator = profile.communicators.get(number?)?;
            let total = total(&group, ranks);
            Some(OfCommunicator {
                name: communicator.name.clone(),
                label: communicator.label.clone(),
                ranks: communicator.ranks,
                nodes: communicator.nodes,
                ranks_per_node: communicator.ranks_per_node,
                calls: total.calls,
                seconds: total.seconds,
                waiting: total.waiting,
                transfer: total.transfer,
                sampled: total.sampled,
                last: last(&group),
            })
        })
        .collect();
    communicators.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    let per_rank = per_rank(profile, &entries);
    let times: Vec<Times> = per_rank
        .iter()
        .map(|rank| Times {
            total: rank.seconds,
            mpi: rank.mpi,
            waiting: rank.waiting,
        })
        .collect();
    let missing = |of: fn(&Rank) -> u64| profile.ranks.iter().map(of).sum();
    let hosts: BTreeSet<&str> = profile.ranks.iter().map(|rank| rank.host.as_str()).collect();
    Summary {
        schema: SCHEMA,
        command: profile.command.clone(),
        status: profile.status,
        library: profile.library.clone(),
        ranks: profile.world,
        nodes: hosts.len(),
        missing_ranks: gather::missing(profile),
        unfinished_ranks: profile
            .ranks
            .iter()
            .filter(|rank| !rank.finalized)
            .map(|rank| rank.rank)
            .collect(),
        seconds: profile.ranks.iter().map(|rank| rank.seconds).fold(0.0, f64::max),
        efficiencies: efficiency::of(&times),
        per_rank,
        functions,
        communicators,
        calls: kinds(profile, &entries),
        messages: profile
            .messages
            .iter()
            .map(|line| Sent {
                from: line.from,
                to: line.to,
                messages: line.messages,
                bytes: line.bytes,
            })
            .collect(),
        lost_calls: missing(|rank| rank.missing.lost_calls),
        received: pairs::of(profile),
        lost_messages: missing(|rank| rank.missing.lost_messages),
        lost_receives: missing(|rank| rank.missing.lost_receives),
        failed_calls: missing(|rank| rank.missing.failed_calls),
        sampling: (profile.sampling.interval > 0).then_some(Sampling {
            interval: profile.sampling.interval,
            clocks: profile.sampling.clocks,
            bound: profile.sampling.bound_ns as f64 * 1e-9,
            unmatched: profile.sampling.unmatched,
        }),
    }
}

fn per_rank(profile: &Profile, entries: &[Entry<'_>]) -> Vec<OfRank> {
    let by_rank = grouped(entries, |calls| calls.rank);
    let of = |rank: &crate::profile::Rank| {
        let total = by_rank.get(&rank.rank).map(|group| total(group, 1)).unwrap_or_default();
        let sent = profile.messages.iter().filter(|line| line.from == rank.rank);
        OfRank {
            rank: rank.rank,
            host: rank.host.clone(),
            seconds: rank.seconds,
            mpi: total.seconds,
            waiting: total.waiting,
            calls: total.calls,
            messages: sent.clone().map(|line| line.messages).sum(),
            bytes: sent.map(|line| line.bytes).fold(0, u64::saturating_add),
        }
    };
    profile.ranks.iter().map(of).collect()
}

fn kinds(profile: &Profile, entries: &[Entry<'_>]) -> Vec<OfKind> {
    let groups = grouped(entries, |calls| {
        (
            calls.communicator,
            &calls.function,
            calls.site,
            calls.bucket,
            &calls.datatype,
            &calls.operator,
        )
    });
    let mut kinds: Vec<OfKind> = groups.values().filter_map(|group| of_kind(profile, group)).collect();
    kinds.sort_by(|one, other| other.total.seconds.total_cmp(&one.total.seconds));
    kinds
}

/// Calls of one kind; `None` without any.
fn of_kind(profile: &Profile, group: &[Entry<'_>]) -> Option<OfKind> {
    let (first, _) = group.first()?;
    let communicator = first.communicator.and_then(|number| profile.communicators.get(number));
    let callers: BTreeSet<u32> = group.iter().map(|(calls, _)| calls.rank).collect();
    Some(OfKind {
        communicator: communicator.map(|one| one.name.clone()).unwrap_or_default(),
        ranks: communicator.map_or(0, |one| one.ranks),
        place: profile.place(first.site),
        bucket: bytes_of(first.bucket),
        datatype: first.datatype.clone(),
        operator: first.operator.clone(),
        callers: callers.len(),
        last: last(group),
        total: total(group, callers.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn sums_are_over_all_ranks() {
        let summary = of(&fixture::profile());
        let allreduce = &summary.functions[0];
        assert_eq!((allreduce.function.as_str(), allreduce.calls), ("MPI_Allreduce", 200));
        assert_eq!((allreduce.seconds, allreduce.least, allreduce.most), (5.0, 1.0, 4.0));
        assert!((allreduce.waiting - 3.0).abs() < 1e-9);
        assert_eq!((summary.nodes, summary.seconds), (2, 10.0));
        assert_eq!(summary.per_rank[0].messages, 5);
        assert!((summary.per_rank[1].mpi - 5.0).abs() < 1e-9);
        let efficiencies = summary.efficiencies.unwrap();
        assert!((efficiencies.load_balance - 6.5 / 8.0).abs() < 1e-9, "{efficiencies:?}");
        assert_eq!(summary.calls[0].place, "solver+0x1234");
        assert_eq!(summary.calls[0].bucket, (8, 15));
        let pair = &summary.received[0];
        assert_eq!((pair.from, pair.to, pair.calls, pair.seconds), (0, 1, 5, 0.5));
        assert_eq!(pair.place, "solver+0x1234");
    }

    #[test]
    fn the_json_has_the_schema_that_is_published() {
        kilter_fixtures::published::assert_current("calls", &kilter_render::json::schema::<Summary>().unwrap());
    }
}
