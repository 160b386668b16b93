//! Collectives as they stand in programs: of small numbers, with messages to oneself, by store and forward, on rows and columns.

use kilter_detect::model::trace::Class;

use super::{BLOCK, TIMES, block};
use crate::fixture::Rank;

/// The number of unknowns, from rank 0 to all.
pub(crate) fn broadcast_of_a_count(rank: &mut Rank) {
    rank.of(Class::Integer, 4);
    for time in 0..TIMES {
        if rank.rank == 0 {
            let count = 1000 + 17 * time as u32;
            rank.work(move |memory| memory[..4].copy_from_slice(&count.to_le_bytes()));
            (1..rank.size).for_each(|to| rank.send(to, 11, 0..4));
        } else {
            rank.receive(0, 11, 0..4);
        }
    }
}

/// A number from rank 0, which all others send back from a buffer of their own: these are their own data.
pub(crate) fn broadcast_and_gather_of_equal_numbers(rank: &mut Rank) {
    for time in 0..TIMES {
        let number = 1_234_567 + 1000 * time as u32;
        if rank.rank == 0 {
            rank.work(move |memory| memory[..4].copy_from_slice(&number.to_le_bytes()));
            (1..rank.size).for_each(|to| rank.send(to, 11, 0..4));
            for from in 1..rank.size {
                let at = 400 + from as usize * 4;
                rank.receive(from, 13, at..at + 4);
            }
        } else {
            rank.receive(0, 11, 0..4);
            rank.work(move |memory| memory[100..104].copy_from_slice(&number.to_le_bytes()));
            rank.send(0, 13, 100..104);
        }
    }
}

/// Times of all ranks; rank 0 sends its own to itself.
pub(crate) fn gather_with_oneself(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    for time in 0..TIMES {
        rank.put(0, &[f64::from(rank.rank) * 0.37 + time as f64 * 1.9 + 0.01]);
        rank.send(0, 12, 0..8);
        if rank.rank == 0 {
            for from in 0..rank.size {
                rank.receive(from, 12, 800 + from as usize * 8..808 + from as usize * 8);
            }
        }
    }
}

/// Blocks for all others go round, and each rank takes out what is for it.
pub(crate) fn alltoall_by_store_and_forward(rank: &mut Rank) {
    for time in 0..TIMES {
        let others = rank.size as usize - 1;
        // The block for the next rank is the first one.
        rank.fill(0..others * BLOCK, time);
        for step in 0..others {
            let begin = step * BLOCK;
            rank.send(rank.after(1), 1, begin..others * BLOCK);
            rank.receive(rank.before(1), 1, begin..others * BLOCK);
        }
    }
}

/// Neighbours exchange two blocks at a time, to the left and to the right in turn; an even number of ranks.
pub(crate) fn allgather_by_neighbours(rank: &mut Rank) {
    assert!(rank.size.is_multiple_of(2));
    let size = rank.size;
    for time in 0..TIMES {
        rank.fill(block(rank.rank, BLOCK), time);
        let is_even = rank.rank.is_multiple_of(2);
        let first = if is_even { rank.after(1) } else { rank.before(1) };
        rank.send(first, 1, block(rank.rank, BLOCK));
        rank.receive(first, 1, block(first, BLOCK));
        // The pair of blocks that came last.
        let mut pair = rank.rank & !1;
        for step in 1..size / 2 {
            let goes_right = is_even != (step % 2 == 1);
            let peer = if goes_right { rank.after(1) } else { rank.before(1) };
            let places = 2 * ((step - 1) / 2) + (step + 1) % 2;
            let owner = if goes_right {
                peer + places
            } else {
                peer + size - places
            };
            let theirs = (owner % size) & !1;
            rank.send(peer, 1, pair as usize * BLOCK..(pair as usize + 2) * BLOCK);
            rank.receive(peer, 1, theirs as usize * BLOCK..(theirs as usize + 2) * BLOCK);
            pair = theirs;
        }
    }
}

/// A byte goes to the last rank and back.
pub(crate) fn barrier_there_and_back(rank: &mut Rank) {
    for _ in 0..TIMES {
        if rank.rank > 0 {
            rank.receive(rank.rank - 1, 3, 0..1);
        }
        if rank.rank + 1 < rank.size {
            rank.send(rank.rank + 1, 3, 0..1);
            rank.receive(rank.rank + 1, 4, 0..1);
        }
        if rank.rank > 0 {
            rank.send(rank.rank - 1, 4, 0..1);
        }
    }
}

/// Product of matrices on a grid of 3 x 3: in turn a column broadcasts along rows, and a row along columns, all on one communicator.
pub(crate) fn rows_and_columns(rank: &mut Rank) {
    let (row, column) = (rank.rank / 3, rank.rank % 3);
    for time in 0..6 {
        let turn = time as u32 % 3;
        let along_row: Vec<u32> = (0..3).map(|at| row * 3 + at).collect();
        let along_column: Vec<u32> = (0..3).map(|at| at * 3 + column).collect();
        to_list(rank, &along_row, turn, 0..120, 2 * time);
        to_list(rank, &along_column, turn, 200..320, 2 * time + 1);
    }
}

fn to_list(rank: &mut Rank, list: &[u32], root: u32, range: std::ops::Range<usize>, seed: u64) {
    let root = list[root as usize];
    if rank.rank == root {
        rank.fill(range.clone(), seed);
        for &to in list.iter().filter(|to| **to != root) {
            rank.send(to, 21, range.clone());
        }
    } else {
        rank.receive(root, 21, range);
    }
}
