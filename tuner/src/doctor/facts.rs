//! Facts about a job and its hosts; they are judged elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use kilter_protocol::cpus;
use kilter_protocol::machine::Machine;

use crate::launcher::Remark;
use crate::library_info::Difference;

/// Facts for the checks.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Requested ranks.
    pub ranks: usize,
    /// True if a host file was given.
    pub hostfile: bool,
    /// The library and its version, if they are known.
    pub library: String,
    /// Words on a launcher that does not name this library.
    pub remark: Option<Remark>,
    /// Hosts by name; without a job this machine alone.
    pub hosts: BTreeMap<String, Host>,
    /// The control variables of the library's description.
    pub described: Vec<Variable>,
    /// The library's own program on its parameters.
    pub printed: Printed,
    /// The programs of the shared transports in use.
    pub transports_printed: Vec<Printed>,
    /// Transports that carry messages, as a job said; empty if none did.
    pub carriers: Vec<String>,
    /// Mechanisms of single copy that the library's variables name.
    pub single_copy_said: Vec<String>,
    /// The job's own facts, if one ran.
    pub job: Option<Machine>,
    /// Reason why no job ran although one was wanted.
    pub problem: Option<Problem>,
}

/// A control variable of the description, with the running library's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Name as the library spells it.
    pub name: String,
    /// Described default.
    pub default: String,
    /// Its value; `None` if the library has no such variable.
    pub reported: Option<String>,
    /// True if that is the default.
    pub is_default: bool,
}

/// Result of comparing the output of the library's own program with the description.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Printed {
    /// No library was found, so that no program was asked.
    #[default]
    NotAsked,
    /// Kilter reads no program of this library.
    NoProgram,
    /// Reason why the program gave no answer.
    NoAnswer(String),
    /// It answered.
    Compared {
        /// Its name.
        program: String,
        /// Parameters that it prints.
        parameters: usize,
        /// The description.
        description: String,
        /// Differences from the description.
        differences: Vec<Difference>,
    },
}

/// Reason why no job ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The check that it belongs to: `library`, `worker` or `hosts`.
    pub check: &'static str,
    /// The event, and what to do.
    pub text: String,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Host {
    /// Files of `/proc` and `/sys`: path, text.
    pub files: BTreeMap<String, String>,
    /// Use of its processors in a moment before the job, as shares of all of them.
    pub moment: Option<Moment>,
    /// Processes that were busy in that moment: name, share of one processor; busiest first.
    pub processes: Vec<(String, f64)>,
}

/// Shares of all processors' time, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moment {
    /// Share that is neither idle nor stolen.
    pub busy: f64,
    /// Share taken by other virtual machines.
    pub stolen: f64,
}

impl Facts {
    /// Hosts with ranks, and the number of ranks on each.
    #[must_use]
    pub fn ranks_by_host(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        match &self.job {
            Some(job) => {
                for place in &job.ranks {
                    *counts.entry(place.host.as_str()).or_default() += 1;
                }
            }
            None => {
                let host = self.hosts.keys().next().map_or("", String::as_str);
                counts.insert(host, self.ranks);
            }
        }
        counts
    }

    /// Each host with the number of its ranks.
    pub fn occupied(&self) -> impl Iterator<Item = (&str, &Host, usize)> {
        let counts = self.ranks_by_host();
        self.hosts
            .iter()
            .filter_map(move |(name, host)| Some((name.as_str(), host, *counts.get(name.as_str())?)))
    }

    /// First answer of `judge` for a host.
    pub fn first<T>(&self, judge: impl Fn(&str, &Host, usize) -> Option<T>) -> Option<T> {
        self.occupied().find_map(|(name, host, ranks)| judge(name, host, ranks))
    }

    /// Distinct texts of a file over the hosts.
    #[must_use]
    pub fn texts(&self, path: &str) -> BTreeSet<&str> {
        self.occupied().filter_map(|(_, host, _)| host.text(path)).collect()
    }
}

impl Host {
    /// The text of a file.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(|text| text.trim())
    }

    /// Number of processors that are switched on.
    #[must_use]
    pub fn processors(&self) -> Option<usize> {
        let count = cpus::parse(self.text(ONLINE)?).len();
        (count > 0).then_some(count)
    }

    /// Bytes that a line such as `MemAvailable:  1234 kB` of `/proc/meminfo` gives.
    #[must_use]
    pub fn memory_bytes(&self, key: &str) -> Option<u64> {
        let line = self.text(MEMORY)?.lines().find(|line| line.starts_with(key))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
    }
}

/// Processors switched on, as a list.
pub const ONLINE: &str = "/sys/devices/system/cpu/online";
/// Memory.
pub const MEMORY: &str = "/proc/meminfo";

/// Use of the processors between two readings of `/proc/stat`.
#[must_use]
pub fn moment(before: &str, after: &str) -> Option<Moment> {
    let read = |text: &str| -> Option<Vec<f64>> {
        let line = text.lines().find(|line| line.starts_with("cpu "))?;
        let ticks: Vec<f64> = line
            .split_whitespace()
            .skip(1)
            .filter_map(|word| word.parse().ok())
            .collect();
        // user nice system idle iowait irq softirq steal
        (ticks.len() >= 8).then_some(ticks)
    };
    let (before, after) = (read(before)?, read(after)?);
    let spent: Vec<f64> = after
        .iter()
        .zip(&before)
        .take(8)
        .map(|(after, before)| (after - before).max(0.0))
        .collect();
    let total: f64 = spent.iter().sum();
    (total > 0.0).then(|| Moment {
        busy: (total - spent[3] - spent[4] - spent[7]) / total,
        stolen: spent[7] / total,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_difference_of_two_readings() {
        let found = moment("cpu  100 0 100 800 0 0 0 0 0 0", "cpu  150 0 100 840 0 0 0 10 0 0").unwrap();
        assert_eq!(found, Moment { busy: 0.5, stolen: 0.1 });
        assert_eq!(moment("cpu 1 2", "cpu 1 2"), None);
        let same = "cpu  100 0 100 800 0 0 0 0 0 0";
        assert_eq!(moment(same, same), None);
    }
}
