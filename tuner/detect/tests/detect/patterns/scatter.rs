//! Scatters.

use super::{BLOCK, TIMES, binomial, block};
use crate::fixture::Rank;

fn linear_from(rank: &mut Rank, root: u32, time: u64, shows: bool) {
    if rank.rank == root {
        rank.fill(0..rank.size as usize * BLOCK, time);
        if shows {
            rank.show(block(root, BLOCK));
        }
        for to in (0..rank.size).filter(|to| *to != root) {
            rank.send(to, 1, block(to, BLOCK));
        }
    } else {
        rank.receive(root, 1, 0..BLOCK);
    }
}

pub(crate) fn linear(rank: &mut Rank) {
    (0..TIMES).for_each(|time| linear_from(rank, 1, time, false));
}

pub(crate) fn linear_shown(rank: &mut Rank) {
    (0..TIMES).for_each(|time| linear_from(rank, 0, time, true));
}

/// Halves go down the tree.
pub(crate) fn binomial_tree(rank: &mut Rank) {
    binomial_of(rank, BLOCK);
}

pub(crate) fn binomial_tree_medium(rank: &mut Rank) {
    binomial_of(rank, 1400);
}

pub(crate) fn binomial_tree_large(rank: &mut Rank) {
    binomial_of(rank, 9000);
}

fn binomial_of(rank: &mut Rank, bytes: usize) {
    for time in 0..TIMES {
        let (parent, children) = binomial(rank.rank, rank.size);
        let range = |first: u32, count: u32| first as usize * bytes..(first + count) as usize * bytes;
        match parent {
            Some(parent) => {
                let count = 1 + children.iter().map(|child| child.1).sum::<u32>();
                rank.receive(parent, 1, range(rank.rank, count));
            }
            None => rank.fill(0..rank.size as usize * bytes, time),
        }
        for (child, ranks) in children {
            rank.send(child, 1, range(child, ranks));
        }
    }
}

/// Each rank keeps the first block and passes on the others.
pub(crate) fn chain(rank: &mut Rank) {
    chain_of(rank, BLOCK);
}

pub(crate) fn chain_large(rank: &mut Rank) {
    chain_of(rank, 9000);
}

fn chain_of(rank: &mut Rank, bytes: usize) {
    for time in 0..TIMES {
        let end = rank.size as usize * bytes;
        let begin = rank.rank as usize * bytes;
        if rank.rank == 0 {
            rank.fill(0..end, time);
        } else {
            rank.receive(rank.rank - 1, 1, begin..end);
        }
        if rank.rank + 1 < rank.size {
            rank.send(rank.rank + 1, 1, begin + bytes..end);
        }
    }
}
