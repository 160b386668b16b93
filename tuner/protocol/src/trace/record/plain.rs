//! The numbers of a part, which most parts have alone. A writer keeps them in registers on their way into the file.

use std::sync::atomic::AtomicU64;

use super::super::digest::{Digest, PREFIX_BYTES};
use super::values::{flag, peer};
use super::words::{PART_WORDS, PREFIX_WORDS, halves, pair, set};
use super::{First, Role, kind};

/// Words of a part without payload, but for the first.
const TOLD_WORDS: usize = PART_WORDS - 1;

/// The numbers of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plain {
    /// Number of the communicator and 1; 0 for none.
    pub communicator: u32,
    /// Number of the operation on this rank, in the order in which they began; 0 for what is no operation.
    pub operation: u64,
    /// Other side: rank in the communicator, or one of [`peer`]; the root of a collective.
    pub peer: i32,
    /// The same as rank in `MPI_COMM_WORLD`.
    pub world: i32,
    /// Tag, or [`super::ANY_TAG`].
    pub tag: i32,
    /// Bytes of an element of the datatype.
    pub element_bytes: u32,
    /// Bytes of the message; of a posted receive those of its buffer; of a collective its volume.
    pub bytes: u64,
    /// Address of the buffer; of elements in blocks or pieces that of the first one.
    pub address: u64,
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

    /// The numbers, the form of the elements, and the words behind those of the numbers, from all words but the first of a part with this role;
    /// `None` if they are too few.
    pub(super) fn of(role: Role, communicator: u32, words: &[u64]) -> Option<(Plain, u8, &[u64])> {
        let mut plain = Plain {
            communicator,
            ..Plain::NONE
        };
        let mut form = 0;
        let (operation, mut rest) = words.split_first()?;
        plain.operation = *operation;
        if !role.is_short() {
            let (told, behind) = rest.split_first_chunk::<{ TOLD_WORDS - 1 }>()?;
            let [peers, tag, bytes, address, small] = *told;
            let (peer, world) = halves(peers);
            (plain.peer, plain.world) = (peer.cast_signed(), world.cast_signed());
            let (tag, element_bytes) = halves(tag);
            (plain.tag, plain.element_bytes) = (tag.cast_signed(), element_bytes);
            (plain.bytes, plain.address) = (bytes, address);
            let (small, crc) = halves(small);
            [plain.class, plain.operator, plain.flags, form] = small.to_le_bytes();
            plain.crc = crc;
            rest = behind;
        }
        if role.has_payload() {
            let (prefix, behind) = rest.split_first_chunk::<PREFIX_WORDS>()?;
            for (to, from) in plain.prefix.chunks_mut(8).zip(prefix) {
                to.copy_from_slice(&from.to_le_bytes());
            }
            rest = behind;
        }
        Some((plain, form, rest))
    }
}
