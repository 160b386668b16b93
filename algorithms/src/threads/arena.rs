//! Scratch buffers that live longer than a call.

use crate::TransportError;
use crate::scratch::{SMALLEST_BYTES, class_bytes};

/// Free lists of buffers by size class, a power of two; counts what it really allocates.
#[derive(Debug, Default)]
pub struct Arena {
    /// Index: the binary logarithm of the buffers' length.
    free: Vec<Vec<Vec<u8>>>,
    allocations: u64,
    bytes: u64,
}

impl Arena {
    /// A buffer of at least `bytes` bytes, with unspecified contents.
    ///
    /// # Errors
    /// [`TransportError::NoMemory`].
    pub fn take(&mut self, bytes: usize) -> Result<Vec<u8>, TransportError> {
        let no_memory = TransportError::NoMemory { bytes };
        let Some(length) = class_bytes(bytes) else {
            return Err(no_memory);
        };
        let class = length.ilog2() as usize;
        if let Some(buffer) = self.free.get_mut(class).and_then(Vec::pop) {
            return Ok(buffer);
        }
        let mut buffer = Vec::new();
        if buffer.try_reserve_exact(length).is_err() {
            return Err(no_memory);
        }
        buffer.resize(length, 0);
        self.allocations += 1;
        self.bytes += length as u64;
        Ok(buffer)
    }

    /// Takes a buffer back. One that did not come from an arena is dropped.
    pub fn give(&mut self, buffer: Vec<u8>) {
        if buffer.len() < SMALLEST_BYTES || !buffer.len().is_power_of_two() {
            return;
        }
        let class = buffer.len().ilog2() as usize;
        if self.free.len() <= class {
            self.free.resize_with(class + 1, Vec::new);
        }
        self.free[class].push(buffer);
    }

    /// Bytes of all of them: what it has kept if all were given back.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of buffers that were ever allocated.
    #[must_use]
    pub fn allocations(&self) -> u64 {
        self.allocations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_class_is_allocated_once() {
        let mut arena = Arena::default();
        for bytes in [1000, 1024, 513] {
            let buffer = arena.take(bytes).unwrap();
            assert!(buffer.len() >= bytes);
            arena.give(buffer);
        }
        assert_eq!((arena.allocations(), arena.bytes()), (1, 1024));
        let (one, other) = (arena.take(1000).unwrap(), arena.take(1000).unwrap());
        assert_eq!((one.len(), other.len(), arena.allocations()), (1024, 1024, 2));
    }

    #[test]
    fn zero_and_far_too_many_bytes() {
        let mut arena = Arena::default();
        assert!(arena.take(0).is_ok());
        for bytes in [usize::MAX, usize::MAX / 2] {
            assert_eq!(arena.take(bytes), Err(TransportError::NoMemory { bytes }));
        }
    }

    #[test]
    fn foreign_buffers_are_dropped() {
        let mut arena = Arena::default();
        arena.give(vec![0; 300]);
        arena.give(Vec::new());
        assert_eq!(arena.take(300).unwrap().len(), 512);
    }
}
