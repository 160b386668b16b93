//! Null distributions of ranks without ties. They depend on the number of values alone, so each is worked out once in a process: judging many
//! cells after many launches asks for the same few again and again.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::rank_distribution::cumulative;

/// Distributions by the sizes that they depend on.
type Known = RwLock<BTreeMap<(usize, usize), Arc<[f64]>>>;

static RANK_SUMS: Known = RwLock::new(BTreeMap::new());
static SIGNED_RANKS: Known = RwLock::new(BTreeMap::new());

/// P(S - S_min <= s) of the sum of `k` of the weights 0, 1, ..., `n` - 1, for s up to the middle of its range.
pub(super) fn rank_sum(n: usize, k: usize) -> Arc<[f64]> {
    once(&RANK_SUMS, (n, k), || {
        let weights: Vec<u64> = (0..n as u64).collect();
        cumulative(&weights, k, k * (n - k) / 2)
    })
}

/// P(sum of a random subset of 2, 4, ..., 2 `n` <= s) for every s.
pub(super) fn signed_rank(n: usize, distribution: impl Fn(&[usize], usize) -> Vec<f64>) -> Arc<[f64]> {
    once(&SIGNED_RANKS, (n, 0), || {
        let ranks: Vec<usize> = (1..=n).map(|rank| 2 * rank).collect();
        let mut sum = 0.0;
        let below = |probability: f64| {
            sum += probability;
            sum
        };
        distribution(&ranks, n * (n + 1)).into_iter().map(below).collect()
    })
}

fn once(known: &Known, sizes: (usize, usize), work_out: impl FnOnce() -> Vec<f64>) -> Arc<[f64]> {
    let found = known
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&sizes)
        .cloned();
    found.unwrap_or_else(|| {
        let made: Arc<[f64]> = work_out().into();
        let mut all = known.write().unwrap_or_else(PoisonError::into_inner);
        all.entry(sizes).or_insert(made).clone()
    })
}

#[cfg(test)]
mod tests {
    use super::super::{rank_distribution, signed_rank as signed};
    use super::*;

    #[test]
    fn what_is_kept_is_what_would_be_worked_out() {
        for (n, k) in [(1, 0), (2, 1), (5, 2), (24, 12), (40, 7)] {
            let weights: Vec<u64> = (0..n as u64).collect();
            for limit in 0..=k * (n - k) / 2 {
                let alone = rank_distribution::cumulative(&weights, k, limit);
                assert_eq!(
                    rank_sum(n, k)[limit].to_bits(),
                    alone[limit].to_bits(),
                    "{n} {k} {limit}"
                );
            }
        }
        for n in [1, 2, 7, 20] {
            let ranks: Vec<usize> = (1..=n).map(|rank| 2 * rank).collect();
            for limit in 0..=n * (n + 1) {
                let alone: f64 = signed::distribution(&ranks, limit).iter().sum();
                let kept = signed_rank(n, signed::distribution)[limit];
                assert_eq!(kept.to_bits(), alone.to_bits(), "{n} {limit}");
            }
        }
    }
}
