//! Broadcasts.

use super::{TIMES, binomial, block, noise};
use crate::fixture::Rank;

const BYTES: usize = 96;

/// Rank to rank, among unrelated messages.
pub(crate) fn chain_with_noise(rank: &mut Rank) {
    for time in 0..TIMES {
        noise(rank, time);
        if rank.rank == 0 {
            rank.fill(0..BYTES, time);
        } else {
            rank.receive(rank.rank - 1, 1, 0..BYTES);
        }
        if rank.rank + 1 < rank.size {
            rank.send(rank.rank + 1, 1, 0..BYTES);
        }
        noise(rank, 50 + time);
    }
}

/// Ranks 0 and 1 both have the data, and send them to each other.
pub(crate) fn redundant(rank: &mut Rank) {
    if rank.rank < 2 {
        rank.work(|memory| {
            memory[..BYTES]
                .iter_mut()
                .enumerate()
                .for_each(|(at, byte)| *byte = (at * at) as u8)
        });
        rank.send(1 - rank.rank, 1, 0..BYTES);
        rank.receive(1 - rank.rank, 1, 0..BYTES);
    } else {
        rank.receive(rank.rank - 1, 1, 0..BYTES);
    }
    if rank.rank > 0 && rank.rank + 1 < rank.size {
        rank.send(rank.rank + 1, 1, 0..BYTES);
    }
}

/// The same data again.
pub(crate) fn repeated(rank: &mut Rank) {
    if rank.rank == 0 {
        rank.fill(0..BYTES, 5);
    }
    for _ in 0..TIMES {
        if rank.rank > 0 {
            rank.receive(rank.rank - 1, 1, 0..BYTES);
        }
        if rank.rank + 1 < rank.size {
            rank.send(rank.rank + 1, 1, 0..BYTES);
        }
    }
}

/// A token goes from rank to rank; who has it broadcasts.
pub(crate) fn nested(rank: &mut Rank) {
    if rank.rank == 0 {
        rank.fill(5000..5100, 1);
    }
    for root in 0..rank.size {
        if rank.rank == root {
            if root > 0 {
                rank.receive(root - 1, 2, 5000..5100);
            }
            rank.fill(block(root, BYTES), 2);
            for to in (0..rank.size).filter(|to| *to != root) {
                rank.send(to, 3, block(root, BYTES));
            }
            if root + 1 < rank.size {
                rank.send(root + 1, 2, 5000..5100);
            }
        } else {
            rank.receive(root, 3, block(root, BYTES));
        }
    }
}

/// The root sends to each; rank 2 is the root.
pub(crate) fn flat(rank: &mut Rank) {
    for time in 0..TIMES {
        if rank.rank == 2 {
            rank.fill(0..BYTES, time);
            for to in (0..rank.size).filter(|to| *to != 2) {
                rank.send(to, 1, 0..BYTES);
            }
        } else {
            rank.receive(2, 1, 0..BYTES);
        }
    }
}

pub(crate) fn binomial_from(rank: &mut Rank, root: u32, time: u64, at: std::ops::Range<usize>) {
    let relative = (rank.rank + rank.size - root) % rank.size;
    let (parent, children) = binomial(relative, rank.size);
    match parent {
        Some(parent) => rank.receive((parent + root) % rank.size, 1, at.clone()),
        None if time != u64::MAX => rank.fill(at.clone(), time),
        None => {}
    }
    for (child, _) in children {
        rank.send((child + root) % rank.size, 1, at.clone());
    }
}

pub(crate) fn binomial_tree(rank: &mut Rank) {
    (0..TIMES).for_each(|time| binomial_from(rank, 0, time, 0..BYTES));
}

/// Each time another rank is the root, and the data are shorter.
pub(crate) fn rotating_roots(rank: &mut Rank) {
    for time in 0..TIMES {
        let root = time as u32 % rank.size;
        binomial_from(rank, root, time, 0..BYTES - 8 * time as usize);
    }
}

/// A number of eight bytes, received beside where it is sent from.
pub(crate) fn small_through_copies(rank: &mut Rank) {
    for time in 0..TIMES {
        let (parent, children) = binomial(rank.rank, rank.size);
        match parent {
            Some(parent) => {
                rank.receive(parent, 1, 800..808);
                rank.copy(800..808, 0);
            }
            None => rank.fill(0..8, time),
        }
        for (child, _) in children {
            rank.send(child, 1, 0..8);
        }
    }
}

/// Segments go down a chain, one behind the other.
pub(crate) fn segmented_chain(rank: &mut Rank) {
    let segment = 64;
    for time in 0..TIMES {
        if rank.rank == 0 {
            rank.fill(0..8 * segment, time);
        }
        for at in 0..8 {
            if rank.rank > 0 {
                rank.receive(rank.rank - 1, 1, block(at, segment));
            }
            if rank.rank + 1 < rank.size {
                rank.send(rank.rank + 1, 1, block(at, segment));
            }
        }
    }
}

/// The root scatters blocks, and a ring gathers them everywhere.
pub(crate) fn spread_and_roll(rank: &mut Rank) {
    let bytes = 64;
    for time in 0..TIMES {
        if rank.rank == 0 {
            rank.fill(0..rank.size as usize * bytes, time);
            for to in 1..rank.size {
                rank.send(to, 1, block(to, bytes));
            }
        } else {
            rank.receive(0, 1, block(rank.rank, bytes));
        }
        for step in 0..rank.size - 1 {
            let (mine, next) = (rank.before(step), rank.before(step + 1));
            rank.send(rank.after(1), 1, block(mine, bytes));
            rank.receive(rank.before(1), 1, block(next, bytes));
        }
    }
}

/// The same through buffers of their own, cut differently in both phases: no message has the same bytes at all ranks.
pub(crate) fn spread_and_roll_repacked(rank: &mut Rank) {
    let bytes = 16_384;
    let total = rank.size as usize * bytes;
    // Ring pieces begin a third of a block later than those of the scatter, in a circle.
    let shift = bytes / 3;
    let twice = total + 512;
    for time in 0..2 {
        if rank.rank == 0 {
            rank.fill(0..total, time);
            for to in 1..rank.size {
                let end = (block(to, bytes).end + shift).min(total);
                rank.send(to, 1, to as usize * bytes..end);
            }
        } else {
            let end = (block(rank.rank, bytes).end + shift).min(total);
            let length = end - rank.rank as usize * bytes;
            rank.receive(0, 1, twice..twice + length);
            rank.copy(twice..twice + length, rank.rank as usize * bytes);
        }
        // The last piece is shorter and the first begins at 0: rank 0 has all of it anyway.
        let size = rank.size;
        let piece = |owner: u32| {
            let begin = if owner == 0 { 0 } else { owner as usize * bytes + shift };
            let end = if owner + 1 == size {
                total
            } else {
                (owner as usize + 1) * bytes + shift
            };
            begin..end
        };
        for step in 0..rank.size - 1 {
            let (mine, next) = (piece(rank.before(step)), piece(rank.before(step + 1)));
            let buffer = twice + 40_000;
            rank.copy(mine.clone(), buffer);
            rank.send(rank.after(1), 1, buffer..buffer + mine.len());
            rank.receive(rank.before(1), 1, twice..twice + next.len());
            rank.copy(twice..twice + next.len(), next.start);
        }
    }
}

/// Everyone who gets the data sends them to everyone else.
pub(crate) fn flooding(rank: &mut Rank) {
    for time in 0..TIMES {
        if rank.rank == 0 {
            rank.fill(0..BYTES, time);
            (1..rank.size).for_each(|to| rank.send(to, 1, 0..BYTES));
        } else {
            rank.receive(0, 1, 0..BYTES);
            let others: Vec<u32> = (1..rank.size).filter(|one| *one != rank.rank).collect();
            others.iter().for_each(|&to| rank.send(to, 1, 0..BYTES));
            others.iter().for_each(|&from| rank.receive(from, 1, 0..BYTES));
        }
    }
}
