use std::collections::BTreeMap;

use super::*;
use crate::clocks::tests::{CLOCKS, three_hosts};

/// Calls of four ranks: kind r is that of rank r.
struct Four {
    function: [&'static str; 4],
    members: Vec<u32>,
    halvings: [u32; 4],
}

impl Job for Four {
    fn members(&self, _: usize) -> &[u32] {
        &self.members
    }
    fn function(&self, calls: usize) -> &str {
        self.function[calls]
    }
    fn choice(&self, rank: u32) -> Choice {
        Choice::new(1, self.halvings[rank as usize])
    }
}

fn job(function: &'static str) -> Four {
    Four {
        function: [function; 4],
        members: vec![0, 1, 2, 3],
        halvings: [0; 4],
    }
}

const MS: i64 = 1_000_000;
const AT: i64 = 50_000_000_000;

/// A call to which the ranks come and which they leave at these milliseconds, each on its own clock.
fn call(number: u64, times: [(i64, i64); 4], root: Option<u32>) -> Vec<Sample> {
    let clocks = [CLOCKS[0], CLOCKS[0], CLOCKS[1], CLOCKS[2]];
    let sample = |(rank, (begin, end)): (u32, (i64, i64))| Sample {
        communicator: 0,
        number,
        rank,
        calls: rank as usize,
        begin_ns: clocks[rank as usize].at(AT + begin * MS).cast_unsigned(),
        took_ns: ((end - begin) * MS).cast_unsigned(),
        is_root: root == Some(rank),
    };
    (0..).zip(times).map(sample).collect()
}

fn clocks() -> Clocks {
    Clocks::new(three_hosts(CLOCKS, (500, 500)))
}

/// Milliseconds of waiting of the ranks.
fn waiting(split: &Split) -> Vec<i64> {
    let rounded = |kind: &Measured| (kind.waiting * 1e3).round() as i64;
    split.measured.iter().map(rounded).collect()
}

#[test]
fn all_wait_for_the_last_over_clocks_that_differ() {
    let times = [(0, 12), (4, 12), (10, 12), (1, 13)];
    let split = of(call(0, times, None), 4, &clocks(), &job("MPI_Allreduce"));
    assert_eq!(waiting(&split), [10, 6, 0, 9]);
    let transfer: Vec<i64> = split
        .measured
        .iter()
        .map(|kind| (kind.transfer * 1e3).round() as i64)
        .collect();
    assert_eq!(transfer, [2, 2, 2, 3]);
    assert_eq!(
        split.measured.iter().map(|kind| kind.last).collect::<Vec<_>>(),
        [0, 0, 1, 0]
    );
    assert!((split.measured[2].caused - 0.025).abs() < 1e-6, "{split:?}");
    assert_eq!(split.unmatched, 0);
}

/// Clocks that were compared on a busy machine are apart by a millisecond: rank 2 seems to come when the others have left, who cannot have left without it.
#[test]
fn who_comes_within_the_clocks_bound_is_waited_for() {
    let times = [(0, 10), (4, 10), (11, 13), (1, 10)];
    let waits = |clocks: &Clocks| waiting(&of(call(0, times, None), 4, clocks, &job("MPI_Allreduce")));
    assert_eq!(waits(&clocks()), [4, 0, 0, 3], "nobody waits for rank 2");
    let loose = Clocks::new(three_hosts(CLOCKS, (1_000_000, 1_000_000)));
    assert!(loose.bound_ns() >= 1_000_000, "{}", loose.bound_ns());
    // Until they left.
    assert_eq!(waits(&loose), [10, 6, 0, 9]);
}

#[test]
fn roots_and_scans_wait_for_those_whose_data_they_need() {
    // Rank 2 comes late; rank 1 is the root.
    let times = [(0, 5), (3, 6), (20, 21), (1, 5)];
    for (function, root, expected) in [
        // The root does not stay for rank 2, and the others have waited for the root alone.
        ("MPI_Bcast", Some(1), [3, 0, 0, 2]),
        ("MPI_Barrier", None, [3, 0, 0, 2]),
        // Rank 0 waits for nobody, rank 3 for all before it that came before it left.
        ("MPI_Scan", None, [0, 0, 0, 2]),
    ] {
        let split = of(call(0, times, root), 4, &clocks(), &job(function));
        assert_eq!(waiting(&split), expected, "{function}");
    }
    // The root of a reduction stays until the last has come; the others leave when their data is gone.
    let times = [(0, 1), (3, 22), (20, 21), (1, 4)];
    let split = of(call(0, times, Some(1)), 4, &clocks(), &job("MPI_Reduce"));
    assert_eq!(waiting(&split), [0, 17, 0, 2]);
    assert!((split.measured[2].caused - 0.017).abs() < 1e-6, "{split:?}");
}

#[test]
fn calls_that_lack_a_rank_or_do_not_belong_together_are_counted() {
    let times = [(0, 12), (4, 12), (10, 12), (1, 13)];
    let mut samples = call(0, times, None);
    samples.extend(call(1, times, None).into_iter().take(3));
    let split = of(samples.clone(), 4, &clocks(), &job("MPI_Barrier"));
    assert_eq!((split.unmatched, split.measured[0].calls), (1, 1));
    // Rank 3's clock is not known.
    let mut known = three_hosts(CLOCKS, (500, 500));
    known.remove(&3);
    let split = of(samples.clone(), 4, &Clocks::new(known), &job("MPI_Barrier"));
    assert_eq!((split.unmatched, split.measured[0].calls), (2, 0));
    // One rank counted otherwise.
    let mut other = job("MPI_Barrier");
    other.function[1] = "MPI_Bcast";
    assert_eq!(of(samples, 4, &clocks(), &other).unmatched, 2);
}

#[test]
fn a_communicator_without_the_missing_rank_is_split_on_one_clock() {
    let mut known: BTreeMap<_, _> = three_hosts(CLOCKS, (500, 500));
    known.retain(|rank, _| *rank < 2);
    let mut pair = job("MPI_Barrier");
    pair.members = vec![1, 0];
    let samples: Vec<Sample> = call(0, [(0, 12), (4, 12), (0, 0), (0, 0)], None)
        .into_iter()
        .take(2)
        .collect();
    let split = of(samples, 4, &Clocks::new(known), &pair);
    assert_eq!((waiting(&split), split.unmatched), (vec![4, 0, 0, 0], 0));
}

#[test]
fn what_a_full_memory_dropped_is_not_missed() {
    let mut full = job("MPI_Barrier");
    full.halvings[2] = 3;
    let times = [(0, 12), (4, 12), (10, 12), (1, 13)];
    let kept = full.choice(2);
    let samples: Vec<Sample> = (0..64)
        .flat_map(|number| call(number, times, None))
        .filter(|sample| sample.rank != 2 || kept.has(sample.number))
        .collect();
    let split = of(samples, 4, &clocks(), &full);
    let left = (0..64).filter(|number| kept.has(*number)).count() as u64;
    assert!(left < 32);
    assert_eq!((split.unmatched, split.measured[0].calls), (0, left));
}
