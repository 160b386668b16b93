//! The rules file as JSON (version 3), which Open MPI reads from 6.0 on: ranges with both ends, the first that fits holds, and where
//! none fits the library decides.
//!
//! Written from its documentation and from the source of its development branch; no release could be run. Where the two differ, the
//! source counts: its published schema calls collectives `reducescatter`, its reader wants `reduce_scatter`. The reader passes over
//! keys that it does not know and takes `"inf"` as a communicator size for -1, both without a word, so both are refused in files of ours.
//! Files of others are read as the library does ([`others`]).

mod collectives;
pub mod others;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use self::collectives::Collectives;
use super::{ByBytes, ByNodes, ByRanks, Choice, INT_MAX, LONG_MAX, MAX_ALGORITHM, Nodes, RulesError, plain};

/// The version that the file says it has.
const VERSION: u64 = 3;
/// The component that it is for.
const MODULE: &str = "tuned";
/// The library's names of the collectives, in the order of their numbers.
const NAMES: [&str; 22] = [
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "barrier",
    "bcast",
    "exscan",
    "gather",
    "gatherv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "scatter",
    "scatterv",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
];

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rule_file_version: u64,
    module: String,
    /// The schema's address, for editors.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    schema: Option<String>,
    collectives: Collectives,
}

/// Rules for communicators of a range of sizes.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForRanks {
    #[serde(default, deserialize_with = "int")]
    comm_size_min: u64,
    /// No end where it is missing.
    #[serde(default, deserialize_with = "some_int", skip_serializing_if = "Option::is_none")]
    comm_size_max: Option<u64>,
    #[serde(default, skip_serializing_if = "Distribution::is_any")]
    comm_rank_distribution: Distribution,
    rules: Vec<ForBytes>,
}

/// The nodes on which the ranks lie.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Distribution {
    #[default]
    Any,
    SingleNode,
}

impl Distribution {
    fn is_any(&self) -> bool {
        *self == Distribution::Any
    }

    fn has(self, nodes: Nodes) -> bool {
        self == Distribution::Any || nodes == Nodes::One
    }
}

/// A choice for messages of a range of sizes.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForBytes {
    #[serde(default, deserialize_with = "long")]
    msg_size_min: u64,
    #[serde(default)]
    msg_size_max: Last,
    #[serde(deserialize_with = "algorithm")]
    alg: u64,
    #[serde(default, deserialize_with = "int", skip_serializing_if = "is_zero")]
    faninout: u64,
    #[serde(default, deserialize_with = "int", skip_serializing_if = "is_zero")]
    seg_size: u64,
    #[serde(default, deserialize_with = "some_int", skip_serializing_if = "Option::is_none")]
    reqs: Option<u64>,
}

/// The last size of a range of messages.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(untagged, expecting = "it must be a number of bytes or \"inf\"")]
enum Last {
    Bytes(#[serde(deserialize_with = "long")] u64),
    None(Inf),
}

/// No end.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum Inf {
    #[serde(rename = "inf", alias = "Inf", alias = "INF")]
    Inf,
}

impl Default for Last {
    fn default() -> Last {
        Last::None(Inf::Inf)
    }
}

impl ForBytes {
    fn last(&self) -> u64 {
        match self.msg_size_max {
            Last::Bytes(bytes) if bytes < LONG_MAX => bytes,
            _ => u64::MAX,
        }
    }

    fn choice(&self) -> Choice {
        Choice {
            algorithm: self.alg,
            fan: self.faninout,
            segment_bytes: self.seg_size,
            requests: self.reqs,
        }
    }
}

impl ForRanks {
    fn last(&self) -> u64 {
        self.comm_size_max.filter(|max| *max < INT_MAX).unwrap_or(u64::MAX)
    }
}

impl ByNodes {
    /// The rules of each collective in ranges with both ends; rules that leave the choice to the library need not be written.
    fn in_ranges(&self) -> Result<Vec<(u64, Vec<ForRanks>)>, RulesError> {
        let rules = self.normalized();
        let [one, several] = Nodes::ANY.map(|nodes| &rules.of(nodes).collectives);
        let ids: BTreeSet<u64> = one.keys().chain(several.keys()).copied().collect();
        let mut collectives = Vec::new();
        for id in ids {
            if name(id).is_none() {
                return Err(RulesError {
                    line: 1,
                    message: format!("collective id {id} has no name; allowed: 0 to {}", NAMES.len() - 1),
                });
            }
            let of = |all: &BTreeMap<u64, ByRanks>| all.get(&id).cloned().unwrap_or_default();
            collectives.push((id, ranges(&of(one), &of(several))));
        }
        Ok(collectives)
    }

    /// The file's text.
    ///
    /// # Errors
    /// A collective without a name.
    pub fn to_json(&self) -> Result<String, RulesError> {
        let collectives = self.in_ranges()?;
        let file = File {
            rule_file_version: VERSION,
            module: MODULE.to_owned(),
            schema: None,
            collectives: Collectives(collectives),
        };
        let text = serde_json::to_string_pretty(&file).map_err(refused)?;
        Ok(text + "\n")
    }

    /// Reads a file as Open MPI 6 does.
    ///
    /// # Errors
    /// Whatever would make it ignore the file or a part of it, and algorithms by name: their numbers do.
    pub fn parse_json(text: &str) -> Result<ByNodes, RulesError> {
        let file: File = serde_json::from_str(text).map_err(refused)?;
        let wrong = |message: String| RulesError { line: 1, message };
        if file.rule_file_version != VERSION || file.module != MODULE {
            return Err(wrong(format!(
                "rule_file_version {} of module `{}`; allowed: {VERSION} of `{MODULE}`",
                file.rule_file_version, file.module
            )));
        }
        let mut rules = ByNodes::default();
        for (id, ranges) in file.collectives.0 {
            for range in &ranges {
                let sizes = range
                    .rules
                    .iter()
                    .map(|rule| (rule.msg_size_min, rule.last(), "message sizes"));
                for (first, last, what) in [(range.comm_size_min, range.last(), "communicator sizes")]
                    .into_iter()
                    .chain(sizes)
                {
                    if first > last {
                        return Err(wrong(format!(
                            "{}: {what} from {first} to {last} are none; the first must not be above the last",
                            name(id).unwrap_or_default()
                        )));
                    }
                }
            }
            for nodes in Nodes::ANY {
                let holding = ranges.iter().filter(|range| range.comm_rank_distribution.has(nodes));
                let compiled = compiled(&holding.collect::<Vec<_>>());
                rules.of_mut(nodes).collectives.insert(id, compiled);
            }
        }
        Ok(rules.normalized())
    }
}

/// The ranges of one collective. Where rules for one node differ from those for several, they stand first; an empty list of them leaves the choice
/// to the library, which looks no further.
fn ranges(one: &ByRanks, several: &ByRanks) -> Vec<ForRanks> {
    let at = |by_ranks: &ByRanks, ranks: u64| {
        let holds = by_ranks.range(..=ranks).next_back();
        holds.map_or_else(|| plain(&ByBytes::new()), |(_, by_bytes)| by_bytes.clone())
    };
    let starts = one.keys().chain(several.keys());
    let both: BTreeMap<u64, (ByBytes, ByBytes)> = starts
        .map(|ranks| (*ranks, (at(one, *ranks), at(several, *ranks))))
        .collect();
    let mut all = Vec::new();
    for (first, last, (of_one, of_several)) in with_last(&both) {
        let range = |comm_rank_distribution, by_bytes: &ByBytes| ForRanks {
            comm_size_min: first,
            comm_size_max: (last != u64::MAX).then_some(last),
            comm_rank_distribution,
            rules: with_last(by_bytes)
                .filter(|(_, _, choice)| choice.algorithm != 0)
                .map(written)
                .collect(),
        };
        if of_one != of_several {
            all.push(range(Distribution::SingleNode, of_one));
        }
        let of_several = range(Distribution::Any, of_several);
        if !of_several.rules.is_empty() {
            all.push(of_several);
        }
    }
    all
}

/// Each entry with the last size for which it holds.
fn with_last<T>(entries: &BTreeMap<u64, T>) -> impl Iterator<Item = (u64, u64, &T)> {
    let ends = entries.keys().skip(1).map(|next| next - 1).chain([u64::MAX]);
    entries
        .iter()
        .zip(ends)
        .map(|((first, entry), last)| (*first, last, entry))
}

fn written((first, last, choice): (u64, u64, &Choice)) -> ForBytes {
    ForBytes {
        msg_size_min: first,
        msg_size_max: if last == u64::MAX {
            Last::default()
        } else {
            Last::Bytes(last)
        },
        alg: choice.algorithm,
        faninout: choice.fan,
        seg_size: choice.segment_bytes,
        reqs: choice.requests,
    }
}

/// Turns ranges, of which the first that fits holds, into sizes from which a choice holds.
fn compiled(ranges: &[&ForRanks]) -> ByRanks {
    let starts = starts(ranges.iter().map(|range| (range.comm_size_min, range.last())));
    let of = |ranks: u64| {
        let holds = ranges
            .iter()
            .find(|range| (range.comm_size_min..=range.last()).contains(&ranks));
        holds.map_or_else(|| plain(&ByBytes::new()), |range| compiled_sizes(&range.rules))
    };
    starts.into_iter().map(|ranks| (ranks, of(ranks))).collect()
}

fn compiled_sizes(rules: &[ForBytes]) -> ByBytes {
    let starts = starts(rules.iter().map(|rule| (rule.msg_size_min, rule.last())));
    let of = |bytes: u64| {
        let holds = rules
            .iter()
            .find(|rule| (rule.msg_size_min..=rule.last()).contains(&bytes));
        holds.map_or_else(Choice::default, ForBytes::choice)
    };
    starts.into_iter().map(|bytes| (bytes, of(bytes))).collect()
}

/// Sizes at which another range may begin to hold.
fn starts(ranges: impl Iterator<Item = (u64, u64)>) -> BTreeSet<u64> {
    let both = ranges.flat_map(|(first, last)| [Some(first), last.checked_add(1)]);
    both.flatten().chain([0]).collect()
}

fn name(id: u64) -> Option<&'static str> {
    NAMES.get(usize::try_from(id).ok()?).copied()
}

/// The parser's words without its position at the end: the error has its own.
fn refused(error: serde_json::Error) -> RulesError {
    let message = error.to_string();
    RulesError {
        line: error.line().max(1),
        message: message
            .rsplit_once(" at line ")
            .map_or(&*message, |(said, _)| said)
            .to_owned(),
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn up_to<'de, D: Deserializer<'de>>(deserializer: D, max: u64) -> Result<u64, D::Error> {
    let number = u64::deserialize(deserializer)?;
    if number > max {
        return Err(D::Error::custom(format!(
            "{number} is more than {max}, which is the most that is read there"
        )));
    }
    Ok(number)
}

fn int<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    up_to(deserializer, INT_MAX)
}

fn long<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    up_to(deserializer, LONG_MAX)
}

fn algorithm<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    up_to(deserializer, MAX_ALGORITHM)
}

fn some_int<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    int(deserializer).map(Some)
}
