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
    by_rank_0(rank, BLOCK, false);
}

pub(crate) fn gather_and_broadcast_large(rank: &mut Rank) {
    by_rank_0(rank, 9000, false);
}

/// The same, but rank 0 works on the blocks before it sends them.
pub(crate) fn gather_and_work(rank: &mut Rank) {
    by_rank_0(rank, BLOCK, true);
}

pub(crate) fn gather_and_work_large(rank: &mut Rank) {
    by_rank_0(rank, 9000, true);
}

fn by_rank_0(rank: &mut Rank, bytes: usize, works: bool) {
    let all = 0..rank.size as usize * bytes;
    for time in 0..TIMES {
        gather::binomial_once(rank, time, bytes);
        if rank.rank == 0 && works {
            let all = all.clone();
            rank.work(move |memory| {
                memory[all.clone()]
                    .iter_mut()
                    .for_each(|byte| *byte = byte.wrapping_mul(3) ^ 0x5a)
            });
        }
        broadcast::binomial_from(rank, 0, u64::MAX, all.clone());
    }
}

/// Blocks that rank 0 gathers, one message each, and broadcasts; it shows its own one.
pub(crate) fn gather_and_broadcast_shown(rank: &mut Rank) {
    gather_shown(rank, false);
}

pub(crate) fn gather_and_work_shown(rank: &mut Rank) {
    gather_shown(rank, true);
}

fn gather_shown(rank: &mut Rank, works: bool) {
    let all = 0..rank.size as usize * BLOCK;
    let of_others = BLOCK..all.end;
    for time in 0..TIMES {
        gather::linear_to(rank, 0, time, true);
        if rank.rank == 0 && works {
            let of_others = of_others.clone();
            rank.work(move |memory| memory[of_others.clone()].iter_mut().for_each(|byte| *byte ^= 0x5a));
        }
        broadcast::binomial_from(rank, 0, u64::MAX, all.clone());
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
