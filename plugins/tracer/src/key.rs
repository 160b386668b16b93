//! The key of a kind of calls, beside the call site, in a word: all that these calls have in common.

use kilter_protocol::calls::bucket;

use kilter_protocol::functions::Function;

/// A kind of calls; never 0. From the lowest bit: function 8, bucket 7, class of the datatype 4, operator 4, communicator and 1 24 (0 for
/// none), and a bit that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u64);

/// Largest number of a communicator.
pub(crate) const MAX_COMMUNICATOR: u32 = (1 << 24) - 3;

impl Key {
    /// The key of a call; classes and operators are numbers below 16.
    #[inline]
    pub(crate) fn new(function: Function, communicator: Option<u32>, bytes: u64, class: u8, operator: u8) -> Key {
        let communicator = communicator.map_or(0, |number| u64::from(number) + 1);
        Key(function as u64
            | u64::from(bucket(bytes)) << 8
            | u64::from(class & 15) << 15
            | u64::from(operator & 15) << 19
            | (communicator & 0xff_ffff) << 23
            | 1 << 47)
    }

    /// The key of receives of a function from a world rank.
    #[inline]
    pub(crate) fn of_receives(function: Function, from: u32) -> Key {
        Key::new(function, Some(from), 0, 0, 0)
    }

    /// The world rank of a key of receives.
    pub(crate) fn sender(self) -> Option<u32> {
        self.communicator()
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn of_bits(bits: u64) -> Key {
        Key(bits)
    }

    pub(crate) fn function(self) -> u8 {
        self.0 as u8
    }

    pub(crate) fn bucket(self) -> u8 {
        (self.0 >> 8) as u8 & 127
    }

    pub(crate) fn class(self) -> u8 {
        (self.0 >> 15) as u8 & 15
    }

    pub(crate) fn operator(self) -> u8 {
        (self.0 >> 19) as u8 & 15
    }

    pub(crate) fn communicator(self) -> Option<u32> {
        let number = (self.0 >> 23) as u32 & 0xff_ffff;
        number.checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_come_back() {
        for communicator in [None, Some(0), Some(7), Some(MAX_COMMUNICATOR)] {
            for bytes in [0, 1, 4096, u64::MAX] {
                let key = Key::new(Function::Intercomm_merge, communicator, bytes, 9, 14);
                let key = Key::of_bits(key.bits());
                assert_eq!(key.function(), Function::Intercomm_merge as u8);
                assert_eq!(key.bucket(), bucket(bytes));
                assert_eq!((key.class(), key.operator()), (9, 14));
                assert_eq!(key.communicator(), communicator);
            }
        }
        let key = Key::of_receives(Function::Recv, 0);
        assert_eq!((key.sender(), key.function()), (Some(0), Function::Recv as u8));
        assert_ne!(Key::new(Function::Send, None, 0, 0, 0).bits(), 0);
    }
}
