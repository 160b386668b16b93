//! Waiting and transfer of sampled collective calls, by when their ranks came.
//!
//! A rank waits for those whose data it needs or who need its own: in a call with a root the root waits for all, and all for the root; in a scan
//! a rank waits for those before it; elsewhere all wait for all. Of these, the latest that came before the rank left ends its waiting: for one that comes
//! later it has not waited. The rest of its time is transfer. Where clocks of several hosts were made one, times of two of them are apart by up to twice the
//! bound: who came that much after a rank left may have come before, and has been waited for until then.

use std::collections::BTreeSet;

use kilter_protocol::functions::Function;
use kilter_protocol::sampling::Choice;

use crate::clocks::Clocks;

/// A sampled call of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Place of the communicator in the profile.
    pub communicator: usize,
    /// Number of the call on it.
    pub number: u64,
    /// World rank.
    pub rank: u32,
    /// Place of the rank's calls of this kind in the profile.
    pub calls: usize,
    /// Begin on the rank's clock, in nanoseconds.
    pub begin_ns: u64,
    /// Nanoseconds in the call.
    pub took_ns: u64,
    /// True if the rank is the root.
    pub is_root: bool,
}

/// Waiting and transfer of calls of one kind on one rank, by samples.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Measured {
    /// Number of calls that are split.
    pub calls: u64,
    /// Seconds of waiting in them.
    pub waiting: f64,
    /// Seconds of transfer in them.
    pub transfer: f64,
    /// Number of them to which this rank came last.
    pub last: u64,
    /// Seconds that other ranks waited in those.
    pub caused: f64,
}

/// The ranks of a communicator in their order, and the name of the function of calls.
pub trait Job {
    /// World ranks of the members; empty if they are not known.
    fn members(&self, communicator: usize) -> &[u32];
    /// Function of a kind of calls, such as `MPI_Reduce`.
    fn function(&self, calls: usize) -> &str;
    /// The calls that this rank kept of its samples.
    fn choice(&self, rank: u32) -> Choice;
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Split {
    /// For each kind of calls.
    pub measured: Vec<Measured>,
    /// Calls that could not be split: a rank of theirs left no sample, or they do not belong together.
    pub unmatched: u64,
}

/// A rank in a call, on one clock.
#[derive(Debug, Clone, Copy)]
struct Came {
    sample: Sample,
    begin_ns: i64,
    /// Ranks that come later were not waited for: the end, and what clocks may be apart.
    end_ns: i64,
}

/// Splits all calls; `kinds` is the number of kinds of calls.
#[must_use]
pub fn of(mut samples: Vec<Sample>, kinds: usize, clocks: &Clocks, job: &impl Job) -> Split {
    samples.sort_unstable_by_key(|sample| (sample.communicator, sample.number, sample.rank));
    let mut split = Split {
        measured: vec![Measured::default(); kinds],
        unmatched: 0,
    };
    for call in samples.chunk_by(|one, other| (one.communicator, one.number) == (other.communicator, other.number)) {
        let Some(first) = call.first() else { continue };
        let members = job.members(first.communicator);
        // A rank whose memory was full has dropped what this choice does not have.
        if !members.iter().all(|rank| job.choice(*rank).has(first.number)) {
            continue;
        }
        match on_one_clock(call, members, clocks, job) {
            Some(came) => add(&came, job.function(first.calls), &mut split.measured),
            None => split.unmatched += 1,
        }
    }
    split
}

/// The ranks of a call in their order; none unless all are there, in the same function.
fn on_one_clock(call: &[Sample], members: &[u32], clocks: &Clocks, job: &impl Job) -> Option<Vec<Came>> {
    if call.len() != members.len() {
        return None;
    }
    let function = job.function(call.first()?.calls);
    let leader = clocks.leader(call.first()?.rank)?;
    let one_clock = call.iter().all(|sample| clocks.leader(sample.rank) == Some(leader));
    let apart_ns = if one_clock {
        0
    } else {
        clocks.bound_ns().saturating_mul(2)
    };
    let came = |rank: &u32| {
        let at = call.binary_search_by_key(rank, |sample| sample.rank).ok()?;
        let sample = call.get(at).filter(|sample| job.function(sample.calls) == function)?;
        let begin_ns = if one_clock {
            i64::try_from(sample.begin_ns).ok()?
        } else {
            clocks.common_ns(sample.rank, sample.begin_ns)?
        };
        Some(Came {
            sample: *sample,
            begin_ns,
            end_ns: begin_ns
                .checked_add_unsigned(sample.took_ns)?
                .checked_add_unsigned(apart_ns)?,
        })
    };
    members.iter().map(came).collect()
}

/// Begin of the latest rank that each rank has waited for, or its own begin.
fn latest_begins(came: &[Came], function: &str) -> Vec<i64> {
    let before = |begins: &BTreeSet<i64>, one: &Came| {
        let latest = begins.range(..one.end_ns).next_back().copied();
        latest.unwrap_or(one.begin_ns).max(one.begin_ns)
    };
    let mut begins = BTreeSet::new();
    if Function::named(function).is_some_and(Function::waits_in_order) {
        let in_order = |one: &Came| {
            let latest = before(&begins, one);
            begins.insert(one.begin_ns);
            latest
        };
        return came.iter().map(in_order).collect();
    }
    begins.extend(came.iter().map(|one| one.begin_ns));
    let root = came.iter().find(|one| one.sample.is_root);
    let of = |one: &Came| match root {
        Some(root) if !one.sample.is_root && root.begin_ns < one.end_ns => root.begin_ns.max(one.begin_ns),
        Some(_) if !one.sample.is_root => one.begin_ns,
        _ => before(&begins, one),
    };
    came.iter().map(of).collect()
}

fn add(came: &[Came], function: &str, measured: &mut [Measured]) {
    let Some(last) = came.iter().max_by_key(|one| one.begin_ns) else {
        return;
    };
    let mut caused = 0.0;
    for (one, latest) in came.iter().zip(latest_begins(came, function)) {
        let waiting = latest.abs_diff(one.begin_ns).min(one.sample.took_ns);
        if latest == last.begin_ns {
            caused += seconds(waiting);
        }
        if let Some(kind) = measured.get_mut(one.sample.calls) {
            kind.calls += 1;
            kind.waiting += seconds(waiting);
            kind.transfer += seconds(one.sample.took_ns - waiting);
        }
    }
    if let Some(kind) = measured.get_mut(last.sample.calls) {
        kind.last += 1;
        kind.caused += caused;
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}

#[cfg(test)]
mod tests;
