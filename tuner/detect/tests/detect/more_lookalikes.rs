//! Still more programs without collectives: merges, averages, counters, subscriptions.

use kilter_detect::model::trace::Class;

use crate::fixture::Rank;
use crate::patterns::{BLOCK, binomial, block};

/// A sort by merging: each rank merges what its subtree sends into its own numbers, in place, and sends all of it.
pub(crate) fn merge_tree(rank: &mut Rank) {
    let bytes = 6000;
    for time in 0..4 {
        let (parent, mut children) = binomial(rank.rank, rank.size);
        rank.fill(0..bytes, time);
        children.reverse();
        let mut have = 1;
        for (child, ranks) in children {
            rank.receive(child, 1, have * bytes..(have + ranks as usize) * bytes);
            have += ranks as usize;
            let end = have * bytes;
            rank.work(move |memory| {
                let word = |at: usize| u64::from_be_bytes(memory[at..at + 8].try_into().unwrap());
                let mut words: Vec<u64> = (0..end).step_by(8).map(word).collect();
                words.sort_unstable();
                let sorted: Vec<u8> = words.iter().flat_map(|one| one.to_be_bytes()).collect();
                memory[..end].copy_from_slice(&sorted);
            });
        }
        if let Some(parent) = parent {
            rank.send(parent, 1, 0..have * bytes);
        }
    }
}

/// Pairs that are drawn exchange a number, and both have the mean then.
pub(crate) fn averages(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    rank.put(0, &[(f64::from(rank.rank) * 1.3).sin(), f64::from(rank.rank)]);
    for step in 0..40_u32 {
        let a = step * 7 % rank.size;
        let b = (a + 1 + step * step % (rank.size - 1)) % rank.size;
        let peer = if rank.rank == a { b } else { a };
        if rank.rank == a || rank.rank == b {
            rank.send(peer, 1, 0..16);
            rank.receive(peer, 1, 64..80);
            rank.combine(0..16, 64, |a, b| 0.5 * (a + b));
        }
    }
}

/// Workers report counts, which rank 0 adds up for itself.
pub(crate) fn counters(rank: &mut Rank) {
    rank.of(Class::Integer, 4);
    for time in 0..8_u32 {
        if rank.rank == 0 {
            (1..rank.size).for_each(|from| rank.receive(from, 1, 16..20));
        } else {
            let count = (rank.rank * 31 + time * 17) % 100 + 1;
            rank.work(move |memory| memory[..4].copy_from_slice(&count.to_le_bytes()));
            rank.send(0, 1, 0..4);
        }
    }
}

/// A token goes round, and each rank adds its number.
pub(crate) fn adding_token(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    for time in 0..6 {
        let own = f64::from(rank.rank) * 0.77 + f64::from(time) + 0.3;
        if rank.rank == 0 {
            rank.put(0, &[own]);
            rank.send(1, 1, 0..8);
            rank.receive(rank.size - 1, 1, 0..8);
        } else {
            rank.receive(rank.rank - 1, 1, 0..8);
            rank.put(8, &[own]);
            rank.combine(0..8, 8, |a, b| a + b);
            rank.send(rank.after(1), 1, 0..8);
        }
    }
}

/// Rank 0 sends news to those who want them, which are others each time, and never all.
pub(crate) fn subscriptions(rank: &mut Rank) {
    for time in 0..12_u64 {
        let leaves_out = (time * time + time / 2) as u32 % (rank.size - 1) + 1;
        let also = (leaves_out + 1 + time as u32 % 2) % rank.size;
        let wants = |one: u32| one != 0 && one != leaves_out && (one != also || rank.size > 5 && time % 3 == 0);
        let wanting: Vec<u32> = (0..rank.size).filter(|one| wants(*one)).collect();
        if rank.rank == 0 {
            rank.fill(0..72, time);
            wanting.iter().for_each(|&to| rank.send(to, 1, 0..72));
        } else if wanting.contains(&rank.rank) {
            rank.receive(0, 1, 0..72);
        }
    }
}

/// Each rank keeps the state of another one.
pub(crate) fn checkpoints(rank: &mut Rank) {
    let half = rank.size / 2;
    for time in 0..4 {
        rank.fill(0..20_000, time);
        rank.send(rank.after(half), 1, 0..20_000);
        rank.receive(rank.before(half), 1, 30_000..50_000);
    }
}

/// Columns of a matrix are sent to the owner of the next column, who changes them.
pub(crate) fn columns_in_turn(rank: &mut Rank) {
    for column in 0..12_u32 {
        let (owner, next) = (column % rank.size, (column + 1) % rank.size);
        if rank.rank == owner {
            rank.fill(block(0, BLOCK), u64::from(column));
            rank.send(next, 1, block(0, BLOCK));
        } else if rank.rank == next {
            rank.receive(owner, 1, block(1, BLOCK));
        }
    }
}

/// A stencil whose borders are all alike, on a grid of two columns.
pub(crate) fn stencil_of_equal_borders(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    rank.put(0, &[1.5, 2.5, 1.5, 2.5]);
    let peers: Vec<u32> = [rank.rank ^ 1, rank.rank + 2, rank.rank.wrapping_sub(2)]
        .into_iter()
        .filter(|peer| *peer < rank.size)
        .collect();
    for _ in 0..10 {
        peers.iter().for_each(|&peer| rank.send(peer, 1, 0..32));
        (1..)
            .zip(&peers)
            .for_each(|(at, &peer)| rank.receive(peer, 1, block(at, 32)));
    }
}

/// Everyone tells everyone the same number.
pub(crate) fn agreement(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    rank.put(0, &[42.5]);
    for _ in 0..4 {
        (1..rank.size).for_each(|places| rank.send(rank.after(places), 1, 0..8));
        for places in 1..rank.size {
            let at = 64 + rank.before(places) as usize * 8;
            rank.receive(rank.before(places), 1, at..at + 8);
        }
    }
}
