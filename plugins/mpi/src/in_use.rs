//! Scratch that one run of a mock-up has in use; the arena gets it back at the end, however the run ends.

use crate::{Arena, MpiError, constants};

/// Buffers in use, and the arena that they are from.
pub(crate) struct InUse<'a> {
    pub(crate) arena: &'a mut Arena,
    buffers: Vec<Vec<u8>>,
    /// MPI's name of the collective, which errors name.
    operation: &'static str,
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        for buffer in self.buffers.drain(..) {
            self.arena.give(buffer);
        }
        self.arena.held = std::mem::take(&mut self.buffers);
    }
}

impl<'a> InUse<'a> {
    /// Nothing in use yet, for a run of this collective.
    pub(crate) fn of(arena: &'a mut Arena, operation: &'static str) -> InUse<'a> {
        let buffers = std::mem::take(&mut arena.held);
        InUse {
            arena,
            buffers,
            operation,
        }
    }

    /// Scratch of `bytes` bytes, valid until the run ends.
    pub(crate) fn scratch(&mut self, bytes: usize) -> Result<*mut u8, MpiError> {
        let mut buffer = self.arena.take(bytes).ok_or(MpiError {
            operation: self.operation,
            code: constants::err_no_mem(),
        })?;
        let pointer = buffer.as_mut_ptr();
        self.buffers.push(buffer);
        Ok(pointer)
    }

    /// A copy of the `bytes` bytes at `given`, padded to `total` bytes with its first element, a value that every operator is defined for.
    ///
    /// # Safety
    /// `given` holds `bytes` bytes, at least one element of `element_bytes`; `bytes` and `total` are multiples of that.
    pub(crate) unsafe fn padded(
        &mut self,
        given: *const u8,
        (bytes, total): (usize, usize),
        element_bytes: usize,
    ) -> Result<*const u8, MpiError> {
        let copy = self.scratch(total)?;
        // SAFETY: `given` holds `bytes` bytes by this function's contract, `copy` `total` ones.
        unsafe {
            copy.copy_from_nonoverlapping(given, bytes);
            for at in (bytes..total).step_by(element_bytes.max(1)) {
                copy.add(at).copy_from_nonoverlapping(given, element_bytes);
            }
        }
        Ok(copy)
    }
}
