//! A layer below that fails, at every operation of every rank in turn: the error comes out, no request is left behind,
//! nobody hangs.

use std::ops::Range;

use kilter_algorithms::threads::{Network, RankError};
use kilter_algorithms::{Transport, TransportError, registry};

use crate::common::failing::{FAULT, Failing};
use crate::common::prepared::Prepared;
use crate::common::{Case, Place};

/// Runs for which ranks are started once.
const RUNS: usize = 64;

/// Operations of each rank in a call that nothing disturbs.
fn operations(prepared: &Prepared<'_>) -> Vec<usize> {
    let counted = prepared.run_by(Network::FREE, |transport| {
        let mut counting = Failing::never(transport);
        prepared.call_over(&mut counting)?;
        Ok(usize::MAX - counting.left)
    });
    let counted = counted.results();
    counted.unwrap_or_else(|(rank, error)| panic!("rank {rank}: {error}\nin {}", prepared.case))
}

/// Runs the case with the fault on rank `failing` after so many operations, one run for each number. It has to strike before the last of `all`
/// operations and not behind.
fn inject(prepared: &Prepared<'_>, failing: usize, after: Range<usize>, all: usize) {
    let Prepared { case, expected, .. } = prepared;
    let outcomes = prepared.run_each_by(after.len(), |number, transport| {
        let rank = transport.rank();
        let left = if rank == failing {
            after.start + number
        } else {
            usize::MAX
        };
        let result = prepared.call_over(&mut Failing { inner: transport, left });
        assert_eq!(
            transport.statistics().requests_open,
            0,
            "rank {rank} left requests open"
        );
        result
    });
    for (operations, outcome) in after.zip(outcomes) {
        let at = format!("fault on rank {failing} after {operations} of {all} operations\nin {case}");
        let struck = outcome.ranks[failing].result == Err(FAULT.into());
        assert_eq!(struck, operations < all, "{at}");
        for (rank, outcome) in outcome.ranks.iter().enumerate() {
            match &outcome.result {
                Ok(output) => assert!(*output == expected[rank], "rank {rank} has a wrong result; {at}"),
                Err(RankError::Transport(error)) if rank == failing => assert_eq!(*error, FAULT, "{at}"),
                Err(RankError::Transport(TransportError::PeerGone { .. } | TransportError::Deadlock { .. })) => {
                    assert!(struck, "rank {rank} failed without a fault; {at}");
                }
                Err(error) => panic!("rank {rank}: {error}; {at}"),
            }
        }
    }
}

#[test]
fn every_fault_comes_out_and_ends_the_call() {
    for algorithm in registry::algorithms() {
        for p in [2, 3, 6]
            .into_iter()
            .filter(|&p| algorithm.unmet(p, true, true).is_none())
        {
            let parameters = algorithm.parameters.iter().map(|parameter| parameter.min).collect();
            let root = if algorithm.collective.has_root() { p / 2 } else { 0 };
            // Both levels are at work, and blocks are put right.
            let place = if algorithm.id.ends_with(".two_level") {
                Place::RoundRobin(2)
            } else {
                Case::place(algorithm)
            };
            // 12 segments of the smallest size: more than can be under way.
            let case = Case {
                parameters,
                root,
                place,
                ..Case::new(algorithm.id, p, 768)
            };
            let prepared = case.prepared();
            for (failing, all) in operations(&prepared).into_iter().enumerate() {
                assert!(
                    (1..1000).contains(&all),
                    "rank {failing} does {all} operations\nin {case}"
                );
                for first in (0..=all).step_by(RUNS) {
                    inject(&prepared, failing, first..(first + RUNS).min(all + 1), all);
                }
            }
        }
    }
}
