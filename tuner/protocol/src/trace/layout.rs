//! Header and segments of a file, as places of words.

/// Bytes of the header: a page, so that segments begin at one.
pub const HEADER_BYTES: usize = 4096;

/// Bytes of a segment. A thread takes a lock once for each, and a record is never longer.
pub const SEGMENT_BYTES: usize = 256 * 1024;

/// Words of the header.
pub const HEADER_WORDS: usize = HEADER_BYTES / 8;

/// Words of a segment.
pub const SEGMENT_WORDS: usize = SEGMENT_BYTES / 8;

/// First word of a file: `KTRACE`, and the version in the two highest bytes.
#[must_use]
pub const fn magic(version: u32) -> u64 {
    u64::from_le_bytes(*b"KTRACE\0\0") | (version as u64) << 48
}

/// Words of the header.
pub mod header {
    /// Magic number and version.
    pub const MAGIC: usize = 0;
    /// Rank and, in the upper half, number of ranks of `MPI_COMM_WORLD`.
    pub const RANK: usize = 1;
    /// Process number and, in the upper half, [`RING`] and [`THREADS`].
    pub const PROCESS: usize = 2;
    /// Segments that are in use or were.
    pub const SEGMENTS: usize = 3;
    /// Bytes that the file may have.
    pub const LIMIT: usize = 4;
    /// Bytes of a payload that are hashed at most.
    pub const HASH_LIMIT: usize = 5;
    /// Ticks of the clock at a moment, the same in nanoseconds of the system's monotonic clock, and in nanoseconds since 1970.
    pub const FIRST_TICKS: usize = 6;
    /// See [`FIRST_TICKS`].
    pub const FIRST_NS: usize = 7;
    /// See [`FIRST_TICKS`].
    pub const FIRST_REAL_NS: usize = 8;
    /// Number of later readings of both clocks. The latest one is in [`LATER`] and the word after it if the number is odd, else in the two
    /// words behind these.
    pub const READINGS: usize = 9;
    /// Two pairs of ticks and nanoseconds.
    pub const LATER: usize = 10;
    /// Ticks when `MPI_Init` had returned.
    pub const BEGIN: usize = 14;
    /// Ticks when `MPI_Finalize` was called, or when the process ended; 0 if it was killed.
    pub const END: usize = 15;
    /// 1 if `MPI_Finalize` was called.
    pub const FINALIZED: usize = 16;
    /// Calls for which there was no space, or that were overwritten.
    pub const LOST_CALLS: usize = 17;
    /// Definitions for which there was no space.
    pub const LOST_DEFINITIONS: usize = 18;
    /// Calls that returned an error.
    pub const FAILED_CALLS: usize = 19;

    /// Bit of [`PROCESS`]: the oldest records give way when the file is full.
    pub const RING: u64 = 1 << 32;
    /// Bit of [`PROCESS`]: several threads may call MPI at the same time.
    pub const THREADS: u64 = 1 << 33;
}

/// Words of a segment's beginning.
pub mod segment {
    /// Number in the order in which segments were taken, from 1; 0 in a free one.
    pub const SEQUENCE: usize = 0;
    /// [`DEFINITIONS`], or number of the thread, from 1.
    pub const OWNER: usize = 1;
    /// Calls in it, once it is full.
    pub const CALLS: usize = 2;
    /// First word of the first record.
    pub const RECORDS: usize = 4;

    /// Owner of a segment with definitions.
    pub const DEFINITIONS: u64 = 0;
}
