//! May a blocking collective replace the messages?

use kilter_detect::detect;
use kilter_detect::model::finding::{Collective, Replacement, Step};

use crate::findings::only;
use crate::fixture::{Rank, on_part, on_world};
use crate::patterns::{allgather, barrier, broadcast};

#[test]
fn plain_patterns_may_be_replaced() {
    let blocking = |name: &str| Replacement::Blocking(name.to_owned());
    for (program, name) in [
        (broadcast::chain_with_noise as fn(&mut Rank), "MPI_Bcast"),
        (broadcast::segmented_chain, "MPI_Bcast"),
        (allgather::ring, "MPI_Allgather"),
        (allgather::gather_and_broadcast_shown, "MPI_Allgather"),
        (barrier::dissemination, "MPI_Barrier"),
    ] {
        for trace in [on_world(7, &program), on_part(4, &program)] {
            assert_eq!(only(&detect(&trace)).replacement, blocking(name));
        }
    }
}

/// Broadcast down a ring as HPL makes it: ranks look if the panel is there, and work while it is not.
fn polled(rank: &mut Rank) {
    for time in 0..3 {
        if rank.rank == 0 {
            rank.fill(0..640, time);
        } else {
            rank.probe_in_vain(rank.rank - 1, 1);
            rank.pause(5000);
            rank.receive(rank.rank - 1, 1, 0..640);
        }
        if rank.rank + 1 < rank.size {
            rank.send(rank.rank + 1, 1, 0..640);
        }
    }
}

#[test]
fn receives_that_are_polled_for_want_the_non_blocking_collective() {
    let detection = detect(&on_world(4, &polled));
    let finding = only(&detection);
    assert_eq!(finding.collective, Collective::Broadcast);
    assert_eq!(finding.replacement, Replacement::NonBlocking("MPI_Ibcast".to_owned()));
    assert!(
        finding
            .why
            .iter()
            .any(|why| why.starts_with("9 of 9 receives are polled for")),
        "{:?}",
        finding.why
    );
}

#[test]
fn requests_that_are_tested_in_vain_count_as_polled() {
    let program = |rank: &mut Rank| {
        for time in 0..3 {
            if rank.rank == 0 {
                rank.fill(0..640, time);
                (1..rank.size).for_each(|to| rank.send(to, 1, 0..640));
            } else {
                let posted = rank.post(0, 1, 0..640);
                rank.pause(10);
                rank.test_in_vain();
                rank.wait(posted);
            }
        }
    };
    let detection = detect(&on_world(4, &program));
    assert_eq!(
        only(&detection).replacement,
        Replacement::NonBlocking("MPI_Ibcast".to_owned())
    );
}

#[test]
fn tests_and_probes_for_other_messages_are_no_polling() {
    let program = |rank: &mut Rank| {
        for time in 0..3 {
            rank.test_in_vain();
            if rank.rank == 0 {
                rank.fill(0..640, time);
                (1..rank.size).for_each(|to| rank.send(to, 1, 0..640));
            } else {
                rank.probe_in_vain(0, 77);
                rank.receive(0, 1, 0..640);
            }
        }
    };
    let detection = detect(&on_world(4, &program));
    assert_eq!(
        only(&detection).replacement,
        Replacement::Blocking("MPI_Bcast".to_owned())
    );
}

/// Rank 2 waits for a word of rank 1 before it takes the data, and rank 1 gives it when it has them.
fn crossed(rank: &mut Rank) {
    for time in 0..3 {
        match rank.rank {
            0 => {
                rank.fill(0..640, time);
                (1..rank.size).for_each(|to| rank.send(to, 1, 0..640));
            }
            1 => {
                rank.receive(0, 1, 0..640);
                rank.fill(2000..2040, time + 9);
                rank.send(2, 8, 2000..2040);
            }
            2 => {
                rank.receive(1, 8, 2000..2040);
                rank.receive(0, 1, 0..640);
            }
            _ => rank.receive(0, 1, 0..640),
        }
    }
}

#[test]
fn a_collective_that_would_wait_for_itself_is_refused_with_the_circle() {
    let trace = on_part(4, &crossed);
    let detection = detect(&trace);
    let Replacement::Deadlock { function, cycle } = &only(&detection).replacement else {
        panic!("{:?}", only(&detection).replacement);
    };
    assert_eq!(function, "MPI_Bcast");
    // The collective on rank 1, the word, its receive on rank 2, the collective there.
    assert_eq!(cycle.len(), 3, "{cycle:?}");
    assert!(matches!(cycle[0], Step::Collective(_)));
    let ranks: Vec<u32> = cycle[1..]
        .iter()
        .map(|step| match step {
            Step::Call { rank, .. } => *rank,
            Step::Collective(_) => panic!("{cycle:?}"),
        })
        .collect();
    let members = &trace.communicators[1].members;
    assert_eq!(ranks, [members[1], members[2]]);
}

#[test]
fn a_collective_of_the_program_in_another_order_is_a_circle() {
    let program = |rank: &mut Rank| {
        if rank.rank == 0 {
            rank.fill(0..640, 1);
            (1..rank.size).for_each(|to| rank.send(to, 1, 0..640));
            rank.collective("MPI_Barrier");
        } else {
            rank.collective("MPI_Barrier");
            rank.receive(0, 1, 0..640);
        }
    };
    let detection = detect(&on_world(4, &program));
    assert!(matches!(only(&detection).replacement, Replacement::Deadlock { .. }));
}

#[test]
fn a_token_around_broadcasts_cannot_be_a_broadcast() {
    let detection = detect(&on_world(4, &broadcast::nested));
    let of_token = detection.findings.iter().find(|one| one.bytes == 100).unwrap();
    assert!(
        matches!(of_token.replacement, Replacement::Deadlock { .. }),
        "{:?}",
        of_token.replacement
    );
    let inner = detection.findings.iter().find(|one| one.bytes == 96).unwrap();
    assert_eq!(inner.replacement, Replacement::Blocking("MPI_Bcast".to_owned()));
}

/// Two ranks broadcast at the same time: each begins with its own data, has those of the other one before it ends, and gives its own to the last.
fn woven(rank: &mut Rank) {
    const OWN: [(u32, i32, std::ops::Range<usize>); 2] = [(0, 1, 0..640), (2, 2, 1000..1560)];
    for time in 0..3 {
        let give = |rank: &mut Rank, to: &[u32], which: usize| {
            let (_, tag, data) = OWN[which].clone();
            to.iter().for_each(|to| rank.send(*to, tag, data.clone()));
        };
        let take = |rank: &mut Rank, which: usize| {
            let (from, tag, data) = OWN[which].clone();
            rank.receive(from, tag, data);
        };
        match rank.rank {
            0 => {
                rank.fill(0..640, time);
                give(rank, &[1, 2], 0);
                take(rank, 1);
                give(rank, &[3], 0);
            }
            2 => {
                rank.fill(1000..1560, time);
                give(rank, &[0, 1], 1);
                take(rank, 0);
                give(rank, &[3], 1);
            }
            _ => [0, 1].into_iter().for_each(|which| take(rank, which)),
        }
    }
}

#[test]
fn calls_that_can_stand_between_the_messages_do_not_wait_for_each_other() {
    let detection = detect(&on_world(4, &woven));
    let finding = only(&detection);
    assert_eq!(
        (finding.collective, finding.instances.len()),
        (Collective::Broadcast, 6)
    );
    assert_eq!(
        finding.replacement,
        Replacement::Blocking("MPI_Bcast".to_owned()),
        "{:?}",
        finding.why
    );
    assert!(
        finding
            .why
            .iter()
            .any(|why| why.starts_with("the call must stand between")),
        "{:?}",
        finding.why
    );
}

/// Rank 2 joins in when rank 0 tells it to, which rank 0 does when it has sent its own block.
#[test]
fn a_call_may_have_to_stand_at_the_last_message() {
    let program = |rank: &mut Rank| {
        rank.fill(0..480, 3);
        if rank.rank == 2 {
            rank.receive(0, 5, 3000..3040);
        }
        for step in 0..rank.size - 1 {
            rank.send(rank.after(1), 1, block(rank.before(step)));
            if rank.rank == 0 && step == 0 {
                rank.send(2, 5, 400..440);
            }
            rank.receive(rank.before(1), 1, block(rank.before(step + 1)));
        }
    };
    let detection = detect(&on_world(4, &program));
    let finding = only(&detection);
    assert_eq!(finding.replacement, Replacement::Blocking("MPI_Allgather".to_owned()));
    assert!(
        finding
            .why
            .iter()
            .any(|why| why.starts_with("the call must stand where")),
        "{:?}",
        finding.why
    );
}

fn block(at: u32) -> std::ops::Range<usize> {
    crate::patterns::block(at, 48)
}
