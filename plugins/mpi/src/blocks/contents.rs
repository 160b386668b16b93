//! Walk through a datatype by the arguments with which it was made, and those of the types within it.

use std::ffi::c_int;

use mpi_sys::{MPI_Aint, MPI_Datatype};

use crate::constants;
use crate::envelope::{Envelope, is_named};
use crate::layout::Layout;

/// Types within each other that are looked into.
pub(super) const DEPTH: u32 = 8;

/// Integers, addresses and types of a constructor that is looked into. Longer lists are taken for irregular.
const MOST_INTEGERS: usize = 160;
const MOST_ADDRESSES: usize = 80;
const MOST_TYPES: usize = 80;

/// Places of data, in the order of the message.
pub(super) trait Places: Clone + Sized {
    /// So many bytes in one piece.
    fn one(bytes: usize) -> Option<Self>;

    /// So many of the same, each `pitch` bytes behind the one before.
    fn repeated(self, count: usize, pitch: isize) -> Option<Self>;

    /// The same, so many bytes later.
    fn moved(self, by: isize) -> Option<Self>;

    /// These, and then others.
    fn followed_by(self, next: Self) -> Option<Self>;
}

/// Arguments with which a type was made.
struct Contents {
    combiner: c_int,
    integers: [c_int; MOST_INTEGERS],
    addresses: [MPI_Aint; MOST_ADDRESSES],
    types: [MPI_Datatype; MOST_TYPES],
    numbers: [usize; 3],
}

impl Contents {
    /// # Safety
    /// The type is valid.
    unsafe fn of(datatype: MPI_Datatype) -> Option<Contents> {
        // SAFETY: by this function's contract.
        let envelope = unsafe { Envelope::of(datatype) }.ok()?;
        let combiner = envelope.combiner;
        let numbers = [envelope.integers, envelope.addresses, envelope.types];
        let fits = numbers[0] <= MOST_INTEGERS && numbers[1] <= MOST_ADDRESSES && numbers[2] <= MOST_TYPES;
        if !fits || envelope.large_counts > 0 {
            return None;
        }
        let mut all = Contents {
            combiner,
            integers: [0; MOST_INTEGERS],
            addresses: [0; MOST_ADDRESSES],
            types: [constants::datatype_null(); MOST_TYPES],
            numbers,
        };
        if combiner == constants::combiner_named() {
            return Some(all);
        }
        // SAFETY: the arrays are as long as the envelope says, or longer.
        let code = unsafe {
            mpi_sys::PMPI_Type_get_contents(
                datatype,
                numbers[0] as c_int,
                numbers[1] as c_int,
                numbers[2] as c_int,
                all.integers.as_mut_ptr(),
                all.addresses.as_mut_ptr(),
                all.types.as_mut_ptr(),
            )
        };
        if code != 0 {
            all.numbers[2] = 0;
            return None;
        }
        Some(all)
    }

    fn integers(&self) -> &[c_int] {
        self.integers.get(..self.numbers[0]).unwrap_or_default()
    }

    fn addresses(&self) -> &[MPI_Aint] {
        self.addresses.get(..self.numbers[1]).unwrap_or_default()
    }

    fn types(&self) -> &[MPI_Datatype] {
        self.types.get(..self.numbers[2]).unwrap_or_default()
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        for at in 0..self.numbers[2].min(MOST_TYPES) {
            let mut one = self.types[at];
            // SAFETY: handles of types within a valid type; those of derived ones are this one's own.
            unsafe {
                if !is_named(one) {
                    mpi_sys::PMPI_Type_free(&raw mut one);
                }
            }
        }
    }
}

/// Places of one element.
///
/// # Safety
/// The type is valid.
pub(super) unsafe fn of_type<P: Places>(datatype: MPI_Datatype, depth: u32) -> Option<P> {
    // SAFETY: by this function's contract.
    let contents = unsafe { Contents::of(datatype) }?;
    if contents.combiner == constants::combiner_named() {
        let layout = Layout::of(datatype).ok()?;
        return if layout.is_dense() { P::one(layout.size) } else { None };
    }
    let depth = depth.checked_sub(1)?;
    // SAFETY: types within a valid type are valid.
    let inner = |at: usize| unsafe {
        let inner = *contents.types().get(at)?;
        Some((of_type(inner, depth)?, Layout::of(inner).ok()?.extent))
    };
    places(&contents, inner)
}

/// Places of an element whose parts, with their extents, are known.
// MPI_Aint is `isize` or `c_long`, as the library has it.
#[allow(clippy::unnecessary_cast)]
fn places<P: Places>(contents: &Contents, inner: impl Fn(usize) -> Option<(P, isize)>) -> Option<P> {
    let is = |combiner: c_int| contents.combiner == combiner;
    let integers = contents.integers();
    let number = |at: usize| integers.get(at).and_then(|number| usize::try_from(*number).ok());
    let address = |at: usize| contents.addresses().get(at).map(|one| *one as isize);
    let displacement = |at: usize| integers.get(at).and_then(|number| isize::try_from(*number).ok());
    if is(constants::combiner_struct()) {
        let part = |at: usize| {
            let (part, extent) = inner(at)?;
            part.repeated(number(1 + at)?, extent)?.moved(address(at)?)
        };
        return one_behind_the_other(number(0)?, part);
    }
    let (part, extent) = inner(0)?;
    let elements = |at: isize| extent.checked_mul(at);
    if is(constants::combiner_dup()) || is(constants::combiner_resized()) {
        Some(part)
    } else if is(constants::combiner_contiguous()) {
        part.repeated(number(0)?, extent)
    } else if is(constants::combiner_vector()) {
        part.repeated(number(1)?, extent)?
            .repeated(number(0)?, elements(displacement(2)?)?)
    } else if is(constants::combiner_hvector()) {
        part.repeated(number(1)?, extent)?.repeated(number(0)?, address(0)?)
    } else if is(constants::combiner_indexed_block()) || is(constants::combiner_hindexed_block()) {
        let block = part.repeated(number(1)?, extent)?;
        let in_elements = is(constants::combiner_indexed_block());
        one_behind_the_other(number(0)?, |at| {
            block.clone().moved(if in_elements {
                elements(displacement(2 + at)?)?
            } else {
                address(at)?
            })
        })
    } else if is(constants::combiner_indexed()) || is(constants::combiner_hindexed()) {
        let in_elements = is(constants::combiner_indexed());
        let count = number(0)?;
        one_behind_the_other(count, |at| {
            part.clone().repeated(number(1 + at)?, extent)?.moved(if in_elements {
                elements(displacement(1 + count + at)?)?
            } else {
                address(at)?
            })
        })
    } else if is(constants::combiner_subarray()) {
        subarray(integers, part, extent)
    } else {
        None
    }
}

pub(super) fn one_behind_the_other<P: Places>(count: usize, part: impl Fn(usize) -> Option<P>) -> Option<P> {
    let mut parts = (0..count).map(part);
    let first = parts.next()??;
    parts.try_fold(first, |all, next| all.followed_by(next?))
}

/// A part of an array: number of dimensions, sizes, sizes of the part, where it starts, and the order of dimensions.
pub(super) fn subarray<P: Places>(integers: &[c_int], part: P, extent: isize) -> Option<P> {
    let (dimensions, rest) = integers.split_first()?;
    let dimensions = usize::try_from(*dimensions).ok().filter(|number| *number > 0)?;
    let (order, rest) = rest.split_last()?;
    if rest.len() != 3 * dimensions {
        return None;
    }
    let lists = [
        rest.get(..dimensions)?,
        rest.get(dimensions..2 * dimensions)?,
        rest.get(2 * dimensions..)?,
    ];
    let is_c = *order == constants::order_c();
    let (mut all, mut pitch) = (part, extent);
    for step in 0..dimensions {
        let at = if is_c { dimensions - 1 - step } else { step };
        let [size, own, start] = lists.map(|list| list[at]);
        all = all.repeated(usize::try_from(own).ok()?, pitch)?;
        all = all.moved(pitch.checked_mul(isize::try_from(start).ok()?)?)?;
        pitch = pitch.checked_mul(isize::try_from(size).ok()?)?;
    }
    Some(all)
}
