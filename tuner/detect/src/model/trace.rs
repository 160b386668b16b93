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
    /// Address in its rank's memory; 0 if the data lie in pieces that are not blocks.
    pub address: u64,
    /// Blocks in which the data lie from there, such as a column of a matrix; none if they lie in one piece.
    #[serde(default)]
    pub blocks: Option<Blocks>,
    /// True if all bytes are equal, or there is none.
    pub is_constant: bool,
}

/// Data in memory as blocks of one length, which is not 0, at one distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Blocks {
    /// Bytes of a block; the last one may be shorter.
    pub bytes: u64,
    /// Bytes from the beginning of a block to that of the next one.
    pub stride: u64,
}

impl Blocks {
    /// Address of a byte of data that begin at an address, in blocks or in one piece.
    pub(crate) fn place(blocks: Option<Self>, address: u64, offset: u64) -> u64 {
        let ahead = blocks.map_or(offset, |one| {
            let before = (offset / one.bytes.max(1)).saturating_mul(one.stride);
            before.saturating_add(offset % one.bytes.max(1))
        });
        address.saturating_add(ahead)
    }
}

impl Payload {
    /// Address of a byte.
    pub(crate) fn place(&self, offset: u64) -> u64 {
        Blocks::place(self.blocks, self.address, offset)
    }

    /// Bytes of each piece.
    pub(crate) fn piece_bytes(&self) -> u64 {
        self.blocks
            .map_or(self.bytes, |one| one.bytes.clamp(1, self.bytes.max(1)))
    }

    /// Number of pieces.
    pub(crate) fn pieces(&self) -> u64 {
        self.bytes.div_ceil(self.piece_bytes().max(1))
    }

    /// Pieces: beginning in the payload, and length.
    pub(crate) fn each_piece(&self) -> impl Iterator<Item = (u64, u64)> {
        let bytes = self.piece_bytes();
        (0..self.pieces()).map(move |at| (at * bytes, bytes.min(self.bytes - at * bytes)))
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
