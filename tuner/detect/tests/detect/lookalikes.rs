//! Programs that exchange messages much as collectives do, and are none.

use kilter_detect::model::trace::Class;

use crate::fixture::Rank;
use crate::patterns::{BLOCK, block};

/// Steps of a program.
const STEPS: u64 = 8;

/// Number that looks random.
fn drawn(seed: u64) -> u32 {
    (seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407)
        >> 33) as u32
}

/// Borders go to both neighbours, in a circle.
pub(crate) fn halo_in_a_circle(rank: &mut Rank) {
    for time in 0..STEPS {
        rank.fill(0..400, time);
        rank.send(rank.after(1), 1, 352..400);
        rank.send(rank.before(1), 2, 0..48);
        rank.receive(rank.before(1), 1, 400..448);
        rank.receive(rank.after(1), 2, 448..496);
    }
}

/// Borders in place, on a line.
pub(crate) fn halo_on_a_line(rank: &mut Rank) {
    for time in 0..STEPS {
        rank.fill(48..448, time);
        if rank.rank + 1 < rank.size {
            rank.send(rank.rank + 1, 1, 400..448);
        }
        if rank.rank > 0 {
            rank.receive(rank.rank - 1, 1, 0..48);
            rank.send(rank.rank - 1, 2, 48..96);
        }
        if rank.rank + 1 < rank.size {
            rank.receive(rank.rank + 1, 2, 448..496);
        }
    }
}

/// The same border for both neighbours.
pub(crate) fn halo_of_one_cell(rank: &mut Rank) {
    for time in 0..STEPS {
        rank.fill(0..40, time);
        for peer in neighbours(rank) {
            rank.send(peer, 1, 0..40);
        }
        for (at, peer) in (1..).zip(neighbours(rank)) {
            rank.receive(peer, 1, block(at, 40));
        }
    }
}

fn neighbours(rank: &Rank) -> Vec<u32> {
    let (before, after) = (rank.rank.checked_sub(1), rank.rank + 1);
    before.into_iter().chain((after < rank.size).then_some(after)).collect()
}

/// Halo on a grid of two columns.
pub(crate) fn halo_on_a_grid(rank: &mut Rank) {
    let peers: Vec<u32> = [rank.rank ^ 1, rank.rank + 2, rank.rank.wrapping_sub(2)]
        .into_iter()
        .filter(|peer| *peer < rank.size)
        .collect();
    for time in 0..STEPS {
        rank.fill(0..600, time);
        for (at, &peer) in (0..).zip(&peers) {
            rank.send(peer, 1, block(at, BLOCK));
        }
        for (at, &peer) in (20..).zip(&peers) {
            rank.receive(peer, 1, block(at, BLOCK));
        }
    }
}

pub(crate) fn ping_pong(rank: &mut Rank) {
    for time in 0..STEPS {
        if rank.rank == 0 {
            rank.fill(0..64, time);
            rank.send(1, 1, 0..64);
            rank.receive(1, 1, 0..64);
        } else if rank.rank == 1 {
            rank.receive(0, 1, 0..64);
            rank.send(0, 1, 0..64);
        }
    }
}

/// Everyone sends zeros to the next rank, again and again.
pub(crate) fn ring_of_zeros(rank: &mut Rank) {
    for _ in 0..STEPS {
        rank.send(rank.after(1), 1, 0..8);
        rank.receive(rank.before(1), 1, 100..108);
    }
}

/// Everyone sends the same number to the next rank, again and again.
pub(crate) fn ring_of_a_number(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    rank.put(0, &[1.0]);
    for _ in 0..40 {
        rank.send(rank.after(1), 1, 0..8);
        rank.receive(rank.before(1), 1, 0..8);
    }
}

/// The same, where every second rank receives first.
pub(crate) fn ring_of_a_number_by_parity(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    rank.put(0, &[3.25, 9.5]);
    for _ in 0..40 {
        if rank.rank.is_multiple_of(2) {
            rank.send(rank.after(1), 1, 0..16);
            rank.receive(rank.before(1), 1, 64..80);
        } else {
            rank.receive(rank.before(1), 1, 64..80);
            rank.send(rank.after(1), 1, 0..16);
        }
    }
}

/// Workers get tasks as they are done with others; which one is next is drawn.
pub(crate) fn master_and_workers(rank: &mut Rank) {
    let workers = rank.size - 1;
    let order: Vec<u32> = (0..30)
        .map(|at| {
            if at < workers {
                at + 1
            } else {
                drawn(u64::from(at)) % workers + 1
            }
        })
        .collect();
    rank.fill(0..4096, 3);
    for (at, &worker) in (0..).zip(&order) {
        if rank.rank == 0 {
            rank.send(worker, 1, block(at, BLOCK));
        }
        if rank.rank == worker {
            rank.receive(0, 1, 0..BLOCK);
            rank.fill(0..BLOCK, 1000 + u64::from(at));
            rank.send(0, 2, 0..BLOCK);
        }
        if rank.rank == 0 {
            rank.receive(worker, 2, 8192..8192 + BLOCK);
        }
    }
}

/// All workers report once a step into the same buffer, and get other tasks from the same buffer.
pub(crate) fn master_in_step(rank: &mut Rank) {
    for time in 0..STEPS {
        for worker in 1..rank.size {
            if rank.rank == 0 {
                rank.fill(0..BLOCK, time * 100 + u64::from(worker));
                rank.send(worker, 1, 0..BLOCK);
            } else if rank.rank == worker {
                rank.receive(0, 1, 0..BLOCK);
            }
        }
        for worker in 1..rank.size {
            if rank.rank == 0 {
                rank.receive(worker, 2, 64..64 + BLOCK);
            } else if rank.rank == worker {
                rank.fill(0..BLOCK, 500 + time);
                rank.send(0, 2, 0..BLOCK);
            }
        }
    }
}

/// Each rank works on what it gets, in place, and passes it on.
pub(crate) fn pipeline(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    for time in 0..STEPS {
        if rank.rank == 0 {
            rank.put(0, &[time as f64 + 0.3, 2.0, -1.5, 0.25]);
        } else {
            rank.receive(rank.rank - 1, 1, 0..32);
            rank.work(|memory| {
                for at in (0..32).step_by(8) {
                    let one = f64::from_le_bytes(memory[at..at + 8].try_into().unwrap());
                    memory[at..at + 8].copy_from_slice(&(one * 1.1 + 0.7).sin().to_le_bytes());
                }
            });
        }
        if rank.rank + 1 < rank.size {
            rank.send(rank.rank + 1, 1, 0..32);
        }
    }
}

/// Pairs of ranks that are drawn exchange messages of one length.
pub(crate) fn random_messages(rank: &mut Rank) {
    for at in 0..150 {
        let from = drawn(at) % rank.size;
        let to = (from + 1 + drawn(at + 1_000_000) % (rank.size - 1)) % rank.size;
        if rank.rank == from {
            rank.fill(0..BLOCK, at);
            rank.send(to, 1, 0..BLOCK);
        } else if rank.rank == to {
            rank.receive(from, 1, 1000..1000 + BLOCK);
        }
    }
}

/// The same with equal data.
pub(crate) fn random_messages_of_one_number(rank: &mut Rank) {
    rank.put(0, &[17.0]);
    for at in 0..150 {
        let from = drawn(at) % rank.size;
        let to = (from + 1 + drawn(at + 1_000_000) % (rank.size - 1)) % rank.size;
        if rank.rank == from {
            rank.send(to, 1, 0..8);
        } else if rank.rank == to {
            rank.receive(from, 1, 8..16);
        }
    }
}

/// An empty token goes round.
pub(crate) fn token_ring(rank: &mut Rank) {
    for _ in 0..STEPS {
        if rank.rank == 0 {
            rank.send(1, 1, 0..0);
            rank.receive(rank.size - 1, 1, 0..0);
        } else {
            rank.receive(rank.rank - 1, 1, 0..0);
            rank.send(rank.after(1), 1, 0..0);
        }
    }
}

/// Neighbours wait for each other.
pub(crate) fn neighbours_in_step(rank: &mut Rank) {
    for _ in 0..STEPS {
        rank.send(rank.after(1), 1, 0..0);
        rank.send(rank.before(1), 2, 0..0);
        rank.receive(rank.before(1), 1, 0..0);
        rank.receive(rank.after(1), 2, 0..0);
    }
}

/// Blocks go half way round.
pub(crate) fn half_a_ring(rank: &mut Rank) {
    for time in 0..STEPS {
        rank.fill(0..BLOCK, time);
        for step in 0..rank.size / 2 {
            rank.send(rank.after(1), 1, block(step, BLOCK));
            rank.receive(rank.before(1), 1, block(step + 1, BLOCK));
        }
    }
}

/// Partners exchange blocks.
pub(crate) fn partners(rank: &mut Rank) {
    let partner = rank.rank ^ 1;
    for time in 0..STEPS {
        rank.fill(0..BLOCK, time);
        if partner < rank.size {
            rank.send(partner, 1, 0..BLOCK);
            rank.receive(partner, 1, BLOCK..2 * BLOCK);
        }
    }
}

/// A front goes through a grid of two columns: each rank needs its left and its upper neighbour.
pub(crate) fn wavefront(rank: &mut Rank) {
    let (column, is_last_row) = (rank.rank % 2, rank.rank + 2 >= rank.size);
    for time in 0..STEPS {
        if column == 1 {
            rank.receive(rank.rank - 1, 1, 0..BLOCK);
        }
        if rank.rank >= 2 {
            rank.receive(rank.rank - 2, 1, BLOCK..2 * BLOCK);
        }
        rank.fill(100..400, time);
        if column == 0 && rank.rank + 1 < rank.size {
            rank.send(rank.rank + 1, 1, 100..100 + BLOCK);
        }
        if !is_last_row {
            rank.send(rank.rank + 2, 1, 200..200 + BLOCK);
        }
    }
}

/// Rank 0 keeps a table; others ask for a row, and how often differs.
pub(crate) fn table_server(rank: &mut Rank) {
    rank.fill(0..4096, 1);
    for at in 0..40 {
        let asks = drawn(at + 50) % (rank.size - 1) + 1;
        let row = drawn(at + 90) % 40;
        if rank.rank == asks {
            rank.fill(8000..8004, at);
            rank.send(0, 1, 8000..8004);
            rank.receive(0, 2, 5000..5000 + BLOCK);
        } else if rank.rank == 0 {
            rank.receive(asks, 1, 8000..8004);
            rank.send(asks, 2, block(row, BLOCK));
        }
    }
}

/// All but the last two ranks report to rank 0, which is no gather of the communicator.
pub(crate) fn reports_of_some(rank: &mut Rank) {
    for time in 0..2 {
        rank.fill(0..2000, time);
        if rank.rank == 0 {
            for from in 1..rank.size - 1 {
                rank.receive(from, 1, block(from, BLOCK));
            }
        } else if rank.rank + 1 < rank.size {
            rank.send(0, 1, 0..BLOCK);
        }
    }
}
