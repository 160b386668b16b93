//! Scratch that some ranks of a call do without.

use crate::{Transport, TransportError};

/// Scratch of at least `bytes` bytes; an empty buffer for none, for which the arena is not asked.
#[inline]
pub(crate) fn take<T: Transport>(transport: &mut T, bytes: usize) -> Result<Vec<u8>, TransportError> {
    if bytes == 0 {
        return Ok(Vec::new());
    }
    transport.take_scratch(bytes)
}

/// Gives back what [`take`] lent.
#[inline]
pub(crate) fn give<T: Transport>(transport: &mut T, scratch: Vec<u8>) {
    if !scratch.is_empty() {
        transport.give_scratch(scratch);
    }
}
