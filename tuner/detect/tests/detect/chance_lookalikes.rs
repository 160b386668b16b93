//! Programs whose data, or first bytes, are equal or explained by chance, and exchanges that bring one rank's data to all.

use kilter_detect::model::trace::Class;

use crate::fixture::Rank;
use crate::patterns::transposition_sort;

/// Before they exchange atoms, all ranks that have some for each other say how many. Numbers are few, so that some rank says the same to all.
pub(crate) fn counts_of_atoms(rank: &mut Rank) {
    rank.of(Class::Integer, 4);
    let (own, size) = (rank.rank, rank.size);
    for time in 0..16_u32 {
        // One of the four exchanges has no messages between ranks that are as far from the two ends.
        let is_left_out = |peer: u32| peer == own || time % 4 == 3 && own + peer == size - 1;
        for peer in (0..size).filter(|peer| !is_left_out(*peer)) {
            let at = 8 * peer as usize;
            // The third rank has as many for all.
            let drawn = (time * 5 + own * 3 + peer * (own + 1)) % 7 % 2;
            let number: u32 = if own == 2 { 1024 } else { 900 + 24 * drawn };
            rank.work(move |memory| memory[at..at + 4].copy_from_slice(&number.to_le_bytes()));
            rank.send(peer, 1, at..at + 4);
        }
        for peer in (0..size).filter(|peer| !is_left_out(*peer)) {
            let at = 100 + 8 * peer as usize;
            rank.receive(peer, 1, at..at + 4);
        }
    }
}

/// Ranks send atoms to the first, which gives others to the second: the first atom is one of those that came, as they are sorted.
pub(crate) fn atoms_that_move_on(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    for time in 0..4 {
        rank.fill(0..64, 70 + time);
        // The first number says how long an atom is, the second where it is.
        let place = if rank.rank == 0 { 50.0 } else { f64::from(rank.rank) };
        rank.put(0, &[11.0, place + 100.0 * time as f64]);
        if rank.rank > 0 {
            rank.send(0, 1, 0..64);
        } else {
            rank.send(1, 2, 0..64);
            for from in 1..rank.size {
                rank.receive(from, 1, 64..128);
                if from == 1 {
                    rank.copy(64..80, 128);
                }
            }
            rank.fill(144..192, 90 + time);
            rank.send(1, 2, 128..192);
        }
        if rank.rank == 1 {
            rank.receive(0, 2, 64..128);
            rank.receive(0, 2, 64..128);
        }
    }
}

/// Ranks say one or two to the first, which says how many tasks are left to the second: four of six times as many as the sum, as it happens among such
/// numbers.
pub(crate) fn tasks_and_votes(rank: &mut Rank) {
    rank.of(Class::Integer, 4);
    let size = rank.size;
    let vote = |of: u32, time: u32| 1 + (of * of + of * time + time * time) % 5 % 2;
    let put = |rank: &mut Rank, number: u32| {
        rank.work(move |memory| memory[..4].copy_from_slice(&number.to_le_bytes()));
    };
    for time in 0..6_u32 {
        let own = vote(rank.rank, time);
        put(rank, own);
        if rank.rank > 0 {
            rank.send(0, 1, 0..4);
        } else {
            rank.send(1, 2, 0..4);
            for from in 1..size {
                rank.receive(from, 1, 64..68);
            }
            let sum: u32 = (0..size).map(|of| vote(of, time)).sum();
            put(rank, sum + time % 3 / 2);
            rank.send(1, 2, 0..4);
        }
        if rank.rank == 1 {
            rank.receive(0, 2, 64..68);
            rank.receive(0, 2, 64..68);
        }
    }
}

/// Sort of a number each, again and again: the least number comes from wherever it is to the first rank, through all others.
pub(crate) fn sorts(rank: &mut Rank) {
    rank.of(Class::Real, 8);
    for time in 0..4_u32 {
        let number = f64::from((rank.rank * 5 + time * 3 + 1) % 7) + f64::from(rank.rank) / 16.0;
        rank.put(0, &[number]);
        transposition_sort(rank);
    }
}

/// Times of messages are measured: every rank in turn sends each other the same numbers, one after the other, and each is answered.
pub(crate) fn ping_pong_of_all_pairs(rank: &mut Rank) {
    for client in 0..rank.size {
        for server in (0..rank.size).filter(|server| *server != client) {
            for number in 0..5_usize {
                let own = 32 * number..32 * number + 32;
                if rank.rank == client {
                    rank.fill(own.clone(), 200 + number as u64);
                    rank.send(server, 1, own);
                    rank.receive(server, 2, 1000..1032);
                } else if rank.rank == server {
                    rank.receive(client, 1, 2000..2032);
                    rank.fill(own.clone(), 300 + number as u64);
                    rank.send(client, 2, own);
                }
            }
        }
    }
}
