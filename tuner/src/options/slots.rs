//! Slots of hosts outside of an allocation: as many ranks as launchers put there unless they are told to over-subscribe.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Processors of this host, each with a folder.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// Cores of this host that the command may use, on each of which launchers put one rank; `None` where the system does not tell.
pub(super) fn here() -> Option<usize> {
    let allowed = std::thread::available_parallelism().ok()?.get();
    Some(cores(Path::new(PROCESSORS))?.min(allowed))
}

/// Cores by the lists of processors that share one; `None` where there is no such list.
fn cores(processors: &Path) -> Option<usize> {
    let mut cores = BTreeSet::new();
    for entry in std::fs::read_dir(processors).ok()?.flatten() {
        let topology = entry.path().join("topology");
        // The second is what kernels before 5.3 call it.
        let list = ["core_cpus_list", "thread_siblings_list"].map(|name| std::fs::read_to_string(topology.join(name)));
        cores.extend(list.into_iter().flatten().next());
    }
    (!cores.is_empty()).then_some(cores.len())
}

/// Slots of each host of a host file that says them of every host, such as `node1 slots=4`; empty where it does not.
pub(super) fn of_hostfile(file: &Path) -> Vec<usize> {
    std::fs::read_to_string(file).map_or_else(|_| Vec::new(), |text| told(&text))
}

/// Hosts of a host file, each with its slots where the file tells them, as `slots=4` or `:4`.
pub(super) fn hosts(text: &str) -> BTreeMap<String, Option<usize>> {
    let mut hosts = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(first) = words.next() else { continue };
        let (name, behind) = first.split_once(':').unwrap_or((first, ""));
        let slots = words.find_map(|word| word.strip_prefix("slots=")).unwrap_or(behind);
        hosts.insert(name.to_owned(), slots.parse().ok().filter(|slots| *slots > 0));
    }
    hosts
}

fn told(text: &str) -> Vec<usize> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    let slots = lines.filter(|line| !line.is_empty()).map(|line| {
        let mut words = line.split_whitespace().filter_map(|word| word.strip_prefix("slots="));
        words.next().and_then(|number| number.parse().ok())
    });
    slots.collect::<Option<Vec<usize>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_file_tells_all_slots_or_none() {
        assert_eq!(told("# two hosts\na slots=4\nb slots=2 max_slots=2\n\n"), [4, 2]);
        assert_eq!(told("a slots=4\nb\n"), [0; 0]);
        assert_eq!(told("a:4\nb:4\n"), [0; 0], "another library's form");
        assert_eq!(of_hostfile(Path::new("/nowhere/hosts")), [0; 0]);
    }

    #[test]
    fn processors_of_one_core_are_one() {
        let folder = tempfile::tempdir().unwrap();
        for (processor, siblings) in [("cpu0", "0,2"), ("cpu1", "1,3"), ("cpu2", "0,2"), ("cpu3", "1,3")] {
            let topology = folder.path().join(processor).join("topology");
            std::fs::create_dir_all(&topology).unwrap();
            std::fs::write(topology.join("thread_siblings_list"), format!("{siblings}\n")).unwrap();
        }
        std::fs::create_dir(folder.path().join("cpufreq")).unwrap();
        assert_eq!(cores(folder.path()), Some(2));
        assert_eq!(cores(&folder.path().join("cpufreq")), None);
        assert!(here().is_none_or(|cores| cores > 0));
    }
}
