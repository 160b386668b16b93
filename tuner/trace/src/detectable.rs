//! A trace as `kilter detect` reads it.
//!
//! A call that completes several receives becomes an event for each. Calls that looked for something and found nothing become one event, since
//! what counts is that the program worked meanwhile. Messages to nobody, and those of processes outside of the world, are left out.

use std::collections::HashMap;

use kilter_detect::model::trace as detect;
use kilter_detect::model::trace::{Class, Kind};

use kilter_profiling::places;
use kilter_protocol::functions::{self, Function};
use kilter_protocol::trace::digest;

use crate::trace::{ANY_TAG, Event, Part, Piece, Rank, Role, Site, Trace, class_name, communicator_of, flag};

/// The trace for the detector.
#[must_use]
pub fn of(trace: &Trace) -> detect::Trace {
    let mut events = vec![Vec::new(); trace.world as usize];
    for rank in &trace.ranks {
        if let Some(own) = events.get_mut(rank.rank as usize) {
            *own = of_rank(trace, rank);
        }
    }
    detect::Trace {
        ranks: trace.world as usize,
        // A process outside of the world takes part in nothing that is looked for; its place stays, so that ranks keep their numbers.
        communicators: trace
            .communicators
            .iter()
            .map(|one| detect::Communicator {
                members: one.members.iter().map(|member| member.unwrap_or(u32::MAX)).collect(),
                name: one.name.clone(),
            })
            .collect(),
        sites: trace.sites.iter().map(site).chain([detect::Site::default()]).collect(),
        chunk_sample: chunk_sample(trace, None),
        chunk_samples: (0..trace.communicators.len())
            .map(|one| chunk_sample(trace, Some(one)))
            .collect(),
        events,
    }
}

/// Chunks that every payload of a communicator, or of all, has: those of the longest one.
fn chunk_sample(trace: &Trace, communicator: Option<usize>) -> u64 {
    let is_there = |part: &&Part| communicator.is_none_or(|one| communicator_of(part) == Some(one));
    let hashed = |rank: &Rank| {
        let parts = rank.events.iter().flat_map(|event| &event.parts);
        // Payloads of collectives are not hashed.
        let parts = parts.filter(|part| part.role.has_payload() && is_there(part));
        parts
            .map(|part| part.plain.bytes)
            .max()
            .unwrap_or(0)
            .min(rank.hash_limit)
    };
    let longest = trace.ranks.iter().map(hashed).max().unwrap_or(0);
    1 << digest::sampling(usize::try_from(longest).unwrap_or(usize::MAX))
}

fn site(site: &Site) -> detect::Site {
    let (function, file, line) = places::parts(&site.source);
    let known = if function.is_empty() { &site.symbol } else { function };
    detect::Site {
        function: known.to_owned(),
        file: file.to_owned(),
        line,
        object: site.module.rsplit('/').next().unwrap_or_default().to_owned(),
        offset: site.offset,
    }
}

/// Begins of the calls that begin receives, and of those that complete sends, by operation.
struct Times {
    posted: HashMap<u64, u64>,
    completed: HashMap<u64, u64>,
}

impl Times {
    fn of(rank: &Rank) -> Times {
        let by_operation = |role: Role| {
            let parts = rank
                .events
                .iter()
                .flat_map(|event| event.parts.iter().map(move |part| (event, part)));
            parts
                .filter(|(_, part)| part.role == role)
                .map(|(event, part)| (part.plain.operation, event.begin_ns))
                .collect()
        };
        Times {
            posted: by_operation(Role::Posted),
            completed: by_operation(Role::Completed),
        }
    }
}

fn of_rank(trace: &Trace, rank: &Rank) -> Vec<detect::Event> {
    let times = Times::of(rank);
    let mut all = Vec::new();
    for event in &rank.events {
        let Some(function) = trace.known_function(event) else {
            continue;
        };
        if function.is_test() {
            let found = event.polls == 0;
            all.push(made(trace, event, Kind::Test { found }));
        }
        let parts = event.parts.iter();
        let kinds = parts.filter_map(|part| kind(function, event, part, &times));
        all.extend(kinds.map(|kind| made(trace, event, kind)));
    }
    all
}

fn made(trace: &Trace, event: &Event, kind: Kind) -> detect::Event {
    detect::Event {
        begin_ns: event.begin_ns,
        end_ns: event.end_ns.max(event.begin_ns),
        // The last site is the unknown one.
        site: event.site.unwrap_or(trace.sites.len()) as u32,
        kind,
    }
}

fn kind(function: Function, event: &Event, part: &Part, times: &Times) -> Option<Kind> {
    let plain = &part.plain;
    let communicator = plain.communicator.checked_sub(1)?;
    let rank = |peer: i32| u32::try_from(peer).ok();
    match part.role {
        Role::Send => Some(Kind::Send {
            communicator,
            to: rank(plain.peer)?,
            tag: plain.tag,
            payload: payload(part),
            completed_ns: (function.kind() == functions::Kind::Begin)
                .then(|| times.completed.get(&plain.operation).copied().unwrap_or(u64::MAX)),
        }),
        Role::Received => Some(Kind::Receive {
            communicator,
            from: rank(plain.peer)?,
            tag: plain.tag,
            payload: payload(part),
            posted_ns: times.posted.get(&plain.operation).copied().unwrap_or(event.begin_ns),
        }),
        Role::Own => Some(Kind::ToSelf {
            communicator,
            payload: payload(part),
        }),
        Role::Asked => Some(Kind::Probe {
            communicator,
            from: rank(plain.peer),
            tag: (plain.tag != ANY_TAG).then_some(plain.tag),
            found: event.polls == 0,
            blocking: function.waits_to_probe(),
        }),
        Role::Collective => Some(Kind::Collective {
            communicator,
            function: function.name().trim_start_matches("MPI_").to_owned(),
            root: rank(plain.peer),
            bytes: plain.bytes,
            blocking: function.kind() == functions::Kind::Collective,
        }),
        _ => None,
    }
}

/// Blocks or pieces of elements. Those that overlap, have no length or do not begin at 0 are of a file that is damaged.
fn blocks(part: &Part) -> Option<detect::Blocks> {
    if let Some(blocks) = part.blocks {
        let is_sound = blocks.bytes > 0 && blocks.stride >= blocks.bytes;
        return is_sound.then(|| detect::Blocks::even(blocks.bytes, blocks.stride));
    }
    let all = part.pieces.as_ref()?;
    let is_sound = all.pieces.first().is_some_and(|first| first.offset == 0);
    let piece = |piece: &Piece| {
        let (offset, bytes) = (piece.offset, piece.bytes);
        (bytes > 0).then_some(detect::Piece { offset, bytes })
    };
    Some(detect::Blocks {
        pieces: all.pieces.iter().map(piece).collect::<Option<_>>()?,
        stride: all.extent,
    })
    .filter(|_| is_sound)
}

fn payload(part: &Part) -> detect::Payload {
    let plain = &part.plain;
    let class = match class_name(plain.class) {
        "byte" => Class::Byte,
        "integer" | "logical" => Class::Integer,
        "real" => Class::Real,
        "complex" => Class::Complex,
        _ => Class::Mixed,
    };
    let has = |bit: u8| plain.flags & bit != 0;
    let blocks = blocks(part);
    let is_known = !has(flag::PACKED) || blocks.is_some();
    detect::Payload {
        bytes: plain.bytes,
        crc32: plain.crc,
        prefix: plain.prefix,
        chunks: part
            .chunks
            .iter()
            .map(|chunk| detect::Chunk {
                // The CRC is below, so that its last zeros, by which chunks are sampled, are those of the hash.
                hash: u64::from(chunk.bytes) << 32 | u64::from(chunk.crc),
                offset: chunk.offset,
                bytes: u64::from(chunk.bytes),
            })
            .collect(),
        element_bytes: if class == Class::Mixed { 0 } else { plain.element_bytes },
        class,
        address: if is_known { plain.address } else { 0 },
        blocks: blocks.filter(|one| one.pieces.len() > 1 || one.pieces.iter().any(|piece| piece.bytes < plain.bytes)),
        // Data of which nothing is known shows nothing, as data of equal bytes does. The tracer does not mark a single byte.
        is_constant: plain.bytes <= 1 || has(flag::CONSTANT) || has(flag::NOT_HASHED),
    }
}

#[cfg(test)]
mod tests {
    use kilter_protocol::trace::record::{Blocks, Pieces};

    use super::*;
    use crate::fixture;

    #[test]
    fn messages_keep_their_ends_their_data_and_their_sites() {
        let trace = of(&fixture::trace());
        assert_eq!((trace.ranks, trace.events.len()), (2, 2));
        let Kind::Send { to, tag, payload, .. } = &trace.events[0][0].kind else {
            panic!("{:?}", trace.events[0]);
        };
        assert_eq!((*to, *tag, payload.bytes, payload.crc32), (1, 5, 24, 9));
        let Kind::Receive { from, .. } = &trace.events[1][0].kind else {
            panic!("{:?}", trace.events[1]);
        };
        assert_eq!(*from, 0);
        let site = &trace.sites[trace.events[0][0].site as usize];
        assert_eq!((site.function.as_str(), site.object.as_str()), ("main", "solver"));
    }

    /// A long payload on one communicator leaves the chunks of others as they are.
    #[test]
    fn chunks_are_sampled_by_the_longest_payload_of_each_communicator() {
        let mut raw = fixture::trace();
        raw.communicators.push(raw.communicators[0].clone());
        let rank = &mut raw.ranks[0];
        rank.hash_limit = u64::MAX;
        let mut long = rank
            .events
            .iter()
            .find(|event| event.parts.iter().any(|part| part.role == Role::Send))
            .unwrap()
            .clone();
        for part in &mut long.parts {
            (part.plain.communicator, part.plain.bytes) = (2, 1 << 30);
        }
        rank.events.push(long);
        let trace = of(&raw);
        let sample = 1 << digest::sampling(1 << 30);
        assert!(sample > 1, "{sample}");
        assert_eq!((trace.chunk_samples, trace.chunk_sample), (vec![1, sample], sample));
    }

    #[test]
    fn places_are_kept_if_they_can_be_believed() {
        let mut part = Part::new(Role::Send);
        let plain = &mut part.plain;
        (plain.bytes, plain.address, plain.flags) = (24, 1000, flag::PACKED);
        let known = |part: &Part| {
            let payload = payload(part);
            (payload.address, payload.blocks)
        };
        assert_eq!(known(&part), (0, None));
        let (blocks, whole) = (Blocks { bytes: 8, stride: 16 }, Blocks { bytes: 24, stride: 24 });
        part.blocks = Some(blocks);
        assert_eq!(known(&part), (1000, Some(detect::Blocks::even(8, 16))));
        part.blocks = Some(whole);
        assert_eq!(known(&part), (1000, None));
        part.blocks = Some(Blocks { stride: 4, ..blocks });
        assert_eq!(known(&part), (0, None));
        part.blocks = None;
        let mut pieces = |first, bytes| {
            let piece = |offset, bytes| Piece { offset, bytes };
            part.pieces = Some(Box::new(Pieces {
                pieces: vec![piece(first, 4), piece(16, bytes)],
                extent: 32,
            }));
            known(&part)
        };
        let (address, found) = pieces(0, 8);
        assert_eq!((address, found.unwrap().pieces.len()), (1000, 2));
        assert_eq!((pieces(0, 0), pieces(8, 8)), ((0, None), (0, None)));
    }

    #[test]
    fn a_line_of_the_source_is_taken_apart() {
        let known = site(&Site {
            module: "/home/user/xhpl".to_owned(),
            offset: 7,
            symbol: "HPL_bcast".to_owned(),
            source: "HPL_bcast_1ring (src/HPL_1ring.c:152)".to_owned(),
        });
        assert_eq!(
            (known.function.as_str(), known.file.as_str(), known.line),
            ("HPL_bcast_1ring", "src/HPL_1ring.c", 152)
        );
        let unknown = site(&Site {
            module: "xhpl".to_owned(),
            offset: 7,
            symbol: "HPL_bcast".to_owned(),
            source: String::new(),
        });
        assert_eq!(
            (unknown.function.as_str(), unknown.line, unknown.offset),
            ("HPL_bcast", 0, 7)
        );
    }
}
