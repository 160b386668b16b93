//! Schedules of messages, and items on a part of the ranks: repeated with right data, and refused where they make no sense.

use kilter_algorithms::{Collective, registry};
use kilter_protocol::plan::{Among, Block, Blocks, Element, Implementation, Item, Operand, Operator};
use kilter_protocol::schedule::{Combination, Message, Schedule, Step};
use kilter_protocol::task::Task;

use crate::worker::job::{Finished, Job, block, item};

fn message(from: u32, to: u32, bytes: u64, from_at: u64, to_at: u64) -> Message {
    Message {
        from,
        to,
        bytes,
        from_at,
        to_at,
    }
}

/// The root sends the same to one rank after the other, where it comes to another place.
fn linear_broadcast(ranks: u32, root: u32, bytes: u64) -> Schedule {
    let others: Vec<u32> = (0..ranks).filter(|rank| *rank != root).collect();
    let number = |rank: u32| others.iter().position(|other| *other == rank).map(|at| at as u32);
    Schedule {
        memory: vec![bytes + 64; ranks as usize],
        messages: others.iter().map(|&to| message(root, to, bytes, 0, 64)).collect(),
        steps: (0..ranks)
            .map(|rank| match number(rank) {
                Some(own) => vec![Step::Receive(own)],
                None => (0..ranks - 1).map(Step::Send).collect(),
            })
            .collect(),
    }
}

/// Every rank sends its block, and what it received last, to the right: after all rounds everyone has all blocks.
fn ring_allgather(ranks: u32, block: u64) -> Schedule {
    let mut messages = Vec::new();
    let mut steps = vec![Vec::new(); ranks as usize];
    for round in 0..ranks - 1 {
        let first = messages.len() as u32;
        for rank in 0..ranks {
            let at = u64::from((rank + ranks - round) % ranks) * block;
            messages.push(message(rank, (rank + 1) % ranks, block, at, at));
        }
        for rank in 0..ranks {
            let (sent, received) = (first + rank, first + (rank + ranks - 1) % ranks);
            steps[rank as usize].extend([
                Step::Post(received),
                Step::Start(sent),
                Step::Complete(vec![received, sent]),
            ]);
        }
    }
    Schedule {
        memory: vec![block * u64::from(ranks); ranks as usize],
        messages,
        steps,
    }
}

/// Empty messages to rank 0, and answers if it lets go.
fn central_barrier(ranks: u32, lets_go: bool) -> Schedule {
    let mut schedule = Schedule {
        memory: vec![0; ranks as usize],
        messages: Vec::new(),
        steps: vec![Vec::new(); ranks as usize],
    };
    for rank in 1..ranks {
        schedule.messages.push(message(rank, 0, 0, 0, 0));
        schedule.steps[0].push(Step::Receive(rank - 1));
        schedule.steps[rank as usize].push(Step::Send(rank - 1));
    }
    for rank in (1..ranks).filter(|_| lets_go) {
        let number = schedule.messages.len() as u32;
        schedule.messages.push(message(0, rank, 0, 0, 0));
        schedule.steps[0].push(Step::Send(number));
        schedule.steps[rank as usize].push(Step::Receive(number));
    }
    schedule
}

/// Every rank sends its numbers to the last one, which adds what comes to its own.
fn linear_reduce(ranks: u32, bytes: u64) -> Schedule {
    let root = ranks - 1;
    let sum = Combination {
        from_at: 0,
        to_at: bytes,
        bytes,
    };
    Schedule {
        memory: vec![2 * bytes; ranks as usize],
        messages: (0..root).map(|from| message(from, root, bytes, bytes, 0)).collect(),
        steps: (0..ranks)
            .map(|rank| {
                if rank < root {
                    return vec![Step::Send(rank)];
                }
                (0..root)
                    .flat_map(|from| [Step::Receive(from), Step::Combine(sum)])
                    .collect()
            })
            .collect(),
    }
}

fn by(id: &str, task: impl Into<Task>, bytes: u64, implementation: Implementation) -> Item {
    Item {
        implementation,
        ..item(id, task, bytes, "")
    }
}

fn among(members: &[u32], root: u32, implementation: Implementation) -> Implementation {
    Implementation::Among(Box::new(Among {
        members: members.to_vec(),
        root,
        blocks: None,
        operand: None,
        implementation,
    }))
}

/// An implementation whose blocks have these lengths.
fn with_counts(
    id: &str,
    collective: Collective,
    members: &[u32],
    blocks: &Blocks,
    implementation: Implementation,
) -> Item {
    let part = Among {
        members: members.to_vec(),
        root: 1,
        blocks: Some(blocks.clone()),
        operand: None,
        implementation,
    };
    by(id, collective, blocks.bytes(), Implementation::Among(Box::new(part)))
}

fn expression(text: &str) -> Implementation {
    Implementation::Expression { text: text.to_owned() }
}

fn row(id: &str) -> Implementation {
    Implementation::Algorithm {
        id: id.to_owned(),
        parameters: Vec::new(),
    }
}

fn assert_measured(finished: &Finished, blocks: &[Block]) {
    assert_eq!(finished.failures(), []);
    for block in blocks {
        for item in &block.items {
            assert!(finished.was_repeated(&block.id, &item.id), "{} {}", block.id, item.id);
        }
    }
}

fn schedules_are_repeated_beside_the_collective() {
    let broadcast = |bytes: u64| {
        let schedule = Implementation::Schedule(linear_broadcast(4, 2, bytes));
        let all = [0, 1, 2, 3];
        block(
            &format!("broadcast {bytes}"),
            vec![
                by("by hand", Collective::Bcast, bytes, schedule),
                by(
                    "library",
                    Collective::Bcast,
                    bytes,
                    among(&all, 2, expression("bcast(n)")),
                ),
                by("row", Collective::Bcast, bytes, among(&all, 2, row("bcast.binomial"))),
            ],
        )
    };
    let allgather = Implementation::Schedule(ring_allgather(4, 30_000));
    let blocks = [
        broadcast(0),
        broadcast(1),
        broadcast(100_000),
        block(
            "allgather",
            vec![by("by hand", Collective::Allgather, 120_000, allgather)],
        ),
        block(
            "barrier",
            vec![by(
                "by hand",
                Collective::Barrier,
                0,
                Implementation::Schedule(central_barrier(4, true)),
            )],
        ),
    ];
    let finished = Job::new(4).run_well(&blocks);
    assert_measured(&finished, &blocks);
}

/// The root of the part is not that of the job, and the members come in another order.
fn a_part_of_the_ranks_measures_while_the_others_wait() {
    let part = [4, 0, 3];
    let of_part = |id: &str, collective: Collective, bytes, implementation| {
        by(id, collective, bytes, among(&part, 1, implementation))
    };
    let bytes = 50_000 * 3;
    let blocks = [
        block(
            "broadcast",
            vec![
                of_part(
                    "by hand",
                    Collective::Bcast,
                    bytes,
                    Implementation::Schedule(linear_broadcast(3, 1, bytes)),
                ),
                of_part("library", Collective::Bcast, bytes, expression("bcast(n)")),
                of_part("row", Collective::Bcast, bytes, row("bcast.binomial")),
                of_part("gathered", Collective::Gather, bytes, expression("gather(n)")),
                // All ranks again, in the same block.
                item("everyone", Collective::Bcast, bytes, "bcast(n)"),
            ],
        ),
        block(
            "barrier",
            vec![
                of_part(
                    "by hand",
                    Collective::Barrier,
                    0,
                    Implementation::Schedule(central_barrier(3, true)),
                ),
                of_part("library", Collective::Barrier, 0, expression("barrier")),
            ],
        ),
    ];
    let finished = Job::new(5).run_well(&blocks);
    assert_measured(&finished, &blocks);
}

/// Numbers of each type, and bytes, by each operator that takes them: each side combines what the item says, whatever the job combines.
fn ranks_combine_what_messages_bring() {
    let of = |operand: Operand| {
        let part = |id: &str, implementation| {
            let part = Among {
                members: vec![2, 0, 1],
                root: 2,
                blocks: None,
                operand: Some(operand),
                implementation,
            };
            by(id, Collective::Reduce, 8000, Implementation::Among(Box::new(part)))
        };
        block(
            &operand.to_string(),
            vec![
                part("by hand", Implementation::Schedule(linear_reduce(3, 8000))),
                part("library", expression("reduce(n)")),
                part("row", row("reduce.binomial")),
            ],
        )
    };
    let operands = Element::ALL.into_iter().flat_map(|element| {
        let operators = Operator::ALL.into_iter().filter(move |one| one.takes(element));
        operators.map(move |operator| Operand { element, operator })
    });
    let blocks: Vec<Block> = operands.map(of).collect();
    let finished = Job::new(3).run_well(&blocks);
    assert_measured(&finished, &blocks);
}

/// The library's call and each of Kilter's algorithms, with counts of which some are nothing, on all ranks and on a part.
fn blocks_of_different_lengths_are_those_of_the_plan() {
    let listed = [
        Blocks::Listed(vec![0, 70_000, 3, 1]),
        Blocks::Listed(vec![40_001, 7, 0]),
    ];
    let row = |from: u64, ranks: u64| (0..ranks).map(move |to| if from == to { 0 } else { 1000 * from + to });
    let pairs = [4, 3].map(|ranks| Blocks::Pairs((0..ranks).map(|from| row(from, ranks).collect()).collect()));
    let mut blocks = Vec::new();
    for (collective, lengths) in [
        (Collective::Gatherv, &listed),
        (Collective::Scatterv, &listed),
        (Collective::Allgatherv, &listed),
        (Collective::Alltoallv, &pairs),
    ] {
        for (members, lengths) in [&[0, 1, 2, 3][..], &[3, 0, 2]].into_iter().zip(lengths) {
            let library = expression(&format!("{collective}(n)"));
            let mut items = vec![with_counts("library", collective, members, lengths, library)];
            for algorithm in registry::by_collective(collective) {
                if algorithm.unmet(members.len(), true, true).is_none() {
                    let parameters = algorithm.default_parameters();
                    let id = algorithm.id.to_owned();
                    let row = Implementation::Algorithm { id, parameters };
                    items.push(with_counts(algorithm.id, collective, members, lengths, row));
                }
            }
            assert!(items.len() > 1, "{collective} has no algorithm");
            blocks.push(block(&format!("{collective} on {}", members.len()), items));
        }
    }
    let finished = Job::new(4).run_well(&blocks);
    assert_measured(&finished, &blocks);
}

fn what_makes_no_sense_is_refused_and_the_rest_goes_on() {
    let mut waits_for_ever = linear_broadcast(3, 0, 8);
    waits_for_ever.steps[0].insert(0, Step::Receive(2));
    waits_for_ever.messages.push(message(1, 0, 8, 0, 0));
    waits_for_ever.steps[1].push(Step::Send(2));
    let schedule = |id: &str, schedule: Schedule| by(id, Collective::Bcast, 8, Implementation::Schedule(schedule));
    let no_barrier = Implementation::Schedule(central_barrier(3, false));
    let part =
        |id: &str, members: &[u32], implementation| by(id, Collective::Bcast, 8, among(members, 0, implementation));
    let finished = Job::new(3).run_well(&[block(
        "b",
        vec![
            schedule("circle", waits_for_ever),
            schedule("other ranks", linear_broadcast(4, 0, 8)),
            part("nobody's", &[0, 3], expression("bcast(n)")),
            part("part of a part", &[0, 1], among(&[0, 1], 0, expression("bcast(n)"))),
            part("program", &[0, 1], expression("send(n) + recv(n)")),
            with_counts(
                "other blocks",
                Collective::Gatherv,
                &[0, 1],
                &Blocks::Listed(vec![8; 3]),
                expression("gatherv(n)"),
            ),
            by("no barrier", Collective::Barrier, 0, no_barrier),
            item("library", Collective::Bcast, 8, "bcast(n)"),
        ],
    )]);
    for (item, why) in [
        (
            "circle",
            "it would wait for ever: rank 0 (step 0) waits for 8 bytes from rank 1",
        ),
        ("other ranks", "the schedule is of 4 ranks, and 3 take part"),
        ("nobody's", "rank 3 takes part, and the job has ranks 0 to 2"),
        ("part of a part", "a part of a part of the ranks"),
        (
            "program",
            "a part of the ranks carries out plain collectives, rows and schedules alone",
        ),
        ("other blocks", "lengths of blocks for 2 ranks are needed"),
        ("no barrier", "no barrier: a rank left before the last had entered"),
    ] {
        let failure = finished.failure(item);
        assert!(failure.contains(why), "{item}: {failure}");
    }
    assert!(finished.was_repeated("b", "library"));
    assert_eq!(finished.failures().len(), 7);
}

kilter_tests::cases![
    schedules_are_repeated_beside_the_collective,
    a_part_of_the_ranks_measures_while_the_others_wait,
    blocks_of_different_lengths_are_those_of_the_plan,
    ranks_combine_what_messages_bring,
    what_makes_no_sense_is_refused_and_the_rest_goes_on,
];
