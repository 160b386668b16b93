//! Barriers.

use super::{TIMES, binomial};
use crate::fixture::Rank;

/// All report to rank 0, which lets them go.
pub(crate) fn linear(rank: &mut Rank) {
    for _ in 0..TIMES {
        if rank.rank == 0 {
            for from in 1..rank.size {
                rank.receive(from, 1, 0..0);
            }
            for to in 1..rank.size {
                rank.send(to, 2, 0..0);
            }
        } else {
            rank.send(0, 1, 0..0);
            rank.receive(0, 2, 0..0);
        }
    }
}

/// The same by a tree, with a byte.
pub(crate) fn tree(rank: &mut Rank) {
    for _ in 0..TIMES {
        let (parent, children) = binomial(rank.rank, rank.size);
        for (child, _) in children.iter().rev() {
            rank.receive(*child, 1, 0..1);
        }
        if let Some(parent) = parent {
            rank.send(parent, 1, 0..1);
            rank.receive(parent, 2, 0..1);
        }
        for (child, _) in children {
            rank.send(child, 2, 0..1);
        }
    }
}

pub(crate) fn dissemination(rank: &mut Rank) {
    for _ in 0..TIMES {
        let mut places = 1;
        while places < rank.size {
            rank.send(rank.after(places), 1, 0..0);
            rank.receive(rank.before(places), 1, 0..0);
            places *= 2;
        }
    }
}

/// Everyone tells everyone.
pub(crate) fn all_to_all(rank: &mut Rank) {
    for _ in 0..TIMES {
        for places in 1..rank.size {
            rank.send(rank.after(places), 1, 0..0);
        }
        for places in 1..rank.size {
            rank.receive(rank.before(places), 1, 0..0);
        }
    }
}
