//! The order of repetitions: every round is a permutation of the items, drawn alike on every rank.
//!
//! Interleaving makes drift of the machine hit all items; shuffling keeps it from hitting one item always after the same
//! other (Hunold and Carpen-Amarie 2016, doi:10.1109/TPDS.2016.2539167).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Separates the seeds of successive rounds: 2^64 over the golden ratio, odd.
const ROUND_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Shuffles `items` for one round; depends on the arguments only, so that ranks need not talk about it.
pub(crate) fn shuffle(items: &mut [usize], seed: u64, round: u64) {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(round.wrapping_mul(ROUND_STEP)));
    // Fisher and Yates. The draw is written out, so that a recorded seed gives the same order with any version of `rand`;
    // its bias is below `items.len() / 2^64`.
    for last in (1..items.len()).rev() {
        let bound = last as u128 + 1;
        let drawn = (u128::from(generator.next_u64()) * bound) >> 64;
        items.swap(last, drawn as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::shuffle;

    fn order(items: usize, seed: u64, round: u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..items).collect();
        shuffle(&mut order, seed, round);
        order
    }

    #[test]
    fn a_recorded_seed_gives_the_recorded_order() {
        assert_eq!(order(6, 42, 0), [0, 5, 2, 3, 1, 4]);
        assert_eq!(order(6, 42, 1), [4, 1, 0, 3, 2, 5]);
    }

    #[test]
    fn every_round_is_a_permutation() {
        for round in 0..100 {
            let mut sorted = order(7, 1, round);
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 6]);
        }
        assert_eq!(order(1, 9, 3), [0]);
        assert!(order(0, 9, 3).is_empty());
    }

    #[test]
    fn every_order_of_three_comes_up_about_equally_often() {
        let mut seen = std::collections::BTreeMap::<Vec<usize>, u32>::new();
        for round in 0..6000 {
            *seen.entry(order(3, 7, round)).or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        // 1000 expected, standard deviation 29.
        assert!(seen.values().all(|count| (850..1150).contains(count)), "{seen:?}");
    }
}
