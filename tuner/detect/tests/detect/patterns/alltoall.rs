//! All-to-alls.

use super::{BLOCK, TIMES, block};
use crate::fixture::Rank;

/// Beginning of the blocks that come.
const COME: usize = 100_000;

fn come(from: u32, bytes: usize) -> std::ops::Range<usize> {
    let range = block(from, bytes);
    COME + range.start..COME + range.end
}

/// All sends, then all receives.
pub(crate) fn linear(rank: &mut Rank) {
    for time in 0..TIMES {
        rank.fill(0..rank.size as usize * BLOCK, time);
        let posted: Vec<usize> = (1..rank.size)
            .map(|places| rank.post(rank.before(places), 1, come(rank.before(places), BLOCK)))
            .collect();
        for places in 1..rank.size {
            rank.send(rank.after(places), 1, block(rank.after(places), BLOCK));
        }
        for one in posted {
            rank.wait(one);
        }
    }
}

/// An exchange with one rank after the other.
pub(crate) fn pairwise(rank: &mut Rank) {
    for time in 0..TIMES {
        rank.fill(0..rank.size as usize * BLOCK, time);
        for places in 1..rank.size {
            rank.send(rank.after(places), 1, block(rank.after(places), BLOCK));
            rank.receive(rank.before(places), 1, come(rank.before(places), BLOCK));
        }
    }
}

/// Bruck's: blocks whose distance has a bit travel together by this bit, packed.
pub(crate) fn bruck(rank: &mut Rank) {
    let bytes = 12_288;
    let packed = 100_000;
    for time in 0..2 {
        // Block at position i is for the rank i places behind.
        rank.fill(0..rank.size as usize * bytes, time);
        let mut bit = 1;
        while bit < rank.size {
            let moved: Vec<u32> = (0..rank.size).filter(|at| at & bit != 0).collect();
            let length = moved.len() * bytes;
            for (slot, &at) in (0..).zip(&moved) {
                rank.copy(block(at, bytes), packed + slot * bytes);
            }
            rank.send(rank.after(bit), 1, packed..packed + length);
            let arrived = packed + 4 * bytes;
            rank.receive(rank.before(bit), 1, arrived..arrived + length);
            for (slot, &at) in (0..).zip(&moved) {
                rank.copy(
                    arrived + slot * bytes..arrived + (slot + 1) * bytes,
                    at as usize * bytes,
                );
            }
            bit *= 2;
        }
    }
}
