//! Lists of processors as the kernel and hwloc write them, such as `0-3,8`, and the processing units of a host.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The numbers of a list such as `0-3,8`; other words are left out.
#[must_use]
pub fn parse(text: &str) -> BTreeSet<usize> {
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(low), Ok(high)) = (low.trim().parse::<usize>(), high.trim().parse::<usize>()) {
            // A damaged list must not make a set of everything.
            cpus.extend((low..=high).take(1 << 16));
        }
    }
    cpus
}

/// The list of these numbers, each by itself: every reader of such lists understands that form.
#[must_use]
pub fn list(cpus: impl IntoIterator<Item = usize>) -> String {
    let words: Vec<String> = cpus.into_iter().map(|cpu| cpu.to_string()).collect();
    words.join(",")
}

/// The processing units (hardware threads) of rank 0's host that the job may use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessingUnits {
    /// Their numbers in the operating system, as a list such as `0-3,8`.
    pub granted: String,
    /// Processing units to which the launcher bound each rank of this host, in the order of the ranks.
    pub of_ranks: Vec<String>,
    /// Source of the numbers, such as `hwloc`.
    pub by: String,
}

impl ProcessingUnits {
    /// Number of processing units, at least 1: something runs.
    #[must_use]
    pub fn count(&self) -> u32 {
        u32::try_from(parse(&self.granted).len()).unwrap_or(u32::MAX).max(1)
    }

    /// One for a further thread of each rank of this host, in the order of the ranks, such that every rank keeps one to compute on
    /// and no two threads share one: of its own, the last first, since launchers and systems begin at the front, else of those that
    /// no rank was given. `None` where there are not enough.
    #[must_use]
    pub fn spare(&self) -> Option<Vec<usize>> {
        let granted = parse(&self.granted);
        let of_ranks: Vec<BTreeSet<usize>> = self.of_ranks.iter().map(|list| parse(list)).collect();
        let bound: BTreeSet<usize> = of_ranks.iter().flatten().copied().collect();
        let free: Vec<usize> = granted.difference(&bound).copied().collect();
        let mut taken = BTreeSet::new();
        let mut spare = Vec::new();
        for own in &of_ranks {
            // Those that share these units compute on them as well.
            let sharing = of_ranks.iter().filter(|other| !other.is_disjoint(own)).count();
            let left = own.iter().filter(|cpu| !taken.contains(*cpu)).count();
            let of_own = own.iter().rev().filter(|_| left > sharing);
            let cpu = of_own.chain(&free).copied().find(|cpu| !taken.contains(cpu))?;
            taken.insert(cpu);
            spare.push(cpu);
        }
        (!spare.is_empty()).then_some(spare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(granted: &str, of_ranks: &[&str]) -> ProcessingUnits {
        ProcessingUnits {
            granted: granted.to_owned(),
            of_ranks: of_ranks.iter().map(|&list| list.to_owned()).collect(),
            by: String::new(),
        }
    }

    #[test]
    fn lists_are_read_and_written() {
        assert_eq!(parse("0-3,8\n"), BTreeSet::from([0, 1, 2, 3, 8]));
        assert_eq!(parse(""), BTreeSet::new());
        assert_eq!(parse("x,2"), BTreeSet::from([2]));
        assert_eq!(list([6, 7]), "6,7");
        assert_eq!((units("0-3,8", &[]).count(), units("", &[]).count()), (5, 1));
    }

    #[test]
    fn a_spare_unit_is_one_on_which_nobody_computes() {
        let spare = |granted, of_ranks: &[&str]| units(granted, of_ranks).spare();
        // Bound to cores, others are free.
        assert_eq!(spare("0-3", &["0", "1"]), Some(vec![2, 3]));
        assert_eq!(spare("0-2", &["0", "1"]), None, "one is free, and two threads want one");
        assert_eq!(spare("0-1", &["0", "1"]), None);
        // Bound to sockets.
        assert_eq!(spare("0-7", &["0-3", "4-7"]), Some(vec![3, 7]));
        // Not bound.
        assert_eq!(spare("0-3", &["0-3", "0-3"]), Some(vec![3, 2]));
        assert_eq!(spare("0-2", &["0-2", "0-2"]), None);
        assert_eq!(spare("0-1", &["0-1", "0-1"]), None);
        // Two ranks of one socket beside one of another.
        assert_eq!(spare("0-5", &["0-3", "0-3", "4-5"]), Some(vec![3, 2, 5]));
        assert_eq!(spare("0-3", &[]), None, "of ranks nothing is known");
    }
}
