//! Any trace is answered: nothing panics, and nothing runs for ever.

use kilter_detect::detect;
use kilter_detect::model::trace::{Blocks, Chunk, Class, Communicator, Event, Kind, Payload, Piece, Site, Trace};
use proptest::collection::vec;
use proptest::prelude::*;

/// Numbers that meet often, some at the ends of their range, and one that is long for data but believed.
fn number() -> impl Strategy<Value = u64> {
    (0..14_u8, any::<u64>()).prop_map(|(way, any)| match way {
        0..8 => any % 6,
        8..10 => any % 6 * 8,
        10 => 1 << 47,
        11 => u64::MAX - 7,
        12 => u64::MAX,
        _ => any,
    })
}

fn small() -> impl Strategy<Value = u32> {
    (0..18_u8, any::<u32>()).prop_map(|(way, any)| match way {
        0..16 => any % 5,
        16 => u32::MAX,
        _ => any,
    })
}

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![
        Just(Class::Byte),
        Just(Class::Integer),
        Just(Class::Real),
        Just(Class::Complex),
        Just(Class::Mixed)
    ]
}

fn chunk() -> impl Strategy<Value = Chunk> {
    (number(), number(), number()).prop_map(|(hash, offset, bytes)| Chunk { hash, offset, bytes })
}

fn blocks() -> BoxedStrategy<Option<Blocks>> {
    let piece = (number(), number()).prop_map(|(offset, bytes)| Piece {
        offset: offset.cast_signed(),
        bytes,
    });
    let pieces = prop::collection::vec(piece, 0..4);
    let blocks = (pieces, number()).prop_map(|(pieces, stride)| Blocks {
        pieces,
        stride: stride.cast_signed(),
    });
    prop::option::of(blocks).boxed()
}

fn payload() -> BoxedStrategy<Payload> {
    let prefix = prop_oneof![(0..4_u8).prop_map(|one| [one; 16]), any::<[u8; 16]>()];
    let element = prop_oneof![Just(1_u32), Just(4), Just(8), Just(16), small()];
    (
        number(),
        small(),
        prefix,
        vec(chunk(), 0..3),
        element,
        class(),
        (number(), blocks()),
        any::<bool>(),
    )
        .prop_map(
            |(bytes, crc32, prefix, chunks, element_bytes, class, (address, blocks), is_constant)| Payload {
                bytes,
                crc32,
                prefix,
                chunks,
                element_bytes,
                class,
                address,
                blocks,
                is_constant,
            },
        )
        .boxed()
}

fn kind() -> BoxedStrategy<Kind> {
    prop_oneof![
        8 => (small(), small(), 0..2, payload(), prop::option::of(number())).prop_map(|(communicator, to, tag, payload, completed_ns)| Kind::Send {
            communicator,
            to,
            tag,
            payload,
            completed_ns,
        }),
        8 => (small(), small(), 0..2, payload(), number()).prop_map(|(communicator, from, tag, payload, posted_ns)| Kind::Receive {
            communicator,
            from,
            tag,
            payload,
            posted_ns,
        }),
        1 => (small(), small(), any::<bool>()).prop_map(|(communicator, from, found)| Kind::Probe {
            communicator,
            from: Some(from),
            tag: None,
            found,
            blocking: false,
        }),
        1 => any::<bool>().prop_map(|found| Kind::Test { found }),
        1 => small().prop_map(|communicator| Kind::Collective {
            communicator,
            function: "MPI_Bcast".to_owned(),
            root: None,
            bytes: 8,
            blocking: true,
        }),
        2 => (small(), payload()).prop_map(|(communicator, payload)| Kind::ToSelf { communicator, payload }),
    ]
    .boxed()
}

fn event() -> impl Strategy<Value = Event> {
    (number(), number(), small(), kind()).prop_map(|(begin_ns, end_ns, site, kind)| Event {
        begin_ns,
        end_ns,
        site,
        kind,
    })
}

fn any_trace() -> impl Strategy<Value = Trace> {
    let members = vec(small(), 0..6);
    (0..6_usize, vec(members, 0..4), 0..4_u64, vec(vec(event(), 0..30), 0..6)).prop_map(
        |(ranks, members, chunk_sample, events)| Trace {
            chunk_sample,
            chunk_samples: Vec::new(),
            ranks,
            communicators: members
                .into_iter()
                .map(|members| Communicator {
                    members,
                    name: String::new(),
                })
                .collect(),
            sites: vec![Site::default()],
            events,
        },
    )
}

/// Ranks that send to each other as they are drawn: every message has both ends, in an order that makes sense.
fn any_exchange() -> impl Strategy<Value = Trace> {
    let message = (0..5_u32, 0..5_u32, 0..2, payload(), payload(), 0..3_u32);
    vec(message, 0..120).prop_map(|messages| {
        let mut events: Vec<Vec<Event>> = vec![Vec::new(); 5];
        for (at, (from, to, tag, payload, mut received, site)) in (0..).zip(messages) {
            let communicator = 0;
            let time = at * 100;
            let event = |kind| Event {
                begin_ns: time,
                end_ns: time + 50,
                site,
                kind,
            };
            let address = std::mem::replace(&mut received, payload.clone()).address;
            received.address = address;
            events[from as usize].push(event(Kind::Send {
                communicator,
                to,
                tag,
                payload,
                completed_ns: None,
            }));
            events[to as usize].push(event(Kind::Receive {
                communicator,
                from,
                tag,
                payload: received,
                posted_ns: time,
            }));
        }
        Trace {
            ranks: 5,
            communicators: vec![Communicator {
                members: (0..5).collect(),
                name: "world".to_owned(),
            }],
            chunk_sample: 1,
            chunk_samples: vec![2],
            sites: vec![Site::default(); 3],
            events,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nonsense_is_answered(trace in any_trace()) {
        let detection = detect(&trace);
        prop_assert_eq!(detect(&trace), detection);
    }

    #[test]
    fn drawn_exchanges_are_answered(trace in any_exchange()) {
        let detection = detect(&trace);
        prop_assert_eq!(detection.doubts.impossible, 0);
        prop_assert_eq!(detect(&trace), detection);
    }
}
