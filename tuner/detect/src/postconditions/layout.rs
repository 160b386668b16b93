//! Layout of the blocks of a gather or a scatter in the root's memory. The root's own block travels in no message: the others leave its gap.
//! A block may lie there in pieces, such as a column of a matrix: columns beside each other are in order. So are lists of unequal pieces that lie between
//! each other and leave no more room than a block of the root's.

use crate::model::trace::Blocks;

/// Pieces of a block that are gone through one by one.
const MOST_PIECES: u64 = 4096;

/// Block of a rank in the root's memory.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Position of the rank in its group.
    pub(crate) position: usize,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    /// Pieces in which it lies, if it is not one.
    pub(crate) pieces: Option<Blocks>,
}

impl Block {
    /// Elements of several pieces, or that lie backwards.
    fn list(&self) -> Option<&Blocks> {
        self.pieces
            .as_ref()
            .filter(|one| one.pieces.len() > 1 || one.stride < 0)
    }

    /// Bytes of a piece, and distance between two, of a block whose pieces are alike.
    fn even(&self) -> Option<(u64, u64)> {
        let all = self.pieces.as_ref()?;
        match all.pieces.as_slice() {
            [piece] => Some((piece.bytes.min(self.bytes), u64::try_from(all.stride).ok()?)),
            _ => None,
        }
    }

    /// Bytes from its beginning to that of a block of its kind beside it.
    fn width(&self) -> u64 {
        if let Some(list) = self.list() {
            let elements = self.bytes.div_ceil(list.element_bytes());
            return list.stride.unsigned_abs().saturating_mul(elements);
        }
        self.even().map_or(self.bytes, |(bytes, _)| bytes)
    }

    /// Addresses between which it lies.
    fn bounds(&self) -> (u64, u64) {
        let Some(list) = self.list() else {
            let last = Blocks::place(self.pieces.as_ref(), self.address, self.bytes.saturating_sub(1));
            return (self.address, last.saturating_add(1));
        };
        let elements = i64::try_from(self.bytes.div_ceil(list.element_bytes())).unwrap_or(i64::MAX);
        let last = list.stride.saturating_mul(elements.saturating_sub(1));
        let begins = list.pieces.iter().map(|piece| piece.offset);
        let ends = list
            .pieces
            .iter()
            .map(|piece| piece.offset.saturating_add_unsigned(piece.bytes));
        let from = begins.min().unwrap_or(0).saturating_add(last.min(0));
        let to = ends.max().unwrap_or(0).saturating_add(last.max(0));
        let at = |ahead: i64| self.address.saturating_add_signed(ahead);
        (at(from), at(to))
    }

    /// Adds the addresses of its pieces, from one to another; false if they are too many.
    fn add_ranges(&self, all: &mut Vec<(u64, u64)>) -> bool {
        let mut offset = 0;
        for _ in 0..MOST_PIECES {
            if offset >= self.bytes {
                return true;
            }
            let begin = Blocks::place(self.pieces.as_ref(), self.address, offset);
            let bytes = self.pieces.as_ref().map_or(self.bytes, |all| all.piece_from(offset));
            let bytes = bytes.clamp(1, self.bytes - offset);
            all.push((begin, begin.saturating_add(bytes)));
            offset += bytes;
        }
        offset >= self.bytes
    }

    /// True if some byte of it is one of another block that does not begin before it. Blocks whose pieces have different distances meet if one
    /// begins before the other ends.
    fn meets(&self, later: &Block) -> bool {
        let ((from, to), (begin, end)) = (self.bounds(), later.bounds());
        if self.bytes == 0 || begin >= to || from >= end {
            return false;
        }
        match (self.even(), later.even()) {
            (Some((bytes, stride)), Some((other, same))) if stride == same && stride > 0 => {
                let ahead = (later.address - self.address) % stride;
                ahead < bytes || ahead.saturating_add(other) > stride
            }
            _ => true,
        }
    }
}

/// Order of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layout {
    /// Blocks lie in the same memory.
    Shared,
    /// Blocks lie apart, in no order.
    Apart,
    /// Blocks lie in the order of the ranks, counted from the root.
    FromRoot,
    /// Blocks lie in the order of the ranks.
    Ordered,
}

/// Layout of the blocks of all of `count` positions but the root's.
pub(crate) fn layout(blocks: &[Block], root: usize, count: usize) -> Layout {
    let mut by_address = blocks.to_vec();
    by_address.sort_unstable_by_key(|block| block.address);
    let ranges = ranges(blocks);
    let any_meets = if let Some(ranges) = &ranges {
        ranges.windows(2).any(|pair| pair[1].0 < pair[0].1)
    } else if blocks.iter().any(|block| block.pieces.is_some()) {
        let meets = |at: usize| by_address[at + 1..].iter().any(|later| by_address[at].meets(later));
        (0..by_address.len()).any(meets)
    } else {
        by_address.windows(2).any(|pair| pair[0].meets(&pair[1]))
    };
    if any_meets {
        return Layout::Shared;
    }
    let from_root = |position: usize| (position + count - root) % count.max(1);
    let largest = blocks.iter().map(|block| block.bytes).max().unwrap_or(0);
    let is_tiled = ranges.is_some_and(|ranges| holes(&ranges) <= largest);
    if is_in_order(&by_address, |position| position, root, is_tiled) {
        Layout::Ordered
    } else if is_in_order(&by_address, from_root, 0, is_tiled) {
        Layout::FromRoot
    } else {
        Layout::Apart
    }
}

/// Addresses of all pieces, from one to another, ascending; none if no block is a list of pieces, or if there are too many.
fn ranges(blocks: &[Block]) -> Option<Vec<(u64, u64)>> {
    blocks.iter().find_map(Block::list)?;
    let mut all = Vec::new();
    let are_few = blocks.iter().all(|block| block.add_ranges(&mut all));
    all.sort_unstable();
    are_few.then_some(all)
}

/// Bytes between pieces.
fn holes(ranges: &[(u64, u64)]) -> u64 {
    let between = ranges.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].1));
    between.fold(0, u64::saturating_add)
}

/// True if blocks, sorted by address, are in an order of positions and dense: one directly behind the other, but for the root's own block.
/// Blocks of one length may have equal gaps if there are three, since two always do. Of blocks in pieces the first ones tell, unless all pieces together
/// are `is_tiled`.
fn is_in_order(blocks: &[Block], order: impl Fn(usize) -> usize, root: usize, is_tiled: bool) -> bool {
    let (Some(first), true) = (blocks.first(), blocks.len() > 1) else {
        return false;
    };
    let ascends = blocks
        .windows(2)
        .all(|pair| order(pair[0].position) < order(pair[1].position));
    if !ascends || is_tiled {
        return ascends;
    }
    let distance = |pair: &[Block]| pair[1].address.saturating_sub(pair[0].address);
    let gap = |pair: &[Block]| distance(pair).saturating_sub(pair[0].width());
    if blocks.iter().all(|block| block.width() == first.width()) {
        let steps = |pair: &[Block]| (order(pair[1].position) - order(pair[0].position)) as u64;
        let stride = distance(&blocks[..2]) / steps(&blocks[..2]);
        let is_even = blocks
            .windows(2)
            .all(|pair| distance(pair) == stride.saturating_mul(steps(pair)));
        return is_even && (stride == first.width() || blocks.len() > 2);
    }
    let holds_root = |pair: &[Block]| (order(pair[0].position)..order(pair[1].position)).contains(&root);
    blocks.windows(2).all(|pair| gap(pair) == 0 || holds_root(pair))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::trace::Piece;

    fn blocks(addresses: &[(usize, u64)]) -> Vec<Block> {
        let block = |&(position, address): &(usize, u64)| Block {
            position,
            address,
            bytes: 8,
            pieces: None,
        };
        addresses.iter().map(block).collect()
    }

    #[test]
    fn the_gap_of_the_root_is_allowed_and_no_other() {
        assert_eq!(layout(&blocks(&[(0, 0), (2, 16), (3, 24)]), 1, 4), Layout::Ordered);
        assert_eq!(layout(&blocks(&[(3, 24), (1, 8), (2, 16)]), 0, 4), Layout::Ordered);
        assert_eq!(layout(&blocks(&[(0, 0), (2, 8), (3, 16)]), 1, 4), Layout::Apart);
        assert_eq!(
            layout(&blocks(&[(3, 0), (4, 8), (0, 16), (1, 24)]), 2, 5),
            Layout::FromRoot
        );
        assert_eq!(layout(&blocks(&[(1, 0), (2, 4), (3, 8)]), 0, 4), Layout::Shared);
    }

    /// Columns of a matrix of ten numbers in a row and five in a column.
    fn columns(addresses: &[(usize, u64)], width: u64) -> Vec<Block> {
        let mut all = blocks(addresses);
        for block in &mut all {
            block.bytes = 5 * width;
            block.pieces = Some(Blocks::even(width, 80));
        }
        all
    }

    #[test]
    fn columns_beside_each_other_are_in_order_and_share_nothing() {
        assert_eq!(layout(&columns(&[(1, 8), (2, 16), (3, 24)], 8), 0, 4), Layout::Ordered);
        assert_eq!(layout(&columns(&[(0, 0), (2, 16)], 8), 1, 3), Layout::Ordered);
        assert_eq!(layout(&columns(&[(2, 8), (1, 16), (3, 24)], 8), 0, 4), Layout::Apart);
        assert_eq!(layout(&columns(&[(1, 8), (2, 16), (3, 24)], 16), 0, 4), Layout::Shared);
        assert_eq!(layout(&columns(&[(1, 8), (2, 8), (3, 24)], 8), 0, 4), Layout::Shared);
        // The third one goes on where the first one ends, and one that wraps into the next row meets it.
        assert_eq!(layout(&columns(&[(1, 0), (2, 16), (3, 400)], 8), 0, 4), Layout::Apart);
        assert_eq!(layout(&columns(&[(1, 0), (2, 72), (3, 24)], 16), 0, 4), Layout::Shared);
    }

    #[test]
    fn two_blocks_at_any_distance_are_no_layout() {
        assert_eq!(layout(&blocks(&[(0, 0), (2, 800)]), 1, 3), Layout::Apart);
        assert_eq!(layout(&blocks(&[(0, 0), (2, 16)]), 1, 3), Layout::Ordered);
    }

    /// Three rows of 16, 40 and 24 bytes for each of `count` ranks, in turn; `moved` is added to the place of the second row of rank 3.
    fn rows(ranks: &[usize], count: i64, moved: i64) -> Vec<Block> {
        let piece = |offset, bytes| Piece { offset, bytes };
        let of = |&position: &usize| {
            let rank = position as i64;
            let second = if position == 3 { moved } else { 0 };
            Block {
                position,
                address: 5000 + 16 * position as u64,
                bytes: 80,
                pieces: Some(Blocks {
                    pieces: vec![
                        piece(0, 16),
                        piece(16 * count + 24 * rank + second, 40),
                        piece(56 * count + 8 * rank, 24),
                    ],
                    stride: 80 * count - 16,
                }),
            }
        };
        ranks.iter().map(of).collect()
    }

    #[test]
    fn unequal_rows_in_turn_are_in_order_if_they_leave_room_for_the_root_alone() {
        assert_eq!(layout(&rows(&[3, 1, 2], 4, 0), 0, 4), Layout::Ordered);
        assert_eq!(layout(&rows(&[0, 1, 3], 4, 0), 2, 4), Layout::Ordered);
        assert_eq!(layout(&rows(&[1, 2], 3, 0), 0, 3), Layout::Ordered);
        // The last row lies in another one.
        assert_eq!(layout(&rows(&[1, 2, 3], 4, -8), 0, 4), Layout::Shared);
        // Two lists far from each other, or in no order.
        let mut far = rows(&[1, 2], 3, 0);
        far[1].address += 8000;
        assert_eq!(layout(&far, 0, 3), Layout::Apart);
        let mut turned = rows(&[1, 2, 3], 4, 0);
        (turned[0].position, turned[1].position) = (2, 1);
        assert_eq!(layout(&turned, 0, 4), Layout::Apart);
    }

    #[test]
    fn structures_of_more_pieces_than_are_gone_through_are_rows() {
        let piece = |offset, bytes| Piece { offset, bytes };
        let of = |position: usize| Block {
            position,
            address: 24_000_000 * position as u64,
            bytes: 12_000_000,
            pieces: Some(Blocks {
                pieces: vec![piece(0, 4), piece(8, 8)],
                stride: 24,
            }),
        };
        let all: Vec<Block> = [1, 2, 3].map(of).into();
        assert_eq!(layout(&all, 0, 4), Layout::Ordered);
        let mut shared = all;
        shared[2].address -= 24;
        assert_eq!(layout(&shared, 0, 4), Layout::Shared);
    }
}
