//! Parts: what calls did to messages and requests.

use std::sync::atomic::{AtomicU64, Ordering};

use super::super::digest::Chunk;
use super::plain::Plain;
use super::values::form;
use super::words::{PAYLOAD_WORDS, halves, pair};
use super::{First, Role, kind};

/// Elements in memory as blocks of one length at one distance, such as a column of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Bytes of a block. A message in one piece is one block.
    pub bytes: u64,
    /// Bytes from the beginning of a block to that of the next one.
    pub stride: u64,
}

/// Elements in memory as pieces of whatever lengths at whatever places.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pieces {
    /// Those of an element, in the order of the message.
    pub pieces: Vec<Piece>,
    /// Bytes from the beginning of an element to that of the next one.
    pub extent: i64,
}

/// Bytes in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Beginning, from that of the element's first piece.
    pub offset: i64,
    /// Length.
    pub bytes: u64,
}

/// A part of a call: one message or operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its subject.
    pub role: Role,
    /// Its numbers.
    pub plain: Plain,
    /// Blocks of [`flag::PACKED`](super::flag::PACKED) elements; none where these lie otherwise.
    pub blocks: Option<Blocks>,
    /// Pieces of [`flag::PACKED`](super::flag::PACKED) elements that are no blocks; none where they are too many.
    pub pieces: Option<Box<Pieces>>,
    /// Chunks that are kept.
    pub chunks: Vec<Chunk>,
}

const BLOCKS_WORDS: usize = 2;
/// Extent and number of pieces; two more words for each.
const PIECES_WORDS: usize = 2;

impl Part {
    /// A part with nothing but a role.
    #[must_use]
    pub fn new(role: Role) -> Part {
        Part::of_plain(role, &Plain::NONE)
    }

    /// A part without blocks, pieces and chunks.
    #[must_use]
    pub fn of_plain(role: Role, plain: &Plain) -> Part {
        Part {
            role,
            plain: *plain,
            blocks: None,
            pieces: None,
            chunks: Vec::new(),
        }
    }

    /// Number of words.
    #[must_use]
    pub fn length(&self) -> usize {
        let further = match (&self.blocks, &self.pieces) {
            _ if !self.role.has_payload() => 0,
            (None, None) => 2 * self.chunks.len(),
            (Some(_), _) => BLOCKS_WORDS + 2 * self.chunks.len(),
            (None, Some(all)) => PIECES_WORDS + 2 * all.pieces.len() + 2 * self.chunks.len(),
        };
        self.role.words() + further
    }

    /// Puts all words but the first into their places, and returns the first. `length` is the part's, and there is one place less.
    pub(in crate::trace) fn put(&self, length: usize, places: &[AtomicU64]) -> u64 {
        let form = match (&self.blocks, &self.pieces) {
            _ if length <= PAYLOAD_WORDS => form::NONE,
            (None, None) => form::NONE,
            (Some(_), _) => form::BLOCKS,
            (None, Some(_)) => form::PIECES,
        };
        let (first, behind) = self.plain.put((self.role, form), length, places);
        if !behind.is_empty() {
            self.put_further(behind);
        }
        first
    }

    /// Puts blocks, pieces and chunks, which few parts have.
    fn put_further(&self, places: &[AtomicU64]) {
        let mut places = places.iter();
        let mut put = |words: &[u64]| {
            for (word, place) in words.iter().zip(&mut places) {
                place.store(word.to_le(), Ordering::Relaxed);
            }
        };
        if let Some(blocks) = self.blocks {
            put(&[blocks.bytes, blocks.stride]);
        } else if let Some(all) = &self.pieces {
            put(&[all.extent.cast_unsigned(), all.pieces.len() as u64]);
            for piece in &all.pieces {
                put(&[piece.offset.cast_unsigned(), piece.bytes]);
            }
        }
        for chunk in &self.chunks {
            put(&[chunk.offset, pair(chunk.bytes, chunk.crc)]);
        }
    }

    /// From words; `None` if they are no part.
    #[must_use]
    pub fn of(words: &[u64]) -> Option<Part> {
        let (first, rest) = words.split_first()?;
        let first = First::of(*first);
        if first.kind != kind::PART {
            return None;
        }
        let role = Role::of(first.detail)?;
        let (plain, form, rest) = Plain::of(role, first.number, rest)?;
        let mut part = Part::of_plain(role, &plain);
        if !role.has_payload() {
            return rest.is_empty().then_some(part);
        }
        let chunks = match form {
            form::NONE => rest,
            form::BLOCKS => {
                let ([bytes, stride], chunks) = rest.split_first_chunk::<BLOCKS_WORDS>()?;
                part.blocks = Some(Blocks {
                    bytes: *bytes,
                    stride: *stride,
                });
                chunks
            }
            form::PIECES => {
                let (pieces, chunks) = Pieces::of(rest)?;
                part.pieces = Some(Box::new(pieces));
                chunks
            }
            _ => return None,
        };
        part.chunks = pairs(chunks)?
            .iter()
            .map(|[offset, rest]| {
                let (bytes, crc) = halves(*rest);
                Chunk {
                    offset: *offset,
                    bytes,
                    crc,
                }
            })
            .collect();
        Some(part)
    }
}

impl Pieces {
    /// The pieces at the beginning of these words, and the words behind them.
    fn of(words: &[u64]) -> Option<(Pieces, &[u64])> {
        let ([extent, count], rest) = words.split_first_chunk::<PIECES_WORDS>()?;
        let words = usize::try_from(*count).ok()?.checked_mul(2)?;
        let (listed, rest) = rest.split_at_checked(words)?;
        let piece = |[offset, bytes]: &[u64; 2]| Piece {
            offset: offset.cast_signed(),
            bytes: *bytes,
        };
        let pieces = Pieces {
            pieces: pairs(listed)?.iter().map(piece).collect(),
            extent: extent.cast_signed(),
        };
        Some((pieces, rest))
    }
}

/// Words two by two; `None` if one is left.
fn pairs(words: &[u64]) -> Option<&[[u64; 2]]> {
    let (pairs, left) = words.as_chunks::<2>();
    left.is_empty().then_some(pairs)
}
