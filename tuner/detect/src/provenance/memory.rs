//! Memory of a rank: which data lie at which addresses, as far as messages told.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::{Datum, Rope, Segment, slice};
use crate::model::trace::{Chunk, Payload};

/// Pieces that are remembered, for each rank of the communicator.
const PIECES_A_RANK: usize = 4;

/// Data at an address.
#[derive(Debug, Clone)]
struct Piece<'t> {
    bytes: u64,
    rope: Rope,
    /// CRC of all of it; `None` for what is left of a piece that was partly overwritten.
    crc: Option<u32>,
    prefix: Option<[u8; 16]>,
    /// Chunks of all of it; none of what is left of a piece.
    chunks: &'t [Chunk],
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
}

impl<'t> Memory<'t> {
    pub(super) fn new(ranks: usize) -> Self {
        Self {
            pieces: BTreeMap::new(),
            recent: VecDeque::new(),
            most: (PIECES_A_RANK * ranks).clamp(16, 256),
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
        if begin == 0 {
            return Vec::new();
        }
        let end = begin.saturating_add(payload.bytes);
        let first = self.pieces.range(..=begin).next_back().map_or(begin, |(at, _)| *at);
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
            let prefix = if from == at { piece.prefix } else { None };
            let rope = slice(&piece.rope, from - at, to - from);
            if whole && piece.crc.is_some() {
                parts.push(Part {
                    offset: from - begin,
                    bytes: to - from,
                    rope,
                    crc: piece.crc,
                    prefix,
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
                });
                offset += segment.bytes;
            }
        }
        parts
    }

    /// Bytes of chunks of received pieces that a payload should have at these addresses, and of those that it has. The first and the last chunk
    /// of a piece end where it ends, and tell nothing.
    pub(super) fn chunks(&self, payload: &Payload, is_received: impl Fn(&Rope) -> bool) -> (u64, u64) {
        let begin = payload.address;
        let end = begin.saturating_add(payload.bytes);
        let known: HashSet<u64> = payload.chunks.iter().map(|chunk| chunk.hash).collect();
        let first = self.pieces.range(..=begin).next_back().map_or(begin, |(at, _)| *at);
        let (mut expected, mut found) = (0_u64, 0_u64);
        for (&at, piece) in self
            .pieces
            .range(first..end)
            .filter(|(_, piece)| is_received(&piece.rope))
        {
            let inner = piece
                .chunks
                .get(1..piece.chunks.len().saturating_sub(1))
                .unwrap_or_default();
            for chunk in inner {
                let from = at.saturating_add(chunk.offset);
                if from < begin || from.saturating_add(chunk.bytes) > end {
                    continue;
                }
                expected = expected.saturating_add(chunk.bytes);
                found = found.saturating_add(if known.contains(&chunk.hash) { chunk.bytes } else { 0 });
            }
        }
        (expected, found)
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
            chunks: &payload.chunks,
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
            chunks: &[],
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
                    chunks: &[],
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
                    chunks: &[],
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
