//! Hosts against each other: which one is slow, and which pair.
//!
//! Each pair of hosts is measured in several launches. The part of a launch that all pairs share is taken out of their times. Of these the fastest counts:
//! a disturbance of one launch is gone in the next one, and a fault of a host or a link is not.
//!
//! In logarithms, the time of a pair is a common one, plus what each of both hosts adds, plus chance. The part that a host adds is the *median over its pairs*
//! of their distance from the median pair: a slow host makes all of its own pairs slow and one pair of every other host, which does not move that one's median.
//!
//! A host is slow if it adds more than the others by more than the tolerance and by more than chance: the distance over its spread, by Student's t with one
//! degree of freedom less than there are pairs, corrected by Holm over all hosts and both kinds of messages. The spread has two parts: that of the hosts (median
//! absolute deviation), and that of what one half of the launches and the other say of a host. Pairs that are slow beyond what both hosts add are told
//! likewise, where no host is slow.
//!
//! There are two looks ([`LOOKS`]), each at half of the error rate: if something seems slow after a few launches and chance may have done it, there are more.

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

/// Logarithms of the times of each pair, launch by launch.
type ByPair = BTreeMap<(usize, usize), Vec<f64>>;

/// One kind in logarithms.
struct Logs {
    estimate: Estimate,
    /// Spread of the share that a host adds, between halves of the launches.
    of_hosts: f64,
    /// Spread of what is left of a pair, likewise.
    of_pairs: f64,
}

/// Times of pairs in some of the launches, and what hosts add to them.
struct Estimate {
    /// The fastest launch of each pair.
    pairs: BTreeMap<(usize, usize), f64>,
    centre: f64,
    /// The share that each host adds.
    added: Vec<Option<f64>>,
}

impl Estimate {
    /// Estimates from the launches that `is_counted`; `None` if none of them has a pair.
    fn of(logs: &ByPair, hosts: usize, is_counted: impl Fn(usize) -> bool) -> Option<Estimate> {
        let fastest = |logs: &Vec<f64>| {
            let counted = logs.iter().enumerate().filter(|(launch, _)| is_counted(*launch));
            counted.map(|(_, log)| *log).reduce(f64::min)
        };
        let pairs = logs.iter().filter_map(|(pair, logs)| Some((*pair, fastest(logs)?)));
        let pairs: BTreeMap<(usize, usize), f64> = pairs.collect();
        let centre = median(pairs.values().copied())?;
        let added = |host: usize| {
            let own = pairs.iter().filter(|((a, b), _)| *a == host || *b == host);
            median(own.map(|(_, log)| log - centre))
        };
        Some(Estimate {
            added: (0..hosts).map(added).collect(),
            centre,
            pairs,
        })
    }

    /// The part of each pair's time that neither of its hosts adds.
    fn left(&self) -> impl Iterator<Item = ((usize, usize), f64)> {
        let of_host = |host: usize| self.added.get(host).copied().flatten().unwrap_or_default();
        let left =
            move |(pair, log): (&(usize, usize), &f64)| (*pair, log - self.centre - of_host(pair.0) - of_host(pair.1));
        self.pairs.iter().map(left)
    }
}

impl Logs {
    fn of(measured: &Measured, hosts: usize) -> Option<Logs> {
        let logs = measured.iter().map(|(pair, seconds)| {
            let logs: Vec<f64> = seconds.iter().map(|seconds| seconds.ln()).collect();
            (*pair, logs)
        });
        let mut logs: ByPair = logs.filter(|(_, logs)| !logs.is_empty()).collect();
        level(&mut logs);
        let (mut of_hosts, mut of_pairs) = (Vec::new(), Vec::new());
        for half in halves(logs.values().map(Vec::len).max().unwrap_or_default()) {
            let one = Estimate::of(&logs, hosts, |launch| half.contains(&launch));
            let other = Estimate::of(&logs, hosts, |launch| !half.contains(&launch));
            let Some((one, other)) = one.zip(other) else { continue };
            let hosts = one.added.iter().zip(&other.added);
            of_hosts.extend(hosts.filter_map(|(one, other)| Some((*one)? - (*other)?)));
            let others: BTreeMap<(usize, usize), f64> = other.left().collect();
            of_pairs.extend(one.left().filter_map(|(pair, left)| Some(left - others.get(&pair)?)));
        }
        // The difference of two halves varies by the square root of two more than one of them, and a half more than the whole.
        let of = |differences: &[f64]| spread(differences, 0.0) / std::f64::consts::SQRT_2;
        Some(Logs {
            estimate: Estimate::of(&logs, hosts, |_| true)?,
            of_hosts: of(&of_hosts),
            of_pairs: of(&of_pairs),
        })
    }

    /// The share that the middle host adds. A slow host among few moves the median pair, and this back.
    fn middle(&self) -> f64 {
        median(self.estimate.added.iter().flatten().copied()).unwrap_or_default()
    }

    /// The distance of each value from the middle one, and the probability of such a distance by chance.
    fn outliers(&self, values: &[f64], of_launches: f64) -> Vec<(f64, f64)> {
        let middle = median(values.iter().copied()).unwrap_or_default();
        let scale = spread(values, middle).hypot(of_launches).max(LEAST_SPREAD);
        let freedom = (self.estimate.pairs.len() as f64 - 1.0).max(1.0);
        let outlier = |value: &f64| (value - middle, upper_tail((value - middle) / scale, freedom));
        values.iter().map(outlier).collect()
    }
}

/// Half of the launches, in turn: neighbours, which share a mood of the machine more than others do.
fn halves(launches: usize) -> impl Iterator<Item = Vec<usize>> {
    let half = launches / 2;
    (0..half).map(move |first| (first..first + half).collect())
}

/// Takes out of all pairs' logarithms what a launch does to all of them: the median over the pairs of the distance from each pair's own middle, beyond the
/// quietest launch. On a machine with other load whole launches are slow, which says nothing of any host.
fn level(logs: &mut ByPair) {
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

/// Launches after which hosts are judged: few, and more where a host or a pair seems slow that chance may have slowed.
pub const LOOKS: [usize; 2] = [4, 8];

/// Judges hosts in looks. `measure` gives the times of so many launches, of which the ones before it are the first, or of fewer where time is up.
///
/// # Errors
/// Those of `measure`.
pub fn judge_in_looks<E>(
    hosts: &[String],
    rule: &Rule,
    mut measure: impl FnMut(usize) -> Result<BTreeMap<Kind, Measured>, E>,
) -> Result<Map, E> {
    let of_look = Rule {
        alpha: rule.alpha / LOOKS.len() as f64,
        ..*rule
    };
    let [few, many] = LOOKS;
    let measured = measure(few)?;
    let map = judge(hosts, &measured, &of_look);
    let suspects = judge(hosts, &measured, &Rule { alpha: 1.0, ..*rule }).slow;
    if !map.slow.is_empty() || suspects.is_empty() {
        return Ok(map);
    }
    Ok(judge(hosts, &measure(many)?, &of_look))
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
        seconds: (logs.estimate.centre + logs.middle()).exp(),
        pairs: logs
            .estimate
            .pairs
            .iter()
            .map(|(hosts, log)| Pair {
                hosts: *hosts,
                seconds: log.exp(),
            })
            .collect(),
        factors: logs
            .estimate
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
            .zip(&logs.estimate.added)
            .filter_map(|(host, added)| Some((host, (*added)?)))
            .collect();
        let values: Vec<f64> = known.iter().map(|(_, added)| *added).collect();
        for ((host, _), outlier) in known.iter().zip(logs.outliers(&values, logs.of_hosts)) {
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
        let (pairs, values): (Vec<(usize, usize)>, Vec<f64>) = logs.estimate.left().unzip();
        for (pair, outlier) in pairs.iter().zip(logs.outliers(&values, logs.of_pairs)) {
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
