//! Findings beside their name: ranks, lines, instances, times; reasons that are counted, and doubts.

use kilter_detect::detect;
use kilter_detect::model::finding::{Collective, Confidence, Detection, Finding, Reason, Root};
use kilter_detect::model::trace::{Event, Kind, Trace};

use crate::fixture::{Program, Rank, on_part, on_world, trace};
use crate::lookalikes;
use crate::patterns::{broadcast, gather};

/// The only finding of a detection.
pub(crate) fn only(detection: &Detection) -> &Finding {
    let shown: Vec<String> = detection.findings.iter().map(crate::table::shown).collect();
    assert_eq!(shown.len(), 1, "{shown:#?} {:?}", detection.filtered);
    &detection.findings[0]
}

#[test]
fn a_finding_names_ranks_lines_and_times() {
    let trace = on_part(4, &broadcast::flat);
    let detection = detect(&trace);
    let finding = only(&detection);
    assert_eq!(finding.communicator, 1);
    assert_eq!(finding.ranks, [0, 1, 2, 3]);
    assert_eq!(finding.bytes, 96);
    assert!(!finding.is_subset && finding.missing.is_empty());
    // Two lines: where the root sends, and where the others receive.
    let files: Vec<_> = finding
        .sites
        .iter()
        .map(|&site| trace.sites[site as usize].file.clone())
        .collect();
    assert_eq!(files.len(), 2);
    assert!(
        files.iter().all(|file| file.ends_with("patterns/broadcast.rs")),
        "{files:?}"
    );
    for instance in &finding.instances {
        assert_eq!(instance.root, Some(2));
        assert_eq!(instance.messages.len(), 3);
        assert!(instance.messages.iter().all(|one| one.from == 2 && one.bytes == 96));
        let first = instance.messages.iter().map(|one| one.sent_ns).min().unwrap();
        let last = instance.messages.iter().map(|one| one.received_ns).max().unwrap();
        assert_eq!((instance.begin_ns, instance.end_ns), (first, last));
    }
    let seconds: f64 = finding
        .instances
        .iter()
        .map(|one| (one.end_ns - one.begin_ns) as f64 * 1e-9)
        .sum();
    assert!((finding.seconds - seconds).abs() < 1e-12 && seconds > 0.0);
    assert_eq!(detection.doubts.matched, 9);
}

/// Barriers and broadcasts at two places of a program each.
#[test]
fn findings_are_apart_by_their_call_sites() {
    let program = |rank: &mut Rank| {
        crate::patterns::barrier::linear(rank);
        crate::patterns::barrier::dissemination(rank);
        broadcast::binomial_tree(rank);
        broadcast::chain_with_noise(rank);
    };
    let detection = detect(&on_world(7, &program));
    let found: Vec<_> = detection
        .findings
        .iter()
        .map(|one| (one.collective, one.instances.len()))
        .collect();
    let count = |collective| found.iter().filter(|one| **one == (collective, 3)).count();
    assert_eq!(
        (count(Collective::Barrier), count(Collective::Broadcast), found.len()),
        (2, 2, 4),
        "{found:?}"
    );
}

/// Two panels go down a chain side by side, each with its tag.
#[test]
fn broadcasts_that_are_under_way_at_once_are_told_apart_by_their_tags() {
    let program = |rank: &mut Rank| {
        for time in 0..3 {
            let panels = [(1, 0..200), (2, 400..600)];
            for (tag, range) in panels.clone() {
                match rank.rank {
                    0 => rank.fill(range, 10 * time + tag as u64),
                    _ => rank.receive(rank.rank - 1, tag, range),
                }
            }
            for (tag, range) in panels {
                if rank.rank + 1 < rank.size {
                    rank.send(rank.rank + 1, tag, range);
                }
            }
        }
    };
    let detection = detect(&on_world(4, &program));
    let finding = only(&detection);
    assert_eq!(
        (finding.collective, finding.instances.len(), finding.bytes),
        (Collective::Broadcast, 6, 200)
    );
}

#[test]
fn small_blocks_that_addresses_alone_join_are_only_possible() {
    let grade = |program: Once| only(&detect(&on_world(4, &program))).confidence;
    assert_eq!(grade(gather::binomial_tree), Confidence::Possible);
    assert_eq!(grade(gather::binomial_tree_large), Confidence::Likely);
    assert_eq!(grade(gather::linear), Confidence::Likely);
    assert_eq!(grade(gather::linear_shown), Confidence::Certain);
}

#[test]
fn findings_are_ordered_by_seconds() {
    let program = |rank: &mut Rank| {
        gather::linear(rank);
        broadcast::binomial_tree(rank);
    };
    let detection = detect(&on_world(7, &program));
    assert!(detection.findings.iter().all(|one| one.instances.len() == 3));
    let seconds: Vec<f64> = detection.findings.iter().map(|one| one.seconds).collect();
    assert_eq!(
        seconds.len(),
        2,
        "{:?} {:?}",
        detection.findings.iter().map(crate::table::shown).collect::<Vec<_>>(),
        detection.filtered
    );
    assert!(seconds[0] >= seconds[1], "{seconds:?}");
}

/// Rows and columns of a grid of two rows, all on one communicator.
fn rows(rank: &mut Rank) {
    let columns = rank.size / 2;
    let (row, column) = (rank.rank / columns, rank.rank % columns);
    for time in 0..4 {
        if column == 0 {
            rank.fill(0..72, time);
            for to in 1..columns {
                rank.send(row * columns + to, 1, 0..72);
            }
        } else {
            rank.receive(row * columns, 1, 0..72);
        }
    }
}

#[test]
fn recurring_sets_of_ranks_are_found() {
    let detection = detect(&on_world(8, &rows));
    let mut sets: Vec<_> = detection.findings.iter().map(|one| one.ranks.clone()).collect();
    sets.sort();
    assert_eq!(sets, [vec![0, 1, 2, 3], vec![4, 5, 6, 7]], "{:?}", detection.filtered);
    for finding in &detection.findings {
        assert!(finding.is_subset);
        assert_eq!(
            (finding.collective, finding.instances.len()),
            (Collective::Broadcast, 4)
        );
        assert_eq!(finding.root, Root::One(finding.ranks[0]));
        assert!(
            finding.why.iter().any(|why| why.contains("4 of 8 ranks do so 4 times")),
            "{:?}",
            finding.why
        );
    }
}

#[test]
fn rows_and_columns_of_a_grid_are_found_on_one_communicator() {
    let detection = detect(&on_world(9, &crate::patterns::programs::rows_and_columns));
    let shown: Vec<String> = detection.findings.iter().map(crate::table::shown).collect();
    assert_eq!(shown.len(), 6, "{shown:#?} {:?}", detection.filtered);
    for finding in &detection.findings {
        assert_eq!(
            (finding.collective, finding.instances.len()),
            (Collective::Broadcast, 6),
            "{shown:#?}"
        );
        assert_eq!((finding.ranks.len(), &finding.root), (3, &Root::Varies), "{shown:#?}");
    }
}

#[test]
fn gathers_and_exchanges_among_recurring_sets_are_found() {
    let program = |rank: &mut Rank| {
        let (row, column) = (rank.rank / 4, rank.rank % 4);
        for time in 0..3 {
            rank.fill(0..400, time);
            if column == 0 {
                for from in 1..4 {
                    let at = 5000 + from as usize * 40;
                    rank.receive(row * 4 + from, 1, at..at + 40);
                }
            } else {
                rank.send(row * 4, 1, 0..40);
            }
            for places in 1..4 {
                rank.send(
                    row * 4 + (column + places) % 4,
                    2,
                    places as usize * 40..places as usize * 40 + 40,
                );
            }
            for places in 1..4 {
                let at = 1000 + places as usize * 40;
                rank.receive(row * 4 + (column + 4 - places) % 4, 2, at..at + 40);
            }
        }
    };
    let detection = detect(&on_world(8, &program));
    let count = |collective| {
        detection
            .findings
            .iter()
            .filter(|one| one.collective == collective && one.is_subset)
            .count()
    };
    assert_eq!(
        (count(Collective::Gather), count(Collective::Alltoall)),
        (2, 2),
        "{:?}",
        detection.filtered
    );
    assert_eq!(detection.findings.len(), 4);
}

#[test]
fn reductions_and_barriers_among_recurring_sets_are_found() {
    let program = |rank: &mut Rank| {
        let (row, column) = (rank.rank / 4, rank.rank % 4);
        rank.of(kilter_detect::model::trace::Class::Real, 8);
        for time in 0..3 {
            rank.put(
                0,
                &[
                    f64::from(rank.rank).sin() + f64::from(time),
                    0.5 + f64::from(rank.rank * 7 % 5),
                ],
            );
            for bit in [1, 2] {
                let peer = row * 4 + (column ^ bit);
                rank.send(peer, 1, 0..16);
                rank.receive(peer, 1, 32..48);
                rank.combine(0..16, 32, |a, b| a * b);
            }
            for bit in [1, 2] {
                let peer = row * 4 + (column ^ bit);
                rank.send(peer, 2, 0..0);
                rank.receive(peer, 2, 0..0);
            }
        }
    };
    let detection = detect(&on_world(8, &program));
    let mut found: Vec<_> = detection
        .findings
        .iter()
        .map(|one| (one.collective, one.ranks.clone(), one.instances.len()))
        .collect();
    found.sort();
    let (left, right) = (vec![0, 1, 2, 3], vec![4, 5, 6, 7]);
    let (barrier, allreduce) = (Collective::Barrier, Collective::Allreduce);
    let all = [
        (barrier, left.clone(), 3),
        (barrier, right.clone(), 3),
        (allreduce, left, 3),
        (allreduce, right, 3),
    ];
    assert_eq!(found, all, "{:?}", detection.filtered);
    assert!(
        detection
            .findings
            .iter()
            .all(|one| one.collective != allreduce || one.operators == ["MPI_PROD"])
    );
}

/// Rank 0 takes two blocks of rank 1 before it takes the first one of the others.
#[test]
fn instances_that_interleave_at_the_root_are_no_gathers() {
    let program = |rank: &mut Rank| {
        for time in 0..3 {
            let block = |from: u32, half: usize| {
                let begin = from as usize * 96 + half * 48;
                begin..begin + 48
            };
            if rank.rank == 0 {
                for (from, half) in [(1, 0), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)] {
                    rank.receive(from, 1, block(from, half));
                }
            } else {
                for half in 0..2 {
                    rank.fill(0..48, 2 * time + half);
                    rank.send(0, 1, 0..48);
                }
            }
        }
    };
    let detection = detect(&on_world(4, &program));
    assert!(
        detection.findings.is_empty(),
        "{:?}",
        detection.findings.iter().map(crate::table::shown).collect::<Vec<_>>()
    );
    assert_eq!(
        detection.filtered.get(&Reason::OverlappingEpochs),
        Some(&1),
        "{:?}",
        detection.filtered
    );
}

#[test]
fn all_but_one_rank_are_an_incomplete_broadcast() {
    let program = |rank: &mut Rank| {
        for time in 0..3 {
            if rank.rank == 0 {
                rank.fill(0..72, time);
                (1..rank.size - 1).for_each(|to| rank.send(to, 1, 0..72));
            } else if rank.rank + 1 < rank.size {
                rank.receive(0, 1, 0..72);
            }
        }
    };
    let detection = detect(&on_world(7, &program));
    let finding = only(&detection);
    assert_eq!((finding.ranks.len(), finding.missing.as_slice()), (6, [6].as_slice()));
    assert!(finding.confidence < Confidence::Certain);
}

#[test]
fn a_set_that_does_not_recur_is_counted_and_not_reported() {
    let program = |rank: &mut Rank| {
        if rank.rank == 0 {
            rank.fill(0..72, 1);
            (1..4).for_each(|to| rank.send(to, 1, 0..72));
        } else if rank.rank < 4 {
            rank.receive(0, 1, 0..72);
        }
    };
    let detection = detect(&on_world(8, &program));
    assert!(detection.findings.is_empty());
    assert_eq!(
        detection.filtered.get(&Reason::SubsetOnce),
        Some(&1),
        "{:?}",
        detection.filtered
    );
}

#[test]
fn reasons_are_counted() {
    let filtered = |program: &Program<'_>, reason: Reason| {
        let detection = detect(&on_world(4, program));
        assert!(detection.findings.is_empty());
        assert!(
            detection.filtered.get(&reason).is_some_and(|&count| count > 0),
            "{reason:?}: {:?}",
            detection.filtered
        );
    };
    filtered(&lookalikes::ring_of_zeros, Reason::LowEntropy);
    filtered(&lookalikes::ring_of_a_number, Reason::SeveralRoots);
    filtered(&lookalikes::master_in_step, Reason::BufferReused);
    filtered(&lookalikes::master_and_workers, Reason::UnequalCounts);
    filtered(&lookalikes::neighbours_in_step, Reason::RepeatedPairs);
    filtered(&lookalikes::pipeline, Reason::NoArithmetic);
    filtered(&lookalikes::halo_of_one_cell, Reason::Neighbourhoods);
    let two = detect(&on_world(2, &broadcast::binomial_tree));
    assert!(two.findings.is_empty());
    assert_eq!(two.filtered.get(&Reason::TooFewRanks), Some(&1));
}

#[test]
fn the_operator_of_a_reduction_is_named() {
    let detection = detect(&on_world(4, &crate::patterns::reduction::tree_shown));
    assert_eq!(only(&detection).operators, ["MPI_SUM"]);
}

/// Receives of a trace.
fn receives(trace: &mut Trace) -> Vec<&mut Event> {
    let all = trace.events.iter_mut().flatten();
    all.filter(|event| matches!(event.kind, Kind::Receive { .. })).collect()
}

#[test]
fn data_that_differ_at_the_ends_are_doubted_and_the_rest_is_found() {
    let mut trace = on_world(4, &broadcast::binomial_tree);
    if let Kind::Receive { payload, .. } = &mut receives(&mut trace).remove(0).kind {
        payload.crc32 ^= 1;
    }
    let detection = detect(&trace);
    assert_eq!(detection.doubts.data_differ, 1);
    assert_eq!(only(&detection).instances.len(), 2);
}

#[test]
fn a_cancelled_send_does_not_shift_the_others() {
    let mut trace = on_world(4, &broadcast::binomial_tree);
    let first = trace.events[0][0].clone();
    let mut cancelled = first.clone();
    if let Kind::Send { payload, .. } = &mut cancelled.kind {
        payload.crc32 ^= 0xffff;
    }
    trace.events[0].insert(0, cancelled);
    let detection = detect(&trace);
    assert_eq!((detection.doubts.sends_unmatched, detection.doubts.data_differ), (1, 0));
    assert_eq!(only(&detection).instances.len(), 3);
}

type Once = fn(&mut Rank);

/// Collectives of a trace that was cut, with their instances.
fn found_in(trace: &Trace) -> Vec<(Collective, usize)> {
    detect(trace)
        .findings
        .iter()
        .map(|one| (one.collective, one.instances.len()))
        .collect()
}

#[test]
fn a_trace_may_end_within_an_instance() {
    let programs: [(Collective, Once); 4] = [
        (Collective::Gather, gather::linear),
        (Collective::Broadcast, broadcast::binomial_tree),
        (Collective::Allreduce, crate::patterns::reduction::allreduce_trees_shown),
        (Collective::Alltoall, crate::patterns::alltoall::pairwise),
    ];
    for (collective, once) in programs {
        let program = move |rank: &mut Rank| {
            once(rank);
            once(rank);
        };
        let mut trace = on_world(4, &program);
        // One rank ends before its last message.
        for rank in 0..4 {
            let mut cut = trace.clone();
            let last = cut.events[rank]
                .iter()
                .rposition(|event| !matches!(event.kind, Kind::ToSelf { .. }))
                .unwrap();
            cut.events[rank].truncate(last);
            let found = found_in(&cut);
            assert!(
                found == [(collective, 5)] || found == [(collective, 6)],
                "{collective:?} without the end of {rank}: {found:?}"
            );
        }
        assert_eq!(found_in(&trace), [(collective, 6)]);
        // The first events of a rank are overwritten.
        trace.events[3].remove(0);
        assert_eq!(found_in(&trace).first().map(|one| one.0), Some(collective));
    }
}

#[test]
fn receives_whose_sends_are_lost_do_not_shift_the_others() {
    let mut trace = on_world(4, &broadcast::flat);
    trace.events[2].drain(..3);
    let detection = detect(&trace);
    assert_eq!(
        (detection.doubts.receives_unmatched, detection.doubts.data_differ),
        (3, 0)
    );
    assert_eq!(only(&detection).instances.len(), 2);
}

#[test]
fn communicators_do_not_mix() {
    let world: Vec<u32> = (0..4).collect();
    let turned: Vec<u32> = world.iter().rev().copied().collect();
    let programs: [(u32, &Program<'_>); 2] = [(0, &broadcast::flat), (1, &broadcast::flat)];
    let detection = detect(&trace(4, &[world, turned], &programs));
    let mut communicators: Vec<u32> = detection.findings.iter().map(|one| one.communicator).collect();
    communicators.sort_unstable();
    assert_eq!(communicators, [0, 1]);
    assert!(
        detection
            .findings
            .iter()
            .all(|one| one.root == Root::One(2) && one.instances.len() == 3)
    );
}

#[test]
fn findings_survive_json() {
    let detection = detect(&on_world(7, &broadcast::redundant));
    let text = serde_json::to_string(&detection).unwrap();
    assert_eq!(serde_json::from_str::<Detection>(&text).unwrap(), detection);
}
