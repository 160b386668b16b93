//! The part of a call as most are: numbers alone, which a writer keeps in registers on their way into the file.

use std::sync::atomic::AtomicU64;

use super::super::digest::{Digest, PREFIX_BYTES};
use super::part::{flag, peer};
use super::words::{PART_WORDS, PREFIX_WORDS, pair, set};
use super::{First, Role, kind};

/// Words of a part without payload, but for the first.
const TOLD_WORDS: usize = PART_WORDS - 1;

/// A part but for its role, its blocks, pieces and chunks. The fields are those of [`super::Part`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "`Part` describes them")]
pub struct Plain {
    pub communicator: u32,
    pub operation: u64,
    pub peer: i32,
    pub world: i32,
    pub tag: i32,
    pub element_bytes: u32,
    pub bytes: u64,
    pub address: u64,
    pub class: u8,
    pub operator: u8,
    pub flags: u8,
    pub crc: u32,
    pub prefix: [u8; PREFIX_BYTES],
}

impl Plain {
    /// Nothing.
    pub const NONE: Plain = Plain {
        communicator: 0,
        operation: 0,
        peer: peer::UNKNOWN,
        world: peer::UNKNOWN,
        tag: 0,
        element_bytes: 0,
        bytes: 0,
        address: 0,
        class: 0,
        operator: 0,
        flags: 0,
        crc: 0,
        prefix: [0; PREFIX_BYTES],
    };

    /// Takes over what is kept of the payload, but for the chunks.
    #[inline(always)]
    pub fn set(&mut self, digest: &Digest) {
        self.crc = digest.crc;
        self.prefix = digest.prefix;
        if digest.is_constant {
            self.flags |= flag::CONSTANT;
        }
        if digest.more_chunks {
            self.flags |= flag::MORE_CHUNKS;
        }
    }

    /// Puts all words but the first into their places. Returns the first one, of a part of `length` words, and the places behind these words.
    #[inline(always)]
    pub(in crate::trace) fn put<'p>(
        &self,
        (role, form): (Role, u8),
        length: usize,
        places: &'p [AtomicU64],
    ) -> (u64, &'p [AtomicU64]) {
        let first = First {
            kind: kind::PART,
            detail: role as u8,
            words: length as u16,
            number: self.communicator,
        };
        // The length tells which words there are, so that they are stored without a question for every one.
        let mut behind: &[AtomicU64] = &[];
        if let Some((told, rest)) = places.split_first_chunk::<TOLD_WORDS>() {
            let small = u32::from_le_bytes([self.class, self.operator, self.flags, form]);
            set(
                told,
                &[
                    self.operation,
                    pair(self.peer.cast_unsigned(), self.world.cast_unsigned()),
                    pair(self.tag.cast_unsigned(), self.element_bytes),
                    self.bytes,
                    self.address,
                    pair(small, self.crc),
                ],
            );
            if let Some((opening, further)) = rest.split_first_chunk::<PREFIX_WORDS>() {
                let prefix = u128::from_le_bytes(self.prefix);
                set(opening, &[prefix as u64, (prefix >> 64) as u64]);
                behind = further;
            }
        } else {
            set(places, &[self.operation]);
        }
        (first.bits(), behind)
    }
}
