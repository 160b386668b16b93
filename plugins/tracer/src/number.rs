//! Numbers of elements, in both forms of MPI's functions.

/// A count or displacement of either form of a function.
pub(crate) trait Number: Copy {
    /// The number; a negative one is 0.
    fn unsigned(self) -> u64;
}

impl Number for i32 {
    #[inline]
    fn unsigned(self) -> u64 {
        u64::try_from(self).unwrap_or(0)
    }
}

impl Number for i64 {
    #[inline]
    fn unsigned(self) -> u64 {
        u64::try_from(self).unwrap_or(0)
    }
}
