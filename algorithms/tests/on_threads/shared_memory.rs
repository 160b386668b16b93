//! Calls in shared memory that follow each other: of any rows, roots and sizes, with ranks that are late in ever other ways. A slot
//! that is written again too early, or read too early, gives a wrong result here.

use kilter_algorithms::threads::{Config, Network, Threads, run};
use kilter_algorithms::{Algorithm, Collective, Need, Transport, TransportError, registry};

use crate::common::{Case, Op, Place};

fn rows() -> Vec<&'static Algorithm> {
    registry::algorithms()
        .filter(|row| row.needs.contains(&Need::OneNode))
        .collect()
}

/// Multiplicative congruential, Lewis, Goodman and Miller 1969, doi:10.1147/sj.82.0136: the same on all ranks.
fn next(state: &mut u64, below: usize) -> usize {
    *state = *state * 16_807 % 2_147_483_647;
    (*state >> 7) as usize % below
}

/// A case of the rows in turn; blocks of up to several segments.
fn cases(p: usize, calls: usize, seed: u64) -> Vec<Case> {
    let mut state = seed;
    let rows = rows();
    (0..calls)
        .map(|_| {
            let row = rows[next(&mut state, rows.len())];
            let count = match row.collective {
                Collective::Barrier => 0,
                _ => [1, 3, 100, 400][next(&mut state, 4)],
            };
            Case {
                root: if row.collective.has_root() {
                    next(&mut state, p)
                } else {
                    0
                },
                op: Op::Compose,
                parameters: row.parameters.iter().map(|parameter| parameter.min).collect(),
                ..Case::new(row.id, p, count)
            }
        })
        .collect()
}

#[test]
fn calls_that_follow_each_other_do_not_disturb_each_other() {
    for (p, threads) in [2, 3, 4, 7]
        .into_iter()
        .flat_map(|p| [(p, Threads::Light), (p, Threads::OfSystem)])
    {
        for seed in 1..=8 {
            let cases = cases(p, 60, seed * 7919);
            let prepared: Vec<_> = cases.iter().map(Case::prepared).collect();
            let config = Config {
                threads,
                ..cases[0].config(Network::FREE)
            };
            let outcome = run(p, &config, |transport| {
                let rank = transport.rank();
                let mut state = seed * 31 + rank as u64 + 1;
                for (number, prepared) in prepared.iter().enumerate() {
                    // Now this rank, now another one falls behind by as many calls as the others can make without it.
                    if next(&mut state, 6) == 0 {
                        transport.fall_behind();
                    }
                    assert!(
                        prepared.call(transport)? == prepared.expected[rank],
                        "call {number} is wrong on rank {rank}\nin {}",
                        prepared.case
                    );
                }
                Ok(())
            });
            outcome
                .results()
                .unwrap_or_else(|error| panic!("p = {p}, {threads:?}, seed {seed}: {error:?}"));
        }
    }
}

#[test]
fn ranks_on_several_nodes_are_told_so() {
    for row in rows() {
        let count = usize::from(row.collective.has_data());
        let case = Case {
            place: Place::Filled(2),
            ..Case::new(row.id, 3, count)
        };
        for rank in case.prepared().run(Network::FREE).ranks {
            let error = rank.result.unwrap_err();
            let is_said = matches!(
                error,
                kilter_algorithms::threads::RankError::Transport(TransportError::NoSharedMemory { .. })
            );
            assert!(is_said, "{error}\nin {case}");
        }
    }
}
