use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;
use crate::trace::record::{Role, peer};
use crate::trace::space::{Begin, Space, Stream};

fn words(segments: usize) -> &'static [AtomicU64] {
    let count = (HEADER_BYTES + segments * SEGMENT_BYTES) / 8;
    Box::leak((0..count).map(|_| AtomicU64::new(0)).collect())
}

fn bytes(words: &[AtomicU64]) -> Vec<u8> {
    words
        .iter()
        .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes())
        .collect()
}

fn space(words: &'static [AtomicU64], when_full: WhenFull) -> Space {
    let begin = Begin {
        rank: 1,
        ranks: 4,
        process: 99,
        when_full,
        threads: true,
        hash_limit: 1 << 20,
        first: (1000, 5000, 1_000_005_000),
        begin: 1100,
    };
    let space = Space::new(words, &begin, |_| true);
    // Two nanoseconds a tick.
    space.read_clocks(1000 + 1_000_000, 5000 + 2_000_000);
    space
}

fn call(begin: u64, parts: u32) -> Call {
    Call {
        function: 3,
        communicator: 1,
        begin,
        end: begin + 10,
        site: 1,
        polls: 0,
        parts,
    }
}

fn send(operation: u64) -> Part {
    let mut part = Part::new(Role::Send);
    part.operation = operation;
    part.peer = 2;
    part
}

#[test]
fn what_is_written_is_read() {
    let words = words(3);
    let space = space(words, WhenFull::Stop);
    space.define(&Definition::Host("a".to_owned()));
    space.define(&Definition::Function {
        number: 3,
        name: "MPI_Send".to_owned(),
    });
    let mut one = space.stream(1).unwrap();
    let mut two = space.stream(2).unwrap();
    assert!(one.call(&call(2000, 1)) && one.part(&send(1)));
    assert!(two.call(&call(2500, 0)));
    let polls = Call {
        polls: 1,
        ..call(3000, 0)
    };
    assert!(!one.poll(3000) && one.call(&polls));
    assert!(one.poll(4000));
    assert!(two.call(&polls) && two.call(&call(3500, 0)) && !two.poll(4000));
    space.lose(7);
    let end = space.end(5000, true);
    assert_eq!(end, HEADER_BYTES + 3 * SEGMENT_BYTES);
    let trace = read(&bytes(words)).unwrap();
    let header = &trace.header;
    assert_eq!((header.rank, header.ranks, header.process), (1, 4, 99));
    assert_eq!((header.begin_ns, header.end_ns), (5200, Some(13000)));
    assert_eq!((header.epoch_ns, header.lost_calls), (1_000_000_000, 7));
    assert!(header.finalized && header.threads);
    assert_eq!((trace.host.as_str(), trace.function(3)), ("a", "MPI_Send"));
    assert_eq!(trace.threads.len(), 2);
    let first = &trace.threads[0][0];
    assert_eq!((first.begin_ns, first.end_ns), (7000, 7020));
    assert_eq!((first.parts.as_slice(), first.lost_parts), (&[send(1)][..], 0));
    let polls = &trace.threads[0][1];
    assert_eq!((polls.polls, polls.begin_ns, polls.end_ns), (2, 9000, 11000));
    assert_eq!(trace.threads[1][0].parts, []);
}

/// Fills segments one after the other, as a thread does.
fn fill(space: &Space, calls: u64) {
    let mut stream = space.stream(1);
    for number in 0..calls {
        for _ in 0..2 {
            let Some(open) = &mut stream else {
                space.lose(1);
                break;
            };
            if open.call(&call(2000 + number, 0)) {
                break;
            }
            space.close(open);
            stream = space.stream(1);
        }
    }
}

#[test]
fn a_full_file_stops_or_loses_the_oldest_and_says_how_many() {
    const CALLS: u64 = 40_000;
    for (when_full, first) in [(WhenFull::Stop, true), (WhenFull::Ring, false)] {
        let words = words(3);
        let space = space(words, when_full);
        fill(&space, CALLS);
        let trace = read(&bytes(words)).unwrap();
        let kept = &trace.threads[0];
        assert_eq!(kept.len() as u64 + trace.header.lost_calls, CALLS, "{when_full:?}");
        assert!(kept.len() > 16_000, "{when_full:?}: {}", kept.len());
        let begins: Vec<u64> = kept.iter().map(|event| (event.begin_ns - 5000) / 2 + 1000).collect();
        assert!(begins.is_sorted());
        assert_eq!(begins[0] == 2000, first, "{when_full:?}");
        assert_eq!(begins[begins.len() - 1] == 2000 + CALLS - 1, !first, "{when_full:?}");
    }
}

#[test]
fn a_disk_that_is_full_is_a_file_that_is_full() {
    let words = words(3);
    let begin = Begin {
        rank: 0,
        ranks: 1,
        process: 1,
        when_full: WhenFull::Stop,
        threads: false,
        hash_limit: 0,
        first: (0, 0, 0),
        begin: 0,
    };
    let space = Space::new(words, &begin, |bytes| bytes <= HEADER_BYTES + SEGMENT_BYTES);
    fill(&space, 20_000);
    space.define(&Definition::Host("a".to_owned()));
    let trace = read(&bytes(words)).unwrap();
    assert_eq!(trace.threads[0].len() as u64 + trace.header.lost_calls, 20_000);
    assert_eq!(trace.header.lost_definitions, 1);
}

/// A process may be killed at any store; all before it are in the file, and of those after it none.
#[test]
fn a_record_is_there_when_its_first_word_is() {
    let words = words(1);
    let space = space(words, WhenFull::Stop);
    let mut stream = space.stream(1).unwrap();
    assert!(stream.call(&call(1, 1)) && stream.part(&send(1)) && stream.call(&call(2, 0)));
    let all = bytes(words);
    let first_word_of_last = HEADER_BYTES + (segment::RECORDS + 4 + 9) * 8;
    assert_ne!(all[first_word_of_last], 0);
    let mut torn = all.clone();
    torn[first_word_of_last..first_word_of_last + 8].fill(0);
    assert_eq!(read(&torn).unwrap().threads[0].len(), 1);
    let mut without_part = all;
    without_part[first_word_of_last - 9 * 8..].fill(0);
    let trace = read(&without_part).unwrap();
    assert_eq!(trace.threads[0][0].lost_parts, 1);
}

/// The same records, however they are written; of a process that is killed between two stores, both are there or none.
#[test]
fn a_call_and_its_only_part_come_together() {
    for part in [send(1), Part::new(Role::Posted), Part::new(Role::Completed)] {
        let apart = words(1);
        let mut stream = space(apart, WhenFull::Stop).stream(1).unwrap();
        assert!(stream.call(&call(1, 1)) && stream.part(&part) && stream.call(&call(2, 0)));
        let together = words(1);
        let mut stream = space(together, WhenFull::Stop).stream(1).unwrap();
        assert!(stream.call_with(&call(1, 1), part.role, &part.plain()) && stream.call(&call(2, 0)));
        assert_eq!(bytes(apart), bytes(together), "{part:?}");
        let mut torn = bytes(together);
        let first_word = HEADER_BYTES + segment::RECORDS * 8;
        torn[first_word..first_word + 8].fill(0);
        assert_eq!(read(&torn).unwrap().threads, Vec::<Vec<Event>>::new());
    }
}

/// Both go into the next segment where one of them would fit.
#[test]
fn a_call_is_not_parted_from_its_only_part() {
    let words = words(2);
    let space = space(words, WhenFull::Stop);
    let mut stream = space.stream(1).unwrap();
    let (one, part) = (call(1, 1), send(1).plain());
    let mut written = 0;
    while stream.call_with(&one, Role::Send, &part) {
        written += 1;
    }
    assert_eq!(written, (SEGMENT_BYTES / 8 - segment::RECORDS) / (4 + 9));
    space.close(&stream);
    assert!(space.stream(1).unwrap().call_with(&one, Role::Send, &part));
    let trace = read(&bytes(words)).unwrap();
    assert_eq!(trace.threads[0].len(), written + 1);
    assert!(
        trace.threads[0]
            .iter()
            .all(|event| event.lost_parts == 0 && event.parts.len() == 1)
    );
    assert_eq!(trace.orphans, 0);
}

#[test]
fn mistakes_are_named_with_their_places() {
    let words = words(1);
    let space = space(words, WhenFull::Stop);
    let mut stream: Stream = space.stream(1).unwrap();
    assert!(stream.call(&call(1, 0)));
    let all = bytes(words);
    for (change, expected) in [
        (
            Box::new(|bytes: &mut Vec<u8>| bytes[0] = b'X') as Box<dyn Fn(&mut Vec<u8>)>,
            "byte 0: this is no trace of Kilter's",
        ),
        (
            Box::new(|bytes| bytes[6] = 9),
            "byte 0: version 9 of the format, and 3 is read",
        ),
        (
            Box::new(|bytes| bytes.truncate(20)),
            "byte 48: the file ends within its header",
        ),
        (
            Box::new(|bytes| bytes.truncate(5000)),
            "byte 5000: the file ends before segment 0 of 1",
        ),
        (
            Box::new(|bytes| bytes[HEADER_BYTES + 32 + 2] = 0),
            "byte 4128: a record with a wrong length",
        ),
        (
            Box::new(|bytes| bytes[HEADER_BYTES + 32] = 99),
            "byte 4128: this is no record",
        ),
    ] {
        let mut bytes = all.clone();
        change(&mut bytes);
        assert_eq!(read(&bytes).unwrap_err().to_string(), expected);
    }
    assert_eq!(send(1).world, peer::UNKNOWN);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_a_trace_or_an_error(
        changes in prop::collection::vec((0..HEADER_BYTES + 4096, any::<u8>()), 0..40),
        length in 0..HEADER_BYTES + 2 * SEGMENT_BYTES,
    ) {
        let words = words(2);
        let space = space(words, WhenFull::Ring);
        space.define(&Definition::Host("node".to_owned()));
        let mut stream = space.stream(1).unwrap();
        for number in 0..20 {
            stream.call(&call(number, 1));
            stream.part(&send(number));
        }
        let mut all = bytes(words);
        for (at, byte) in changes {
            all[at] = byte;
        }
        let _ = read(&all);
        all.truncate(length);
        let _ = read(&all);
    }

    #[test]
    fn any_words_are_a_record_or_none(words in prop::collection::vec(any::<u64>(), 0..40), kind in 0_u8..20, detail in 0_u8..12) {
        let mut words = words;
        if let Some(first) = words.first_mut() {
            *first = (*first & !0xffff) | u64::from(kind) | u64::from(detail) << 8;
        }
        let _ = (Call::of(&words), Part::of(&words), Definition::of(&words));
    }
}
