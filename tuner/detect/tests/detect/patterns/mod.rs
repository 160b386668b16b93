//! Collectives written by hand.

pub(crate) mod allgather;
pub(crate) mod alltoall;
pub(crate) mod barrier;
pub(crate) mod broadcast;
pub(crate) mod gather;
pub(crate) mod panels;
pub(crate) mod programs;
pub(crate) mod reduction;
pub(crate) mod scatter;
pub(crate) mod variants;

use crate::fixture::Rank;

/// Instances that a program makes.
pub(crate) const TIMES: u64 = 3;

/// Bytes of a block.
pub(crate) const BLOCK: usize = 48;

/// Range of a block of some size.
pub(crate) fn block(at: u32, bytes: usize) -> std::ops::Range<usize> {
    at as usize * bytes..(at as usize + 1) * bytes
}

/// Odd-even transposition sort of a real number each, at the begin of the memory: neighbours compare, and the left one keeps the lesser.
pub(crate) fn transposition_sort(rank: &mut Rank) {
    for step in 0..rank.size {
        let is_left = rank.rank % 2 == step % 2;
        let peer = if is_left {
            rank.rank + 1
        } else {
            rank.rank.wrapping_sub(1)
        };
        if peer < rank.size {
            rank.send(peer, 1, 0..8);
            rank.receive(peer, 1, 8..16);
            let operator: fn(f64, f64) -> f64 = if is_left { f64::min } else { f64::max };
            rank.combine(0..8, 8, operator);
        }
    }
}

/// Ranks of a binomial tree, counted from the root: parent, and children from the largest subtree to the smallest, each with the number of
/// ranks of its subtree.
pub(crate) fn binomial(relative: u32, size: u32) -> (Option<u32>, Vec<(u32, u32)>) {
    let mut bit = 1;
    while bit < size && relative & bit == 0 {
        bit <<= 1;
    }
    let parent = (relative != 0).then(|| relative - bit);
    let mut children = Vec::new();
    let mut step = if relative == 0 {
        size.next_power_of_two() / 2
    } else {
        bit / 2
    };
    while step > 0 {
        let child = relative + step;
        if child < size {
            children.push((child, step.min(size - child)));
        }
        step /= 2;
    }
    (parent, children)
}

/// Messages of others' business: to the next rank on another tag.
pub(crate) fn noise(rank: &mut Rank, seed: u64) {
    let at = 200_000;
    rank.fill(at..at + 24, seed + 7_000_000);
    rank.send(rank.after(1), 99, at..at + 24);
    rank.receive(rank.before(1), 99, at + 64..at + 88);
}
