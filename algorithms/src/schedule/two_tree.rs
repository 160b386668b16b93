//! Two trees over the same ranks, each of which hands on half of the segments: a rank is inner in at most one of them, so that
//! what it receives and what it sends is `n` bytes each, not `2n` as in one binary tree.
//!
//! Source: Sanders, Speck and Traeff, Parallel Computing 35(12):581-594, 2009, doi:10.1016/j.parco.2009.09.001.
//!
//! The `q = p - 1` ranks other than the root have places `1..=q` in each tree. Places form an in-order tree: an odd place is a
//! leaf, one that is divisible by `2^k` has its children `2^(k-1)` away. In the second tree the places are mirrored where `q`
//! is even, and moved on by one where it is odd; so a rank with an even place here has an odd one there, or is a leaf in both.
//!
//! ```text
//! q = 7        4                    5                (relative ranks)
//!            /   \                /   \
//!           2     6              3     7
//!          / \   / \            / \   / \
//!         1   3 5   7          2   4 6   1
//! ```

use super::floor_log2;

/// Place of a relative rank other than 0 in one tree. Neighbours are relative ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwoTreeNode {
    /// 0, the root, for the top of the tree.
    pub parent: usize,
    /// None for a leaf; a second one comes after a first one.
    pub children: [Option<usize>; 2],
}

impl TwoTreeNode {
    /// True if it hands anything on.
    #[must_use]
    pub fn is_inner(&self) -> bool {
        self.children[0].is_some()
    }
}

/// The place of relative rank `relative` of `1..=q` in tree 0 or 1.
fn place(tree: usize, relative: usize, q: usize) -> usize {
    match (tree, q % 2) {
        (0, _) => relative,
        (_, 0) => q + 1 - relative,
        _ if relative == 1 => q,
        _ => relative - 1,
    }
}

/// The inverse of [`place`].
fn at(tree: usize, place: usize, q: usize) -> usize {
    match (tree, q % 2) {
        (0, _) => place,
        (_, 0) => q + 1 - place,
        _ if place == q => 1,
        _ => place + 1,
    }
}

/// The relative rank at the top of tree 0 or 1 over `p >= 2` ranks: the root's only neighbour there.
#[must_use]
pub fn two_tree_top(tree: usize, p: usize) -> usize {
    at(tree, 1 << floor_log2(p - 1), p - 1)
}

/// Place of the relative rank `relative` of `1..p` in tree 0 or 1.
#[must_use]
pub fn two_tree_node(tree: usize, relative: usize, p: usize) -> TwoTreeNode {
    let q = p - 1;
    let place = place(tree, relative, q);
    let bit = 1 << place.trailing_zeros();
    // Up one level, or, where the tree is cut off there, to the next ancestor, which is on the left.
    let above = place & !bit | bit << 1;
    let parent = if above <= q { above } else { place & !bit };
    let mut step = bit / 2;
    let left = (step > 0).then(|| place - step);
    while step > 0 && place + step > q {
        step /= 2;
    }
    let right = (step > 0).then(|| place + step);
    TwoTreeNode {
        parent: if parent == 0 { 0 } else { at(tree, parent, q) },
        children: [left, right].map(|child| child.map(|place| at(tree, place, q))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_trees_of_all_ranks_and_of_logarithmic_depth() {
        for p in 2..200 {
            for tree in [0, 1] {
                let mut below = vec![(two_tree_top(tree, p), 0, 1)];
                let mut seen = vec![false; p];
                while let Some((rank, parent, depth)) = below.pop() {
                    assert!(depth <= floor_log2(p - 1) + 1, "p = {p}, tree {tree}: rank {rank}");
                    assert!(
                        !std::mem::replace(&mut seen[rank], true),
                        "p = {p}, tree {tree}: {rank} twice"
                    );
                    let node = two_tree_node(tree, rank, p);
                    assert_eq!(node.parent, parent, "p = {p}, tree {tree}: rank {rank}");
                    below.extend(
                        node.children
                            .into_iter()
                            .flatten()
                            .map(|child| (child, rank, depth + 1)),
                    );
                }
                assert_eq!(seen.iter().filter(|seen| **seen).count(), p - 1, "p = {p}, tree {tree}");
            }
        }
    }

    #[test]
    fn nobody_is_inner_twice() {
        for p in 2..200 {
            for rank in 1..p {
                let inner = [0, 1].map(|tree| two_tree_node(tree, rank, p).is_inner());
                assert_ne!(inner, [true, true], "p = {p}: rank {rank}");
            }
        }
    }

    #[test]
    fn the_figure() {
        let children = |tree, rank| two_tree_node(tree, rank, 8).children;
        assert_eq!((two_tree_top(0, 8), two_tree_top(1, 8)), (4, 5));
        assert_eq!(children(0, 4), [Some(2), Some(6)]);
        assert_eq!(children(1, 5), [Some(3), Some(7)]);
        assert_eq!(children(1, 7), [Some(6), Some(1)]);
    }
}
