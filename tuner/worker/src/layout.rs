//! Layout of a message's bytes in a buffer; the MPI datatypes of [`crate::program`] have the same.

use kilter_protocol::expression::Layout;

/// Length of a vector's block and its stride, in bytes.
pub(crate) const VECTOR: (usize, usize) = (8, 16);
/// Blocks of an indexed type: displacement and length in bytes, once per [`INDEXED_UNIT`] bytes of data.
pub(crate) const INDEXED: [(usize, usize); 2] = [(0, 8), (16, 24)];
/// Data and extent of one round of an indexed type, in bytes.
pub(crate) const INDEXED_UNIT: (usize, usize) = (32, 48);

/// Bytes that `data_bytes` bytes take in this layout; a multiple of [`Layout::UNIT_BYTES`] unless contiguous.
pub(crate) fn span(layout: Layout, data_bytes: usize) -> usize {
    match layout {
        Layout::Contiguous => data_bytes,
        Layout::Vector => data_bytes / VECTOR.0 * VECTOR.1,
        Layout::Indexed => data_bytes / INDEXED_UNIT.0 * INDEXED_UNIT.1,
        Layout::Struct => span(Layout::Vector, data_bytes / 2) + span(Layout::Indexed, data_bytes / 2),
    }
}

/// Position of byte `i` of `data_bytes`.
fn position(layout: Layout, data_bytes: usize, i: usize) -> usize {
    match layout {
        Layout::Contiguous => i,
        Layout::Vector => i / VECTOR.0 * VECTOR.1 + i % VECTOR.0,
        Layout::Indexed => {
            let (round, within) = (i / INDEXED_UNIT.0, i % INDEXED_UNIT.0);
            let [(_, first), (second, _)] = INDEXED;
            let offset = if within < first {
                within
            } else {
                second + within - first
            };
            round * INDEXED_UNIT.1 + offset
        }
        Layout::Struct => {
            let half = data_bytes / 2;
            if i < half {
                position(Layout::Vector, half, i)
            } else {
                span(Layout::Vector, half) + position(Layout::Indexed, half, i - half)
            }
        }
    }
}

/// A buffer of pieces, each laid out by itself: a rank's block is one piece, so that a datatype of count 1 is a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    layout: Layout,
    piece_bytes: usize,
    pieces: usize,
}

impl View {
    /// `pieces` pieces of `piece_bytes` bytes of data.
    pub(crate) fn new(layout: Layout, piece_bytes: usize, pieces: usize) -> View {
        View {
            layout,
            piece_bytes,
            pieces,
        }
    }

    /// Length of the buffer in bytes.
    pub(crate) fn span(&self) -> usize {
        span(self.layout, self.piece_bytes) * self.pieces
    }

    /// Bytes of data in it.
    pub(crate) fn data_bytes(&self) -> usize {
        self.piece_bytes * self.pieces
    }

    /// Position of byte `i` of the data.
    pub(crate) fn position(&self, i: usize) -> usize {
        if self.layout == Layout::Contiguous {
            return i;
        }
        let (piece, within) = (i / self.piece_bytes, i % self.piece_bytes);
        piece * span(self.layout, self.piece_bytes) + position(self.layout, self.piece_bytes, within)
    }

    /// True if some bytes of the buffer are no data.
    pub(crate) fn has_gaps(&self) -> bool {
        self.layout != Layout::Contiguous
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_place_of_its_own_inside_the_span() {
        for layout in Layout::ALL {
            for (piece, pieces) in [(0, 3), (64, 1), (128, 3), (640, 2)] {
                let view = View::new(*layout, piece, pieces);
                let mut places: Vec<usize> = (0..view.data_bytes()).map(|i| view.position(i)).collect();
                let in_order = places.is_sorted();
                places.dedup();
                assert_eq!((in_order, places.len()), (true, view.data_bytes()), "{layout}");
                assert!(places.last().is_none_or(|last| *last < view.span()), "{layout}");
            }
        }
        assert_eq!(View::new(Layout::Vector, 64, 2).span(), 256);
        assert_eq!(View::new(Layout::Indexed, 64, 1).position(8), 16);
        assert_eq!(View::new(Layout::Struct, 64, 1).span(), 64 + 48);
    }
}
