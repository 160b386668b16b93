//! Typical occurrences as schedules: they can be carried out, their data do what the collective does, and they have its volume.

use kilter_detect::detect;
use kilter_detect::model::finding::Collective;
use kilter_detect::model::trace::{Class, Kind, Trace};
use kilter_detect::typical::{NoSchedule, Typical, Volume, typical};
use kilter_protocol::plan::{Blocks, Element};
use kilter_protocol::schedule::{Schedule, ScheduleError, Step};

use crate::findings::only;
use crate::fixture::{Rank, on_part, on_world};
use crate::patterns::{broadcast, reduction, variants};

fn of(trace: &Trace) -> Result<Typical, NoSchedule> {
    typical(trace, only(&detect(trace)))
}

/// Rank 0 hands a block of so many bytes to each rank, from places of their own.
fn scatter(bytes: usize) -> impl Fn(&mut Rank) {
    move |rank| {
        for time in 0..3 {
            if rank.rank == 0 {
                rank.fill(0..bytes * rank.size as usize, time);
                for to in 1..rank.size {
                    let at = to as usize * bytes;
                    rank.send(to, 4, at..at + bytes);
                }
            } else {
                rank.receive(0, 4, 0..bytes);
            }
        }
    }
}

#[test]
fn a_broadcast_by_hand_becomes_a_schedule_on_its_ranks() {
    let one = of(&on_part(4, &broadcast::flat)).unwrap();
    assert_eq!(one.members, [6, 5, 4, 3]);
    assert_eq!((one.root, &one.volume, one.is_shown), (2, &Volume::Whole(96), true));
    assert_eq!(one.schedule.messages.len(), 3);
    assert!(
        one.schedule
            .messages
            .iter()
            .all(|message| message.from == 2 && message.bytes == 96)
    );
    assert!(one.schedule.steps[2].iter().all(|step| matches!(step, Step::Send(_))));
    assert!(
        one.schedule.steps[0]
            .iter()
            .all(|step| matches!(step, Step::Receive(_)))
    );
}

#[test]
fn what_is_sent_on_keeps_its_place() {
    for program in [broadcast::binomial_tree, broadcast::chain_with_noise] {
        let one = of(&on_world(7, &program)).unwrap();
        assert_eq!((&one.volume, one.is_shown), (&Volume::Whole(96), true));
        assert_eq!(one.schedule.messages.len(), 6);
        assert!(
            one.schedule.memory.iter().all(|bytes| *bytes < 200),
            "{:?}",
            one.schedule.memory
        );
    }
}

#[test]
fn blocks_have_the_length_that_the_data_show() {
    let trace = on_world(4, &scatter(400));
    let detection = detect(&trace);
    let finding = only(&detection);
    assert_eq!(finding.collective, Collective::Scatter);
    let one = typical(&trace, finding).unwrap();
    assert_eq!((&one.volume, one.is_shown), (&Volume::Blocks(400), true));
}

/// Each rank sends each other one a block of a length of its own.
fn exchange_of_lengths(rank: &mut Rank) {
    let bytes = |from: u32, to: u32| 96 + 40 * from as usize + 8 * to as usize;
    let (at, came) = (|to: u32| to as usize * 4096, |from: u32| 100_000 + from as usize * 4096);
    for time in 0..3 {
        for places in 1..rank.size {
            let (to, from, own) = (rank.after(places), rank.before(places), rank.rank);
            rank.fill(at(to)..at(to) + bytes(own, to), 10 * time + u64::from(to));
            rank.send(to, 1, at(to)..at(to) + bytes(own, to));
            rank.receive(from, 1, came(from)..came(from) + bytes(from, own));
        }
    }
}

/// Every block, each of a length of its own, goes round a ring.
fn allgather_of_lengths(rank: &mut Rank) {
    let begin = |one: u32| (one * (one + 19) * 250) as usize;
    for time in 0..3 {
        let range = |one: u32| begin(one)..begin(one + 1);
        rank.fill(range(rank.rank), time);
        for step in 0..rank.size - 1 {
            let posted = rank.post(rank.before(1), 1, range(rank.before(step + 1)));
            rank.send(rank.after(1), 1, range(rank.before(step)));
            rank.wait(posted);
        }
    }
}

#[test]
fn blocks_that_differ_have_a_length_for_each_rank_or_pair() {
    let lengths = |program: &dyn Fn(&mut Rank)| {
        let trace = on_world(4, program);
        let detection = detect(&trace);
        let finding = only(&detection);
        assert!(finding.varies(), "{finding:?}");
        let one = typical(&trace, finding).unwrap();
        assert!(one.is_shown);
        match one.volume {
            Volume::Varied(blocks) => blocks,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        lengths(&variants::gather_of_lengths),
        Blocks::Listed(vec![24, 0, 40, 48])
    );
    assert_eq!(
        lengths(&variants::scatter_of_lengths),
        Blocks::Listed(vec![0, 32, 40, 48])
    );
    assert_eq!(
        lengths(&allgather_of_lengths),
        Blocks::Listed(vec![5000, 5500, 6000, 6500])
    );
    let row = |from: u64| {
        let length = |to: u64| if from == to { 0 } else { 96 + 40 * from + 8 * to };
        (0..4).map(length).collect::<Vec<u64>>()
    };
    let pairs = (0..4).map(row).collect();
    assert_eq!(lengths(&exchange_of_lengths), Blocks::Pairs(pairs));
}

#[test]
fn blocks_whose_lengths_are_hidden_by_copies_are_refused() {
    // Data that do not lie in one piece have no address: what is sent on may be anything.
    let program = |rank: &mut Rank| {
        rank.is_packed = true;
        allgather_of_lengths(rank);
    };
    let trace = on_world(4, &program);
    let detection = detect(&trace);
    let finding = only(&detection);
    assert!(finding.varies(), "{finding:?}");
    assert_eq!(typical(&trace, finding), Err(NoSchedule::UnknownBlocks));
}

/// A send that goes on after its call is started and completed, where the trace says that it was.
#[test]
fn sends_that_do_not_block_are_completed_when_they_were() {
    let mut trace = on_world(4, &broadcast::binomial_tree);
    for event in trace.events.iter_mut().flatten() {
        let within = event.begin_ns.midpoint(event.end_ns);
        if let Kind::Send { completed_ns, .. } = &mut event.kind {
            *completed_ns = Some(within);
        }
    }
    let steps = of(&trace).unwrap().schedule.steps;
    assert!(
        matches!(steps[0].as_slice(), [Step::Start(_), Step::Complete(_), ..]),
        "{:?}",
        steps[0]
    );
}

/// Combinations of each rank.
fn combinations(schedule: &Schedule) -> Vec<usize> {
    let of = |steps: &Vec<Step>| steps.iter().filter(|step| matches!(step, Step::Combine(_))).count();
    schedule.steps.iter().map(of).collect()
}

#[test]
fn a_message_that_brings_a_part_is_combined_once_and_a_result_never() {
    use Collective::{Allreduce, Reduce, Scan};
    type Pattern = fn(&mut Rank);
    let cases: [(Collective, Pattern, [usize; 4]); 7] = [
        (Reduce, reduction::linear_shown, [3, 0, 0, 0]),
        (Reduce, reduction::tree_shown, [2, 0, 1, 0]),
        (Reduce, reduction::chain_shown, [1, 1, 1, 0]),
        (Allreduce, reduction::allreduce_linear_shown, [3, 0, 0, 0]),
        (Allreduce, reduction::allreduce_recursive_doubling, [2, 2, 2, 2]),
        (Scan, reduction::scan_chain_shown, [0, 1, 1, 1]),
        (Scan, reduction::scan_doubling, [0, 1, 2, 2]),
    ];
    for (collective, program, wanted) in cases {
        let trace = on_world(4, &program);
        let detection = detect(&trace);
        let finding = only(&detection);
        assert_eq!(finding.collective, collective);
        let one = typical(&trace, finding).unwrap();
        assert_eq!(combinations(&one.schedule), wanted, "{collective:?}");
        assert_eq!(
            (&one.volume, one.is_shown, one.operand),
            (&Volume::Whole(32), true, Some(Element::Double.into())),
            "{collective:?}"
        );
    }
}

/// Each rank gives a bit where it sends from first.
#[test]
fn combinations_make_the_result_of_what_ranks_send() {
    for (program, wanted) in [
        (
            reduction::allreduce_recursive_doubling as fn(&mut Rank),
            [15, 15, 15, 15],
        ),
        (reduction::allreduce_linear_shown, [15, 15, 15, 15]),
        (reduction::scan_chain_shown, [1, 3, 7, 7]),
    ] {
        let schedule = of(&on_world(4, &program)).unwrap().schedule;
        let mut memories: Vec<Vec<u8>> = schedule.memory.iter().map(|bytes| vec![0; *bytes as usize]).collect();
        for rank in 0..4 {
            if let Some(first) = schedule.messages.iter().find(|one| one.from == rank) {
                memories[rank as usize][first.from_at as usize] = 1 << rank;
            }
        }
        let mut or = |from: &[u8], to: &mut [u8]| to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
        schedule.carry_out(&mut memories, &mut or).unwrap();
        let most = memories.iter().map(|memory| memory.iter().copied().max().unwrap());
        assert_eq!(most.collect::<Vec<u8>>(), wanted);
    }
}

#[test]
fn numbers_without_an_element_of_the_worker_are_bytes() {
    let trace = on_world(4, &reduction::allreduce_recursive_doubling);
    let detection = detect(&trace);
    let mut other = trace.clone();
    for event in other.events.iter_mut().flatten() {
        if let Kind::Send { payload, .. } = &mut event.kind {
            (payload.class, payload.element_bytes) = (Class::Complex, 16);
        }
    }
    let one = typical(&other, only(&detection)).unwrap();
    assert_eq!(one.operand, Some(Element::Byte.into()));
}

#[test]
fn a_finding_without_occurrences_or_with_a_foreign_root_is_refused() {
    let trace = on_world(4, &broadcast::flat);
    let mut finding = only(&detect(&trace)).clone();
    finding.instances.iter_mut().for_each(|one| one.root = Some(9));
    assert_eq!(typical(&trace, &finding), Err(NoSchedule::NoRoot));
    finding.instances.clear();
    assert_eq!(typical(&trace, &finding), Err(NoSchedule::Nothing));
}

#[test]
fn messages_that_would_wait_for_ever_are_refused_with_the_circle() {
    // Every rank sends its block to all others before it receives: the library must copy it aside.
    let program = |rank: &mut Rank| {
        let (own, size) = (rank.rank as usize, rank.size);
        for time in 0..3 {
            rank.fill(own * 2048..(own + 1) * 2048, time);
            for places in 1..size {
                let to = rank.after(places);
                rank.send(to, 6, own * 2048..(own + 1) * 2048);
            }
            for places in 1..size {
                let from = rank.before(places);
                rank.receive(from, 6, from as usize * 2048..(from as usize + 1) * 2048);
            }
        }
    };
    let trace = on_world(4, &program);
    let error = of(&trace).unwrap_err();
    assert!(
        matches!(error, NoSchedule::Schedule(ScheduleError::Deadlock(_))),
        "{error}"
    );
}

#[test]
fn a_finding_of_another_trace_is_refused() {
    let trace = on_world(4, &broadcast::flat);
    let detection = detect(&trace);
    let error = typical(&Trace::default(), only(&detection)).unwrap_err();
    assert_eq!(error, NoSchedule::OutsideOfWorld { rank: 0 });
    let mut shorter = trace.clone();
    shorter.events.iter_mut().for_each(Vec::clear);
    assert!(matches!(
        typical(&shorter, only(&detection)),
        Err(NoSchedule::NotInTrace { .. })
    ));
}
