//! Layouts of predefined types, remembered.
//!
//! The library is asked three things about a type before its elements can be moved, 250 instructions in Open MPI 4.1 and as
//! much as a tenth of an 8-byte allreduce between two ranks. A predefined handle never ends its life and never changes, so
//! that what was found once stays true; the handle of a derived type can be freed and come back as another type, so nothing
//! is remembered of those.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use mpi_sys::MPI_Datatype;

use crate::layout::Layout;
use crate::{envelope, handle};

/// Binary logarithm of the number of places: a program uses a handful of the library's sixty or so predefined types, and one
/// that finds its place taken is merely not remembered.
const PLACE_BITS: u32 = 7;

struct Known {
    handle: usize,
    layout: Layout,
    /// The size in bytes if elements have no holes, else 0: what most calls want to know.
    plain_size: usize,
}

/// Written once each; what they point to lives as long as the process.
static KNOWN: [AtomicPtr<Known>; 1 << PLACE_BITS] = [const { AtomicPtr::new(ptr::null_mut()) }; 1 << PLACE_BITS];

fn place(handle: usize) -> &'static AtomicPtr<Known> {
    // Fibonacci hashing: handles are addresses of large structures, or numbers that differ in their lowest bits.
    let hash = (handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACE_BITS);
    &KNOWN[hash as usize]
}

/// The layout of a predefined type that was seen before.
#[inline]
pub(crate) fn find(datatype: MPI_Datatype) -> Option<Layout> {
    known(datatype).map(|known| known.layout)
}

/// Bytes of an element of a predefined type without holes that was seen before; 0 for other types.
#[inline]
pub(crate) fn plain_size(datatype: MPI_Datatype) -> usize {
    known(datatype).map_or(0, |known| known.plain_size)
}

#[inline]
fn known(datatype: MPI_Datatype) -> Option<&'static Known> {
    let handle = handle::bits(datatype);
    // SAFETY: null or a box that was leaked by `remember`; acquire pairs with its release.
    let known = unsafe { place(handle).load(Ordering::Acquire).as_ref() }?;
    (known.handle == handle).then_some(known)
}

/// Remembers the layout of `datatype` if it is predefined.
pub(crate) fn remember(datatype: MPI_Datatype, layout: Layout) {
    let handle = handle::bits(datatype);
    let place = place(handle);
    if !place.load(Ordering::Relaxed).is_null() || !is_predefined(datatype) {
        return;
    }
    let plain_size = if layout.is_dense() { layout.size } else { 0 };
    let known = Box::into_raw(Box::new(Known {
        handle,
        layout,
        plain_size,
    }));
    if place
        .compare_exchange(ptr::null_mut(), known, Ordering::Release, Ordering::Relaxed)
        .is_err()
    {
        // Another thread was first.
        // SAFETY: made above, and nobody else has seen it.
        drop(unsafe { Box::from_raw(known) });
    }
}

fn is_predefined(datatype: MPI_Datatype) -> bool {
    // SAFETY: the caller has a handle of the program's.
    unsafe { envelope::is_named(datatype) }
}
