//! Small traces for tests.

use std::sync::atomic::{AtomicU64, Ordering};

use kilter_protocol::trace::WhenFull;
use kilter_protocol::trace::layout::{HEADER_BYTES, SEGMENT_BYTES};
use kilter_protocol::trace::read::read;
use kilter_protocol::trace::record::{Call, Definition, Part, Plain, Role};
use kilter_protocol::trace::space::{Begin, Space};

use crate::gather::joined;
use crate::trace::{Communicator, Event, Rank, Trace};

/// The file of one of two ranks: rank 0 sends, rank 1 receives.
pub(crate) fn bytes(rank: u32) -> Vec<u8> {
    bytes_on(rank, (1000, 5000), &[])
}

/// The same with a clock that shows so many nanoseconds at first, when the clock of the day shows the second number; and with further definitions.
pub(crate) fn bytes_on(rank: u32, (first_ns, real_ns): (u64, u64), further: &[Definition]) -> Vec<u8> {
    let count = (HEADER_BYTES + 2 * SEGMENT_BYTES) / 8;
    let words: &'static [AtomicU64] = Box::leak((0..count).map(|_| AtomicU64::new(0)).collect());
    let begin = Begin {
        rank,
        ranks: 2,
        process: 100 + rank,
        when_full: WhenFull::Stop,
        threads: false,
        hash_limit: 1 << 20,
        first: (0, first_ns, real_ns),
        begin: 100 + u64::from(rank),
    };
    let space = Space::new(words, &begin, |_| true);
    space.read_clocks(1_000_000, first_ns + 1_000_000);
    further.iter().for_each(|definition| space.define(definition));
    space.define(&Definition::Host("node1".to_owned()));
    space.define(&Definition::Library("Some MPI".to_owned()));
    for (number, name) in [(0, "MPI_Send"), (4, "MPI_Recv")] {
        let name = name.to_owned();
        space.define(&Definition::Function { number, name });
    }
    space.define(&Definition::Communicator {
        number: 0,
        rank,
        size: 2,
        sequence: 0,
        members: "0-1".to_owned(),
        remote: None,
        label: String::new(),
    });
    space.define(&Definition::Site {
        number: 7,
        offset: 0x10,
        module: "/opt/solver".to_owned(),
        symbol: "main".to_owned(),
    });
    let mut stream = space.stream(1).unwrap();
    let mut part = if rank == 0 {
        sent(1, 1, 5, 9)
    } else {
        received(1, 0, 5, 9)
    };
    part.plain.bytes = 24;
    stream.call(&Call {
        function: if rank == 0 { 0 } else { 4 },
        communicator: 1,
        begin: 200,
        end: 300 + 100 * u64::from(rank),
        site: 8,
        polls: 0,
        parts: 1,
    });
    stream.part(&part);
    space.end(1000, true);
    words
        .iter()
        .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes())
        .collect()
}

/// Both files together.
pub(crate) fn trace() -> Trace {
    joined((0..2).map(|rank| read(&bytes(rank)).unwrap()).collect())
}

/// A part about the world.
fn part(role: Role, operation: u64, other: i32, tag: i32, crc: u32) -> Part {
    let plain = Plain {
        communicator: 1,
        operation,
        peer: other,
        world: other,
        tag,
        crc,
        ..Plain::NONE
    };
    Part::of_plain(role, &plain)
}

/// A send.
pub(crate) fn sent(operation: u64, to: i32, tag: i32, crc: u32) -> Part {
    part(Role::Send, operation, to, tag, crc)
}

/// A receive.
pub(crate) fn received(operation: u64, from: i32, tag: i32, crc: u32) -> Part {
    part(Role::Received, operation, from, tag, crc)
}

/// A call.
pub(crate) fn event(begin_ns: u64, parts: Vec<Part>) -> Event {
    Event {
        thread: 0,
        begin_ns,
        end_ns: begin_ns + 1,
        function: 0,
        communicator: Some(0),
        site: None,
        polls: 0,
        parts,
    }
}

/// A trace of two ranks with these calls.
pub(crate) fn of_two(first: Vec<Event>, second: Vec<Event>) -> Trace {
    let rank = |rank, events| Rank {
        rank,
        host: "node1".to_owned(),
        process: 1,
        begin_ns: 0,
        end_ns: Some(100),
        finalized: true,
        when_full: WhenFull::Stop,
        limit: 1 << 20,
        hash_limit: 1 << 20,
        lost_calls: 0,
        lost_parts: 0,
        lost_definitions: 0,
        failed_calls: 0,
        events,
    };
    Trace {
        world: 2,
        ranks: vec![rank(0, first), rank(1, second)],
        communicators: vec![Communicator {
            name: "world".to_owned(),
            label: String::new(),
            members: vec![Some(0), Some(1)],
            remote: None,
        }],
        functions: vec!["MPI_Call".to_owned()],
        ..Trace::default()
    }
}
