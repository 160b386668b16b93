//! Traces: every message and collective call of every rank, with fingerprints of the data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Trace of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Ranks of `MPI_COMM_WORLD`.
    pub ranks: usize,
    /// Communicators that events speak of by index.
    pub communicators: Vec<Communicator>,
    /// Call sites that events speak of by index.
    pub sites: Vec<Site>,
    /// Long payloads have only those chunks whose hashes are multiples of this; 0 and 1 stand for all.
    #[serde(default)]
    pub chunk_sample: u64,
    /// The same by communicator, where its longest payload is shorter than that of the trace; of those that have none, [`Self::chunk_sample`] holds.
    #[serde(default)]
    pub chunk_samples: Vec<u64>,
    /// Events by rank of the world, in the order in which the rank made them.
    pub events: Vec<Vec<Event>>,
}

/// Communicator of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Communicator {
    /// Ranks of the world, in the order of the communicator's ranks.
    pub members: Vec<u32>,
    /// Name, for readers.
    pub name: String,
}

/// Place in a program that makes a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Site {
    /// Function; empty if it is not known.
    pub function: String,
    /// File of the source; empty if it is not known.
    pub file: String,
    /// Line of the file; 0 if it is not known.
    pub line: u32,
    /// Program or library that holds the call.
    pub object: String,
    /// Offset of the call in the object.
    pub offset: u64,
}

/// Call of a rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Entry, in nanoseconds of a clock that all ranks share.
    pub begin_ns: u64,
    /// Exit.
    pub end_ns: u64,
    /// Index of the call site.
    pub site: u32,
    /// Call and its arguments.
    pub kind: Kind,
}

/// Calls that a trace holds. Peers are ranks of the communicator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Kind {
    /// Beginning of a send, blocking or not.
    Send {
        communicator: u32,
        to: u32,
        tag: i32,
        payload: Payload,
        /// Begin of the call that completes a send that does not block, or the last of all times if the trace has none; none of a send that blocks.
        #[serde(default)]
        completed_ns: Option<u64>,
    },
    /// Completion of a receive, blocking or not.
    Receive {
        communicator: u32,
        from: u32,
        tag: i32,
        payload: Payload,
        /// Time at which it was posted; the event's beginning for a blocking receive.
        posted_ns: u64,
    },
    /// Probe for a message. A wild card is `None`.
    Probe {
        communicator: u32,
        from: Option<u32>,
        tag: Option<i32>,
        found: bool,
        blocking: bool,
    },
    /// Test of a request.
    Test { found: bool },
    /// Collective call.
    Collective {
        communicator: u32,
        function: String,
        root: Option<u32>,
        bytes: u64,
        blocking: bool,
    },
    /// Data that stay where they are, shown by `kilter_send_to_self`.
    ToSelf { communicator: u32, payload: Payload },
}

/// Fingerprints of the packed bytes of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// Length.
    pub bytes: u64,
    /// CRC-32 with zlib's polynomial.
    pub crc32: u32,
    /// First bytes; those behind the end are 0.
    pub prefix: [u8; 16],
    /// Pieces whose borders depend on the content alone, all of them or those of [`Trace::chunk_sample`]; none for short messages.
    pub chunks: Vec<Chunk>,
    /// Bytes of an element; 0 if elements differ.
    pub element_bytes: u32,
    /// Kind of the elements.
    pub class: Class,
    /// Address in its rank's memory, of data in blocks that of the first one; 0 if they lie in pieces that are not known.
    pub address: u64,
    /// Blocks in which the data lie from there; none if they lie in one piece.
    #[serde(default)]
    pub blocks: Option<Blocks>,
    /// True if all bytes are equal, or there is none.
    pub is_constant: bool,
}

/// Data in memory as elements at one distance, each of them in one piece or several: a column of a matrix, structures, blocks of different lengths.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Blocks {
    /// Pieces of an element in the order of the message. There is one at least, none is empty, and the first one begins at 0.
    pub pieces: Vec<Piece>,
    /// Bytes from the beginning of an element to that of the next one; it may lie before it.
    pub stride: i64,
}

/// Data in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Piece {
    /// Beginning, from that of the element's first piece.
    pub offset: i64,
    /// Length.
    pub bytes: u64,
}

impl Blocks {
    /// Blocks of one length at one distance.
    #[must_use]
    pub fn even(bytes: u64, stride: u64) -> Self {
        Self {
            pieces: vec![Piece { offset: 0, bytes }],
            stride: i64::try_from(stride).unwrap_or(i64::MAX),
        }
    }

    /// Bytes of an element, without what lies between its pieces.
    pub(crate) fn element_bytes(&self) -> u64 {
        let all = self.pieces.iter().map(|piece| piece.bytes);
        all.fold(0, u64::saturating_add).max(1)
    }

    /// Piece that holds a byte of an element: its number, and its first byte. Behind the last one, that.
    fn piece_of(&self, offset: u64) -> (usize, u64) {
        let mut begin = 0;
        for (at, piece) in self.pieces.iter().enumerate() {
            if offset - begin < piece.bytes {
                return (at, begin);
            }
            begin += piece.bytes;
        }
        (self.pieces.len().saturating_sub(1), begin)
    }

    /// Bytes from one of the data to the end of the piece that holds it.
    pub(crate) fn piece_from(&self, offset: u64) -> u64 {
        let offset = offset % self.element_bytes();
        let (piece, begin) = self.piece_of(offset);
        let bytes = self.pieces.get(piece).map_or(0, |piece| piece.bytes);
        bytes.saturating_sub(offset - begin)
    }

    /// Address of a byte of data that begin at an address, in blocks or in one piece.
    pub(crate) fn place(blocks: Option<&Self>, address: u64, offset: u64) -> u64 {
        let Some(one) = blocks else {
            return address.saturating_add(offset);
        };
        let bytes = one.element_bytes();
        let before = i64::try_from(offset / bytes)
            .unwrap_or(i64::MAX)
            .saturating_mul(one.stride);
        let (piece, begin) = one.piece_of(offset % bytes);
        let ahead = one.pieces.get(piece).map_or(0, |piece| piece.offset);
        address
            .saturating_add_signed(before)
            .saturating_add_signed(ahead)
            .saturating_add(offset % bytes - begin)
    }

    /// The blocks from a byte of the data on.
    #[must_use]
    pub(crate) fn from(&self, offset: u64) -> Self {
        let offset = offset % self.element_bytes();
        let (first, begin) = self.piece_of(offset);
        let within = offset - begin;
        if self.pieces.len() < 2 || first == 0 && within == 0 {
            return self.clone();
        }
        let cut = self.pieces[first];
        let start = cut.offset.saturating_add_unsigned(within);
        let moved = |piece: &Piece, by: i64| Piece {
            offset: piece.offset.saturating_sub(start).saturating_add(by),
            ..*piece
        };
        let mut pieces = vec![Piece {
            offset: 0,
            bytes: cut.bytes - within,
        }];
        pieces.extend(self.pieces[first + 1..].iter().map(|piece| moved(piece, 0)));
        pieces.extend(self.pieces[..first].iter().map(|piece| moved(piece, self.stride)));
        if within > 0 {
            let head = Piece { bytes: within, ..cut };
            pieces.push(moved(&head, self.stride));
        }
        Self { pieces, ..*self }
    }
}

impl Payload {
    /// Address of a byte.
    pub(crate) fn place(&self, offset: u64) -> u64 {
        Blocks::place(self.blocks.as_ref(), self.address, offset)
    }

    /// Piece that holds a byte: its beginning in the payload, and its length.
    pub(crate) fn piece_at(&self, offset: u64) -> (u64, u64) {
        let Some(blocks) = &self.blocks else {
            return (0, self.bytes);
        };
        let bytes = blocks.element_bytes();
        let (piece, begin) = blocks.piece_of(offset % bytes);
        let begin = offset - offset % bytes + begin;
        let length = blocks.pieces.get(piece).map_or(0, |piece| piece.bytes);
        (begin, length.min(self.bytes.saturating_sub(begin)))
    }

    /// Number of pieces that [`Self::each_piece`] gives at most: the last element may need fewer. A list without pieces, which a damaged trace may
    /// have, stands for pieces of one byte.
    pub(crate) fn pieces(&self) -> u64 {
        let Some(blocks) = &self.blocks else {
            return u64::from(self.bytes > 0);
        };
        let elements = self.bytes.div_ceil(blocks.element_bytes());
        elements.saturating_mul(blocks.pieces.len().max(1) as u64)
    }

    /// Bytes from the beginning of these data to that of data of the same kind beside them: rows lie one behind the other, and so do lists of
    /// pieces; columns lie beside each other.
    pub(crate) fn pitch(&self) -> u64 {
        let Some(blocks) = &self.blocks else { return self.bytes };
        if let [one] = blocks.pieces.as_slice() {
            return one.bytes.clamp(1, self.bytes.max(1));
        }
        let elements = self.bytes.div_ceil(blocks.element_bytes());
        blocks.stride.unsigned_abs().saturating_mul(elements)
    }

    /// Pieces: beginning in the payload, and length.
    pub(crate) fn each_piece(&self) -> impl Iterator<Item = (u64, u64)> {
        let next = |at: &u64| {
            let (begin, bytes) = self.piece_at(*at);
            let next = begin.saturating_add(bytes.max(1));
            (next < self.bytes).then_some(next)
        };
        let begins = std::iter::successors((self.bytes > 0).then_some(0), next);
        begins.map(|at| self.piece_at(at))
    }

    /// Chunks that every payload of a trace with this sample has.
    pub(crate) fn sampled(&self, sample: u64) -> impl Iterator<Item = &Chunk> {
        self.chunks
            .iter()
            .filter(move |chunk| chunk.hash.is_multiple_of(sample.max(1)))
    }
}

/// Piece of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// Hash of its bytes.
    pub hash: u64,
    /// Beginning in the payload.
    pub offset: u64,
    /// Length.
    pub bytes: u64,
}

/// Kinds of elements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Class {
    #[default]
    Byte,
    Integer,
    Real,
    Complex,
    Mixed,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Structures of an integer and, behind a gap, two numbers of which the second one comes first.
    fn structures() -> Payload {
        let piece = |offset, bytes| Piece { offset, bytes };
        Payload {
            bytes: 50,
            address: 1000,
            blocks: Some(Blocks {
                pieces: vec![piece(0, 4), piece(16, 8), piece(8, 8)],
                stride: 32,
            }),
            ..Payload::default()
        }
    }

    #[test]
    fn every_byte_has_its_place_and_its_piece() {
        let data = structures();
        let places = [0, 4, 12, 20, 24, 39, 49].map(|at| data.place(at));
        assert_eq!(places, [1000, 1016, 1008, 1032, 1048, 1047, 1085]);
        let all: Vec<(u64, u64)> = data.each_piece().collect();
        assert_eq!(
            all,
            [(0, 4), (4, 8), (12, 8), (20, 4), (24, 8), (32, 8), (40, 4), (44, 6)]
        );
        assert_eq!((data.pieces(), data.pitch()), (9, 96));
        let plain = Payload {
            blocks: None,
            ..structures()
        };
        assert_eq!(plain.each_piece().collect::<Vec<_>>(), [(0, 50)]);
        assert_eq!(
            (plain.place(20), plain.pitch(), plain.piece_at(20)),
            (1020, 50, (0, 50))
        );
    }

    #[test]
    fn blocks_from_a_byte_on_are_those_of_the_rest() {
        let data = structures();
        let blocks = data.blocks.clone().unwrap();
        for begin in 0..50 {
            let rest = Payload {
                bytes: 50 - begin,
                address: data.place(begin),
                blocks: Some(blocks.from(begin)),
                ..Payload::default()
            };
            assert!(
                (0..50 - begin).all(|at| rest.place(at) == data.place(begin + at)),
                "{begin}"
            );
        }
    }
}
