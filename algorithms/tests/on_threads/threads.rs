//! The thread transport itself: order, lengths, model time, and that nothing hangs.

use std::sync::atomic::{AtomicUsize, Ordering};

use kilter_algorithms::threads::{Config, Network, Outcome, RankError, ThreadTransport, Threads, run, run_each};
use kilter_algorithms::{Transport, TransportError};

use crate::common::failing::Failing;

/// Both kinds of threads keep the same promises.
fn on_both(test: impl Fn(Threads)) {
    test(Threads::Light);
    test(Threads::OfSystem);
}

fn config(threads: Threads, network: Network) -> Config {
    let add = |a: &[u8], b: &mut [u8]| a.iter().zip(b).for_each(|(a, b)| *b = b.wrapping_add(*a));
    Config {
        network,
        threads,
        ..Config::new(1, add)
    }
}

fn free<R: Send>(
    threads: Threads,
    p: usize,
    body: impl Fn(&mut ThreadTransport<'_>) -> Result<R, TransportError> + Sync,
) -> Outcome<R> {
    run(p, &config(threads, Network::FREE), body)
}

fn errors<R: std::fmt::Debug>(outcome: Outcome<R>) -> Vec<RankError> {
    outcome
        .ranks
        .into_iter()
        .map(|rank| rank.result.expect_err("an error on every rank"))
        .collect()
}

#[test]
fn messages_of_a_pair_keep_their_order() {
    on_both(|threads| {
        let outcome = free(threads, 3, |transport| {
            let mut got = [0; 4];
            match transport.rank() {
                2 => {
                    for step in 0..2 {
                        for from in [1, 0] {
                            transport.recv(from, &mut got[2 * from + step..][..1])?;
                        }
                    }
                }
                rank => (0..2).try_for_each(|step| transport.send(2, &[10 * rank as u8 + step]))?,
            }
            Ok(got)
        });
        assert_eq!(outcome.results().unwrap()[2], [0, 1, 10, 11]);
    });
}

#[test]
fn a_rank_that_falls_behind_goes_on_when_no_other_one_can() {
    on_both(|threads| {
        let steps = AtomicUsize::new(0);
        let outcome = free(threads, 3, |transport| {
            if transport.rank() > 0 {
                for _ in 0..100 {
                    steps.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                }
                transport.recv(0, &mut [0])?;
                return Ok(0);
            }
            transport.fall_behind();
            let seen = steps.load(Ordering::SeqCst);
            (1..3).try_for_each(|to| transport.send(to, &[1]))?;
            Ok(seen)
        });
        assert_eq!(outcome.results().unwrap()[0], 200);
    });
}

#[test]
fn receives_take_messages_in_the_order_they_were_posted() {
    on_both(|threads| {
        let outcome = free(threads, 2, |transport| {
            let (mut first, mut second) = ([0], [0]);
            if transport.rank() == 0 {
                transport.send(1, &[1])?;
                transport.send(1, &[2])?;
            } else {
                // SAFETY: both requests are waited for below, before their buffers end.
                let (one, two) = unsafe { (transport.irecv(0, &mut first)?, transport.irecv(0, &mut second)?) };
                transport.wait(two)?;
                transport.wait(one)?;
            }
            Ok((first[0], second[0]))
        });
        assert_eq!(outcome.results().unwrap()[1], (1, 2));
    });
}

#[test]
fn another_length_is_an_error() {
    on_both(|threads| {
        let outcome = free(threads, 2, |transport| match transport.rank() {
            0 => transport.send(1, &[1, 2, 3]),
            _ => transport.recv(0, &mut [0; 2]),
        });
        let (rank, error) = outcome.results().unwrap_err();
        assert_eq!(
            (rank, error),
            (
                1,
                TransportError::Length {
                    peer: 0,
                    expected: 2,
                    got: 3
                }
                .into()
            )
        );
    });
}

#[test]
fn unreceived_messages_are_counted() {
    on_both(|threads| {
        let outcome = free(threads, 2, |transport| match transport.rank() {
            0 => (0..3).try_for_each(|_| transport.send(1, &[1])),
            _ => transport.recv(0, &mut [0]),
        });
        assert_eq!(outcome.undelivered, 2);
    });
}

#[test]
fn a_rank_that_ends_early_is_gone() {
    on_both(|threads| {
        let outcome = free(threads, 4, |transport| match transport.rank() {
            3 => Ok(()),
            rank => transport.recv(rank + 1, &mut [0]),
        });
        assert_eq!(outcome.ranks[3].result, Ok(()));
        for rank in 0..3 {
            assert_eq!(
                outcome.ranks[rank].result,
                Err(TransportError::PeerGone { peer: rank + 1 }.into())
            );
        }
    });
}

#[test]
fn a_rank_that_panics_is_gone_and_says_why() {
    on_both(|threads| {
        let outcome = free(threads, 3, |transport| {
            assert_ne!(transport.rank(), 1, "rank 1 falls");
            transport.recv(1, &mut [0])
        });
        let (rank, error) = outcome.results().unwrap_err();
        assert_eq!(rank, 1, "the cause, not the consequence on rank 0");
        assert!(
            matches!(&error, RankError::Panicked(message) if message.contains("rank 1 falls")),
            "{error}"
        );
    });
}

#[test]
fn runs_on_the_same_threads_know_nothing_of_each_other() {
    on_both(|threads| {
        let outcomes = run_each(3, 3, &config(threads, Network::FREE), |number, transport| {
            let (rank, mut left) = (transport.rank(), [0]);
            assert!((number, rank) != (1, 0), "rank 0 falls");
            let sent = [10 * number as u8 + rank as u8];
            transport.sendrecv((rank + 1) % 3, &sent, (rank + 2) % 3, &mut left)?;
            Ok((left[0], transport.statistics().messages_sent))
        });
        let [first, second, third]: [Outcome<_>; 3] = outcomes.try_into().unwrap();
        assert_eq!(first.results().unwrap(), [(2, 1), (0, 1), (1, 1)]);
        let fallen = (0, RankError::Panicked("rank 0 falls".into()));
        assert_eq!(second.results().unwrap_err(), fallen);
        assert_eq!(third.undelivered, 0);
        assert_eq!(third.results().unwrap(), [(22, 1), (20, 1), (21, 1)]);
    });
}

#[test]
fn a_panic_in_the_operator_hangs_nobody() {
    on_both(|threads| {
        // In the middle of the pipeline, with receives and sends under way on all ranks.
        let fall = |_: &[u8], b: &mut [u8]| assert_ne!(b[0], 2, "operator falls");
        let scan = kilter_algorithms::registry::find("scan.pipelined_chain").unwrap();
        let outcome = run(
            5,
            &Config {
                threads,
                ..Config::new(1, fall)
            },
            |transport| {
                let input = vec![transport.rank() as u8; 5000];
                let mut output = vec![0; 5000];
                let arguments = kilter_algorithms::Arguments {
                    input: &input,
                    output: &mut output,
                    input_blocks: &[],
                    output_blocks: &[],
                    root: 0,
                    parameters: &[256],
                };
                kilter_algorithms::registry::run(scan, &mut Failing::never(transport), arguments)
            },
        );
        assert_eq!(outcome.ranks[1].result, Ok(()));
        for (rank, outcome) in outcome.ranks.iter().enumerate() {
            assert_eq!(
                outcome.statistics.requests_open, 0,
                "requests that rank {rank} has not waited for"
            );
        }
        let (rank, error) = outcome.results().unwrap_err();
        assert_eq!(rank, 2);
        assert!(matches!(error, RankError::Panicked(_)), "{error}");
    });
}

#[test]
fn a_ring_of_receives_is_a_deadlock() {
    on_both(|threads| {
        let outcome = free(threads, 4, |transport| {
            let from = (transport.rank() + 1) % 4;
            transport.recv(from, &mut [0])
        });
        for (rank, error) in errors(outcome).into_iter().enumerate() {
            let peer = (rank + 1) % 4;
            assert_eq!(error, TransportError::Deadlock { peer }.into());
        }
    });
}

#[test]
fn a_deadlock_is_seen_when_the_last_other_rank_leaves() {
    on_both(|threads| {
        let outcome = free(threads, 3, |transport| match transport.rank() {
            2 => Ok(()),
            rank => transport.recv(1 - rank, &mut [0]),
        });
        let (_, error) = outcome.results().unwrap_err();
        assert!(
            matches!(error, RankError::Transport(TransportError::Deadlock { .. })),
            "{error}"
        );
    });
}

#[test]
fn a_rank_waiting_for_itself_is_a_deadlock() {
    on_both(|threads| {
        let outcome = free(threads, 1, |transport| transport.recv(0, &mut [0]));
        assert_eq!(errors(outcome), [TransportError::Deadlock { peer: 0 }.into()]);
        let own = free(threads, 1, |transport| {
            let mut got = [0];
            transport.sendrecv(0, &[7], 0, &mut got)?;
            Ok(got)
        });
        assert_eq!(own.results().unwrap(), [[7]]);
    });
}

/// A rank whose clean-up waits for others must not keep them waiting: its error counts at once.
#[test]
fn after_an_error_no_wait_blocks() {
    on_both(|threads| {
        let outcome = free(threads, 2, |transport| {
            if transport.rank() == 1 {
                return transport.send(0, &[1, 2]).and_then(|()| transport.recv(0, &mut [0]));
            }
            let error = transport.recv(1, &mut [0]).unwrap_err();
            assert_eq!(transport.recv(1, &mut [0]), Err(TransportError::PeerGone { peer: 0 }));
            Err(error)
        });
        let (rank, error) = outcome.results().unwrap_err();
        assert_eq!(
            (rank, error),
            (
                0,
                TransportError::Length {
                    peer: 1,
                    expected: 1,
                    got: 2
                }
                .into()
            )
        );
    });
}

const NETWORK: Network = Network {
    latency: 100.0,
    alpha: 10.0,
    beta: 1.0,
    gamma: 2.0,
};

fn times(
    threads: Threads,
    p: usize,
    body: impl Fn(&mut ThreadTransport<'_>) -> Result<(), TransportError> + Sync,
) -> Vec<f64> {
    let outcome = run(p, &config(threads, NETWORK), body);
    let times = outcome.ranks.iter().map(|rank| rank.statistics.seconds).collect();
    outcome.results().expect("no errors");
    times
}

#[test]
fn time_of_one_message() {
    on_both(|threads| {
        let times = times(threads, 2, |transport| match transport.rank() {
            0 => transport.send(1, &[0; 5]),
            _ => transport.recv(0, &mut [0; 5]),
        });
        assert_eq!(times, [15.0, 115.0]);
    });
}

#[test]
fn both_directions_at_once() {
    on_both(|threads| {
        let times = times(threads, 2, |transport| {
            let other = 1 - transport.rank();
            transport.sendrecv(other, &[0; 5], other, &mut [0; 5])
        });
        assert_eq!(times, [115.0, 115.0]);
    });
}

#[test]
fn a_port_takes_one_message_at_a_time() {
    on_both(|threads| {
        let times = times(threads, 3, |transport| match transport.rank() {
            0 => [1, 2]
                .into_iter()
                .try_for_each(|from| transport.recv(from, &mut [0; 5])),
            _ => transport.send(0, &[0; 5]),
        });
        assert_eq!(times, [130.0, 15.0, 15.0]);
    });
}

#[test]
fn a_receive_posted_before_the_operator_overlaps_it() {
    on_both(|threads| {
        let receive_after = |post_first: bool| {
            times(threads, 2, move |transport| {
                if transport.rank() == 0 {
                    return transport.send(1, &[0; 50]);
                }
                let (mut data, mut operand) = ([0; 50], [0; 100]);
                if post_first {
                    // SAFETY: waited for two lines below.
                    let request = unsafe { transport.irecv(0, &mut data) }?;
                    transport.reduce_local(&[0; 100], &mut operand)?;
                    transport.wait(request)
                } else {
                    transport.reduce_local(&[0; 100], &mut operand)?;
                    transport.recv(0, &mut data)
                }
            })[1]
        };
        // The operator takes 200; the message arrives from 100 to 160.
        assert_eq!(receive_after(true), 200.0);
        assert_eq!(receive_after(false), 260.0);
    });
}

#[test]
fn statistics_count() {
    on_both(|threads| {
        let outcome = free(threads, 2, |transport| {
            let other = 1 - transport.rank();
            let scratch = transport.take_scratch(10)?;
            transport.give_scratch(scratch);
            transport.send(other, &[1, 2])?;
            let mut got = [0; 2];
            transport.recv(other, &mut got)?;
            transport.reduce_local(&[5, 5], &mut got)?;
            let mut copy = [0; 2];
            transport.copy(&got, &mut copy);
            Ok(copy)
        });
        assert_eq!(outcome.critical_path().rounds, 2.0, "a send, then a receive");
        for rank in &outcome.ranks {
            assert_eq!(rank.result, Ok([6, 7]));
            let s = &rank.statistics;
            assert_eq!(
                (s.messages_sent, s.bytes_sent, s.bytes_reduced, s.bytes_copied),
                (1, 2, 2, 2)
            );
            assert_eq!((s.scratch_allocations, s.seconds), (1, 0.0));
        }
    });
}

/// Cleaning up after a panic may wait for messages; the others must see the rank gone all the same.
#[test]
fn while_a_panic_unwinds_no_wait_blocks() {
    on_both(|threads| {
        struct CleansUp<'t, 'a>(&'t mut ThreadTransport<'a>);
        impl Drop for CleansUp<'_, '_> {
            fn drop(&mut self) {
                assert_eq!(self.0.recv(0, &mut [0]), Err(TransportError::PeerGone { peer: 1 }));
            }
        }
        let outcome = free(threads, 2, |transport| {
            if transport.rank() == 1 {
                let _cleans_up = CleansUp(transport);
                panic!("rank 1 falls");
            }
            transport.recv(1, &mut [0])
        });
        assert_eq!(
            outcome.ranks[0].result,
            Err(TransportError::PeerGone { peer: 1 }.into())
        );
        assert_eq!(outcome.ranks[1].result, Err(RankError::Panicked("rank 1 falls".into())));
    });
}
