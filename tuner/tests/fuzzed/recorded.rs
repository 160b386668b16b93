//! Files of the tracer: the counts and the trace of one rank are damaged, those of the others are whole. Everything that shows them reads an accepted one.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use kilter_profiling::gather::gather;
use kilter_profiling::profile::Profile;
use kilter_profiling::store;
use kilter_protocol::calls::{self, Calls, Communicator, End, Line, Messages, Received, Samples, Site};
use kilter_protocol::functions::Function;
use kilter_protocol::trace::WhenFull;
use kilter_protocol::trace::digest::digest;
use kilter_protocol::trace::layout::{HEADER_BYTES, SEGMENT_BYTES};
use kilter_protocol::trace::record::{Call, Definition, Part, Plain, Role};
use kilter_protocol::trace::space::{Begin, Space, Stream};
use kilter_tracing::matching::matches;
use kilter_tracing::{counters, detectable, events, perfetto};

use super::{fuzz, fuzz_text};

const RANKS: u32 = 4;
const TIMES: u64 = 6;

/// A segment of definitions, and one of calls.
const SEGMENTS: usize = 2;

/// Bytes of each part of a file that are more than zeros.
const DENSE: [usize; 1 + SEGMENTS] = [256, 1024, 6 * 1024];

/// Begins of these parts in the file.
const AT: [usize; 1 + SEGMENTS] = [0, HEADER_BYTES, HEADER_BYTES + SEGMENT_BYTES];

/// A message's side.
fn part(role: Role, operation: u64, peer: u32, payload: &[u8]) -> Part {
    let mut plain = Plain {
        communicator: 1,
        operation,
        peer: peer.cast_signed(),
        world: peer.cast_signed(),
        tag: 7,
        bytes: payload.len() as u64,
        element_bytes: 8,
        class: 3,
        address: 0x1000 + 0x100 * u64::from(peer),
        ..Plain::NONE
    };
    let mut chunks = Vec::new();
    plain.set(&digest(payload, &mut chunks));
    Part {
        chunks,
        ..Part::of_plain(role, &plain)
    }
}

/// Broadcasts of rank 0, each a message to every other rank, and a collective after each.
fn calls_of(rank: u32, stream: &mut Stream) {
    let mut operation = 0;
    let mut put = |function: Function, begin: u64, part: Part| {
        let call = Call {
            function: function as u8,
            communicator: 1,
            begin,
            end: begin + 10,
            site: 1,
            polls: 0,
            parts: 1,
        };
        assert!(stream.call(&call) && stream.part(&part));
    };
    for turn in 0..TIMES {
        let payload: Vec<u8> = (0..64).map(|i| (31 * i + 7 * turn + i * i % 251) as u8).collect();
        let begin = 1000 * (turn + 1);
        for other in 1..RANKS {
            operation += 1;
            if rank == 0 {
                put(
                    Function::Send,
                    begin + 20 * u64::from(other),
                    part(Role::Send, operation, other, &payload),
                );
            } else if rank == other {
                put(
                    Function::Recv,
                    begin + 20 * u64::from(other),
                    part(Role::Received, operation, 0, &payload),
                );
            }
        }
        let mut collective = Part::new(Role::Collective);
        (collective.plain.communicator, collective.plain.bytes) = (1, 64);
        put(Function::Allreduce, begin + 500, collective);
    }
}

/// The file of a rank.
fn file(rank: u32) -> Vec<u8> {
    let words = (HEADER_BYTES + SEGMENTS * SEGMENT_BYTES) / 8;
    let words: &'static [AtomicU64] = Box::leak((0..words).map(|_| AtomicU64::new(0)).collect());
    let begin = Begin {
        rank,
        ranks: RANKS,
        process: 99,
        when_full: WhenFull::Stop,
        threads: false,
        hash_limit: 1 << 20,
        first: (0, 0, 1_000_000_000),
        begin: 10,
    };
    let space = Space::new(words, &begin, |_| true);
    space.read_clocks(1_000_000, 1_000_000);
    space.define(&Definition::Host("node".to_owned()));
    space.define(&Definition::Library("Some MPI 1.0".to_owned()));
    for function in [Function::Send, Function::Recv, Function::Allreduce] {
        space.define(&Definition::Function {
            number: function as u8,
            name: function.name().to_owned(),
        });
    }
    space.define(&Definition::Site {
        number: 1,
        offset: 64,
        module: "/home/user/solver".to_owned(),
        symbol: "main".to_owned(),
    });
    space.define(&Definition::Communicator {
        number: 0,
        rank,
        size: RANKS,
        sequence: 0,
        members: "0-3".to_owned(),
        remote: None,
        label: "world".to_owned(),
    });
    calls_of(rank, &mut space.stream(1).unwrap());
    space.end(900_000, true);
    words
        .iter()
        .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes())
        .collect()
}

/// The parts of a file that are more than zeros, one behind the other.
fn dense(file: &[u8]) -> Vec<u8> {
    let parts = AT.iter().zip(DENSE).flat_map(|(at, bytes)| &file[*at..at + bytes]);
    parts.copied().collect()
}

/// The file of which these are the parts.
fn whole(dense: &[u8]) -> Vec<u8> {
    let mut file = vec![0; HEADER_BYTES + SEGMENTS * SEGMENT_BYTES];
    let mut rest = dense;
    for (at, bytes) in AT.into_iter().zip(DENSE) {
        let (part, behind) = rest.split_at(bytes.min(rest.len()));
        file[at..at + part.len()].copy_from_slice(part);
        rest = behind;
    }
    file
}

/// Everything that reads a trace.
fn show_trace(directory: &Path) -> Option<usize> {
    let trace = kilter_tracing::gather::gather(directory).ok()?;
    let matches = matches(&trace);
    let summary = kilter_tracing::summary::of(&trace, &matches);
    let _ = kilter_tracing::text::text(&summary);
    for as_json in [false, true] {
        events::write(&trace, None, as_json, &mut std::io::sink()).unwrap();
    }
    perfetto::write(&trace, &matches, &mut std::io::sink()).unwrap();
    let counters = counters::text(&trace, &matches, &|_, _, _| None);
    let rules = kilter_advise::rules::load_embedded().unwrap();
    if let Ok(listings) = kilter_advise::formats::read(&counters, "trace") {
        let judged = kilter_advise::judge(&rules, &kilter_advise::formats::joined(listings));
        let _ = kilter_advise::render::text(&judged);
    }
    let trace = detectable::of(&trace);
    let detection = kilter_detect::detect(&trace);
    let _ = kilter_detect::text::text(&detection, &trace, 1.0);
    kilter_detect::html::render(&detection, &trace, "mpirun", 1.0).unwrap();
    kilter_detect::json::render(&detection, &trace, "mpirun").unwrap();
    Some(detection.findings.len())
}

#[test]
fn traces() {
    let directory = kilter_fixtures::directory();
    let path = |rank: u32| {
        directory
            .path()
            .join(format!("{rank}.{}", kilter_protocol::trace::EXTENSION))
    };
    for rank in 0..RANKS {
        std::fs::write(path(rank), file(rank)).unwrap();
    }
    assert_eq!(whole(&dense(&file(0))), file(0), "nothing is left out");
    assert_eq!(show_trace(directory.path()), Some(1), "the broadcasts are found");
    fuzz(320, &[dense(&file(0))], |bytes| {
        std::fs::write(path(0), whole(bytes)).unwrap();
        let _ = show_trace(directory.path());
    });
}

/// The counts of a rank.
fn counted(rank: u32) -> String {
    let call = |function: Function, seconds: f64| {
        Line::Calls(Calls {
            communicator: Some(0),
            function: function.name().to_owned(),
            site: Some(0),
            bucket: calls::bucket(64),
            datatype: Some("real".to_owned()),
            operator: (function == Function::Allreduce).then(|| "MPI_SUM".to_owned()),
            calls: 20,
            seconds,
            shortest: seconds / 100.0,
            longest: seconds / 2.0,
            bytes: 20 * 64,
            requests: 0,
        })
    };
    let clock = calls::Clock {
        leader: 0,
        asks: None,
        at_begin: None,
    };
    let lines = [
        Line::Rank(calls::Rank {
            v: calls::VERSION,
            rank,
            ranks: RANKS,
            host: "node".to_owned(),
            process: 99,
            library: "Some MPI 1.0".to_owned(),
            seconds: 2.0,
            finalized: true,
            sampling: Some(calls::Sampling {
                interval: 8,
                halvings: 0,
                clock,
            }),
        }),
        Line::Communicator(Communicator {
            id: 0,
            size: RANKS,
            members: "0-3".to_owned(),
            remote: None,
            sequence: 0,
            label: "all".to_owned(),
        }),
        Line::Site(Site {
            id: 0,
            module: "/home/user/solver".to_owned(),
            offset: 64,
            symbol: "main".to_owned(),
        }),
        call(Function::Allreduce, 0.5),
        call(Function::Recv, 0.25),
        call(Function::File_write_at_all, 0.125),
        Line::Samples(Samples {
            of: 0,
            numbers: vec![0, 9],
            begins_ns: vec![1_000, 2_000],
            took_ns: vec![500, 400],
            as_root: vec![],
        }),
        Line::Messages(Messages {
            to: (rank + 1) % RANKS,
            messages: 20,
            bytes: 1280,
        }),
        Line::Received(Received {
            from: (rank + 3) % RANKS,
            function: "MPI_Recv".to_owned(),
            site: Some(0),
            calls: 20,
            seconds: 0.25,
            bytes: 1280,
        }),
        Line::End(End::default()),
    ];
    let lines = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n");
    lines.collect()
}

/// Everything that reads counts; how many calls there are.
fn show_profile(profile: &Profile) -> u64 {
    let summary = kilter_profiling::summary::of(profile);
    let _ = kilter_profiling::text::text(&summary);
    kilter_profiling::html::render(&summary).unwrap();
    let _ = kilter_profiling::listing::text(profile);
    let _ = kilter_profiling::counters::text(profile);
    let _ = kilter_profiling::mix::text(profile);
    profile.calls.iter().map(|calls| calls.calls).sum()
}

#[test]
fn counts() {
    let directory = kilter_fixtures::directory();
    let path = |rank: u32| directory.path().join(format!("{rank}.{}", calls::EXTENSION));
    for rank in 0..RANKS {
        std::fs::write(path(rank), counted(rank)).unwrap();
    }
    assert_eq!(show_profile(&gather(directory.path()).unwrap()), 4 * 3 * 20);
    fuzz_text(4_096, &[counted(0)], |text| {
        std::fs::write(path(0), text).unwrap();
        if let Ok(profile) = gather(directory.path()) {
            let _ = show_profile(&profile);
        }
    });
}

/// The file that `kilter profile` makes of the counts.
#[test]
fn files_of_profiles() {
    let directory = kilter_fixtures::directory();
    std::fs::write(directory.path().join(format!("0.{}", calls::EXTENSION)), counted(0)).unwrap();
    let [sound, fuzzed] = ["sound.db", "fuzzed.db"].map(|name| directory.path().join(name));
    store::write(&gather(directory.path()).unwrap(), &sound).unwrap();
    assert_eq!(show_profile(&store::read(&sound).unwrap()), 3 * 20);
    fuzz(2_816, &[std::fs::read(&sound).unwrap()], |bytes| {
        std::fs::write(&fuzzed, bytes).unwrap();
        if let Ok(profile) = store::read(&fuzzed) {
            let _ = show_profile(&profile);
        }
    });
}
