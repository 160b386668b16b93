//! MPI handles as numbers: an address or an int, as the library has it.

/// The handle's bits.
#[inline]
#[must_use]
pub fn bits<T: Copy>(handle: T) -> usize {
    const {
        assert!(size_of::<T>() <= size_of::<usize>(), "a handle is an address or an int");
    }
    let mut number = 0_usize;
    // SAFETY: the handle's bytes fit, as is checked above, and every bit pattern is a number.
    unsafe {
        let from = (&raw const handle).cast::<u8>();
        std::ptr::copy_nonoverlapping(from, (&raw mut number).cast::<u8>(), size_of::<T>());
    }
    number
}
