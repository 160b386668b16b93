//! Allgathers.

use super::{BLOCK, TIMES, block, broadcast, gather};
use crate::fixture::Rank;

/// Everyone sends to everyone.
pub(crate) fn linear(rank: &mut Rank) {
    for time in 0..TIMES {
        rank.fill(block(rank.rank, BLOCK), time);
        for places in 1..rank.size {
            rank.send(rank.after(places), 1, block(rank.rank, BLOCK));
        }
        for places in 1..rank.size {
            rank.receive(rank.before(places), 1, block(rank.before(places), BLOCK));
        }
    }
}

pub(crate) fn ring(rank: &mut Rank) {
    for time in 0..TIMES {
        rank.fill(block(rank.rank, BLOCK), time);
        for step in 0..rank.size - 1 {
            rank.send(rank.after(1), 1, block(rank.before(step), BLOCK));
            rank.receive(rank.before(1), 1, block(rank.before(step + 1), BLOCK));
        }
    }
}

/// Blocks double with each exchange; powers of two only.
pub(crate) fn recursive_doubling(rank: &mut Rank) {
    assert!(rank.size.is_power_of_two());
    for time in 0..TIMES {
        rank.fill(block(rank.rank, BLOCK), time);
        let mut have = 1;
        while have < rank.size {
            let peer = rank.rank ^ have;
            let range = |one: u32| {
                let first = one & !(have - 1);
                first as usize * BLOCK..(first + have) as usize * BLOCK
            };
            rank.send(peer, 1, range(rank.rank));
            rank.receive(peer, 1, range(peer));
            have *= 2;
        }
    }
}

/// Bruck's: blocks are counted from the own one, and turned in the end.
pub(crate) fn bruck(rank: &mut Rank) {
    for time in 0..TIMES {
        rank.fill(0..BLOCK, time);
        let mut have = 1;
        while have < rank.size {
            let more = have.min(rank.size - have);
            rank.send(rank.before(have), 1, 0..more as usize * BLOCK);
            rank.receive(
                rank.after(have),
                1,
                have as usize * BLOCK..(have + more) as usize * BLOCK,
            );
            have += more;
        }
    }
}

/// A gather to rank 0, and a broadcast of all blocks.
pub(crate) fn gather_and_broadcast(rank: &mut Rank) {
    for time in 0..TIMES {
        gather::binomial_once(rank, time, BLOCK);
        broadcast::binomial_from(rank, 0, u64::MAX, 0..rank.size as usize * BLOCK);
    }
}

/// Each rank broadcasts its block in turn.
pub(crate) fn in_turn(rank: &mut Rank) {
    for time in 0..TIMES {
        rank.fill(block(rank.rank, BLOCK), time);
        for root in 0..rank.size {
            if rank.rank == root {
                for places in 1..rank.size {
                    rank.send(rank.after(places), 1, block(root, BLOCK));
                }
            } else {
                rank.receive(root, 1, block(root, BLOCK));
            }
        }
    }
}
