//! The rules by which Open MPI's `coll_tuned` chooses algorithms, whatever the form of their file.
//!
//! Open MPI silently ignores a file with any mistake, lets a rule for one communicator size leak to all larger ones, and for Gather and Scatter
//! compares sizes that differ between ranks. So the rules written here are fenced by communicator size, never switch an unsafe collective on
//! size, and are read back by a reader that mirrors the library's own ([`numbers`], [`json`]) before anything relies on them. [`Rules`] know the
//! number of ranks, [`ByNodes`] also if these share a node.

pub mod by_nodes;
pub mod json;
pub mod numbers;

use std::collections::{BTreeMap, BTreeSet};

pub use by_nodes::{ByNodes, Nodes};

/// The choice that one rule makes; `algorithm` 0 leaves the choice to the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// Algorithm number.
    pub algorithm: u64,
    /// Fan-in or fan-out; 0 is taken for 1, and not for the default of a parameter.
    pub fan: u64,
    /// Segment size in bytes; 0 for none.
    pub segment_bytes: u64,
    /// Requests in flight at most, 0 for any number; `None` leaves it to the library. Not every release can read it.
    pub requests: Option<u64>,
}

/// Choices by the message size from which they hold.
type ByBytes = BTreeMap<u64, Choice>;
/// Choices by message size, by the communicator size from which they hold.
type ByRanks = BTreeMap<u64, ByBytes>;

/// The rules: per collective id and communicator size, choices from a message size upward.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    collectives: BTreeMap<u64, ByRanks>,
}

/// The reason why Open MPI would ignore the file, or take it for something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rules file, line {line}: {message}")]
pub struct RulesError {
    /// Line, from 1.
    pub line: usize,
    /// The mistake.
    pub message: String,
}

/// Largest `int` of the library, which keeps numbers of ranks and the like in one.
const INT_MAX: u64 = i32::MAX as u64;
/// Largest `long`, in which it reads sizes of messages.
const LONG_MAX: u64 = i64::MAX as u64;
/// More than any collective has.
const MAX_ALGORITHM: u64 = 64;

impl Rules {
    /// Makes `choice` hold for messages of these bytes, from the smallest to the largest (`u64::MAX`: no end), on communicators of exactly
    /// `ranks` ranks. What was added before for some of them holds no longer.
    pub fn add(&mut self, collective: u64, ranks: u64, bytes: (u64, u64), choice: Choice) {
        self.add_between(collective, (ranks, ranks), bytes, choice);
    }

    /// The same for communicators from the first to the second number of ranks. The library takes the rules of the next smaller size that has
    /// any, so that both ends are fenced: a row where the range begins, and one behind its end that has the choices of before.
    pub fn add_between(&mut self, collective: u64, (first, last): (u64, u64), bytes: (u64, u64), choice: Choice) {
        let by_ranks = self.collectives.entry(collective).or_default();
        by_ranks.entry(0).or_insert_with(library_decides);
        // No communicator is larger than what the library reads.
        let behind = Some(last).filter(|last| *last < INT_MAX).map(|last| last + 1);
        for ranks in [Some(first), behind].into_iter().flatten() {
            let before = by_ranks.range(..=ranks).next_back();
            let before = before.map_or_else(library_decides, |(_, by_bytes)| by_bytes.clone());
            by_ranks.entry(ranks).or_insert(before);
        }
        for (_, by_bytes) in by_ranks.range_mut(first..=last) {
            set(by_bytes, bytes, choice);
        }
    }

    /// True if there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.collectives.is_empty()
    }

    /// True if a rule says how many requests may be in flight, which needs a release that reads it.
    #[must_use]
    pub fn limits_requests(&self) -> bool {
        let all = self.collectives.values().flat_map(BTreeMap::values);
        all.flat_map(BTreeMap::values).any(|choice| choice.requests.is_some())
    }

    /// Open MPI's lookup: the largest communicator size not above `ranks`, else the first; there the largest message size
    /// not above `bytes`.
    #[must_use]
    pub fn lookup(&self, collective: u64, ranks: u64, bytes: u64) -> Choice {
        self.for_ranks(collective, ranks)
            .map_or_else(Choice::default, |by_bytes| at(by_bytes, bytes))
    }

    fn for_ranks(&self, collective: u64, ranks: u64) -> Option<&ByBytes> {
        let by_ranks = self.collectives.get(&collective)?;
        let holds = by_ranks.range(..=ranks).next_back();
        holds
            .or_else(|| by_ranks.first_key_value())
            .map(|(_, by_bytes)| by_bytes)
    }

    /// Lays these rules over those of `below`, which decide where these leave the choice to the library.
    #[must_use]
    pub fn over(&self, below: &Rules) -> Rules {
        let ids: BTreeSet<u64> = self
            .collectives
            .keys()
            .chain(below.collectives.keys())
            .copied()
            .collect();
        let both = |id: u64| {
            let of = |rules: &Rules| rules.collectives.get(&id).cloned().unwrap_or_default();
            let sizes: BTreeSet<u64> = [0]
                .into_iter()
                .chain(of(self).into_keys())
                .chain(of(below).into_keys())
                .collect();
            let merged = sizes.into_iter().map(|ranks| {
                let of = |rules: &Rules| rules.for_ranks(id, ranks).cloned().unwrap_or_default();
                (ranks, over(&of(self), &of(below)))
            });
            (id, merged.collect::<ByRanks>())
        };
        let collectives = ids.into_iter().map(both).collect();
        Rules { collectives }.normalized()
    }

    /// The collectives whose rules switch on message size, for some size of communicators.
    #[must_use]
    pub fn switched_on_size(&self) -> BTreeSet<u64> {
        let normalized = self.normalized().collectives;
        let switched = |by_ranks: &ByRanks| by_ranks.values().any(|by_bytes| by_bytes.len() > 1);
        normalized
            .into_iter()
            .filter(|(_, by_ranks)| switched(by_ranks))
            .map(|(id, _)| id)
            .collect()
    }

    /// The same choices without rules that change nothing.
    #[must_use]
    pub fn normalized(&self) -> Rules {
        let one = |(id, by_ranks): (&u64, &ByRanks)| {
            let mut all = ByRanks::new();
            for (ranks, by_bytes) in by_ranks {
                let plain = plain(by_bytes);
                if all.last_key_value().is_none_or(|(_, last)| *last != plain) {
                    // The first one holds for all that are smaller, too.
                    all.insert(if all.is_empty() { 0 } else { *ranks }, plain);
                }
            }
            (*id, all)
        };
        let decides = |by_ranks: &ByRanks| {
            by_ranks
                .values()
                .flat_map(BTreeMap::values)
                .any(|choice| choice.algorithm != 0)
        };
        let all = self.collectives.iter().map(one);
        Rules {
            collectives: all.filter(|(_, by_ranks)| decides(by_ranks)).collect(),
        }
    }
}

/// No choice, for messages of any size.
fn library_decides() -> ByBytes {
    ByBytes::from([(0, Choice::default())])
}

/// Makes the choice hold from `low` to `high`; beyond that all stays as it was.
fn set(by_bytes: &mut ByBytes, (low, high): (u64, u64), choice: Choice) {
    let behind = high.checked_add(1).map(|next| (next, at(by_bytes, next)));
    by_bytes.retain(|bytes, _| !(low..=high).contains(bytes));
    by_bytes.insert(low, choice);
    by_bytes.extend(behind);
}

/// The choice for a message size.
fn at(by_bytes: &ByBytes, bytes: u64) -> Choice {
    by_bytes
        .range(..=bytes)
        .next_back()
        .map_or_else(Choice::default, |(_, choice)| *choice)
}

/// `ours`, and where it leaves the choice to the library, `theirs`.
fn over(ours: &ByBytes, theirs: &ByBytes) -> ByBytes {
    let sizes: BTreeSet<u64> = [0]
        .into_iter()
        .chain(ours.keys().copied())
        .chain(theirs.keys().copied())
        .collect();
    let choice = |bytes: u64| {
        let choice = at(ours, bytes);
        if choice.algorithm == 0 {
            at(theirs, bytes)
        } else {
            choice
        }
    };
    sizes.into_iter().map(|bytes| (bytes, choice(bytes))).collect()
}

/// The same choices, each only where it begins; one without an algorithm says nothing else.
fn plain(by_bytes: &ByBytes) -> ByBytes {
    let mut all = ByBytes::from([(0, Choice::default())]);
    for (bytes, choice) in by_bytes {
        let choice = if choice.algorithm == 0 {
            Choice::default()
        } else {
            *choice
        };
        if at(&all, *bytes) != choice {
            all.insert(*bytes, choice);
        }
    }
    all
}

#[cfg(test)]
mod tests;
