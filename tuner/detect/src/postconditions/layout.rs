//! Layout of the blocks of a gather or a scatter in the root's memory. The root's own block travels in no message: the others leave its gap.

/// Block of a rank in the root's memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    /// Position of the rank in its group.
    pub(crate) position: usize,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
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
    let meets = |pair: &[Block]| pair[0].address.saturating_add(pair[0].bytes) > pair[1].address;
    if by_address.windows(2).any(meets) {
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
/// Blocks of one length may have equal gaps if there are three, since two always do.
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
    let gap = |pair: &[Block]| distance(pair).saturating_sub(pair[0].bytes);
    if blocks.iter().all(|block| block.bytes == first.bytes) {
        let steps = |pair: &[Block]| (order(pair[1].position) - order(pair[0].position)) as u64;
        let stride = distance(&blocks[..2]) / steps(&blocks[..2]);
        let is_even = blocks
            .windows(2)
            .all(|pair| distance(pair) == stride.saturating_mul(steps(pair)));
        return is_even && (stride == first.bytes || blocks.len() > 2);
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

    #[test]
    fn two_blocks_at_any_distance_are_no_layout() {
        assert_eq!(layout(&blocks(&[(0, 0), (2, 800)]), 1, 3), Layout::Apart);
        assert_eq!(layout(&blocks(&[(0, 0), (2, 16)]), 1, 3), Layout::Ordered);
    }
}
