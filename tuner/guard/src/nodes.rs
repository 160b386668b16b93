//! Hosts against each other: which one is slow, and which pair.
//!
//! Each pair of hosts is measured in several launches. What a launch does to all pairs is taken out of their times. Of these the fastest counts: what disturbs one
//! launch is gone in the next one, and what
//! is wrong with a host or a link is not. In logarithms, the time of a pair is a common one, plus what each of both hosts adds, plus chance. What a
//! host adds is the *median over its pairs* of their distance from the median pair: a slow host makes all of its own pairs
//! slow and one pair of every other host, which does not move that one's median. A host is slow if what it adds lies above that of the others
//! by more than the tolerance and by more than chance: the distance over the spread (median absolute deviation of the hosts, or the spread between
//! launches if that is larger), by Student's t with one degree of freedom less than there are pairs, corrected by Holm over all hosts and both kinds of
//! messages. The pairs that are slow beyond what both hosts add are told likewise, where no host is slow.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use kilter_stats::holm;

use crate::chance::{median, spread, upper_tail};

/// Fewest hosts among which a slow one stands out: with three, one slow host slows half of the pairs of each of the others.
pub const FEWEST: usize = 4;

/// Smallest spread that is believed, as a fraction: clocks and medians are no finer.
const LEAST_SPREAD: f64 = 0.005;

/// Kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Small ones, whose time is that of a way there and back.
    Latency,
    /// Large ones.
    Bandwidth,
}

impl Kind {
    /// Both.
    pub const ALL: [Kind; 2] = [Kind::Latency, Kind::Bandwidth];

    /// The word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Latency => "latency",
            Kind::Bandwidth => "bandwidth",
        }
    }

    /// Bytes of the message that is sent there and back.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Kind::Latency => 8,
            Kind::Bandwidth => 1 << 20,
        }
    }
}

/// Seconds of a way there and back by pair of hosts, launch by launch.
pub type Measured = BTreeMap<(usize, usize), Vec<f64>>;

/// Rule of the judgement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Probability of even one false alarm.
    pub alpha: f64,
    /// Smallest difference that counts, as a fraction.
    pub tolerance: f64,
}

/// The hosts with what was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Map {
    /// Hosts, by whose places in this list pairs name them.
    pub hosts: Vec<String>,
    /// Each kind of messages.
    pub kinds: Vec<OfKind>,
    /// Slow hosts.
    pub slow: Vec<Slow>,
}

/// Times of one kind of messages.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OfKind {
    /// The kind.
    pub kind: Kind,
    /// Bytes of a message.
    pub bytes: u64,
    /// The usual pair, there and back, in seconds: one of two hosts as the middle one is.
    pub seconds: f64,
    /// The pairs.
    pub pairs: Vec<Pair>,
    /// Factor of each host's messages over the middle host's, in the order of the hosts; absent for one without measured pairs.
    pub factors: Vec<Option<f64>>,
}

/// A pair of hosts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    /// Places of both hosts in the list.
    pub hosts: (usize, usize),
    /// Time there and back, in seconds.
    pub seconds: f64,
}

/// A host, or a pair of hosts, that is slow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Slow {
    /// The host, or both of the pair.
    pub hosts: Vec<String>,
    /// Kind of messages.
    pub kind: Kind,
    /// Its time over that of the others.
    pub factor: f64,
    /// Probability of this by chance, corrected for all hosts and kinds.
    pub p_adjusted: f64,
}

/// One kind in logarithms.
struct Logs {
    pairs: BTreeMap<(usize, usize), f64>,
    centre: f64,
    /// Spread between launches of a pair.
    of_launches: f64,
    /// The share that each host adds.
    added: Vec<Option<f64>>,
}

impl Logs {
    fn of(measured: &Measured, hosts: usize) -> Option<Logs> {
        let logs = measured.iter().map(|(pair, seconds)| {
            let logs: Vec<f64> = seconds.iter().map(|seconds| seconds.ln()).collect();
            (*pair, logs)
        });
        let mut logs: BTreeMap<(usize, usize), Vec<f64>> = logs.filter(|(_, logs)| !logs.is_empty()).collect();
        level(&mut logs);
        let pairs: BTreeMap<(usize, usize), f64> = logs
            .iter()
            .map(|(pair, logs)| (*pair, logs.iter().copied().fold(f64::INFINITY, f64::min)))
            .collect();
        let centre = median(pairs.values().copied())?;
        let differences = logs.values().flat_map(|logs| {
            let next = logs.iter().skip(1);
            logs.iter().zip(next).map(|(one, other)| one - other)
        });
        let differences: Vec<f64> = differences.collect();
        let added = |host: usize| {
            let own = pairs.iter().filter(|((a, b), _)| *a == host || *b == host);
            median(own.map(|(_, log)| log - centre))
        };
        let added = (0..hosts).map(added).collect();
        Some(Logs {
            // The difference of two launches varies by the square root of two more than one of them.
            of_launches: spread(&differences, 0.0) / std::f64::consts::SQRT_2,
            pairs,
            centre,
            added,
        })
    }

    /// The share that the middle host adds. A slow host among few moves the median pair, and this back.
    fn middle(&self) -> f64 {
        median(self.added.iter().flatten().copied()).unwrap_or_default()
    }

    /// The distance of each value from the middle one, and the probability of such a distance by chance.
    fn outliers(&self, values: &[f64]) -> Vec<(f64, f64)> {
        let middle = median(values.iter().copied()).unwrap_or_default();
        let scale = spread(values, middle).max(self.of_launches).max(LEAST_SPREAD);
        let freedom = (self.pairs.len() as f64 - 1.0).max(1.0);
        let outlier = |value: &f64| (value - middle, upper_tail((value - middle) / scale, freedom));
        values.iter().map(outlier).collect()
    }
}

/// Takes out of all pairs' logarithms what a launch does to all of them: the median over the pairs of the distance from each pair's own middle, beyond the
/// quietest launch. On a machine with other load whole launches are slow, which says nothing of any host.
fn level(logs: &mut BTreeMap<(usize, usize), Vec<f64>>) {
    let launches = logs.values().map(Vec::len).max().unwrap_or_default();
    // Times of a pair that lacks a launch do not tell which one.
    let mut whole: Vec<&mut Vec<f64>> = logs.values_mut().filter(|logs| logs.len() == launches).collect();
    let middles: Vec<f64> = whole.iter().filter_map(|logs| median(logs.iter().copied())).collect();
    let of_launch = |launch: usize| median(whole.iter().zip(&middles).map(|(logs, middle)| logs[launch] - middle));
    let levels: Vec<f64> = (0..launches).filter_map(of_launch).collect();
    let quietest = levels.iter().copied().fold(f64::INFINITY, f64::min);
    for logs in &mut whole {
        logs.iter_mut()
            .zip(&levels)
            .for_each(|(log, level)| *log -= level - quietest);
    }
}

/// Judges hosts by the times of their pairs.
#[must_use]
pub fn judge(hosts: &[String], measured: &BTreeMap<Kind, Measured>, rule: &Rule) -> Map {
    let logs: BTreeMap<Kind, Logs> = measured
        .iter()
        .filter_map(|(kind, measured)| Some((*kind, Logs::of(measured, hosts.len())?)))
        .collect();
    let mut slow = slow_hosts(hosts, &logs, rule);
    if slow.is_empty() {
        slow = slow_pairs(hosts, &logs, rule);
    }
    let of_kind = |(kind, logs): (&Kind, &Logs)| OfKind {
        kind: *kind,
        bytes: kind.bytes(),
        seconds: (logs.centre + logs.middle()).exp(),
        pairs: logs
            .pairs
            .iter()
            .map(|(hosts, log)| Pair {
                hosts: *hosts,
                seconds: log.exp(),
            })
            .collect(),
        factors: logs
            .added
            .iter()
            .map(|added| added.map(|added| (added - logs.middle()).exp()))
            .collect(),
    };
    Map {
        hosts: hosts.to_vec(),
        kinds: logs.iter().map(of_kind).collect(),
        slow,
    }
}

/// A suspect: its hosts, the kind, and the distance in logarithms with its probability.
type Candidate = (Vec<String>, Kind, (f64, f64));

fn slow_hosts(hosts: &[String], logs: &BTreeMap<Kind, Logs>, rule: &Rule) -> Vec<Slow> {
    if hosts.len() < FEWEST {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    for (kind, logs) in logs {
        let known: Vec<(&String, f64)> = hosts
            .iter()
            .zip(&logs.added)
            .filter_map(|(host, added)| Some((host, (*added)?)))
            .collect();
        let values: Vec<f64> = known.iter().map(|(_, added)| *added).collect();
        for ((host, _), outlier) in known.iter().zip(logs.outliers(&values)) {
            candidates.push((vec![(*host).clone()], *kind, outlier));
        }
    }
    beyond(candidates, rule)
}

fn slow_pairs(hosts: &[String], logs: &BTreeMap<Kind, Logs>, rule: &Rule) -> Vec<Slow> {
    if hosts.len() < FEWEST {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    for (kind, logs) in logs {
        let of_host = |host: usize| logs.added.get(host).copied().flatten().unwrap_or_default();
        let left = |(pair, log): (&(usize, usize), &f64)| log - logs.centre - of_host(pair.0) - of_host(pair.1);
        let values: Vec<f64> = logs.pairs.iter().map(left).collect();
        for (pair, outlier) in logs.pairs.keys().zip(logs.outliers(&values)) {
            let names = [pair.0, pair.1].map(|host| hosts.get(host).cloned().unwrap_or_default());
            candidates.push((names.to_vec(), *kind, outlier));
        }
    }
    beyond(candidates, rule)
}

/// Those beyond chance and tolerance, the slowest first.
fn beyond(candidates: Vec<Candidate>, rule: &Rule) -> Vec<Slow> {
    let p: Vec<f64> = candidates.iter().map(|(_, _, (_, p))| *p).collect();
    let slow = candidates.into_iter().zip(holm::adjust(&p));
    let slow = slow.filter(|((_, _, (distance, _)), p)| *p <= rule.alpha && distance.exp() > 1.0 + rule.tolerance);
    let mut slow: Vec<Slow> = slow
        .map(|((hosts, kind, (distance, _)), p_adjusted)| Slow {
            hosts,
            kind,
            factor: distance.exp(),
            p_adjusted,
        })
        .collect();
    slow.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    slow
}

#[cfg(test)]
mod tests;
