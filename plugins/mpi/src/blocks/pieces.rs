//! Pieces of an element of a datatype that is no row of equal blocks: lists of blocks of different lengths, structures, parts of cubes.

use mpi_sys::MPI_Datatype;

use super::contents::Places;

/// Pieces of an element that are told.
const MOST_PIECES: usize = 64;

/// Data in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Beginning, from the address of the elements.
    pub offset: isize,
    /// Length, which is not 0.
    pub bytes: usize,
}

/// Pieces of an element in the order of the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pieces {
    /// The pieces.
    pub pieces: Vec<Piece>,
    /// Bytes from the beginning of an element to that of the next one.
    pub extent: isize,
}

impl Pieces {
    /// Pieces of an element that is no row of equal blocks, or of which several are none; `None` if it has none, or more than are told.
    ///
    /// # Safety
    /// The type is valid.
    #[must_use]
    pub unsafe fn of(datatype: MPI_Datatype) -> Option<Pieces> {
        let take = |known: &super::Known| {
            let of_blocks = || known.element.and_then(List::of_blocks);
            let pieces = known.pieces.clone().or_else(of_blocks)?.0;
            let extent = known.extent;
            (!pieces.is_empty()).then_some(Pieces { pieces, extent })
        };
        // SAFETY: by this function's contract.
        unsafe { super::with(datatype, take) }?
    }
}

/// Pieces one behind the other in the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct List(Vec<Piece>);

impl List {
    fn of_blocks(blocks: super::Blocks) -> Option<List> {
        let stride = isize::try_from(blocks.stride).ok()?;
        List::one(blocks.bytes)?
            .repeated(blocks.count, stride)?
            .moved(blocks.first)
    }

    /// Adds a piece. One that goes on where the last one ends is a part of it.
    fn push(&mut self, piece: Piece) -> Option<()> {
        if piece.bytes == 0 {
            return Some(());
        }
        if let Some(last) = self.0.last_mut()
            && last.offset.checked_add_unsigned(last.bytes) == Some(piece.offset)
        {
            last.bytes = last.bytes.checked_add(piece.bytes)?;
            return Some(());
        }
        (self.0.len() < MOST_PIECES).then(|| self.0.push(piece))
    }
}

impl Places for List {
    fn one(bytes: usize) -> Option<List> {
        let mut list = List(Vec::new());
        list.push(Piece { offset: 0, bytes })?;
        Some(list)
    }

    fn repeated(self, count: usize, pitch: isize) -> Option<List> {
        let mut all = List(Vec::new());
        // Elements that go on where the one before ends would all be gone through.
        if let [one] = self.0.as_slice()
            && isize::try_from(one.bytes) == Ok(pitch)
        {
            let bytes = one.bytes.checked_mul(count)?;
            all.push(Piece { bytes, ..*one })?;
            return Some(all);
        }
        for at in 0..count {
            let by = pitch.checked_mul(isize::try_from(at).ok()?)?;
            if self.0.is_empty() {
                break;
            }
            for piece in &self.0 {
                let offset = piece.offset.checked_add(by)?;
                all.push(Piece { offset, ..*piece })?;
            }
        }
        Some(all)
    }

    fn moved(mut self, by: isize) -> Option<List> {
        for piece in &mut self.0 {
            piece.offset = piece.offset.checked_add(by)?;
        }
        Some(self)
    }

    fn followed_by(mut self, next: List) -> Option<List> {
        for piece in next.0 {
            self.push(piece)?;
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(pieces: &[(isize, usize)]) -> List {
        let piece = |&(offset, bytes): &(isize, usize)| Piece { offset, bytes };
        List(pieces.iter().map(piece).collect())
    }

    #[test]
    fn pieces_stay_in_the_order_of_the_message_and_grow_together() {
        let number = List::one(8).unwrap();
        assert_eq!(number.clone().repeated(5, 8), Some(list(&[(0, 40)])));
        assert_eq!(
            number.clone().repeated(3, -16),
            Some(list(&[(0, 8), (-16, 8), (-32, 8)]))
        );
        let pair = number.clone().followed_by(List::one(4).unwrap().moved(16).unwrap());
        let pair = pair.unwrap();
        assert_eq!(pair, list(&[(0, 8), (16, 4)]));
        assert_eq!(pair.clone().repeated(2, 20), Some(list(&[(0, 8), (16, 12), (36, 4)])));
        // Empty blocks are nothing, and may stand anywhere.
        let empty = number.clone().repeated(0, 8).unwrap();
        assert_eq!(empty.clone().followed_by(number.clone()), Some(number.clone()));
        assert_eq!(empty.repeated(usize::MAX, 8), Some(list(&[])));
    }

    #[test]
    fn longer_lists_are_not_told() {
        let number = List::one(8).unwrap();
        assert!(number.clone().repeated(MOST_PIECES, 16).is_some());
        assert_eq!(number.clone().repeated(MOST_PIECES + 1, 16), None);
        assert!(number.repeated(usize::MAX / 8, 8).is_some());
    }
}
