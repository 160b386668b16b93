//! Hosts of one kind: a job is as fast as its slowest host, and what is found on unlike ones holds for no other job.

use std::collections::BTreeMap;

use kilter_protocol::cpus;

use super::super::facts::{Facts, Host};
use super::super::{Check, Judgement};
use super::{count, some, steal};

/// The kernel's release.
pub(super) const KERNEL: &str = "/proc/sys/kernel/osrelease";

/// Memory of like hosts differs by what firmware and kernel keep for themselves.
const LIKE_MEMORY: f64 = 0.03;

pub(super) const CHECK: Check = Check {
    id: "alike",
    what: "the hosts are alike",
    quick: true,
    judge,
};

/// Values of a property by host.
type Values = BTreeMap<String, String>;

/// A property that all hosts of a job should share.
struct Property {
    name: &'static str,
    /// True if measurements hardly depend on it.
    is_slight: bool,
    of: fn(&Facts) -> Values,
}

const PROPERTIES: &[Property] = &[
    Property {
        name: "CPU model",
        is_slight: false,
        of: |facts| of_hosts(facts, |host| model(host.text(steal::PROCESSOR)?)),
    },
    Property {
        name: "processors",
        is_slight: false,
        of: |facts| of_hosts(facts, |host| Some(host.processors()?.to_string())),
    },
    Property {
        name: "CPUs that a rank may use",
        is_slight: false,
        of: allowed,
    },
    Property {
        name: "memory",
        is_slight: false,
        of: memory,
    },
    Property {
        name: "MPI library",
        is_slight: false,
        of: |facts| facts.job.iter().flat_map(|job| job.libraries.clone()).collect(),
    },
    Property {
        name: "kernel",
        is_slight: true,
        of: |facts| of_hosts(facts, |host| host.text(KERNEL).map(str::to_owned)),
    },
];

fn judge(facts: &Facts) -> Judgement {
    let hosts = facts.occupied().count();
    if facts.job.is_none() && facts.hostfile {
        return Judgement::unknown("no job was started on the hosts");
    }
    let mut unlike_ones = Vec::new();
    let mut is_slight = true;
    for property in PROPERTIES {
        if let Some(which) = unlike(&(property.of)(facts)) {
            is_slight &= property.is_slight;
            unlike_ones.push(format!("{} ({which})", property.name));
        }
    }
    let says = format!("hosts differ in {}", unlike_ones.join(", "));
    match (unlike_ones.is_empty(), is_slight) {
        (true, _) if hosts == 1 => Judgement::fit("all ranks are on one host"),
        (true, _) => Judgement::fit(format!("{} of one kind", count(hosts, "host"))),
        (false, true) => Judgement::note(says),
        (false, false) => Judgement::warning(
            says,
            "measure on hosts of one kind (a host file, or a constraint of the batch system), and on each kind by itself",
        ),
    }
}

/// The hosts by what they have, the most frequent value first, such as `a: 8; b, c: 4`; `None` if all have the same. A host without a value
/// counts where others have one.
pub(super) fn unlike(values: &Values) -> Option<String> {
    let mut by_value: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (host, value) in values {
        by_value.entry(value).or_default().push(host.clone());
    }
    if by_value.len() < 2 {
        return None;
    }
    let mut groups: Vec<(&str, Vec<String>)> = by_value.into_iter().collect();
    groups.sort_by(|(_, a), (_, b)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    let words = groups.iter().map(|(value, hosts)| format!("{}: {value}", some(hosts)));
    Some(words.collect::<Vec<_>>().join("; "))
}

/// Values of a file's text by host.
pub(super) fn of_files(facts: &Facts, path: &str, value: impl Fn(&str) -> Option<String>) -> Values {
    of_hosts(facts, |host| value(host.text(path)?))
}

/// Values by host; empty if no host has one.
fn of_hosts(facts: &Facts, value: impl Fn(&Host) -> Option<String>) -> Values {
    let values: Vec<(String, Option<String>)> = facts
        .occupied()
        .map(|(name, host, _)| (name.to_owned(), value(host)))
        .collect();
    if values.iter().all(|(_, value)| value.is_none()) {
        return Values::new();
    }
    let told = |(name, value): (String, Option<String>)| (name, value.unwrap_or_else(|| "not told".to_owned()));
    values.into_iter().map(told).collect()
}

/// The model in `/proc/cpuinfo`: its name, or the numbers that Arm's kernels give.
fn model(text: &str) -> Option<String> {
    let value = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    value("model name").or_else(|| Some(format!("{} {}", value("CPU implementer")?, value("CPU part")?)))
}

/// The most processors on which a rank of each host may run. How many ranks a host has says nothing of its kind.
fn allowed(facts: &Facts) -> Values {
    let mut most: BTreeMap<String, usize> = BTreeMap::new();
    for place in facts.job.iter().flat_map(|job| &job.ranks) {
        let here = cpus::parse(&place.cpus).len();
        let most = most.entry(place.host.clone()).or_default();
        *most = here.max(*most);
    }
    most.into_iter()
        .map(|(host, count)| (host, count.to_string()))
        .collect()
}

/// Memory in GiB, where hosts that are as good as alike have the same.
fn memory(facts: &Facts) -> Values {
    let bytes = |host: &Host| host.memory_bytes("MemTotal:");
    let mut all: Vec<u64> = facts.occupied().filter_map(|(_, host, _)| bytes(host)).collect();
    all.sort_unstable();
    let middle = all.get(all.len() / 2).copied().unwrap_or(0) as f64;
    of_hosts(facts, |host| {
        let own = bytes(host)? as f64;
        let is_like = (own - middle).abs() <= LIKE_MEMORY * middle;
        let shown = if is_like { middle } else { own };
        Some(format!("{:.1} GiB", shown / f64::from(1 << 30)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> Values {
        pairs
            .iter()
            .map(|(host, value)| ((*host).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn unlike_hosts_are_named_with_what_they_have() {
        assert_eq!(unlike(&values(&[("a", "8"), ("b", "8")])), None);
        assert_eq!(unlike(&Values::new()), None);
        let found = unlike(&values(&[("a", "4"), ("b", "8"), ("c", "8")])).unwrap();
        assert_eq!(found, "b, c: 8; a: 4");
    }

    #[test]
    fn models_of_x86_and_of_arm_are_read() {
        let x86 = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 7763 64-Core Processor\n";
        assert_eq!(model(x86).unwrap(), "AMD EPYC 7763 64-Core Processor");
        let arm = "processor\t: 0\nCPU implementer\t: 0x46\nCPU part\t: 0x001\n";
        assert_eq!(model(arm).unwrap(), "0x46 0x001");
        assert_eq!(model("processor: 0"), None);
    }

    #[test]
    fn memory_that_firmware_keeps_makes_no_other_host() {
        let host = |kib: u64| Host {
            files: BTreeMap::from([("/proc/meminfo".to_owned(), format!("MemTotal: {kib} kB"))]),
            ..Host::default()
        };
        let with = |kib: u64| {
            let place = |host: &str| kilter_protocol::machine::RankPlace {
                host: host.to_owned(),
                ..Default::default()
            };
            let facts = Facts {
                hosts: BTreeMap::from([("a".to_owned(), host(64 << 20)), ("b".to_owned(), host(kib))]),
                job: Some(kilter_protocol::machine::Machine {
                    ranks: vec![place("a"), place("b")],
                    ..Default::default()
                }),
                ..Facts::default()
            };
            unlike(&memory(&facts))
        };
        assert_eq!(with((64 << 20) - (512 << 10)), None);
        assert_eq!(with(32 << 20).unwrap(), "a: 64.0 GiB; b: 32.0 GiB");
    }
}
