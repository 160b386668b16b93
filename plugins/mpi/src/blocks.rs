//! Derived datatypes whose data lie in memory as blocks of one length at one distance, in the order of the message: vectors, columns of a matrix, parts of
//! a grid of two dimensions, and whatever is in one piece. Of all others, the [`Pieces`] of an element.
//!
//! A type is looked into once ([`known`]).

mod contents;
mod known;
mod pieces;

use mpi_sys::MPI_Datatype;

pub use pieces::{Piece, Pieces};

use contents::{DEPTH, Places, of_type};
use known::Known;

use crate::envelope::is_named;
use crate::layout::Layout;

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
        let (element, extent) = unsafe { with(datatype, |known| (known.element, known.extent)) }?;
        element?.repeated(count, extent)
    }
}

impl Places for Blocks {
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

/// Knowledge of a type, which is looked into if there is none.
///
/// # Safety
/// The type is valid.
unsafe fn with<T>(datatype: MPI_Datatype, take: impl Fn(&Known) -> T) -> Option<T> {
    // SAFETY: by this function's contract; nobody frees the type while it is asked for.
    match unsafe { known::get(datatype) } {
        Some(known) => Some(take(known)),
        // SAFETY: by this function's contract.
        None => unsafe { look_into(datatype, take) },
    }
}

/// Looks into a type, and remembers what is found.
///
/// # Safety
/// The type is valid.
#[cold]
unsafe fn look_into<T>(datatype: MPI_Datatype, take: impl Fn(&Known) -> T) -> Option<T> {
    let extent = Layout::of(datatype).ok()?.extent;
    // SAFETY: by this function's contract.
    unsafe {
        let element: Option<Blocks> = of_type(datatype, DEPTH);
        let pieces = if element.is_some() {
            None
        } else {
            of_type(datatype, DEPTH)
        };
        let found = Known {
            element,
            pieces,
            extent,
        };
        let taken = take(&found);
        if !is_named(datatype) {
            known::set(datatype, found);
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::contents::{one_behind_the_other, subarray};
    use super::*;
    use crate::constants;

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
