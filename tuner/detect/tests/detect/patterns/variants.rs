//! Further forms of collectives: other trees, other lengths, other layouts, one wrapper for all calls.

use kilter_detect::model::trace::Class;

use super::{BLOCK, TIMES, binomial, block};
use crate::fixture::Rank;

type Range = std::ops::Range<usize>;

/// Broadcast by a tree of two children each, with posted receives, from rank 1.
pub(crate) fn broadcast_binary(rank: &mut Rank) {
    let root = 1;
    let relative = rank.before(root);
    for time in 0..TIMES {
        if rank.rank == root {
            rank.fill(0..200, time);
        } else {
            let parent = ((relative - 1) / 2 + root) % rank.size;
            let posted = rank.post(parent, 4, 0..200);
            rank.wait(posted);
        }
        for child in [2 * relative + 1, 2 * relative + 2] {
            if child < rank.size {
                rank.send((child + root) % rank.size, 4, 0..200);
            }
        }
    }
}

/// Broadcast where everyone who has the data sends them to someone who may have them already.
pub(crate) fn broadcast_to_both_sides(rank: &mut Rank) {
    for time in 0..TIMES {
        if rank.rank == 0 {
            rank.fill(0..80, time);
        } else {
            rank.receive(rank.rank - 1, 1, 0..80);
        }
        if rank.rank > 1 {
            rank.receive(rank.rank - 2, 1, 0..80);
        }
        for to in [rank.rank + 1, rank.rank + 2] {
            if to < rank.size {
                rank.send(to, 1, 0..80);
            }
        }
    }
}

/// Broadcast of large data in one message each.
pub(crate) fn broadcast_large(rank: &mut Rank) {
    for time in 0..TIMES {
        let (parent, children) = binomial(rank.rank, rank.size);
        match parent {
            Some(parent) => rank.receive(parent, 1, 0..20_000),
            None => rank.fill(0..20_000, time),
        }
        for (child, _) in children {
            rank.send(child, 1, 0..20_000);
        }
    }
}

/// Gather of blocks of different lengths.
pub(crate) fn gather_of_lengths(rank: &mut Rank) {
    let begin = |one: u32| (one * (one + 5) * 4) as usize;
    for time in 0..TIMES {
        let range = |one: u32| begin(one)..begin(one + 1);
        rank.fill(range(rank.rank), time);
        if rank.rank == 1 {
            for from in (0..rank.size).filter(|from| *from != 1) {
                rank.receive(from, 1, range(from));
            }
        } else {
            rank.send(1, 1, range(rank.rank));
        }
    }
}

/// Scatter of blocks of different lengths.
pub(crate) fn scatter_of_lengths(rank: &mut Rank) {
    let begin = |one: u32| (one * (one + 5) * 4) as usize;
    for time in 0..TIMES {
        let range = |one: u32| begin(one)..begin(one + 1);
        if rank.rank == 0 {
            rank.fill(0..begin(rank.size), time);
            (1..rank.size).for_each(|to| rank.send(to, 1, range(to)));
        } else {
            rank.receive(0, 1, range(rank.rank));
        }
    }
}

/// Allgather of a number each: small ones.
pub(crate) fn allgather_of_counts(rank: &mut Rank) {
    rank.of(Class::Integer, 4);
    for time in 0..TIMES {
        let (own, value) = (rank.rank as usize * 4, rank.rank * 3 + 10 + time as u32);
        rank.work(move |memory| memory[own..own + 4].copy_from_slice(&value.to_le_bytes()));
        for step in 0..rank.size - 1 {
            rank.send(rank.after(1), 1, block(rank.before(step), 4));
            rank.receive(rank.before(1), 1, block(rank.before(step + 1), 4));
        }
    }
}

/// Allgather of large blocks of different lengths, in a ring.
pub(crate) fn allgather_large(rank: &mut Rank) {
    let begin = |one: u32| (one * (one + 19) * 250) as usize;
    for time in 0..TIMES {
        let range = |one: u32| begin(one)..begin(one + 1);
        rank.fill(range(rank.rank), time);
        for step in 0..rank.size - 1 {
            rank.send(rank.after(1), 1, range(rank.before(step)));
            rank.receive(rank.before(1), 1, range(rank.before(step + 1)));
        }
    }
}

/// All-to-all of a number for each rank, made of both ranks.
pub(crate) fn alltoall_of_numbers(rank: &mut Rank) {
    rank.of(Class::Integer, 4);
    for time in 0..TIMES {
        for to in 0..rank.size {
            let value = rank.rank * 100 + to + 1000 * time as u32;
            rank.work(move |memory| memory[to as usize * 4..to as usize * 4 + 4].copy_from_slice(&value.to_le_bytes()));
        }
        for places in 1..rank.size {
            let (to, from) = (rank.after(places), rank.before(places));
            rank.send(to, 1, block(to, 4));
            rank.receive(from, 1, block(from + 100, 4));
        }
    }
}

/// Allreduce of one integer by recursive doubling.
pub(crate) fn allreduce_of_an_integer(rank: &mut Rank) {
    assert!(rank.size.is_power_of_two());
    rank.of(Class::Integer, 4);
    for time in 0..TIMES {
        let value = rank.rank * rank.rank * 17 + 5 + 3 * time as u32;
        rank.work(move |memory| memory[..4].copy_from_slice(&value.to_le_bytes()));
        let mut bit = 1;
        while bit < rank.size {
            rank.send(rank.rank ^ bit, 1, 0..4);
            rank.receive(rank.rank ^ bit, 1, 4..8);
            rank.work(|memory| {
                let read = |at: usize| u32::from_le_bytes(memory[at..at + 4].try_into().unwrap());
                let sum = read(0) + read(4);
                memory[..4].copy_from_slice(&sum.to_le_bytes());
            });
            bit *= 2;
        }
    }
}

/// Barrier by exchanges between ranks that differ in a bit.
pub(crate) fn barrier_recursive_doubling(rank: &mut Rank) {
    assert!(rank.size.is_power_of_two());
    for _ in 0..TIMES {
        let mut bit = 1;
        while bit < rank.size {
            rank.send(rank.rank ^ bit, 7, 0..0);
            rank.receive(rank.rank ^ bit, 7, 0..0);
            bit *= 2;
        }
    }
}

/// The only place from which [`through_a_wrapper`] sends.
fn wrapped_send(rank: &mut Rank, to: u32, tag: i32, range: Range) {
    rank.send(to, tag, range);
}

fn wrapped_receive(rank: &mut Rank, from: u32, tag: i32, range: Range) {
    rank.receive(from, tag, range);
}

/// Broadcast, gather and halo exchange in turn, all by one wrapper: call sites tell nothing.
pub(crate) fn through_a_wrapper(rank: &mut Rank) {
    for time in 0..TIMES {
        let (parent, children) = binomial(rank.rank, rank.size);
        match parent {
            Some(parent) => wrapped_receive(rank, parent, 1, 0..120),
            None => rank.fill(0..120, time),
        }
        for (child, _) in children {
            wrapped_send(rank, child, 1, 0..120);
        }
        rank.fill(1000..1080, time);
        wrapped_send(rank, rank.after(1), 2, 1000..1040);
        wrapped_send(rank, rank.before(1), 2, 1040..1080);
        wrapped_receive(rank, rank.before(1), 2, 1100..1140);
        wrapped_receive(rank, rank.after(1), 2, 1140..1180);
        rank.fill(2000..2000 + BLOCK, time + 40);
        if rank.rank == 0 {
            for from in 1..rank.size {
                let range = block(from, BLOCK);
                wrapped_receive(rank, from, 3, 3000 + range.start..3000 + range.end);
            }
        } else {
            wrapped_send(rank, 0, 3, 2000..2000 + BLOCK);
        }
    }
}

/// A solver: halo exchange, and two sums over all ranks by a tree and back, each step.
pub(crate) fn solver(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    for time in 0..4 {
        rank.fill(4000..4400, time);
        rank.send(rank.after(1), 5, 4000..4040);
        rank.send(rank.before(1), 6, 4360..4400);
        rank.receive(rank.before(1), 5, 4400..4440);
        rank.receive(rank.after(1), 6, 4440..4480);
        let own = (f64::from(rank.rank) + 0.3).sin() + time as f64;
        rank.put(0, &[own, own * own + 0.01]);
        rank.show(0..16);
        let (parent, children) = binomial(rank.rank, rank.size);
        for (child, _) in children.iter().rev() {
            rank.receive(*child, 1, 64..80);
            rank.combine(0..16, 64, |a, b| a + b);
        }
        if let Some(parent) = parent {
            rank.send(parent, 1, 0..16);
            rank.receive(parent, 2, 0..16);
        }
        for (child, _) in children {
            rank.send(child, 2, 0..16);
        }
    }
}

/// Sums at inner ranks whose own part nothing shows.
pub(crate) fn reduce_tree_unseen(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    for time in 0..5 {
        let own = (f64::from(rank.rank) + 0.3).sin() * (time as f64 + 1.0);
        rank.put(0, &[own, own * 3.0 - 1.0, own * own]);
        let (parent, children) = binomial(rank.rank, rank.size);
        for (child, _) in children.iter().rev() {
            rank.receive(*child, 1, 64..88);
            rank.combine(0..24, 64, |a, b| a + b);
        }
        if let Some(parent) = parent {
            rank.send(parent, 1, 0..24);
        }
    }
}
