use kilter_advise::formats;
use kilter_profiling::profile::Site;

use super::*;
use crate::fixture::{event, of_two, received, sent};
use crate::matching::matches;
use crate::trace::{Communicator, Part, Plain, Role, flag};

/// The value of a rank's counter, as the reader of the form has it.
fn value(trace: &Trace, rank: u32, name: &str) -> Option<f64> {
    let listing = formats::read(&text(trace, &matches(trace), &|_, _, _| None), "kilter-trace")
        .unwrap()
        .remove(0);
    assert_eq!(listing.format.id, "kilter-trace");
    let label = format!("rank {rank}");
    let process = listing.processes.iter().find(|process| process.label == label).unwrap();
    let counter = process.counters.iter().find(|counter| counter.name == name)?;
    Some(counter.value)
}

/// A call of a function from a nanosecond to another.
fn call(trace: &mut Trace, function: &str, (begin_ns, end_ns): (u64, u64), parts: Vec<Part>) -> Event {
    let known = trace.functions.iter().position(|known| known == function);
    let function = known.unwrap_or_else(|| {
        trace.functions.push(function.to_owned());
        trace.functions.len() - 1
    });
    Event {
        function,
        end_ns,
        site: Some(0),
        ..event(begin_ns, parts)
    }
}

/// A trace of two ranks, or of more that do the same as the first, with one place.
fn empty() -> Trace {
    let mut trace = of_two(Vec::new(), Vec::new());
    trace.sites = vec![Site {
        symbol: "step".to_owned(),
        module: "/opt/solver".to_owned(),
        source: String::new(),
        offset: 0,
    }];
    trace
}

fn collective(root: i32, bytes: u64) -> Part {
    let plain = Plain {
        communicator: 1,
        peer: root,
        world: root,
        bytes,
        ..Plain::NONE
    };
    Part::of_plain(Role::Collective, &plain)
}

#[test]
fn receives_wait_for_sends_and_sends_for_receives() {
    let mut trace = empty();
    let [late, early, held, soon] = [(1_000, 1_100), (2_000, 2_010), (3_000, 3_600), (4_000, 4_100)]
        .map(|times| call(&mut trace, "MPI_Send", times, Vec::new()));
    trace.ranks[0].events = [late, early, held, soon]
        .into_iter()
        .zip(1..)
        .map(|(event, number)| Event {
            parts: vec![sent(number, 1, 5, 0)],
            ..event
        })
        .collect();
    trace.ranks[1].events = [(400, 1_200), (2_500, 2_600), (3_500, 3_700), (4_010, 4_200)]
        .into_iter()
        .zip(1..)
        .map(|(times, number)| call(&mut trace, "MPI_Recv", times, vec![received(number, 0, 5, 0)]))
        .collect();
    let seconds = |rank, name| (value(&trace, rank, name).unwrap_or(0.0) * 1e9).round();
    // The first receive began 600 ns before its send; the third send lasted until its receive began, after 500 ns; the fourth's after 10.
    assert_eq!(seconds(1, "receives at step (solver).late"), 600.0);
    assert_eq!(seconds(1, "messages from 0 to 1.late"), 600.0);
    // The second was in a buffer: it ended before its receive began.
    assert_eq!(seconds(0, "sends at step (solver).held"), 510.0);
    // Calls that complete several messages wait for the last of them.
    let mut both = trace.clone();
    let (first, second) = (both.ranks[1].events.remove(0), both.ranks[1].events.remove(0));
    let parts = [first.parts, second.parts].concat();
    let waitall = call(&mut both, "MPI_Waitall", (400, 2_600), parts);
    both.ranks[1].events.insert(0, waitall);
    let waited = value(&both, 1, "receives at step (solver).late").unwrap();
    assert_eq!((waited * 1e9).round(), 1_600.0);
}

#[test]
fn short_messages_in_a_row_are_joinable() {
    let mut trace = empty();
    let mut send = |number: u64, bytes: u64| {
        let mut part = sent(number, 1, 5, 0);
        part.plain.bytes = bytes;
        call(&mut trace, "MPI_Send", (10 * number, 10 * number + 4), vec![part])
    };
    let mut events: Vec<Event> = [8, 8, 4096, 8]
        .into_iter()
        .zip(1..)
        .map(|(bytes, number)| send(number, bytes))
        .collect();
    // A call that waits, or is no send, ends the row.
    events.push(event(45, vec![received(9, 1, 5, 0)]));
    events.push(send(5, 8));
    trace.ranks[0].events = events;
    assert_eq!(value(&trace, 0, "short messages at step (solver).joinable"), Some(2.0));
    assert!((value(&trace, 0, "short messages.spent").unwrap() - 8e-9).abs() < 1e-15);
}

/// Three ranks that make these calls of function, root and bytes, ten nanoseconds each; the last rank comes 4 ns late.
fn of_three(calls: &[(&str, i32, u64)]) -> Trace {
    let mut trace = empty();
    trace.world = 3;
    trace.communicators = vec![Communicator {
        name: "world".to_owned(),
        label: String::new(),
        members: (0..3).map(Some).collect(),
        remote: None,
    }];
    let mut rank = trace.ranks[0].clone();
    trace.ranks.clear();
    for number in 0..3_u32 {
        rank.rank = number;
        rank.events = calls
            .iter()
            .zip(0..)
            .map(|((function, root, bytes), at)| {
                let begin = 100 * at + if number == 2 { 4 } else { 0 };
                call(
                    &mut trace,
                    function,
                    (begin, 100 * at + 10),
                    vec![collective(*root, *bytes)],
                )
            })
            .collect();
        trace.ranks.push(rank.clone());
    }
    trace
}

#[test]
fn roots_in_turn_are_seen_once_a_turn() {
    let turns: Vec<(&str, i32, u64)> = [1, 0, 2, 0, 1, 2, 0].map(|root| ("MPI_Bcast", root, 8)).to_vec();
    let trace = of_three(&turns);
    let name = "MPI_Bcast of each rank in turn at step (solver)";
    assert_eq!(value(&trace, 0, &format!("{name}.times")), Some(2.0));
    // Six calls of 10 ns, of which 4 were spent waiting for rank 2.
    let spent = value(&trace, 0, &format!("{name}.spent")).unwrap();
    assert_eq!((spent * 1e9).round(), 36.0);
    // A root twice, another call between, other functions: no turn.
    for other in [
        vec![("MPI_Bcast", 0, 8), ("MPI_Bcast", 1, 8), ("MPI_Bcast", 1, 8)],
        vec![("MPI_Bcast", 0, 8), ("MPI_Bcast", 1, 8), ("MPI_Reduce", 2, 8)],
        vec![
            ("MPI_Bcast", 0, 8),
            ("MPI_Bcast", 1, 8),
            ("MPI_Barrier", 0, 0),
            ("MPI_Bcast", 2, 8),
        ],
    ] {
        assert_eq!(value(&of_three(&other), 0, &format!("{name}.times")), None, "{other:?}");
    }
}

#[test]
fn two_collectives_that_are_one_and_barriers_before_others_are_counted() {
    let trace = of_three(&[
        ("MPI_Reduce", 0, 64),
        ("MPI_Bcast", 0, 64),
        ("MPI_Barrier", 0, 0),
        ("MPI_Allreduce", 0, 8),
        ("MPI_Reduce", 0, 64),
        ("MPI_Bcast", 1, 64),
        ("MPI_Reduce", 0, 64),
        ("MPI_Bcast", 0, 8),
        ("MPI_Barrier", 0, 0),
        ("MPI_Bcast", 0, 8),
    ]);
    let times = |name: &str| value(&trace, 1, &format!("{name} at step (solver).times"));
    assert_eq!(
        times("MPI_Reduce then MPI_Bcast"),
        Some(1.0),
        "another root, other bytes"
    );
    assert_eq!(times("MPI_Barrier before MPI_Allreduce"), Some(1.0));
    assert_eq!(times("MPI_Barrier before MPI_Bcast"), None);
    // A message between them.
    let mut apart = of_three(&[("MPI_Reduce", 0, 64), ("MPI_Bcast", 0, 64)]);
    for rank in &mut apart.ranks {
        rank.events.insert(1, event(50, vec![sent(1, 1, 5, 0)]));
    }
    assert_eq!(
        value(&apart, 1, "MPI_Reduce then MPI_Bcast at step (solver).times"),
        None
    );
}

#[test]
fn wild_cards_that_always_find_one_rank_and_polls_are_counted() {
    let mut trace = empty();
    let of_anybody = |number: u64, from: i32| {
        let mut part = received(number, from, 5, 0);
        part.plain.flags = flag::ANY_SOURCE;
        part
    };
    let calls: Vec<Event> = (1..4)
        .map(|number| {
            call(
                &mut trace,
                "MPI_Recv",
                (number, number + 1),
                vec![of_anybody(number, 1)],
            )
        })
        .collect();
    trace.ranks[0].events = calls.clone();
    let name = "receives of anybody at step (solver)";
    assert_eq!(value(&trace, 0, &format!("{name}.of one")), Some(3.0));
    trace.ranks[0].events[2].parts[0].plain.world = 0;
    assert_eq!(value(&trace, 0, &format!("{name}.of one")), None);
    assert_eq!(value(&trace, 0, &format!("{name}.calls")), Some(3.0));
    let polls = call(&mut trace, "MPI_Iprobe", (10, 20), Vec::new());
    trace.ranks[0].events.push(Event { polls: 500, ..polls });
    assert_eq!(value(&trace, 0, "MPI_Iprobe at step (solver).polls"), Some(500.0));
}

#[test]
fn a_recorded_trace_has_the_run_time() {
    let trace = crate::fixture::trace();
    assert!(value(&trace, 0, "job time").is_some_and(|seconds| seconds > 0.0));
}

#[test]
fn blocking_messages_next_to_work_could_be_hidden() {
    let mut trace = empty();
    // The second message moves from 1,300 ns on, when its receive is there.
    let sends = [(0, 500, 0), (1_000, 2_000, 4096), (2_300, 2_400, 0)]
        .into_iter()
        .zip(1..);
    let sends = sends.map(|((begin, end, bytes), number)| {
        let mut part = sent(number, 1, 5, 0);
        part.plain.bytes = bytes;
        call(&mut trace, "MPI_Send", (begin, end), vec![part])
    });
    let sends: Vec<Event> = sends.collect();
    trace.ranks[0].events = sends;
    let receives = [(0, 600, 0), (1_300, 2_100, 4096), (2_300, 2_500, 0)]
        .into_iter()
        .zip(1..);
    let receives = receives.map(|((begin, end, bytes), number)| {
        let mut part = received(number, 0, 5, 0);
        part.plain.bytes = bytes;
        call(&mut trace, "MPI_Recv", (begin, end), vec![part])
    });
    let receives: Vec<Event> = receives.collect();
    trace.ranks[1].events = receives;
    let asked = std::cell::RefCell::new(Vec::new());
    let hides = |side: Side, bytes: u64, work_ns: u64| {
        asked.borrow_mut().push((side, bytes, work_ns));
        (bytes == 4096).then_some(if side == Side::Sender { 0.5 } else { 2.0 })
    };
    let told = text(&trace, &matches(&trace), &hides);
    // The sends move for 500 and 700 ns with 500 and 300 of work behind them; the receives for 800 and 200 ns with 700 and 200 before them. No
    // more than all is hidden.
    for line in [
        "MPI_Send at step (solver).next to work\t0.0000008",
        "MPI_Send at step (solver).hideable\t0.00000015",
        "MPI_Recv at step (solver).next to work\t0.0000009",
        "MPI_Recv at step (solver).hideable\t0.0000007",
        "overlap map.messages\t1",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(asked.borrow().contains(&(Side::Receiver, 4096, 700)), "{asked:?}");
}
