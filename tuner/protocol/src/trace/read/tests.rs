use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;
use crate::trace::digest::Chunk;
use crate::trace::record::{ANY_TAG, Blocks, Piece, Pieces, Plain, Role, flag, peer};
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
    part.plain.operation = operation;
    part.plain.peer = 2;
    part
}

/// Records of a file of this version, byte for byte as every Kilter that knows the version writes them: a call, and parts of each length.
const RECORDS: [u64; 49] = [
    // MPI function 3 on communicator 0 at site 0, with five parts.
    0x0000_0001_0004_0301,
    2000,
    2010,
    0x0000_0005_0000_0001,
    // A send of two blocks, with its first bytes and a chunk.
    0x0000_0001_000d_0103,
    7,
    0x0000_0005_0000_0002,
    0x0000_0008_0000_0009,
    16,
    0x7fff_0000_1234,
    0xdead_beef_0110_0c07,
    0x3736_3534_3332_3130,
    0x6665_6463_6261_3938,
    8,
    24,
    0,
    0x0bad_cafe_0000_0010,
    // A receive of anybody's message with any tag begins.
    0x0000_0001_0007_0203,
    8,
    0xffff_ffff_ffff_ffff,
    0x0000_0004_ffff_ffff,
    400,
    0x1000,
    3,
    // A send is complete.
    0x0000_0001_0002_0403,
    7,
    // A received message whose elements are two pieces.
    0x0000_0001_000f_0303,
    9,
    0x0000_0000_0000_0000,
    0x0000_000c_0000_0005,
    12,
    0x2000,
    0x0000_0001_0210_0003,
    0x0000_0000_0000_0000,
    0x0000_0000_0000_0000,
    0x0000_0000_0000_0040,
    2,
    0,
    8,
    0xffff_ffff_ffff_ffe8,
    4,
    // A collective with root 1.
    0x0000_0001_0007_0503,
    0,
    0x0000_0001_0000_0001,
    0x0000_0000_0000_0000,
    4096,
    0,
    0x0000_0000_0000_0402,
    // The end.
    0,
];

/// The parts in [`RECORDS`].
fn parts_of_records() -> Vec<Part> {
    let send = Plain {
        communicator: 1,
        operation: 7,
        peer: 2,
        world: 5,
        tag: 9,
        element_bytes: 8,
        bytes: 16,
        address: 0x7fff_0000_1234,
        class: 7,
        operator: 12,
        flags: flag::PACKED,
        crc: 0xdead_beef,
        prefix: *b"0123456789abcdef",
    };
    let posted = Plain {
        communicator: 1,
        operation: 8,
        peer: peer::ANY,
        world: peer::ANY,
        tag: ANY_TAG,
        element_bytes: 4,
        bytes: 400,
        address: 0x1000,
        class: 3,
        ..Plain::NONE
    };
    let completed = Plain {
        communicator: 1,
        operation: 7,
        ..Plain::NONE
    };
    let received = Plain {
        communicator: 1,
        operation: 9,
        peer: 0,
        world: 0,
        tag: 5,
        element_bytes: 12,
        bytes: 12,
        address: 0x2000,
        class: 3,
        flags: flag::PACKED,
        crc: 1,
        ..Plain::NONE
    };
    let collective = Plain {
        communicator: 1,
        peer: 1,
        world: 1,
        bytes: 4096,
        class: 2,
        operator: 4,
        ..Plain::NONE
    };
    let blocks = Blocks { bytes: 8, stride: 24 };
    let chunk = Chunk {
        offset: 0,
        bytes: 16,
        crc: 0x0bad_cafe,
    };
    let piece = |offset, bytes| Piece { offset, bytes };
    let pieces = Pieces {
        pieces: vec![piece(0, 8), piece(-24, 4)],
        extent: 64,
    };
    vec![
        Part {
            blocks: Some(blocks),
            chunks: vec![chunk],
            ..Part::of_plain(Role::Send, &send)
        },
        Part::of_plain(Role::Posted, &posted),
        Part::of_plain(Role::Completed, &completed),
        Part {
            pieces: Some(Box::new(pieces)),
            ..Part::of_plain(Role::Received, &received)
        },
        Part::of_plain(Role::Collective, &collective),
    ]
}

/// Files outlive the program that wrote them, and the version is what tells: another layout of a record needs another [`VERSION`].
#[test]
fn files_of_earlier_programs_are_read_and_written_alike() {
    let words = words(1);
    let mut stream = space(words, WhenFull::Stop).stream(1).unwrap();
    let parts = parts_of_records();
    assert!(stream.call(&call(2000, 5)));
    assert!(parts.iter().all(|part| stream.part(part)));
    let written = bytes(words);
    let records: Vec<u8> = RECORDS.iter().flat_map(|word| word.to_le_bytes()).collect();
    let begin = HEADER_BYTES + segment::RECORDS * 8;
    let mut earlier = written.clone();
    earlier[begin..begin + records.len()].copy_from_slice(&records);
    let event = &read(&earlier).unwrap().threads[0][0];
    assert_eq!((event.parts.as_slice(), event.lost_parts), (parts.as_slice(), 0));
    let found: Vec<u64> = written[begin..begin + records.len()]
        .chunks(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    assert_eq!(found, RECORDS);
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
        assert!(stream.call_with(&call(1, 1), part.role, &part.plain) && stream.call(&call(2, 0)));
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
    let (one, part) = (call(1, 1), send(1).plain);
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
    assert_eq!(send(1).plain.world, peer::UNKNOWN);
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
