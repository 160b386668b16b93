//! The exact distribution of a rank sum under the null hypothesis, by dynamic programming.
//!
//! Under the null hypothesis each of the C(N, k) ways to choose which k of the N pooled values form the sample is
//! equally likely, whatever ties there are: the distribution is conditional on the mid-ranks that were seen. Counting
//! the subsets by size and sum, value after value, is the network of Streitberg and Roehmel, Exakte Verteilungen fuer
//! Rang- und Randomisierungstests im allgemeinen c-Stichprobenproblem, EDV in Medizin und Biologie 18(1):12-19, 1987.
//!
//! Counts are held in `f64`: only sums of positive terms occur, so that the relative error stays below N times 2^-53.

/// Cell updates of the dynamic program up to which the distribution is worked out exactly: about 50 ms and 4 MB.
const EXACT_WORK: u128 = 64_000_000;

/// True if samples of `n` and `m` values get the exact distribution.
///
/// The bound is on `(n + m) * min(n, m) * 2nm`, the updates with ties everywhere. It admits all n, m <= 63, further 10
/// against 560, 5 against 1128 and 1 against 5656 values.
pub(super) fn is_exact(n: usize, m: usize) -> bool {
    let (n, m) = (n as u128, m as u128);
    (n + m)
        .saturating_mul(n.min(m))
        .saturating_mul(n.saturating_mul(m))
        .saturating_mul(2)
        <= EXACT_WORK
}

/// Distribution of the sum of `k` of the `weights`, if each subset of that size is equally likely.
///
/// `weights` are in ascending order, `k` is at most their number. Returns P(S - S_min <= s) for s = 0, 1, ..., `limit`,
/// where S_min is the sum of the k smallest weights. O(N k limit) time, O(k limit) memory.
pub(super) fn cumulative(weights: &[u64], k: usize, limit: usize) -> Vec<f64> {
    assert!(weights.is_sorted() && k <= weights.len(), "{k} of {weights:?}");
    let n = weights.len();
    // below[i]: sum of the i smallest weights.
    let mut below = vec![0; n + 1];
    for (index, &weight) in weights.iter().enumerate() {
        below[index + 1] = below[index] + weight;
    }
    // counts[j][s]: subsets of j of the weights seen so far whose sum exceeds that of the j smallest weights by s. With
    // this offset every row starts at 0, and sums beyond `limit`, which never come back below it, are not kept.
    let mut counts = vec![vec![0.0_f64; limit + 1]; k + 1];
    counts[0][0] = 1.0;
    for (seen, &weight) in weights.iter().enumerate() {
        // Rows below `first` can no longer grow to k with the weights that are left.
        let first = (k + seen + 1).saturating_sub(n).max(1);
        for j in (first..=k.min(seen + 1)).rev() {
            let shift = (weight - weights[j - 1]) as usize;
            // The k - j weights that are still to come exceed those that the offset counts by at least so much.
            let to_come = (below[seen + 1 + k - j] - below[seen + 1]) - (below[k] - below[j]);
            let Some(room) = limit.checked_sub(shift + to_come as usize) else {
                continue;
            };
            // So much can the j - 1 weights before exceed theirs.
            let reached = below[seen] - below[seen + 1 - j] - below[j - 1];
            let (smaller, larger) = counts.split_at_mut(j);
            let source = &smaller[j - 1][..=room.min(reached as usize)];
            for (count, more) in larger[0][shift..].iter_mut().zip(source) {
                *count += more;
            }
        }
    }
    let all = binomial(n, k);
    let mut sum = 0.0;
    counts[k]
        .iter()
        .map(|count| {
            sum += count;
            (sum / all).min(1.0)
        })
        .collect()
}

/// C(n, k), exact below 2^53.
pub(super) fn binomial(n: usize, k: usize) -> f64 {
    let k = k.min(n - k);
    (1..=k).fold(1.0, |product, i| product * (n - k + i) as f64 / i as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomials() {
        for (n, k, value) in [
            (0, 0, 1.0),
            (4, 2, 6.0),
            (20, 10, 184_756.0),
            (13, 6, 1716.0),
            (7, 7, 1.0),
        ] {
            assert_eq!(binomial(n, k), value, "C({n}, {k})");
        }
    }

    #[test]
    fn two_of_four_untied_ranks() {
        // Sums of two of {0, 1, 2, 3}: 1, 2, 3, 3, 4, 5.
        let expected = [1.0, 2.0, 4.0, 5.0, 6.0].map(|count| count / 6.0);
        assert_eq!(cumulative(&[0, 1, 2, 3], 2, 4), expected);
        assert_eq!(cumulative(&[0, 1, 2, 3], 2, 1), expected[..2]);
    }

    #[test]
    fn ties_are_counted_as_often_as_they_occur() {
        // Sums of two of {0, 0, 1}: 0, 1, 1.
        assert_eq!(cumulative(&[0, 0, 1], 2, 1), [1.0 / 3.0, 1.0]);
    }

    #[test]
    fn every_limit_gives_what_counting_all_subsets_does() {
        let weights = [0, 0, 1, 3, 3, 3, 4, 8, 9];
        for k in 0..=weights.len() {
            let subsets = (0..1_u32 << weights.len()).filter(|subset| subset.count_ones() as usize == k);
            let excess = |subset: u32| {
                let chosen = (0..weights.len()).filter(|at| (subset >> at) & 1 == 1);
                chosen.map(|at| weights[at]).sum::<u64>() - weights[..k].iter().sum::<u64>()
            };
            let excesses: Vec<u64> = subsets.map(excess).collect();
            for limit in 0..=30 {
                let found = cumulative(&weights, k, limit);
                assert_eq!(found.len(), limit + 1);
                for (sum, found) in found.iter().enumerate() {
                    let within = excesses.iter().filter(|excess| **excess <= sum as u64).count();
                    let expected = within as f64 / excesses.len() as f64;
                    approx::assert_relative_eq!(*found, expected, max_relative = 1e-12);
                }
            }
        }
    }

    #[test]
    fn fifty_against_fifty_is_exact_and_sums_to_one() {
        assert!(is_exact(50, 50) && is_exact(63, 63) && is_exact(1, 5656) && is_exact(5, 1128) && is_exact(10, 560));
        assert!(
            !is_exact(64, 64)
                && !is_exact(1, 5657)
                && !is_exact(5, 1129)
                && !is_exact(10, 561)
                && !is_exact(usize::MAX, usize::MAX)
        );
        let ranks: Vec<u64> = (0..100).collect();
        let distribution = cumulative(&ranks, 50, 2500);
        approx::assert_relative_eq!(distribution[2500], 1.0, max_relative = 1e-12);
        approx::assert_relative_eq!(distribution[0], 1.0 / binomial(100, 50), max_relative = 1e-12);
        assert!(distribution.is_sorted());
    }
}
