//! Layout of the blocks of a gather or a scatter in the root's memory. The root's own block travels in no message: the others leave its gap.
//! A block may lie there in pieces, such as a column of a matrix: columns beside each other are in order.

use crate::model::trace::Blocks;

/// Block of a rank in the root's memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    /// Position of the rank in its group.
    pub(crate) position: usize,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    /// Pieces in which it lies, if it is not one.
    pub(crate) pieces: Option<Blocks>,
}

impl Block {
    /// Bytes of a piece.
    fn width(&self) -> u64 {
        self.pieces.map_or(self.bytes, |one| one.bytes.min(self.bytes))
    }

    /// True if some byte of it is one of another block that does not begin before it. Blocks whose pieces have different distances meet if one
    /// begins before the other ends.
    fn meets(&self, later: &Block) -> bool {
        let end = Blocks::place(self.pieces, self.address, self.bytes.saturating_sub(1));
        if self.bytes == 0 || later.address > end {
            return false;
        }
        match (self.pieces, later.pieces) {
            (Some(one), Some(other)) if one.stride == other.stride && one.stride > 0 => {
                let ahead = (later.address - self.address) % one.stride;
                ahead < self.width() || ahead.saturating_add(later.width()) > one.stride
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
    let any_meets = if blocks.iter().any(|block| block.pieces.is_some()) {
        let meets = |at: usize| by_address[at + 1..].iter().any(|later| by_address[at].meets(later));
        (0..by_address.len()).any(meets)
    } else {
        by_address.windows(2).any(|pair| pair[0].meets(&pair[1]))
    };
    if any_meets {
        return Layout::Shared;
    }
    let from_root = |position: usize| (position + count - root) % count.max(1);
    if is_in_order(&by_address, |position| position, root) {
        Layout::Ordered
    } else if is_in_order(&by_address, from_root, 0) {
        Layout::FromRoot
    } else {
        Layout::Apart
    }
}

/// True if blocks, sorted by address, are in an order of positions and dense: one directly behind the other, but for the root's own block.
/// Blocks of one length may have equal gaps if there are three, since two always do. Of blocks in pieces the first ones tell.
fn is_in_order(blocks: &[Block], order: impl Fn(usize) -> usize, root: usize) -> bool {
    let (Some(first), true) = (blocks.first(), blocks.len() > 1) else {
        return false;
    };
    let ascends = blocks
        .windows(2)
        .all(|pair| order(pair[0].position) < order(pair[1].position));
    if !ascends {
        return false;
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
            block.pieces = Some(Blocks {
                bytes: width,
                stride: 80,
            });
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
}
