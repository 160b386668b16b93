//! Values with a meaning of their own in the fields of a part.

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

/// Bits of [`super::Plain::flags`].
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
    pub(in crate::trace::record) const BLOCKS: u8 = 1;
    pub(in crate::trace::record) const PIECES: u8 = 2;
}
