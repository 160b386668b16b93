//! Blocking collectives that follow each other and could be one.
//!
//! Two calls follow each other where the rank's thread makes no other call of MPI between them. What it computes between them is not seen: a
//! root that changes the result of a reduction before it is spread does what every rank would have to do.

use std::collections::BTreeMap;

use kilter_protocol::functions::Function;

use super::{Counters, place};
use crate::trace::{Event, Part, Rank, Role, Trace, communicator_of};

/// Fewest ranks of which each is the root in turn.
const LEAST_RANKS: usize = 3;

/// Two collectives with one root that are one together.
const AFTER_EACH_OTHER: [(Function, Function); 3] = [
    (Function::Reduce, Function::Bcast),
    (Function::Gather, Function::Bcast),
    (Function::Reduce, Function::Scatter),
];

/// A collective of a rank.
struct Call<'t> {
    function: Function,
    communicator: usize,
    root: i32,
    bytes: u64,
    /// Place of the event in its thread.
    at: usize,
    event: &'t Event,
    /// Nanoseconds after the last rank has come.
    spent: u64,
}

pub(super) fn count(trace: &Trace, counters: &mut Counters) {
    let last = last_begins(trace);
    for rank in &trace.ranks {
        for calls in of_threads(trace, rank, &last) {
            in_turn(trace, rank, &calls, counters);
            after_each_other(trace, rank, &calls, counters);
        }
    }
}

/// Communicator, number of the collective on it, and begin of the rank that came last.
type LastBegins = BTreeMap<(usize, usize), u64>;

/// Ranks call the collectives of a communicator in one order. Nothing is known where a rank has lost calls.
fn last_begins(trace: &Trace) -> LastBegins {
    let mut last = LastBegins::new();
    if trace.ranks.iter().any(|rank| rank.lost_calls + rank.lost_parts > 0) {
        return last;
    }
    for rank in &trace.ranks {
        for (at, communicator, number) in numbered(rank) {
            let begin = last.entry((communicator, number)).or_default();
            *begin = (*begin).max(rank.events.get(at).map_or(0, |event| event.begin_ns));
        }
    }
    last
}

/// The collectives of a rank: place among its events, communicator, and number on it.
fn numbered(rank: &Rank) -> impl Iterator<Item = (usize, usize, usize)> {
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    rank.events.iter().enumerate().filter_map(move |(at, event)| {
        let communicator = communicator_of(collective(event)?)?;
        let number = numbers.entry(communicator).or_default();
        *number += 1;
        Some((at, communicator, *number))
    })
}

fn collective(event: &Event) -> Option<&Part> {
    event.parts.iter().find(|part| part.role == Role::Collective)
}

/// The collectives of each thread of a rank.
fn of_threads<'t>(trace: &'t Trace, rank: &'t Rank, last: &LastBegins) -> Vec<Vec<Call<'t>>> {
    let numbers: BTreeMap<usize, (usize, usize)> = numbered(rank)
        .map(|(at, communicator, number)| (at, (communicator, number)))
        .collect();
    let mut threads: BTreeMap<u32, (usize, Vec<Call<'t>>)> = BTreeMap::new();
    for (index, event) in rank.events.iter().enumerate() {
        let (at, calls) = threads.entry(event.thread).or_default();
        *at += 1;
        let call = (collective(event), numbers.get(&index), trace.known_function(event));
        let (Some(part), Some(key), Some(function)) = call else {
            continue;
        };
        let came = last.get(key).copied().unwrap_or(event.begin_ns);
        calls.push(Call {
            function,
            communicator: key.0,
            root: part.plain.peer,
            bytes: part.plain.bytes,
            at: *at,
            event,
            spent: event.end_ns.saturating_sub(came.max(event.begin_ns)),
        });
    }
    threads.into_values().map(|(_, calls)| calls).collect()
}

fn in_turn(trace: &Trace, rank: &Rank, calls: &[Call<'_>], counters: &mut Counters) {
    let mut begin = 0;
    while let Some(first) = calls.get(begin) {
        let members = trace
            .communicators
            .get(first.communicator)
            .map_or(0, |one| one.members.len());
        let turn = calls.get(begin..begin + members).filter(|_| members >= LEAST_RANKS);
        let Some(turn) = turn.filter(|turn| is_turn(turn)) else {
            begin += 1;
            continue;
        };
        let name = format!(
            "{} of each rank in turn at {}",
            first.function.name(),
            place(trace, first.event)
        );
        counters.count(rank.rank, format!("{name}.times"), 1);
        counters.seconds(
            rank.rank,
            format!("{name}.spent"),
            turn.iter().map(|call| call.spent).sum(),
        );
        begin += members;
    }
}

fn is_turn(turn: &[Call<'_>]) -> bool {
    let Some(first) = turn.first() else { return false };
    let mut roots: Vec<i32> = turn.iter().map(|call| call.root).collect();
    roots.sort_unstable();
    let each_once = (0..).zip(&roots).all(|(rank, root)| rank == *root);
    let follows = |pair: &[Call<'_>]| pair[1].at == pair[0].at + 1;
    let is_alike = |call: &Call<'_>| call.function == first.function && call.communicator == first.communicator;
    // Rooted collectives of equal blocks are one collective if each rank is the root in turn.
    let is_one = first.function.has_root() && !first.function.varies();
    is_one && each_once && turn.iter().all(is_alike) && turn.windows(2).all(follows)
}

fn after_each_other(trace: &Trace, rank: &Rank, calls: &[Call<'_>], counters: &mut Counters) {
    for pair in calls.windows(2) {
        let [first, second] = pair else { continue };
        if second.at != first.at + 1 || second.communicator != first.communicator {
            continue;
        }
        let functions = (first.function, second.function);
        let is_one = AFTER_EACH_OTHER.contains(&functions) && first.root == second.root && first.bytes == second.bytes;
        let (name, spent) = if is_one {
            (
                format!("{} then {}", first.function.name(), second.function.name()),
                first.spent + second.spent,
            )
        } else if first.function == Function::Barrier && second.function.waits_for_all() {
            (format!("MPI_Barrier before {}", second.function.name()), first.spent)
        } else {
            continue;
        };
        let name = format!("{name} at {}", place(trace, first.event));
        counters.count(rank.rank, format!("{name}.times"), 1);
        counters.seconds(rank.rank, format!("{name}.spent"), spent);
    }
}
