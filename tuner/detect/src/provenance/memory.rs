//! Memory of a rank: which data lie at which addresses, as far as messages told.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashSet;

use super::{Datum, Rope, Segment, slice};
use crate::model::trace::Payload;

/// Pieces that are remembered, for each rank of the communicator.
const PIECES_A_RANK: usize = 4;

/// Shorter payloads have too few chunks to tell anything.
const FEWEST_CHUNKED_BYTES: u64 = 4096;

/// Blocks of one payload, and pieces of a memory in all, up to which blocks are followed one by one.
const MOST_BLOCKS: u64 = 512;
const MOST_PIECES: usize = 1 << 16;

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
    fn fate(&self, from: u64, to: u64, known: &FxHashSet<u64>, sample: u64) -> Fate {
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
        let piece = self.pieces.get(&payload.address).filter(|_| payload.blocks.is_none())?;
        let same = piece.bytes == payload.bytes && piece.crc == Some(payload.crc32);
        same.then(|| piece.rope.clone())
    }

    /// Parts of a payload that lie in known pieces, by their offsets. A piece that reaches beyond the payload is cut: segments that are a whole
    /// datum keep its CRC.
    pub(super) fn parts(&self, payload: &Payload, step: u32, data: &[Datum]) -> Vec<Part> {
        let chunks = payload
            .sampled(self.chunk_sample)
            .filter(|_| payload.bytes >= FEWEST_CHUNKED_BYTES);
        let known: FxHashSet<u64> = chunks.map(|chunk| chunk.hash).collect();
        let mut parts = Vec::new();
        if self.pieces.is_empty() || payload.blocks.is_some() && payload.pieces() > MOST_BLOCKS {
            return parts;
        }
        for (offset, bytes) in payload.each_piece() {
            let begin = payload.place(offset);
            self.parts_between(
                (begin, begin.saturating_add(bytes), offset),
                step,
                data,
                &known,
                &mut parts,
            );
        }
        parts
    }

    /// Parts of what lies between two addresses, the first of which is that of an offset in the payload.
    fn parts_between(
        &self,
        (begin, end, ahead): (u64, u64, u64),
        step: u32,
        data: &[Datum],
        known: &FxHashSet<u64>,
        parts: &mut Vec<Part>,
    ) {
        let first = self.pieces.range(..=begin).next_back().map_or(begin, |(at, _)| *at);
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
            let fate = piece.fate(from - at, to - at, known, self.chunk_sample);
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
                    offset: ahead + (from - begin),
                    bytes: to - from,
                    rope,
                    crc: piece.crc,
                    prefix,
                    is_there,
                });
                continue;
            }
            let mut offset = ahead + (from - begin);
            let begins = offset;
            for segment in rope {
                let datum = &data[segment.datum as usize];
                let whole = segment.offset == 0 && segment.bytes == datum.bytes;
                parts.push(Part {
                    offset,
                    bytes: segment.bytes,
                    rope: vec![segment],
                    crc: if whole { datum.crc } else { None },
                    prefix: if offset == begins { prefix } else { None },
                    is_there,
                });
                offset += segment.bytes;
            }
        }
    }

    /// Notes data at their address, over what was there.
    pub(super) fn put(&mut self, step: u32, payload: &'t Payload, rope: &Rope) {
        let begin = payload.address;
        let end = begin.checked_add(payload.bytes);
        if begin == 0 || end.is_none_or(|end| end <= begin) {
            return;
        }
        if payload.blocks.is_some() {
            self.put_blocks(step, payload, rope);
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

    /// Notes data in blocks, of which nothing but their address tells each one.
    fn put_blocks(&mut self, step: u32, payload: &'t Payload, rope: &Rope) {
        let pieces = payload.pieces();
        let is_much = pieces.saturating_mul(rope.len() as u64) > MOST_BLOCKS * MOST_BLOCKS;
        if pieces > MOST_BLOCKS || is_much || self.pieces.len() > MOST_PIECES {
            return;
        }
        for (offset, bytes) in payload.each_piece() {
            let begin = payload.place(offset);
            let Some(end) = begin.checked_add(bytes) else { return };
            self.clear(begin, end);
            let piece = Piece {
                bytes,
                rope: slice(rope, offset, bytes),
                crc: None,
                prefix: (offset == 0).then_some(payload.prefix),
                came: None,
                skipped: 0,
                step,
            };
            self.pieces.insert(begin, piece);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::trace::{Blocks, Piece};

    fn payload(address: u64, bytes: u64, blocks: Option<Blocks>) -> Payload {
        Payload {
            bytes,
            address,
            blocks,
            ..Payload::default()
        }
    }

    /// Data of an origin, with a datum of its own.
    fn rope(datum: u32, bytes: u64) -> Rope {
        vec![Segment {
            datum,
            offset: 0,
            bytes,
        }]
    }

    fn data(bytes: u64) -> Datum {
        Datum {
            origin: 0,
            address: 0,
            blocks: None,
            bytes,
            class: 0,
            crc: None,
        }
    }

    /// Offset in the payload, datum, and offset in this.
    fn found(memory: &Memory<'_>, payload: &Payload, data: &[Datum]) -> Vec<(u64, u32, u64)> {
        let parts = memory.parts(payload, 1, data);
        let first = |part: &Part| (part.offset, part.rope[0].datum, part.rope[0].offset);
        assert!(parts.iter().all(|part| part.bytes == 8 && part.crc.is_none()));
        parts.iter().map(first).collect()
    }

    /// Numbers in three rows of two: columns come, and rows are sent; or rows come, and a column is sent.
    #[test]
    fn columns_are_followed_into_rows_and_rows_into_columns() {
        let column = |at: u64| payload(1000 + 8 * at, 24, Some(Blocks::even(8, 16)));
        let (first, second) = (column(0), column(1));
        let mut memory = Memory::new(4, 1);
        memory.put(0, &first, &rope(0, 24));
        memory.put(0, &second, &rope(1, 24));
        let all = found(&memory, &payload(1000, 48, None), &[data(24), data(24)]);
        assert_eq!(
            all,
            [(0, 0, 0), (8, 1, 0), (16, 0, 8), (24, 1, 8), (32, 0, 16), (40, 1, 16)]
        );

        let rows: Vec<Payload> = (0..3).map(|row| payload(1000 + 16 * row, 16, None)).collect();
        for (datum, row) in (0..).zip(&rows) {
            memory.put(0, row, &rope(datum, 16));
        }
        let all = found(&memory, &second, &[data(16), data(16), data(16)]);
        assert_eq!(all, [(0, 0, 8), (8, 1, 8), (16, 2, 8)]);
    }

    /// Numbers of unequal rows come in one message, and a row that begins within one of them is sent.
    #[test]
    fn lists_of_unequal_pieces_are_followed_to_where_they_lie() {
        let piece = |offset, bytes| Piece { offset, bytes };
        let list = Blocks {
            pieces: vec![piece(0, 16), piece(40, 8), piece(24, 8)],
            stride: 64,
        };
        let came = payload(1000, 32, Some(list));
        let mut memory = Memory::new(4, 1);
        memory.put(0, &came, &rope(0, 32));
        let all = found(&memory, &payload(1024, 24, None), &[data(32)]);
        assert_eq!(all, [(0, 0, 24), (16, 0, 16)]);
        let back = payload(1040, 16, Some(Blocks::even(8, 64)));
        assert_eq!(found(&memory, &back, &[data(32)]), [(0, 0, 16)]);
    }

    /// Memory of a rank stays bounded whatever is sent in blocks, and a list without pieces, as a damaged trace has it, is not walked byte by byte.
    #[test]
    fn columns_of_many_blocks_are_in_no_place() {
        let none = Blocks {
            pieces: Vec::new(),
            stride: 8,
        };
        for (bytes, blocks) in [(8 * (MOST_BLOCKS + 1), Blocks::even(8, 16)), (1 << 47, none)] {
            let many = payload(1000, bytes, Some(blocks));
            let mut memory = Memory::new(4, 1);
            memory.put(0, &many, &rope(0, many.bytes));
            assert!(memory.pieces.is_empty());
            let plain = payload(1000, 64, None);
            memory.put(0, &plain, &rope(0, 64));
            assert!(found(&memory, &many, &[data(64)]).is_empty());
        }
    }
}
