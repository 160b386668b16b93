//! The binary tree for pipelines, in ranks relative to the root.
//!
//! Levels are filled from the left: relative rank `r` has the children `2r + 1` and `2r + 2`, where these exist.
//!
//! ```text
//!           0            p = 6
//!         /   \
//!        1     2
//!       / \   /
//!      3   4 5
//! ```

use super::floor_log2;

/// The parent of a relative rank; none for the root.
#[inline]
#[must_use]
pub fn binary_parent(relative: usize) -> Option<usize> {
    (relative != 0).then(|| (relative - 1) / 2)
}

/// The children of a relative rank among `p` ranks, in the order in which they are served.
#[inline]
#[must_use]
pub fn binary_children(relative: usize, p: usize) -> [Option<usize>; 2] {
    [1, 2].map(|turn| Some(2 * relative + turn).filter(|&child| child < p))
}

/// Messages that follow each other on one port for each segment of a pipeline: at the root, 2 where it has two children.
#[must_use]
pub fn binary_rate(p: usize) -> usize {
    (p - 1).min(2)
}

/// Rounds in which the first segment reaches the last of `p` ranks, if each rank serves one child after the other.
#[must_use]
pub fn binary_fill(p: usize) -> usize {
    // A left child is served first, a right one second: level `d` is reached in `d` rounds, and one more for each turn to
    // the right. The last level has the positions `0..=last`; the binary digits of a position are its turns.
    let depth = floor_log2(p) as usize;
    if depth == 0 {
        return 0;
    }
    let last = p - (1 << depth);
    let turns = (0..=last).map(usize::count_ones).max().unwrap_or(0) as usize;
    (depth + turns).max(2 * (depth - 1))
}

/// Rounds in which the first segment of a reduction from `p` ranks reaches the root, if each rank receives from one child
/// after the other.
#[must_use]
pub fn binary_drain(p: usize) -> usize {
    // The leftmost path is the longest; each rank on it waits for two children, but for the one above the only rank of a
    // last level.
    let depth = floor_log2(p) as usize;
    2 * depth - usize::from(p > 1 && p.is_power_of_two())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_have_their_parents() {
        for p in 1..200 {
            let mut seen = vec![0];
            for rank in 0..p {
                for child in binary_children(rank, p).into_iter().flatten() {
                    assert_eq!(binary_parent(child), Some(rank));
                    seen.push(child);
                }
            }
            assert_eq!(seen, (0..p).collect::<Vec<_>>());
        }
        assert_eq!(binary_parent(0), None);
    }

    #[test]
    fn fill_and_drain_are_those_of_the_tree() {
        for p in 1..200 {
            let mut arrival = vec![0; p];
            for rank in 0..p {
                for (turn, child) in binary_children(rank, p).into_iter().flatten().enumerate() {
                    arrival[child] = arrival[rank] + turn + 1;
                }
            }
            assert_eq!(arrival.iter().max(), Some(&binary_fill(p)), "p = {p}");
            let mut ready = vec![0; p];
            for rank in (0..p).rev() {
                for child in binary_children(rank, p).into_iter().flatten() {
                    ready[rank] = ready[rank].max(ready[child]) + 1;
                }
            }
            assert_eq!(ready[0], binary_drain(p), "p = {p}");
        }
    }
}
