//! Data followed through memory: which bytes of a message are which bytes that some rank had in the beginning.
//!
//! A [`Datum`] is data that a rank sends, or shows, without having received them. What a message carries is a rope: parts of data, one behind
//! the other. A send is explained, in this order, by data at the same address with the same CRC, by equal data that the rank holds, by what
//! lies in the memory that it sends (whole pieces are checked by joining their CRCs, a single missing piece has the CRC that the others
//! leave), as a piece of data of which the rank sends all pieces, and by joining what the rank received lately. What nothing explains is new.
//!
//! A missing piece leaves nothing to check: the memory may have been overwritten since. So there are two replays, one that infers such
//! pieces and one that believes checksums alone.

use rustc_hash::FxHashMap;

use crate::arena::{Arena, Step};
use crate::crc;
use crate::model::trace::{Blocks, Payload};

mod joining;
mod memory;
mod splitting;

use memory::{Memory, Part};

/// Shorter data may be equal by chance: equality alone does not make them the same.
pub(crate) const TELLING_BYTES: u64 = 32;

/// Parts that a rope may have; data cut finer are new data.
const MOST_PARTS: usize = 4096;

/// Data that a rank had in the beginning.
#[derive(Debug, Clone)]
pub(crate) struct Datum {
    /// Rank of the communicator.
    pub(crate) origin: u32,
    /// Address at that rank.
    pub(crate) address: u64,
    /// Blocks in which they lie there.
    pub(crate) blocks: Option<Blocks>,
    pub(crate) bytes: u64,
    /// First datum with the same content, which may be this one.
    pub(crate) class: u32,
    /// CRC, if it is known.
    pub(crate) crc: Option<u32>,
}

/// Part of a datum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) datum: u32,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// Data as parts of what ranks had in the beginning.
pub(crate) type Rope = Vec<Segment>;

/// Part of a rope.
fn slice(rope: &[Segment], offset: u64, bytes: u64) -> Rope {
    let mut at = 0;
    let mut cut = Rope::new();
    for segment in rope {
        let (begin, end) = (at.max(offset), (at + segment.bytes).min(offset.saturating_add(bytes)));
        if begin < end {
            cut.push(Segment {
                datum: segment.datum,
                offset: segment.offset + (begin - at),
                bytes: end - begin,
            });
        }
        at += segment.bytes;
    }
    cut
}

/// Data of the messages of an arena.
pub(crate) struct Provenance {
    pub(crate) data: Vec<Datum>,
    /// Rope of each message; empty where the data say nothing.
    pub(crate) ropes: Vec<Rope>,
    /// Ground of each message's rope.
    pub(crate) grounds: Vec<Ground>,
    /// Data that ranks showed to themselves: rank, step, datum.
    pub(crate) shown: Vec<(u32, u32, u32)>,
    /// Messages whose data are all equal bytes and are not followed beyond the message.
    pub(crate) constant: u64,
}

/// Ground of a rope, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ground {
    /// Addresses: the data may have been overwritten since.
    Addresses,
    /// Addresses, and chunks that are still there.
    Chunks,
    /// A checksum of all data.
    Checksum,
}

/// Rope with its ground.
struct Explained {
    rope: Rope,
    ground: Ground,
    /// True if the memory has it already, piece by piece.
    is_in_memory: bool,
}

/// Evidence that a replay believes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Belief {
    /// Checksums of all of the data.
    Checked,
    /// Addresses, too, where a checksum is missing.
    Inferred,
}

/// State of the replay.
struct Replay<'t> {
    belief: Belief,
    data: Vec<Datum>,
    classes: FxHashMap<(u32, u64), u32>,
    held: Vec<FxHashMap<(u32, u64), Rope>>,
    memories: Vec<Memory<'t>>,
}

impl<'t> Replay<'t> {
    fn datum(
        &mut self,
        origin: u32,
        (address, blocks): (u64, Option<Blocks>),
        bytes: u64,
        content: Option<u32>,
    ) -> u32 {
        let id = self.data.len() as u32;
        let class = content.map_or(id, |crc| *self.classes.entry((crc, bytes)).or_insert(id));
        self.data.push(Datum {
            origin,
            address,
            blocks,
            bytes,
            class,
            crc: content,
        });
        id
    }

    fn new_rope(&mut self, rank: u32, payload: &Payload) -> Explained {
        let content = (!payload.is_constant).then_some(payload.crc32);
        let place = (payload.address, payload.blocks.clone());
        let datum = self.datum(rank, place, payload.bytes, content);
        Explained {
            rope: vec![Segment {
                datum,
                offset: 0,
                bytes: payload.bytes,
            }],
            ground: Ground::Checksum,
            is_in_memory: false,
        }
    }

    /// Rope of data that a rank sends. `split` is their rope as a piece of others.
    fn explain(&mut self, rank: u32, step: u32, payload: &Payload, split: Option<Rope>) -> Explained {
        let memory = &self.memories[rank as usize];
        if payload.is_constant {
            return self.new_rope(rank, payload);
        }
        if let Some(rope) = memory.exactly(payload) {
            return Explained {
                rope,
                ground: Ground::Checksum,
                is_in_memory: true,
            };
        }
        if payload.bytes >= TELLING_BYTES
            && let Some(rope) = self.held[rank as usize].get(&(payload.crc32, payload.bytes))
        {
            return Explained {
                rope: rope.clone(),
                ground: Ground::Checksum,
                is_in_memory: false,
            };
        }
        if let Some(rope) = split {
            return Explained {
                rope,
                ground: Ground::Checksum,
                is_in_memory: false,
            };
        }
        let parts = memory.parts(payload, step, &self.data);
        if let Some(found) = self.in_memory(rank, step, payload, &parts) {
            return found;
        }
        if let Some(rope) = joining::joined(&self.memories[rank as usize], payload, &self.data) {
            return Explained {
                rope,
                ground: Ground::Checksum,
                is_in_memory: false,
            };
        }
        self.new_rope(rank, payload)
    }

    /// Rope of data that lie, at least in part, where the rank received something or sent something before.
    fn in_memory(&mut self, rank: u32, step: u32, payload: &Payload, parts: &[Part]) -> Option<Explained> {
        if parts.is_empty() || parts.len() > MOST_PARTS {
            return None;
        }
        if let Some(found) = self.with_parts(rank, step, payload, parts) {
            return Some(found);
        }
        // The rank may have put new data of its own between those that it received.
        let is_own = |part: &&Part| {
            part.rope
                .iter()
                .all(|segment| self.data[segment.datum as usize].origin == rank)
        };
        let received: Vec<Part> = parts.iter().filter(|part| !is_own(part)).cloned().collect();
        let is_less = !received.is_empty() && received.len() < parts.len();
        is_less
            .then(|| self.with_parts(rank, step, payload, &received))
            .flatten()
    }

    /// Rope of data of which these parts are known, and gaps between them are new.
    fn with_parts(&mut self, rank: u32, step: u32, payload: &Payload, parts: &[Part]) -> Option<Explained> {
        let first = parts.first()?;
        if first.offset == 0
            && first
                .prefix
                .is_some_and(|prefix| !begins_alike(&prefix, first.bytes, payload))
        {
            return None;
        }
        // Gaps between the parts, and CRCs as far as they are known.
        let mut pieces: Vec<(u64, u64, Option<&Part>)> = Vec::new();
        let mut at = 0;
        for part in parts {
            if part.offset > at {
                pieces.push((at, part.offset - at, None));
            }
            pieces.push((part.offset, part.bytes, Some(part)));
            at = part.offset + part.bytes;
        }
        if at < payload.bytes {
            pieces.push((at, payload.bytes - at, None));
        }
        let known = |piece: &(u64, u64, Option<&Part>)| piece.2.and_then(|part| part.crc);
        let unknown: Vec<usize> = (0..pieces.len()).filter(|&at| known(&pieces[at]).is_none()).collect();
        let ground = if unknown.is_empty() {
            Ground::Checksum
        } else if self.belief == Belief::Checked {
            return None;
        } else {
            let is_received = |part: &&Part| {
                part.rope
                    .iter()
                    .any(|segment| self.data[segment.datum as usize].origin != rank)
            };
            let mut received = parts.iter().filter(is_received).peekable();
            let is_shown = received.peek().is_some() && received.all(|part| part.is_there);
            if is_shown { Ground::Chunks } else { Ground::Addresses }
        };
        if unknown.is_empty() {
            let all = crc::join_all(pieces.iter().map(|piece| (known(piece).unwrap_or(0), piece.1)));
            if all != payload.crc32 {
                return None;
            }
        }
        let solved = (unknown.len() == 1).then(|| {
            let (ahead, rest) = pieces.split_at(unknown[0]);
            let ahead = crc::join_all(ahead.iter().map(|piece| (known(piece).unwrap_or(0), piece.1)));
            let after = &rest[1..];
            let after_bytes = after.iter().map(|piece| piece.1).sum();
            let after = crc::join_all(after.iter().map(|piece| (known(piece).unwrap_or(0), piece.1)));
            crc::behind(crc::before(payload.crc32, after, after_bytes), ahead, rest[0].1)
        });
        let mut rope = Rope::new();
        for (offset, bytes, part) in &pieces {
            match part {
                Some(part) => rope.extend_from_slice(&part.rope),
                None => {
                    let address = payload.place(*offset);
                    let datum = self.datum(rank, (address, None), *bytes, solved);
                    let gap = Segment {
                        datum,
                        offset: 0,
                        bytes: *bytes,
                    };
                    // A gap of several blocks is in no place.
                    let (begin, length) = payload.piece_at(*offset);
                    if offset + bytes <= begin + length {
                        self.memories[rank as usize].put_gap(step, address, *bytes, solved, gap);
                    }
                    rope.push(gap);
                }
            }
        }
        Some(Explained {
            rope,
            ground,
            is_in_memory: true,
        })
    }

    fn hold(&mut self, rank: u32, step: u32, payload: &'t Payload, rope: &Rope, is_in_memory: bool) {
        if rope.is_empty() {
            return;
        }
        if !payload.is_constant {
            self.held[rank as usize].insert((payload.crc32, payload.bytes), rope.clone());
        }
        let memory = &mut self.memories[rank as usize];
        if !is_in_memory {
            memory.put(step, payload, rope);
        }
        memory.remember(payload, rope);
    }
}

/// True if a payload begins with the first bytes of data that are so long.
fn begins_alike(prefix: &[u8; 16], bytes: u64, payload: &Payload) -> bool {
    let common = bytes.min(payload.bytes).min(16) as usize;
    prefix[..common] == payload.prefix[..common]
}

/// Follows the data of an arena.
pub(crate) fn follow(arena: &Arena<'_>, belief: Belief) -> Provenance {
    let count = arena.messages.len();
    let mut replay = Replay {
        belief,
        data: Vec::new(),
        classes: FxHashMap::default(),
        held: vec![FxHashMap::default(); arena.size],
        memories: (0..arena.size)
            .map(|_| Memory::new(arena.size, arena.chunk_sample))
            .collect(),
    };
    let mut found = Provenance {
        data: Vec::new(),
        ropes: vec![Rope::new(); count],
        grounds: vec![Ground::Checksum; count],
        shown: Vec::new(),
        constant: 0,
    };
    let pieces = splitting::pieces(arena);
    for (step, one) in (0..).zip(&arena.steps) {
        match *one {
            Step::Send(id) => {
                let message = &arena.messages[id as usize];
                if message.sent.bytes == 0 || !message.intact {
                    continue;
                }
                found.constant += u64::from(message.sent.is_constant);
                let split = pieces.get(&step).map(|piece| {
                    let whole = &found.ropes[piece.whole as usize];
                    slice(whole, piece.offset, message.sent.bytes)
                });
                let split = split.filter(|rope| !rope.is_empty() && rope.len() <= MOST_PARTS);
                let explained = replay.explain(message.from, step, message.sent, split);
                replay.hold(
                    message.from,
                    step,
                    message.sent,
                    &explained.rope,
                    explained.is_in_memory,
                );
                found.grounds[id as usize] = explained.ground;
                found.ropes[id as usize] = explained.rope;
            }
            Step::Receive(id) => {
                let message = &arena.messages[id as usize];
                let rope = &found.ropes[id as usize];
                replay.hold(message.to, step, message.received, rope, false);
                // A message to oneself shows one's own data.
                if let (true, [segment]) = (message.from == message.to, rope.as_slice()) {
                    found.shown.push((message.to, step, segment.datum));
                }
            }
            Step::Own(rank, payload) => {
                if payload.bytes == 0 {
                    continue;
                }
                let explained = replay.new_rope(rank, payload);
                found.shown.push((rank, step, explained.rope[0].datum));
                replay.hold(rank, step, payload, &explained.rope, false);
            }
        }
    }
    found.data = replay.data;
    found
}
