//! Derived datatypes whose data lie in memory as blocks of one length at one distance, in the order of the message: vectors, columns of a matrix, parts of
//! a grid of two dimensions, and whatever is in one piece.
//!
//! A type is looked into once ([`known`]).

mod known;

use std::ffi::c_int;

use mpi_sys::{MPI_Aint, MPI_Datatype};

use known::Known;

use crate::constants;
use crate::envelope::{Envelope, is_named};
use crate::layout::Layout;

/// Types within each other that are looked into.
const DEPTH: u32 = 8;

/// Integers, addresses and types of a constructor that is looked into. Lists of more blocks are taken for irregular.
const MOST_INTEGERS: usize = 64;
const MOST_ADDRESSES: usize = 32;
const MOST_TYPES: usize = 8;

/// Blocks of one length at one distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Beginning of the first block, from the address of the elements.
    pub first: isize,
    /// Bytes of a block.
    pub bytes: usize,
    /// Bytes from the beginning of a block to that of the next one; those of a block if there is one.
    pub stride: usize,
    /// Number of blocks.
    pub count: usize,
}

impl Blocks {
    /// The blocks of `count` elements; `None` if they are none, or would take long to find out.
    ///
    /// # Safety
    /// The type is valid.
    #[must_use]
    pub unsafe fn of(datatype: MPI_Datatype, count: usize) -> Option<Blocks> {
        // SAFETY: by this function's contract.
        let known = unsafe { known::get(datatype) };
        let found = match known {
            Some(found) => found,
            // SAFETY: by this function's contract.
            None => unsafe { look_into(datatype) }?,
        };
        found.element?.repeated(count, found.extent)
    }

    fn one(bytes: usize) -> Option<Blocks> {
        (bytes > 0).then_some(Blocks {
            first: 0,
            bytes,
            stride: bytes,
            count: 1,
        })
    }

    /// So many of the same, each `pitch` bytes behind the one before.
    fn repeated(self, count: usize, pitch: isize) -> Option<Blocks> {
        if count == 1 {
            return Some(self);
        }
        let pitch = usize::try_from(pitch).ok().filter(|_| count > 0)?;
        if self.count > 1 {
            let count = self.count.checked_mul(count)?;
            let goes_on = pitch == self.stride.checked_mul(self.count)?;
            return goes_on.then_some(Self { count, ..self });
        }
        if pitch == self.bytes {
            let bytes = self.bytes.checked_mul(count)?;
            return Some(Self {
                bytes,
                stride: bytes,
                ..self
            });
        }
        (pitch > self.bytes).then_some(Self {
            stride: pitch,
            count,
            ..self
        })
    }

    /// The same, so many bytes later.
    fn moved(self, by: isize) -> Option<Blocks> {
        let first = self.first.checked_add(by)?;
        Some(Self { first, ..self })
    }

    /// These, and then others.
    fn followed_by(self, next: Blocks) -> Option<Blocks> {
        let from_first = usize::try_from(next.first.checked_sub(self.first)?).ok()?;
        if self.count == 1 && next.count == 1 && from_first == self.bytes {
            let bytes = self.bytes.checked_add(next.bytes)?;
            return Some(Self {
                bytes,
                stride: bytes,
                ..self
            });
        }
        let distance = from_first.checked_sub((self.count - 1).checked_mul(self.stride)?)?;
        let fits = |one: Blocks| one.bytes == self.bytes && (one.count == 1 || one.stride == distance);
        (fits(self) && fits(next) && distance > self.bytes).then_some(Self {
            stride: distance,
            count: self.count.checked_add(next.count)?,
            ..self
        })
    }
}

/// Blocks of an element, which are remembered.
///
/// # Safety
/// The type is valid.
#[cold]
unsafe fn look_into(datatype: MPI_Datatype) -> Option<Known> {
    let extent = Layout::of(datatype).ok()?.extent;
    // SAFETY: by this function's contract.
    unsafe {
        let element = of_type(datatype, DEPTH);
        let found = Known { element, extent };
        if !is_named(datatype) {
            known::set(datatype, found);
        }
        Some(found)
    }
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

/// Blocks of one element.
///
/// # Safety
/// The type is valid.
unsafe fn of_type(datatype: MPI_Datatype, depth: u32) -> Option<Blocks> {
    // SAFETY: by this function's contract.
    let contents = unsafe { Contents::of(datatype) }?;
    if contents.combiner == constants::combiner_named() {
        let layout = Layout::of(datatype).ok()?;
        return if layout.is_dense() {
            Blocks::one(layout.size)
        } else {
            None
        };
    }
    let depth = depth.checked_sub(1)?;
    // SAFETY: types within a valid type are valid.
    let inner = |at: usize| unsafe {
        let inner = *contents.types().get(at)?;
        Some((of_type(inner, depth)?, Layout::of(inner).ok()?.extent))
    };
    blocks(&contents, inner)
}

/// Blocks of an element whose parts, with their extents, are known.
// MPI_Aint is `isize` or `c_long`, as the library has it.
#[allow(clippy::unnecessary_cast)]
fn blocks(contents: &Contents, inner: impl Fn(usize) -> Option<(Blocks, isize)>) -> Option<Blocks> {
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
            block.moved(if in_elements {
                elements(displacement(2 + at)?)?
            } else {
                address(at)?
            })
        })
    } else if is(constants::combiner_indexed()) || is(constants::combiner_hindexed()) {
        let in_elements = is(constants::combiner_indexed());
        let count = number(0)?;
        one_behind_the_other(count, |at| {
            part.repeated(number(1 + at)?, extent)?.moved(if in_elements {
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

fn one_behind_the_other(count: usize, part: impl Fn(usize) -> Option<Blocks>) -> Option<Blocks> {
    let mut parts = (0..count).map(part);
    let first = parts.next()??;
    parts.try_fold(first, |all, next| all.followed_by(next?))
}

/// A part of an array: number of dimensions, sizes, sizes of the part, where it starts, and the order of dimensions.
fn subarray(integers: &[c_int], part: Blocks, extent: isize) -> Option<Blocks> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const fn blocks(first: isize, bytes: usize, stride: usize, count: usize) -> Blocks {
        Blocks {
            first,
            bytes,
            stride,
            count,
        }
    }

    #[test]
    fn what_is_repeated_stays_regular_or_is_nothing() {
        let number = Blocks::one(8).unwrap();
        assert_eq!(number.repeated(5, 8), Some(blocks(0, 40, 40, 1)));
        assert_eq!(number.repeated(5, 24), Some(blocks(0, 8, 24, 5)));
        let column = number.repeated(5, 24).unwrap();
        assert_eq!(column.repeated(2, 120), Some(blocks(0, 8, 24, 10)));
        assert_eq!(column.repeated(1, 8), Some(column));
        // Two columns beside each other, elements that overlap, and those that lie backwards.
        assert_eq!(column.repeated(2, 8), None);
        assert_eq!(number.repeated(2, 4), None);
        assert_eq!(number.repeated(2, -8), None);
        assert_eq!((number.repeated(0, 8), Blocks::one(0)), (None, None));
    }

    #[test]
    fn lists_of_blocks_are_regular_if_their_distances_are() {
        let at = |displacements: &'static [isize]| {
            one_behind_the_other(displacements.len(), |at| Blocks::one(8)?.moved(displacements[at]))
        };
        assert_eq!(at(&[16, 24, 32]), Some(blocks(16, 24, 24, 1)));
        assert_eq!(at(&[4, 24, 44]), Some(blocks(4, 8, 20, 3)));
        assert_eq!(at(&[0, 24, 40]), None);
        assert_eq!(at(&[24, 0]), None);
        assert_eq!(at(&[]), None);
    }

    #[test]
    fn a_tile_of_a_grid_has_a_block_in_each_row() {
        let number = Blocks::one(8).unwrap();
        let order = constants::order_c();
        // Rows 2 and 3 of 4, columns 5 to 7 of 10.
        assert_eq!(
            subarray(&[2, 4, 10, 2, 3, 2, 5, order], number, 8),
            Some(blocks(200, 24, 80, 2))
        );
        assert_eq!(
            subarray(&[2, 10, 4, 3, 2, 5, 2, order + 1], number, 8),
            Some(blocks(200, 24, 80, 2))
        );
        // Whole rows are in one piece; a part of a cube is irregular.
        assert_eq!(
            subarray(&[2, 4, 10, 2, 10, 1, 0, order], number, 8),
            Some(blocks(80, 160, 160, 1))
        );
        assert_eq!(subarray(&[3, 4, 4, 4, 2, 2, 2, 0, 0, 0, order], number, 8), None);
        assert_eq!(subarray(&[2, 4, 10, 2, 3, order], number, 8), None);
    }
}
