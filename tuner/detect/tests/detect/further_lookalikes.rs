//! More programs without collectives of their own: sorts, stencils, servers and transports.

use kilter_detect::model::trace::Class;

use crate::fixture::Rank;
use crate::patterns::{self, BLOCK, block};

/// Sort of one number each.
pub(crate) fn transposition_sort(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    rank.put(0, &[(f64::from(rank.rank) * 2.3).sin()]);
    patterns::transposition_sort(rank);
}

/// Partners that differ in a bit exchange blocks, and each has others then.
pub(crate) fn butterfly_of_new_data(rank: &mut Rank) {
    for time in 0..4 {
        let mut bit = 1;
        while bit < rank.size {
            let peer = rank.rank ^ bit;
            rank.fill(0..BLOCK, time * 10 + u64::from(bit));
            if peer < rank.size {
                rank.send(peer, 1, 0..BLOCK);
                rank.receive(peer, 1, 100..100 + BLOCK);
            }
            bit *= 2;
        }
    }
}

/// Halo of a field that is zero everywhere but on one rank.
pub(crate) fn halo_of_zeros(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    for time in 0..10 {
        if rank.rank == 0 {
            rank.put(16, &[time as f64]);
        }
        rank.send(rank.after(1), 1, 0..16);
        rank.send(rank.before(1), 2, 16..32);
        rank.receive(rank.before(1), 1, 64..80);
        rank.receive(rank.after(1), 2, 80..96);
    }
}

/// A wave: borders are mixed into the field in place.
pub(crate) fn wave(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    rank.put(8, &[f64::from(rank.rank).sin(), 0.5, 0.25, f64::from(rank.rank).cos()]);
    for _ in 0..12 {
        rank.send(rank.after(1), 1, 32..40);
        rank.send(rank.before(1), 2, 8..16);
        rank.receive(rank.before(1), 1, 0..8);
        rank.receive(rank.after(1), 2, 40..48);
        rank.work(|memory| {
            let read = |at: usize| f64::from_le_bytes(memory[at..at + 8].try_into().unwrap());
            let next: Vec<f64> = (8..40)
                .step_by(8)
                .map(|at| 0.25 * read(at - 8) + 0.5 * read(at) + 0.25 * read(at + 8))
                .collect();
            for (at, one) in next.into_iter().enumerate() {
                memory[8 + at * 8..16 + at * 8].copy_from_slice(&one.to_le_bytes());
            }
        });
    }
}

/// Workers send gradients when they are ready, and get weights that differ each time.
pub(crate) fn server_of_weights(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    for step in 0..24_u32 {
        let worker = (step * step + step / 3) % (rank.size - 1) + 1;
        if rank.rank == worker {
            rank.put(0, &[(f64::from(step) * 1.7).sin(), (f64::from(step) * 2.9).cos()]);
            rank.send(0, 1, 0..16);
            rank.receive(0, 2, 32..48);
        } else if rank.rank == 0 {
            rank.receive(worker, 1, 64..80);
            rank.combine(0..16, 64, |a, b| a - 0.1 * b);
            rank.send(worker, 2, 0..16);
        }
    }
}

/// Particles leave for the next ranks: more or fewer each time.
pub(crate) fn particles(rank: &mut Rank) {
    for time in 0..10_u64 {
        rank.fill(0..2000, time);
        let count = |from: u32| 24 * ((u64::from(from) * 7 + time * 5) % 9 + 1) as usize;
        rank.send(rank.after(1), 1, 0..count(rank.rank));
        rank.receive(rank.before(1), 1, 3000..3000 + count(rank.before(1)));
    }
}

/// A chain of filters on rows that lie one behind the other: rows grow on the way.
pub(crate) fn growing_pipeline(rank: &mut Rank) {
    for time in 0..6 {
        let bytes = 64 + 16 * rank.rank as usize;
        if rank.rank == 0 {
            rank.fill(0..64, time);
        } else {
            rank.receive(rank.rank - 1, 1, 0..bytes - 16);
            rank.work(|memory| {
                memory[..400]
                    .iter_mut()
                    .for_each(|byte| *byte = byte.wrapping_mul(5).wrapping_add(3))
            });
        }
        if rank.rank + 1 < rank.size {
            rank.send(rank.rank + 1, 1, 0..bytes);
        }
    }
}

/// Messages for others go by way of rank 0: requests one way, answers the other.
pub(crate) fn relay(rank: &mut Rank) {
    for at in 0..20_u32 {
        let from = at * 7 % (rank.size - 1) + 1;
        let to = (from + at) % (rank.size - 1) + 1;
        if from == to {
            continue;
        }
        if rank.rank == from {
            rank.fill(0..BLOCK, u64::from(at));
            rank.send(0, 1, 0..BLOCK);
        }
        if rank.rank == 0 {
            rank.receive(from, 1, 0..BLOCK);
            rank.send(to, 1, 0..BLOCK);
        }
        if rank.rank == to {
            rank.receive(0, 1, 500..500 + BLOCK);
        }
    }
}

/// Blocks of a matrix go round by one place, each time new ones.
pub(crate) fn shift_of_new_blocks(rank: &mut Rank) {
    for time in 0..3 * u64::from(rank.size) {
        rank.fill(block(1, BLOCK), time);
        rank.send(rank.after(1), 1, block(1, BLOCK));
        rank.receive(rank.before(1), 1, block(2, BLOCK));
    }
}

/// Everyone logs to rank 0, as often as it has something to say.
pub(crate) fn logs(rank: &mut Rank) {
    for from in 1..rank.size {
        for line in 0..(from * 5) % 4 + 1 {
            if rank.rank == from {
                rank.fill(0..BLOCK, u64::from(line));
                rank.send(0, 1, 0..BLOCK);
            } else if rank.rank == 0 {
                rank.receive(from, 1, block(from * 8 + line, BLOCK));
            }
        }
    }
}
