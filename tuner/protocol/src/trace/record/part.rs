//! Parts: what calls did to messages and requests.

use std::sync::atomic::{AtomicU64, Ordering};

use super::super::digest::{Chunk, PREFIX_BYTES};
use super::plain::Plain;
use super::words::{PART_WORDS, PAYLOAD_WORDS, PREFIX_WORDS, SHORT_WORDS, pair};
use super::{First, Role, kind};

/// Rank of a message's other side.
pub mod peer {
    /// Any source.
    pub const ANY: i32 = -1;
    /// `MPI_PROC_NULL`.
    pub const NOBODY: i32 = -2;
    /// None, or a process outside of `MPI_COMM_WORLD`.
    pub const UNKNOWN: i32 = -3;
    /// `MPI_ROOT`: the root of an intercommunicator's collective is this rank.
    pub const ROOT: i32 = -4;
}

/// Any tag.
pub const ANY_TAG: i32 = -1;

/// Bits of [`Part::flags`].
pub mod flag {
    /// Only the first bytes are hashed: the payload is longer than the limit.
    pub const HASHED_IN_PART: u8 = 1;
    /// Nothing is hashed: hashing is turned off, or the payload lies where the tracer does not read.
    pub const NOT_HASHED: u8 = 2;
    /// Each 8 bytes of the payload are the same as the 8 before them.
    pub const CONSTANT: u8 = 4;
    /// There are more chunks than are kept.
    pub const MORE_CHUNKS: u8 = 8;
    /// The elements have holes or another order in memory than in the message.
    pub const PACKED: u8 = 16;
    /// The operation is persistent.
    pub const PERSISTENT: u8 = 32;
    /// A receive took messages from any source.
    pub const ANY_SOURCE: u8 = 64;
    /// A receive took messages with any tag.
    pub const ANY_TAG: u8 = 128;
}

/// Ways in which elements lie in memory, where these are told.
pub(in crate::trace) mod form {
    pub(in crate::trace) const NONE: u8 = 0;
    pub(super) const BLOCKS: u8 = 1;
    pub(super) const PIECES: u8 = 2;
}

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
    /// Number of the communicator and 1; 0 for none.
    pub communicator: u32,
    /// Number of the operation on this rank, in the order in which they began; 0 for what is no operation.
    pub operation: u64,
    /// Other side: rank in the communicator, or one of [`peer`]; the root of a collective.
    pub peer: i32,
    /// The same as rank in `MPI_COMM_WORLD`.
    pub world: i32,
    /// Tag, or [`ANY_TAG`].
    pub tag: i32,
    /// Bytes of an element of the datatype.
    pub element_bytes: u32,
    /// Bytes of the message; of a posted receive those of its buffer; of a collective its volume.
    pub bytes: u64,
    /// Address of the buffer; of elements in blocks or pieces that of the first one.
    pub address: u64,
    /// Blocks of [`flag::PACKED`] elements; none where these lie otherwise.
    pub blocks: Option<Blocks>,
    /// Pieces of [`flag::PACKED`] elements that are no blocks; none where they are too many.
    pub pieces: Option<Box<Pieces>>,
    /// Class of the datatype, as [`super::class_name`] has it.
    pub class: u8,
    /// Operator of a reduction, as [`super::operator_name`] has it.
    pub operator: u8,
    /// Bits of [`flag`].
    pub flags: u8,
    /// CRC-32 of what is hashed.
    pub crc: u32,
    /// First bytes of the payload.
    pub prefix: [u8; PREFIX_BYTES],
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
            communicator: plain.communicator,
            operation: plain.operation,
            peer: plain.peer,
            world: plain.world,
            tag: plain.tag,
            element_bytes: plain.element_bytes,
            bytes: plain.bytes,
            address: plain.address,
            blocks: None,
            pieces: None,
            class: plain.class,
            operator: plain.operator,
            flags: plain.flags,
            crc: plain.crc,
            prefix: plain.prefix,
            chunks: Vec::new(),
        }
    }

    /// The part but for its role, blocks, pieces and chunks.
    #[must_use]
    pub fn plain(&self) -> Plain {
        Plain {
            communicator: self.communicator,
            operation: self.operation,
            peer: self.peer,
            world: self.world,
            tag: self.tag,
            element_bytes: self.element_bytes,
            bytes: self.bytes,
            address: self.address,
            class: self.class,
            operator: self.operator,
            flags: self.flags,
            crc: self.crc,
            prefix: self.prefix,
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
        let (first, behind) = self.plain().put((self.role, form), length, places);
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
        let (operation, rest) = rest.split_first()?;
        let mut part = Part {
            communicator: first.number,
            operation: *operation,
            ..Part::new(role)
        };
        if role.is_short() {
            return rest.is_empty().then_some(part);
        }
        let (known, rest) = rest.split_at_checked(PART_WORDS - SHORT_WORDS)?;
        let [peers, tag, bytes, address, small] = *known else {
            return None;
        };
        let [low, high] = [|word: u64| word as u32, |word: u64| (word >> 32) as u32];
        part.peer = low(peers).cast_signed();
        part.world = high(peers).cast_signed();
        part.tag = low(tag).cast_signed();
        part.element_bytes = high(tag);
        part.bytes = bytes;
        part.address = address;
        let lie;
        [part.class, part.operator, part.flags, lie] = low(small).to_le_bytes();
        part.crc = high(small);
        if !role.has_payload() {
            return rest.is_empty().then_some(part);
        }
        let (prefix, mut chunks) = rest.split_at_checked(PREFIX_WORDS)?;
        for (to, from) in part.prefix.chunks_mut(8).zip(prefix) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        match lie {
            form::NONE => {}
            form::BLOCKS => {
                let (known, rest) = chunks.split_at_checked(BLOCKS_WORDS)?;
                let [bytes, stride] = *known else { return None };
                part.blocks = Some(Blocks { bytes, stride });
                chunks = rest;
            }
            form::PIECES => {
                let (known, rest) = chunks.split_at_checked(PIECES_WORDS)?;
                let [extent, count] = *known else { return None };
                let words = usize::try_from(count).ok()?.checked_mul(2)?;
                let (listed, rest) = rest.split_at_checked(words)?;
                let piece = |pair: &[u64]| match *pair {
                    [offset, bytes] => Some(Piece {
                        offset: offset.cast_signed(),
                        bytes,
                    }),
                    _ => None,
                };
                part.pieces = Some(Box::new(Pieces {
                    pieces: listed.chunks(2).filter_map(piece).collect(),
                    extent: extent.cast_signed(),
                }));
                chunks = rest;
            }
            _ => return None,
        }
        if chunks.len() % 2 != 0 {
            return None;
        }
        part.chunks = chunks
            .chunks(2)
            .filter_map(|pair| {
                let [offset, rest] = *pair else { return None };
                Some(Chunk {
                    offset,
                    bytes: low(rest),
                    crc: high(rest),
                })
            })
            .collect();
        Some(part)
    }
}
