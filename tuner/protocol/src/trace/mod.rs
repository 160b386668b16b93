//! Traces that `libkilter_tracer.so` leaves for `kilter trace`: a binary file for each rank, written through a mapping of the file.
//!
//! A file is a header of [`layout::HEADER_BYTES`] and segments of [`layout::SEGMENT_BYTES`]; all numbers are little-endian words of 64 bits. A segment
//! belongs to one thread, or holds definitions. Records follow each other in it until a word that is 0. The first word of a record has its kind
//! and length, and is stored last: a process that is killed leaves whole records, and the one that it was writing is not seen.
//!
//! * [`record`]: calls and what they did, and definitions of the numbers in them.
//! * [`digest`]: CRC-32, first bytes and chunks of a payload.
//! * [`layout`]: header and segments.
//! * [`space`]: the writer, over words in memory.
//! * [`read`]: the reader: any bytes give a trace, or an error with its offset.

pub mod digest;
pub mod layout;
pub mod read;
pub mod record;
pub mod space;

/// Version of the format; a reader refuses any other.
pub const VERSION: u32 = 3;

/// Variable with the directory into which each rank writes its trace. Nothing is traced without it.
pub const DIRECTORY_VARIABLE: &str = "KILTER_TRACE_DIR";

/// Variable with the size that a rank's file may have, in MiB.
pub const LIMIT_VARIABLE: &str = "KILTER_TRACE_LIMIT";

/// Size of a rank's file where nobody says otherwise, in MiB.
pub const LIMIT_MIB: usize = 256;

/// Least and largest size that may be asked for, in MiB.
pub const LIMITS_MIB: (usize, usize) = (1, 1 << 20);

/// Variable that says what is done when the file is full: `stop` or `ring`.
pub const WHEN_FULL_VARIABLE: &str = "KILTER_TRACE_WHEN_FULL";

/// Variable with the bytes of a payload that are hashed at most, in MiB; 0 for none.
pub const HASH_VARIABLE: &str = "KILTER_TRACE_HASH";

/// Bytes of a payload that are hashed where nobody says otherwise, in MiB.
pub const HASH_MIB: usize = 16;

/// Most of [`HASH_VARIABLE`], in MiB.
pub const MAX_HASH_MIB: usize = 1 << 16;

/// Variable that says by what the times of hosts are put together: see [`Clocks`].
pub const CLOCKS_VARIABLE: &str = "KILTER_TRACE_CLOCKS";

/// End of the name of a rank's file.
pub const EXTENSION: &str = "ktrace";

/// Source of one time for several hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clocks {
    /// Their clocks of the day: the ranks exchange no message for it.
    #[default]
    Day,
    /// The ranks compare their clocks when the program begins and ends. All of them must have the tracer.
    Compared,
}

impl Clocks {
    /// All of them.
    pub const ALL: [Clocks; 2] = [Clocks::Day, Clocks::Compared];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Clocks::Day => "day",
            Clocks::Compared => "compared",
        }
    }
}

/// Behaviour of a full file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// Nothing more is recorded.
    #[default]
    Stop,
    /// The oldest records give way.
    Ring,
}

impl WhenFull {
    /// All of them.
    pub const ALL: [WhenFull; 2] = [WhenFull::Stop, WhenFull::Ring];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            WhenFull::Stop => "stop",
            WhenFull::Ring => "ring",
        }
    }
}
