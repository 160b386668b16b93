//! Gathers.

use super::{BLOCK, TIMES, binomial, block};
use crate::fixture::Rank;

pub(crate) fn linear_to(rank: &mut Rank, root: u32, time: u64, shows: bool) {
    rank.fill(block(rank.rank, BLOCK), time);
    if rank.rank == root {
        if shows {
            rank.show(block(root, BLOCK));
        }
        for from in (0..rank.size).filter(|from| *from != root) {
            rank.receive(from, 1, block(from, BLOCK));
        }
    } else {
        rank.send(root, 1, block(rank.rank, BLOCK));
    }
}

pub(crate) fn linear(rank: &mut Rank) {
    (0..TIMES).for_each(|time| linear_to(rank, 0, time, false));
}

pub(crate) fn linear_to_the_middle(rank: &mut Rank) {
    (0..TIMES).for_each(|time| linear_to(rank, 2, time, false));
}

pub(crate) fn linear_shown(rank: &mut Rank) {
    (0..TIMES).for_each(|time| linear_to(rank, 0, time, true));
}

/// Subtrees grow: each rank sends its own block and those of its subtree.
pub(crate) fn binomial_tree(rank: &mut Rank) {
    (0..TIMES).for_each(|time| binomial_once(rank, time, BLOCK));
}

pub(crate) fn binomial_tree_medium(rank: &mut Rank) {
    (0..TIMES).for_each(|time| binomial_once(rank, time, 1400));
}

pub(crate) fn binomial_tree_large(rank: &mut Rank) {
    (0..TIMES).for_each(|time| binomial_once(rank, time, 9000));
}

pub(crate) fn binomial_once(rank: &mut Rank, time: u64, bytes: usize) {
    let (parent, mut children) = binomial(rank.rank, rank.size);
    rank.fill(block(rank.rank, bytes), time);
    children.reverse();
    let range = |first: u32, count: u32| first as usize * bytes..(first + count) as usize * bytes;
    let mut count = 1;
    for (child, ranks) in children {
        rank.receive(child, 1, range(child, ranks));
        count += ranks;
    }
    if let Some(parent) = parent {
        rank.send(parent, 1, range(rank.rank, count));
    }
}

/// From the last rank on, each adds its block in front of those it received.
pub(crate) fn chain(rank: &mut Rank) {
    chain_of(rank, BLOCK);
}

pub(crate) fn chain_large(rank: &mut Rank) {
    chain_of(rank, 9000);
}

fn chain_of(rank: &mut Rank, bytes: usize) {
    for time in 0..TIMES {
        rank.fill(block(rank.rank, bytes), time);
        let end = rank.size as usize * bytes;
        if rank.rank + 1 < rank.size {
            rank.receive(rank.rank + 1, 1, (rank.rank as usize + 1) * bytes..end);
        }
        if rank.rank > 0 {
            rank.send(rank.rank - 1, 1, rank.rank as usize * bytes..end);
        }
    }
}
