//! Rings of ranks that send numbers of their own, which count up from step to step: the number that comes is what the rank itself sends a step later. It is
//! HPCC's benchmark of latency, whose rings are drawn by the time of day and measured again if they were too quick.

use kilter_detect::detect;

use crate::fixture::{Rank, on_part, on_world};
use crate::table::shown;

/// Bytes of a message.
const BYTES: usize = 8;

/// Places of a rank: of the numbers that it sends to the left and to the right, and of those that come from there.
const SEND_LEFT: usize = 0;
const SEND_RIGHT: usize = 32;
const FROM_LEFT: usize = 64;
const FROM_RIGHT: usize = 96;

const TO_RIGHT: i32 = 200;
const TO_LEFT: i32 = 201;

/// Numbers that look drawn: those of a linear congruence.
struct Draws(u64);

impl Draws {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// Ranks in the order of a ring.
    fn ring(&mut self, size: u32) -> Vec<u32> {
        let mut ring = vec![None; size as usize];
        for rank in 0..size {
            let mut at = self.next(u64::from(size)) as usize;
            while ring[at].is_some() {
                at = (at + 1) % ring.len();
            }
            ring[at] = Some(rank);
        }
        ring.into_iter().flatten().collect()
    }
}

/// The numbers that a rank sends in a step.
fn count(rank: &mut Rank, step: u32) {
    let base = (step + rank.rank) as u8 & 127;
    rank.work(move |memory| {
        for (at, first) in [(SEND_RIGHT, base), (SEND_LEFT, base + 2)] {
            (memory[at], memory[at + BYTES - 1]) = (first, first + 1);
        }
    });
}

fn exchanges(rank: &mut Rank, steps: u32, (left, right): (u32, u32)) {
    let at = |place: usize| place..place + BYTES;
    for step in 0..steps {
        count(rank, step);
        rank.send(right, TO_RIGHT, at(SEND_RIGHT));
        rank.receive(left, TO_RIGHT, at(FROM_LEFT));
        rank.send(left, TO_LEFT, at(SEND_LEFT));
        rank.receive(right, TO_LEFT, at(FROM_RIGHT));
    }
    for step in 0..steps {
        count(rank, step);
        let posted = [
            rank.post(left, TO_RIGHT, at(FROM_LEFT)),
            rank.post(right, TO_LEFT, at(FROM_RIGHT)),
        ];
        rank.send(right, TO_RIGHT, at(SEND_RIGHT));
        rank.send(left, TO_LEFT, at(SEND_LEFT));
        posted.into_iter().for_each(|one| rank.wait(one));
    }
}

/// Times of `rings` rings in so many measurements, of which some have more steps.
fn latency(rank: &mut Rank, draw: u64, (measurements, rings): (u32, u32)) {
    let mut lengths = Draws(draw);
    for _ in 0..measurements {
        let mut draws = Draws(draw);
        for at in 0..rings {
            let ring = if at == 0 {
                (0..rank.size).collect()
            } else {
                draws.ring(rank.size)
            };
            let place = ring.iter().position(|one| *one == rank.rank).unwrap();
            let beside = |by: usize| ring[(place + by) % ring.len()];
            let neighbours = (beside(ring.len() - 1), beside(1));
            exchanges(rank, [6, 6, 8, 11][lengths.next(4) as usize], neighbours);
        }
    }
}

#[test]
fn numbers_that_count_up_in_rings_are_no_collective() {
    let mut log = String::new();
    for size in 4..=5 {
        for draw in 0..12 {
            for measured in [(1, 1), (1, 4), (2, 4)] {
                let program = |rank: &mut Rank| latency(rank, draw, measured);
                for trace in [on_world(size, &program), on_part(size, &program)] {
                    for finding in detect(&trace).findings {
                        log += &format!("{size} ranks, draw {draw}, {measured:?}: {}\n", shown(&finding));
                    }
                }
            }
        }
    }
    assert!(log.is_empty(), "{}\n{log}", log.lines().count());
}
