//! Cases on ranks that are started once for many of them: starting threads takes far longer than a call.

use std::fmt;

use kilter_algorithms::Transport;
use kilter_algorithms::threads::{Network, Outcome, RankError, run, run_each};

use super::failing::Failing;
use super::prepared::Prepared;
use super::{Case, races};

/// Cases for which ranks are started once, and bytes that these hold at most.
const MOST_CALLS: usize = 64;
const MOST_BYTES: usize = 8 << 20;

/// Checks all cases, on any network where everything is free: those that may share ranks follow each other on them. What fails there is run by itself, which
/// says the case.
pub(crate) fn check_all(mut cases: Vec<Case>) {
    // Stable, so that the order of the others is kept.
    cases.sort_by_key(|case| (case.p, case.element_bytes, format!("{:?} {:?}", case.op, case.place)));
    for now in together(&cases) {
        if let Err(failure) = follow_each_other(now) {
            for case in now {
                case.check(Network::FREE);
            }
            panic!(
                "{failure}, though each of these {} calls alone is right; they begin with {}",
                now.len(),
                now[0]
            );
        }
    }
}

/// Checks cases as [`Case::check`] does, each in a run of its own, and hands out how each ended. Ranks take turns, since what is counted does not depend
/// on their races.
pub(crate) fn check_each(network: Network, cases: &[Case], mut ended: impl FnMut(&Case, &Outcome<Vec<u8>>)) {
    for now in together(cases) {
        let prepared: Vec<Prepared<'_>> = now.iter().map(Case::prepared).collect();
        let outcomes = run_each(now[0].p, now.len(), &now[0].config(network), |number, transport| {
            prepared[number].call(transport)
        });
        for (prepared, outcome) in prepared.iter().zip(&outcomes) {
            prepared.compare(outcome);
            ended(prepared.case, outcome);
        }
    }
}

/// Checks barriers of the same ranks, each with the rank that enters it last: no rank may leave it before that.
pub(crate) fn check_barriers(barriers: &[(usize, Case)]) {
    let Some((_, first)) = barriers.first() else { return };
    let network = Network {
        gamma: 1.0,
        ..Network::FREE
    };
    let (config, _turn) = races::config(first, network);
    let outcomes = run_each(first.p, barriers.len(), &config, |number, transport| {
        let (late, case) = &barriers[number];
        if transport.rank() == *late {
            let mut work = vec![0; 100 * case.element_bytes];
            transport.reduce_local(&vec![0; 100 * case.element_bytes], &mut work)?;
        }
        let entered = transport.statistics().seconds;
        case.call(&mut Failing::never(transport), &[], &mut [])?;
        Ok((entered, transport.statistics().seconds))
    });
    for ((late, case), outcome) in barriers.iter().zip(outcomes) {
        let times = outcome.results().unwrap_or_else(|error| panic!("{error:?}\nin {case}"));
        let last = times[*late].0;
        assert!(
            last > 0.0 && times.iter().all(|(_, left)| *left >= last),
            "{times:?}\nin {case}"
        );
    }
}

/// The cases in order, those together that may share ranks.
fn together(mut rest: &[Case]) -> impl Iterator<Item = &[Case]> {
    std::iter::from_fn(move || {
        let first = rest.first()?;
        let mut bytes = 0;
        let count = rest
            .iter()
            .take(MOST_CALLS)
            .take_while(|case| {
                bytes += case.held_bytes();
                case.shares_ranks_with(first) && (bytes <= MOST_BYTES || bytes == case.held_bytes())
            })
            .count();
        let (now, later) = rest.split_at(count);
        rest = later;
        Some(now)
    })
}

/// A failure of calls that follow each other.
enum Failure {
    OnRank(usize, RankError),
    Undelivered(usize),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::OnRank(rank, error) => write!(f, "rank {rank}: {error}"),
            Failure::Undelivered(messages) => write!(f, "{messages} messages that nobody received"),
        }
    }
}

/// Runs cases of the same ranks one after the other and compares each with the reference.
fn follow_each_other(cases: &[Case]) -> Result<(), Failure> {
    let Some(first) = cases.first() else { return Ok(()) };
    let prepared: Vec<Prepared<'_>> = cases.iter().map(Case::prepared).collect();
    let (config, _turn) = races::config(first, Network::FREE);
    let outcome = run(first.p, &config, |transport| {
        for prepared in &prepared {
            let case = prepared.case;
            let output = prepared.call(transport)?;
            let statistics = transport.statistics();
            let open = (statistics.requests_open, statistics.scratch_open);
            assert!(
                output == prepared.expected[transport.rank()],
                "a wrong result of {case}"
            );
            assert_eq!(open, (0, 0), "requests and scratch buffers left open by {case}");
        }
        Ok(())
    });
    let undelivered = outcome.undelivered;
    outcome
        .results()
        .map_err(|(rank, error)| Failure::OnRank(rank, error))?;
    match undelivered {
        0 => Ok(()),
        messages => Err(Failure::Undelivered(messages)),
    }
}

impl Case {
    /// Bytes that a run of the case holds: what all ranks give and get.
    fn held_bytes(&self) -> usize {
        let blocks = if self.algorithm.collective.has_blocks() {
            self.p
        } else {
            1
        };
        2 * self.p * blocks * self.count * self.element_bytes
    }

    /// True if one configuration of the ranks is for both.
    fn shares_ranks_with(&self, other: &Case) -> bool {
        let key = |case: &Case| (case.p, case.element_bytes, case.op, case.place);
        key(self) == key(other) && self.algorithm.id == other.algorithm.id
    }
}
