//! Schedules that make sense, and some that do not.

use proptest::prelude::*;

use super::*;

fn message(from: u32, to: u32, bytes: u64, from_at: u64, to_at: u64) -> Message {
    Message {
        from,
        to,
        bytes,
        from_at,
        to_at,
    }
}

/// Rank 0 sends 8 KiB to each other rank of four.
fn linear() -> Schedule {
    Schedule {
        memory: vec![8192; 4],
        messages: (1..4).map(|to| message(0, to, 8192, 0, 0)).collect(),
        steps: vec![
            vec![Step::Send(0), Step::Send(1), Step::Send(2)],
            vec![Step::Receive(0)],
            vec![Step::Receive(1)],
            vec![Step::Receive(2)],
        ],
    }
}

/// Each of three ranks sends to the right and receives from the left, so many bytes.
fn ring(bytes: u64, is_blocking: bool) -> Schedule {
    let steps = |rank: u32| {
        let from_left = (rank + 2) % 3;
        if is_blocking {
            vec![Step::Send(rank), Step::Receive(from_left)]
        } else {
            vec![
                Step::Post(from_left),
                Step::Start(rank),
                Step::Complete(vec![from_left, rank]),
            ]
        }
    };
    Schedule {
        memory: vec![2 * bytes; 3],
        messages: (0..3)
            .map(|rank| message(rank, (rank + 1) % 3, bytes, 0, bytes))
            .collect(),
        steps: (0..3).map(steps).collect(),
    }
}

#[test]
fn data_arrive_where_messages_bring_them() {
    let schedule = linear();
    assert_eq!(schedule.check(), Ok(()));
    let delivered = schedule.delivered(1).unwrap();
    for pieces in &delivered {
        assert_eq!(covered(pieces, 0), 8192);
    }
    assert_eq!(schedule.delivered(2).unwrap(), delivered);
}

#[test]
fn what_is_received_is_sent_on_in_parts() {
    // Rank 0 gives ten bytes to rank 1, which gives the middle of them to rank 2.
    let schedule = Schedule {
        memory: vec![10, 20, 4],
        messages: vec![message(0, 1, 10, 0, 5), message(1, 2, 4, 8, 0)],
        steps: vec![
            vec![Step::Send(0)],
            vec![Step::Receive(0), Step::Send(1)],
            vec![Step::Receive(1)],
        ],
    };
    assert_eq!(schedule.check(), Ok(()));
    let delivered = schedule.delivered(1).unwrap();
    let piece = |at, bytes, rank, origin| Piece {
        at,
        bytes,
        rank,
        origin,
    };
    assert_eq!(delivered[2], [piece(0, 4, 0, 3)]);
    assert_eq!(
        delivered[1],
        [piece(0, 5, 1, 0), piece(5, 10, 0, 0), piece(15, 5, 1, 15)]
    );
}

#[test]
fn a_circle_of_sends_is_told() {
    assert_eq!(ring(Wait::EAGER_BYTES, true).check(), Ok(()));
    assert_eq!(ring(1 << 20, false).check(), Ok(()));
    let error = ring(4096, true).check().unwrap_err();
    assert!(
        matches!(&error, ScheduleError::Deadlock(waits) if waits.len() == 3),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "it would wait for ever: rank 0 (step 0) sends 4096 bytes and waits for rank 1 to receive them, \
         rank 1 (step 0) sends 4096 bytes and waits for rank 2 to receive them, \
         rank 2 (step 0) sends 4096 bytes and waits for rank 0 to receive them; \
         such sends end only where the library copies so many bytes aside"
    );
}

#[test]
fn a_circle_of_receives_is_told() {
    let mut schedule = ring(8, true);
    schedule.steps.iter_mut().for_each(|steps| steps.reverse());
    let error = schedule.check().unwrap_err().to_string();
    assert!(
        error.starts_with("it would wait for ever: rank 0 (step 0) waits for 8 bytes from rank 2, rank 2"),
        "{error}"
    );
    // Ranks that can go on do so first: the circle holds those that wait for each other, and not those that wait for them.
    let mut schedule = linear();
    schedule.steps[0].insert(1, Step::Receive(3));
    schedule.steps[3] = vec![Step::Receive(2), Step::Send(3)];
    schedule.messages.push(message(3, 0, 8, 0, 0));
    let error = schedule.check().unwrap_err();
    let ScheduleError::Deadlock(waits) = error else {
        panic!("{error:?}");
    };
    let mut ranks: Vec<usize> = waits.iter().map(|wait| wait.rank).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, [0, 3]);
}

#[test]
fn nonsense_is_refused_with_its_place() {
    let broken = |change: &dyn Fn(&mut Schedule)| {
        let mut schedule = linear();
        change(&mut schedule);
        schedule.check().unwrap_err().to_string()
    };
    for (error, begins) in [
        (
            broken(&|one| one.messages[1].to = 4),
            "message 1 goes from rank 0 to rank 4, and there are ranks 0 to 3",
        ),
        (
            broken(&|one| one.messages[1].to = 0),
            "message 1 goes from rank 0 to itself",
        ),
        (
            broken(&|one| one.messages[2].bytes = 8193),
            "message 2 takes bytes 0 to 0 + 8193 of rank 0, whose memory has 8192 bytes",
        ),
        (
            broken(&|one| one.messages[2].to_at = u64::MAX),
            "message 2 takes bytes 18446744073709551615 to",
        ),
        (
            broken(&|one| one.messages[0].bytes = 1 << 40),
            "message 0 has 1099511627776 bytes; an MPI count holds at most 2147483647",
        ),
        (
            broken(&|one| one.memory[3] = 1 << 40),
            "rank 3 needs 1099511627776 bytes of memory",
        ),
        (
            broken(&|one| one.steps[1] = vec![Step::Receive(9)]),
            "rank 1, step 0: there is no message 9 among 3",
        ),
        (
            broken(&|one| one.steps[1] = vec![Step::Receive(1)]),
            "rank 1, step 0: message 1 is another rank's",
        ),
        (
            broken(&|one| one.steps[1].push(Step::Receive(0))),
            "rank 1, step 1: message 0 is sent or received a second time",
        ),
        (
            broken(&|one| one.steps[1].push(Step::Complete(vec![0]))),
            "rank 1, step 1: message 0 is completed before it was started, or twice",
        ),
        (
            broken(&|one| one.steps[1].clear()),
            "message 0 from rank 0 to rank 1 is never received",
        ),
        (
            broken(&|one| one.steps[1] = vec![Step::Post(0)]),
            "message 0 from rank 0 to rank 1 is never completed",
        ),
        (
            broken(&|one| one.memory.truncate(1)),
            "the schedule has memory for 1 ranks and steps for 4",
        ),
        (
            broken(&|one| *one = Schedule::default()),
            "the schedule has memory for 0",
        ),
    ] {
        assert!(error.starts_with(begins), "{error}");
    }
}

#[test]
fn a_schedule_survives_its_line() {
    let text = serde_json::to_string(&ring(8, false)).unwrap();
    assert_eq!(
        serde_json::from_str::<Schedule>(&text).unwrap(),
        ring(8, false),
        "{text}"
    );
}

fn any_step() -> impl Strategy<Value = Step> {
    let number = 0_u32..5;
    prop_oneof![
        number.clone().prop_map(Step::Send),
        number.clone().prop_map(Step::Start),
        number.clone().prop_map(Step::Receive),
        number.clone().prop_map(Step::Post),
        prop::collection::vec(number, 0..4).prop_map(Step::Complete),
    ]
}

/// Messages with both ends, each at any place among the steps of its rank.
fn any_ends() -> impl Strategy<Value = Schedule> {
    let one = (0_u32..4, 1_u32..4, 0_u64..3000, any::<[bool; 2]>(), any::<[u16; 4]>());
    prop::collection::vec(one, 0..8).prop_map(|all| {
        let mut steps: Vec<Vec<(u16, Step)>> = vec![Vec::new(); 4];
        let mut messages = Vec::new();
        for (number, (from, places, bytes, [starts, posts], at)) in (0..).zip(all) {
            let to = (from + places) % 4;
            messages.push(message(
                from,
                to,
                bytes,
                u64::from(at[0] % 1000),
                u64::from(at[1] % 1000),
            ));
            for (rank, is_split, whole, begin, at) in [
                (from, starts, Step::Send(number), Step::Start(number), [at[0], at[1]]),
                (to, posts, Step::Receive(number), Step::Post(number), [at[2], at[3]]),
            ] {
                let own = &mut steps[rank as usize];
                if is_split {
                    own.push((at[0].min(at[1]), begin));
                    own.push((at[0].max(at[1]), Step::Complete(vec![number])));
                } else {
                    own.push((at[0], whole));
                }
            }
        }
        let in_order = |mut own: Vec<(u16, Step)>| {
            own.sort_by_key(|(at, _)| *at);
            own.into_iter().map(|(_, step)| step).collect()
        };
        Schedule {
            memory: vec![4000; 4],
            messages,
            steps: steps.into_iter().map(in_order).collect(),
        }
    })
}

proptest! {
    #[test]
    fn no_schedule_makes_it_panic(
        memory in prop::collection::vec(0_u64..100, 0..4),
        messages in prop::collection::vec(
            (0_u32..4, 0_u32..4, 0_u64..60, 0_u64..60, any::<u64>()).prop_map(|(a, b, c, d, e)| message(a, b, c, d, e % 70)),
            0..5,
        ),
        steps in prop::collection::vec(prop::collection::vec(any_step(), 0..6), 0..4),
    ) {
        let schedule = Schedule { memory, messages, steps };
        if schedule.check().is_ok() {
            prop_assert!(schedule.delivered(2).is_some());
        }
    }

    /// A schedule that is not refused ends, and leaves every byte of every memory with one origin; one that is refused waits in a circle.
    #[test]
    fn a_schedule_ends_or_has_a_circle(schedule in any_ends()) {
        match schedule.check() {
            Ok(()) => {
                let delivered = schedule.delivered(1).unwrap();
                for (rank, pieces) in delivered.iter().enumerate() {
                    let mut end = 0;
                    for piece in pieces {
                        prop_assert_eq!(piece.at, end);
                        prop_assert!(piece.bytes > 0 && piece.origin + piece.bytes <= 4000);
                        end += piece.bytes;
                    }
                    prop_assert_eq!(end, schedule.memory[rank]);
                }
            }
            Err(ScheduleError::Deadlock(waits)) => {
                prop_assert!(!waits.is_empty());
                for (wait, next) in waits.iter().zip(waits.iter().cycle().skip(1)) {
                    prop_assert_eq!(wait.peer, next.rank);
                }
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}

/// Rank 1 sends its bytes to rank 0, which adds them to its own.
fn sum_of_two(combination: Combination) -> Schedule {
    Schedule {
        memory: vec![8, 4],
        messages: vec![message(1, 0, 4, 0, 4)],
        steps: vec![vec![Step::Receive(0), Step::Combine(combination)], vec![Step::Send(0)]],
    }
}

#[test]
fn data_are_combined_where_a_step_says() {
    let schedule = sum_of_two(Combination {
        from_at: 4,
        to_at: 0,
        bytes: 4,
    });
    assert_eq!(schedule.check(), Ok(()));
    assert_eq!(schedule.delivered(1), None);
    let mut memories = [vec![1, 2, 3, 4, 0, 0, 0, 0], vec![10, 20, 30, 40]];
    let mut add = |from: &[u8], to: &mut [u8]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
    assert_eq!(schedule.carry_out(&mut memories, &mut add), Ok(()));
    assert_eq!(memories[0], [11, 22, 33, 44, 10, 20, 30, 40]);
}

#[test]
fn data_that_overlap_or_lie_outside_are_not_combined() {
    for (from_at, to_at, bytes) in [(0, 2, 4), (4, 0, 5), (6, 0, 4), (0, u64::MAX, 4)] {
        let schedule = sum_of_two(Combination { from_at, to_at, bytes });
        let error = schedule.check().unwrap_err();
        assert!(
            matches!(error, ScheduleError::Combination { rank: 0, step: 1, .. }),
            "{error}"
        );
    }
}
