//! Reduce, allreduce and scan, of numbers of floating point.

use kilter_detect::model::trace::Class;

use super::{TIMES, binomial};
use crate::fixture::Rank;

/// Place of the rank's value, and of what it receives.
const OWN: std::ops::Range<usize> = 0..32;
const CAME: usize = 64;

fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// Own part of a rank, other ones each time.
fn prepare(rank: &mut Rank, time: u64, shows: bool) {
    rank.of(Class::Real, 8);
    let at = f64::from(rank.rank) * 1.37 + time as f64 * 0.71;
    rank.put(0, &[at.sin(), at.cos() * 3.0, (at * 7.0).sin(), at + 0.1]);
    if shows {
        rank.show(OWN);
    }
}

fn take(rank: &mut Rank, from: u32, operator: fn(f64, f64) -> f64) {
    rank.receive(from, 1, CAME..CAME + 32);
    rank.combine(OWN, CAME, operator);
}

fn tree(rank: &mut Rank, operator: fn(f64, f64) -> f64) {
    let (parent, children) = binomial(rank.rank, rank.size);
    for (child, _) in children.iter().rev() {
        take(rank, *child, operator);
    }
    if let Some(parent) = parent {
        rank.send(parent, 1, OWN);
    }
}

/// Rank 0 adds what comes, and shows the result.
pub(crate) fn linear_shown(rank: &mut Rank) {
    for time in 0..TIMES {
        prepare(rank, time, true);
        if rank.rank == 0 {
            (1..rank.size).for_each(|from| take(rank, from, add));
            rank.show(OWN);
        } else {
            rank.send(0, 1, OWN);
        }
    }
}

pub(crate) fn tree_shown(rank: &mut Rank) {
    for time in 0..TIMES {
        prepare(rank, time, true);
        tree(rank, add);
    }
}

/// The parts of inner ranks are not seen, but the order of maxima is.
pub(crate) fn tree_of_maxima(rank: &mut Rank) {
    for time in 0..4 * TIMES {
        prepare(rank, time, false);
        tree(rank, f64::max);
    }
}

/// From the last rank to the first.
pub(crate) fn chain_shown(rank: &mut Rank) {
    for time in 0..TIMES {
        prepare(rank, time, true);
        if rank.rank + 1 < rank.size {
            take(rank, rank.rank + 1, add);
        }
        if rank.rank > 0 {
            rank.send(rank.rank - 1, 1, OWN);
        }
    }
}

/// Rank 0 adds, and sends the result to all.
pub(crate) fn allreduce_linear_shown(rank: &mut Rank) {
    for time in 0..TIMES {
        prepare(rank, time, true);
        if rank.rank == 0 {
            (1..rank.size).for_each(|from| take(rank, from, add));
            (1..rank.size).for_each(|to| rank.send(to, 2, OWN));
        } else {
            rank.send(0, 1, OWN);
            rank.receive(0, 2, OWN);
        }
    }
}

pub(crate) fn allreduce_trees_shown(rank: &mut Rank) {
    for time in 0..TIMES {
        prepare(rank, time, true);
        tree(rank, f64::min);
        let (parent, children) = binomial(rank.rank, rank.size);
        if let Some(parent) = parent {
            rank.receive(parent, 2, OWN);
        }
        for (child, _) in children {
            rank.send(child, 2, OWN);
        }
    }
}

/// Maxima, many of which are equal to one of their parts; powers of two only.
pub(crate) fn allreduce_of_maxima(rank: &mut Rank) {
    assert!(rank.size.is_power_of_two());
    for time in 0..TIMES {
        prepare(rank, time, false);
        let mut bit = 1;
        while bit < rank.size {
            rank.send(rank.rank ^ bit, 1, OWN);
            take(rank, rank.rank ^ bit, f64::max);
            bit *= 2;
        }
    }
}

/// Ranks beyond a power of two give their part to others, and get the result from them.
pub(crate) fn allreduce_recursive_doubling(rank: &mut Rank) {
    for time in 0..TIMES {
        prepare(rank, time, false);
        let mut power = 1;
        while power * 2 <= rank.size {
            power *= 2;
        }
        if rank.rank >= power {
            rank.send(rank.rank - power, 1, OWN);
            rank.receive(rank.rank - power, 3, OWN);
            continue;
        }
        if rank.rank + power < rank.size {
            rank.show(OWN);
            take(rank, rank.rank + power, add);
        }
        let mut bit = 1;
        while bit < power {
            rank.send(rank.rank ^ bit, 1, OWN);
            take(rank, rank.rank ^ bit, add);
            bit *= 2;
        }
        if rank.rank + power < rank.size {
            rank.send(rank.rank + power, 3, OWN);
        }
    }
}

pub(crate) fn scan_chain_shown(rank: &mut Rank) {
    for time in 0..TIMES {
        prepare(rank, time, true);
        if rank.rank > 0 {
            take(rank, rank.rank - 1, add);
        }
        if rank.rank + 1 < rank.size {
            rank.send(rank.rank + 1, 1, OWN);
        }
    }
}

/// Distances double.
pub(crate) fn scan_doubling(rank: &mut Rank) {
    for time in 0..TIMES {
        prepare(rank, time, false);
        let mut places = 1;
        while places < rank.size {
            if rank.rank + places < rank.size {
                rank.send(rank.rank + places, 1, OWN);
            }
            if rank.rank >= places {
                take(rank, rank.rank - places, add);
            }
            places *= 2;
        }
    }
}
