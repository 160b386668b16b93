//! Memory of a rank: which data lie at which addresses, as far as messages told.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::{Datum, Rope, Segment, slice};
use crate::model::trace::Payload;

/// Pieces that are remembered, for each rank of the communicator.
const PIECES_A_RANK: usize = 4;

/// Shorter payloads have too few chunks to tell anything.
const FEWEST_CHUNKED_BYTES: u64 = 4096;

/// Data at an address.
#[derive(Debug, Clone)]
struct Piece<'t> {
    bytes: u64,
    rope: Rope,
    /// CRC of all of it; `None` for what is left of a piece that was partly overwritten.
    crc: Option<u32>,
    prefix: Option<[u8; 16]>,
    /// Payload that came, and the bytes at its beginning that were overwritten.
    came: Option<&'t Payload>,
    skipped: u64,
    step: u32,
}

/// Part of a payload that lies in a piece.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Beginning in the payload.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) rope: Rope,
    pub(super) crc: Option<u32>,
    /// First bytes, if the part begins where its piece does.
    pub(super) prefix: Option<[u8; 16]>,
    /// True if chunks of the payload show it.
    pub(super) is_there: bool,
}

/// Fate of a piece, as chunks of later data tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    There,
    Gone,
    /// There are too few chunks to tell.
    Open,
}

impl Piece<'_> {
    /// Fate of the bytes from one offset to another, where data with these chunks lie now. The first and the last chunk of what came end where
    /// that does, and tell nothing.
    fn fate(&self, from: u64, to: u64, known: &HashSet<u64>, sample: u64) -> Fate {
        let Some(came) = self.came.filter(|_| !known.is_empty()) else {
            return Fate::Open;
        };
        let (from, to) = (self.skipped.saturating_add(from), self.skipped.saturating_add(to));
        let (mut expected, mut found) = (0_u64, 0_u64);
        for chunk in came.sampled(sample) {
            let end = chunk.offset.saturating_add(chunk.bytes);
            let is_inner = chunk.offset > 0 && end < came.bytes;
            if is_inner && chunk.offset >= from && end <= to {
                expected = expected.saturating_add(chunk.bytes);
                found = found.saturating_add(if known.contains(&chunk.hash) { chunk.bytes } else { 0 });
            }
        }
        match expected {
            0 => Fate::Open,
            _ if found > expected / 2 => Fate::There,
            _ => Fate::Gone,
        }
    }
}

/// Data that were received, sent or shown lately.
#[derive(Debug, Clone)]
pub(super) struct Recent {
    pub(super) bytes: u64,
    pub(super) crc: u32,
    pub(super) prefix: [u8; 16],
    pub(super) rope: Rope,
}

/// Memory of a rank.
pub(super) struct Memory<'t> {
    pieces: BTreeMap<u64, Piece<'t>>,
    /// The latest pieces, the oldest first, without the same one twice.
    pub(super) recent: VecDeque<Recent>,
    most: usize,
    chunk_sample: u64,
}

impl<'t> Memory<'t> {
    pub(super) fn new(ranks: usize, chunk_sample: u64) -> Self {
        Self {
            pieces: BTreeMap::new(),
            recent: VecDeque::new(),
            most: (PIECES_A_RANK * ranks).clamp(16, 256),
            chunk_sample,
        }
    }

    /// Data that lie exactly where a payload does and have its CRC.
    pub(super) fn exactly(&self, payload: &Payload) -> Option<Rope> {
        let piece = self.pieces.get(&payload.address)?;
        let same = piece.bytes == payload.bytes && piece.crc == Some(payload.crc32);
        same.then(|| piece.rope.clone())
    }

    /// Parts of a payload that lie in known pieces, by their offsets. A piece that reaches beyond the payload is cut: segments that are a whole
    /// datum keep its CRC.
    pub(super) fn parts(&self, payload: &Payload, step: u32, data: &[Datum]) -> Vec<Part> {
        let begin = payload.address;
        let end = begin.saturating_add(payload.bytes);
        let first = self.pieces.range(..=begin).next_back().map_or(begin, |(at, _)| *at);
        let chunks = payload
            .sampled(self.chunk_sample)
            .filter(|_| payload.bytes >= FEWEST_CHUNKED_BYTES);
        let known: HashSet<u64> = chunks.map(|chunk| chunk.hash).collect();
        let mut parts = Vec::new();
        for (&at, piece) in self.pieces.range(first..end) {
            let piece_end = at.saturating_add(piece.bytes);
            let (from, to) = (at.max(begin), piece_end.min(end));
            if from >= to {
                continue;
            }
            let whole = from == at && to == piece_end;
            // Data of long ago have been computed on, or overwritten, since.
            if step.saturating_sub(piece.step) as usize > self.most * self.most.max(64) {
                continue;
            }
            let fate = piece.fate(from - at, to - at, &known, self.chunk_sample);
            // Data with chunks are believed by their chunks, unless a checksum will tell.
            let is_checked = whole && piece.crc.is_some();
            if fate == Fate::Gone || fate == Fate::Open && !known.is_empty() && !is_checked {
                continue;
            }
            let is_there = fate == Fate::There;
            let prefix = if from == at { piece.prefix } else { None };
            let rope = slice(&piece.rope, from - at, to - from);
            if is_checked {
                parts.push(Part {
                    offset: from - begin,
                    bytes: to - from,
                    rope,
                    crc: piece.crc,
                    prefix,
                    is_there,
                });
                continue;
            }
            let mut offset = from - begin;
            for segment in rope {
                let datum = &data[segment.datum as usize];
                let whole = segment.offset == 0 && segment.bytes == datum.bytes;
                parts.push(Part {
                    offset,
                    bytes: segment.bytes,
                    rope: vec![segment],
                    crc: if whole { datum.crc } else { None },
                    prefix: if offset == from - begin { prefix } else { None },
                    is_there,
                });
                offset += segment.bytes;
            }
        }
        parts
    }

    /// Notes data at their address, over what was there.
    pub(super) fn put(&mut self, step: u32, payload: &'t Payload, rope: &Rope) {
        let begin = payload.address;
        let end = begin.checked_add(payload.bytes);
        if begin == 0 || end.is_none_or(|end| end <= begin) {
            return;
        }
        self.clear(begin, begin + payload.bytes);
        let piece = Piece {
            bytes: payload.bytes,
            rope: rope.clone(),
            crc: Some(payload.crc32),
            prefix: Some(payload.prefix),
            came: Some(payload),
            skipped: 0,
            step,
        };
        self.pieces.insert(begin, piece);
    }

    /// Notes data that lie between known pieces.
    pub(super) fn put_gap(&mut self, step: u32, address: u64, bytes: u64, crc: Option<u32>, segment: Segment) {
        if address.checked_add(bytes).is_none() {
            return;
        }
        let piece = Piece {
            bytes,
            rope: vec![segment],
            crc,
            prefix: None,
            came: None,
            skipped: 0,
            step,
        };
        self.pieces.insert(address, piece);
    }

    /// Forgets what lies between two addresses.
    fn clear(&mut self, begin: u64, end: u64) {
        let first = self.pieces.range(..=begin).next_back().map_or(begin, |(at, _)| *at);
        let hit: Vec<u64> = self.pieces.range(first..end).map(|(at, _)| *at).collect();
        for at in hit {
            let piece_end = self.pieces.get(&at).map_or(at, |piece| at.saturating_add(piece.bytes));
            if piece_end <= begin {
                continue;
            }
            let Some(old) = self.pieces.remove(&at) else { continue };
            if at < begin {
                let left = Piece {
                    bytes: begin - at,
                    rope: slice(&old.rope, 0, begin - at),
                    crc: None,
                    prefix: old.prefix,
                    came: old.came,
                    skipped: old.skipped,
                    step: old.step,
                };
                self.pieces.insert(at, left);
            }
            if piece_end > end {
                let right = Piece {
                    bytes: piece_end - end,
                    rope: slice(&old.rope, end - at, piece_end - end),
                    crc: None,
                    prefix: None,
                    came: old.came,
                    skipped: old.skipped + (end - at),
                    step: old.step,
                };
                self.pieces.insert(end, right);
            }
        }
    }

    /// Notes data as those that may be joined.
    pub(super) fn remember(&mut self, payload: &Payload, rope: &Rope) {
        let same = |one: &Recent| one.crc == payload.crc32 && one.bytes == payload.bytes;
        self.recent.retain(|one| !same(one));
        self.recent.push_back(Recent {
            bytes: payload.bytes,
            crc: payload.crc32,
            prefix: payload.prefix,
            rope: rope.clone(),
        });
        while self.recent.len() > self.most {
            self.recent.pop_front();
        }
    }
}
