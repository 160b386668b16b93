use std::sync::atomic::{AtomicU64, Ordering};

use super::super::digest::Chunk;
use super::*;
use crate::calls::{Clock, Reading};

const READING: Reading = Reading {
    own_ns: 77,
    offset_ns: -5_000_000_000,
    round_trip_ns: 900,
};

fn words_of(part: &Part) -> Vec<u64> {
    // No word is left out: none of a part is this.
    const UNSET: u64 = 0x0bad_0bad_0bad_0bad;
    let places: Vec<AtomicU64> = (1..part.length()).map(|_| AtomicU64::new(UNSET)).collect();
    let first = part.put(part.length(), &places);
    let rest = places.iter().map(|place| u64::from_le(place.load(Ordering::Relaxed)));
    let words: Vec<u64> = std::iter::once(first).chain(rest).collect();
    assert!(!words.contains(&UNSET), "{words:x?}");
    words
}

#[test]
fn parts_come_back() {
    for role in Role::ALL {
        let mut part = Part::new(role);
        let plain = &mut part.plain;
        plain.communicator = 3;
        plain.operation = u64::MAX;
        if !role.is_short() {
            plain.peer = peer::ANY;
            plain.world = 77;
            plain.tag = -1;
            plain.element_bytes = 8;
            plain.bytes = 1 << 40;
            plain.address = 0x7fff_0000_1234;
            (plain.class, plain.operator, plain.flags) = (7, 13, 255);
            plain.crc = 0xdead_beef;
        }
        if role.has_payload() {
            plain.prefix = *b"0123456789abcdef";
            part.chunks = vec![
                Chunk {
                    offset: 5,
                    bytes: 6,
                    crc: 7
                };
                3
            ];
        }
        let is_kept = |part: &Part| {
            let words = words_of(part);
            assert_eq!(Part::of(&words), Some(part.clone()), "{role:?}");
            assert_eq!(Part::of(&words[..words.len() - 1]), None, "{role:?}");
        };
        is_kept(&part);
        if role.has_payload() {
            part.blocks = Some(Blocks { bytes: 8, stride: 56 });
            is_kept(&part);
            part.chunks.clear();
            is_kept(&part);
            part.blocks = None;
            let piece = |offset, bytes| Piece { offset, bytes };
            part.pieces = Some(Box::new(Pieces {
                pieces: vec![piece(0, 8), piece(-24, 16), piece(40, 4)],
                extent: -64,
            }));
            is_kept(&part);
        }
    }
}

#[test]
fn calls_come_back() {
    for (polls, parts) in [(0, 0), (0, 9), (4, 0)] {
        let call = Call {
            function: 200,
            communicator: 1,
            begin: 2,
            end: 3,
            site: 4,
            polls,
            parts,
        };
        assert_eq!(Call::of(&call.words()), Some(call));
    }
    assert_eq!(Call::of(&[0; 4]), None);
}

#[test]
fn definitions_come_back() {
    for definition in [
        Definition::Function {
            number: 4,
            name: "MPI_Recv".to_owned(),
        },
        Definition::Site {
            number: 1 << 20,
            offset: 0x1234,
            module: "/opt/solver".to_owned(),
            symbol: String::new(),
        },
        Definition::Communicator {
            number: 3,
            rank: 1,
            size: 2,
            sequence: 1,
            members: "1-5:2,0".to_owned(),
            remote: Some("3".to_owned()),
            label: "half ½".to_owned(),
        },
        Definition::Host("node-12345678".to_owned()),
        Definition::Library("Open MPI v4.1.4".to_owned()),
        Definition::Clock(Clock {
            leader: 4,
            asks: Some(0),
            at_begin: Some(READING),
        }),
        Definition::ClockAtEnd(READING),
    ] {
        let words = definition.words().unwrap();
        assert_eq!(Definition::of(&words), Some(definition));
        assert_eq!(Definition::of(&words[..words.len() - 1]), None);
    }
    assert_eq!(Definition::Host("x".repeat(1 << 20)).words(), None);
}
