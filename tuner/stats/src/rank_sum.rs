//! The Wilcoxon rank-sum test (Mann-Whitney U), one-sided.
//!
//! All values of both samples are ranked together; values that are equal share the mean of their ranks (mid-ranks). The
//! statistic is the sum of the left sample's ranks. It asks for nothing but independent values: no normal distribution,
//! and a spike counts only as "the largest", however large it is.
//!
//! *Small samples* (see [`is_exact`]: at least up to 63 values on each side): the exact distribution of the statistic
//! over all C(n + m, n) ways to split the pooled mid-ranks, so that ties cost nothing in accuracy. *Larger samples*:
//! the normal approximation with the variance corrected for ties and a continuity correction of one half.
//!
//! The smallest p-value that n and m values can give is 1 / C(n + m, n): 0.05 for three launches on each side, 0.004
//! for five. With one value on each side it is 0.5. Samples whose values are all equal give 1.
//!
//! Sources: Wilcoxon, Biometrics Bulletin 1(6):80-83, 1945, doi:10.2307/3001968; Mann and Whitney, Annals of
//! Mathematical Statistics 18(1):50-60, 1947, doi:10.1214/aoms/1177730491; ties and corrections as in Lehmann,
//! Nonparametrics: Statistical Methods Based on Ranks, 1975, sections 1.3 and 1.4.

use statrs::function::erf::erfc;

use super::rank_distribution::{binomial, cumulative};
use super::sample::Sample;
use super::untied;

/// The p-value for "left is stochastically larger": the probability of a rank sum of the left sample at least as large
/// as the one seen, if both samples come from one distribution.
///
/// Always in (0, 1] for exact samples; the normal approximation of very large samples may underflow to 0.
#[must_use]
pub fn p_left_greater(left: &Sample, right: &Sample) -> f64 {
    let ranks = Ranks::of(left, right);
    if is_exact(left.len(), right.len()) {
        ranks.exact()
    } else {
        ranks.normal()
    }
}

/// True if samples of these sizes get the exact distribution: `(n + m) * min(n, m) * 2nm` is at most 64 million.
#[must_use]
pub fn is_exact(n: usize, m: usize) -> bool {
    super::rank_distribution::is_exact(n, m)
}

/// The smallest p-value that samples of these sizes can give: 1 / C(n + m, n).
#[must_use]
pub fn smallest_p(n: usize, m: usize) -> f64 {
    1.0 / binomial(n + m, n)
}

/// The pooled mid-ranks of two samples, doubled so that they are integers.
struct Ranks {
    /// Twice the mid-rank of every pooled value, ascending; ranks count from 1.
    doubled: Vec<u64>,
    /// Sum of the left sample's doubled ranks.
    left_sum: u64,
    /// Values in the left sample.
    n: usize,
    /// Values in the right sample.
    m: usize,
    /// Sum of t^3 - t over groups of t equal values.
    ties: f64,
}

impl Ranks {
    /// Merges the two sorted samples. O(n + m).
    fn of(left: &Sample, right: &Sample) -> Ranks {
        let (a, b) = (left.sorted(), right.sorted());
        let (n, m) = (a.len(), b.len());
        let mut ranks = Ranks {
            doubled: Vec::with_capacity(n + m),
            left_sum: 0,
            n,
            m,
            ties: 0.0,
        };
        let (mut i, mut j) = (0, 0);
        while i < n || j < m {
            let value = match (a.get(i), b.get(j)) {
                (Some(&x), Some(&y)) => x.min(y),
                (Some(&x), None) => x,
                (None, Some(&y)) => y,
                (None, None) => break,
            };
            let from_left = a[i..].iter().take_while(|&&x| x == value).count();
            let from_right = b[j..].iter().take_while(|&&y| y == value).count();
            let group = from_left + from_right;
            // The group has the ranks i + j + 1 to i + j + group; twice their mean is the sum of the first and the
            // last.
            let doubled = (2 * (i + j) + group + 1) as u64;
            ranks.doubled.extend(std::iter::repeat_n(doubled, group));
            ranks.left_sum += doubled * from_left as u64;
            ranks.ties += (group as f64).powi(3) - group as f64;
            i += from_left;
            j += from_right;
        }
        ranks
    }

    /// The exact p-value.
    fn exact(&self) -> f64 {
        let (first, last) = (self.doubled[0], self.doubled[self.doubled.len() - 1]);
        // A large left sum is a small right sum, and a small sum of the left ranks when ranks count downwards. Either
        // way it becomes the lower tail of the smaller sample's sum, which costs least.
        let (k, weights, sum): (usize, Vec<u64>, u64) = if self.n < self.m {
            let weights = self.doubled.iter().rev().map(|rank| last - rank).collect();
            (self.n, weights, self.n as u64 * last - self.left_sum)
        } else {
            let weights = self.doubled.iter().map(|rank| rank - first).collect();
            let right_sum = self.doubled.iter().sum::<u64>() - self.left_sum;
            (self.m, weights, right_sum - self.m as u64 * first)
        };
        let step = weights
            .iter()
            .fold(0, |step, &weight| greatest_common_divisor(step, weight));
        if step == 0 {
            return 1.0;
        }
        let weights: Vec<u64> = weights.iter().map(|weight| weight / step).collect();
        let smallest: u64 = weights[..k].iter().sum();
        let largest: u64 = weights[weights.len() - k..].iter().sum();
        let (span, observed) = (largest - smallest, sum / step - smallest);
        if observed == span {
            1.0
        } else if 2 * observed <= span {
            tail(&weights, k, observed)
        } else {
            // The other tail is shorter: it is the lower one of the mirrored weights.
            let mirrored: Vec<u64> = weights
                .iter()
                .rev()
                .map(|weight| weights[weights.len() - 1] - weight)
                .collect();
            1.0 - tail(&mirrored, k, span - observed - 1)
        }
    }

    /// The normal approximation.
    fn normal(&self) -> f64 {
        let (n, m) = (self.n as f64, self.m as f64);
        let total = n + m;
        let u = self.left_sum as f64 / 2.0 - n * (n + 1.0) / 2.0;
        let variance = n * m / 12.0 * (total + 1.0 - self.ties / (total * (total - 1.0)));
        if variance <= 0.0 {
            return 1.0;
        }
        let z = (u - n * m / 2.0 - 0.5) / variance.sqrt();
        upper_normal_tail(z)
    }
}

/// P(sum of k weights <= smallest sum + observed).
fn tail(weights: &[u64], k: usize, observed: u64) -> f64 {
    if weights.iter().copied().eq(0..weights.len() as u64) {
        return untied::rank_sum(weights.len(), k)[observed as usize];
    }
    let distribution = cumulative(weights, k, observed as usize);
    distribution[distribution.len() - 1]
}

/// P(Z > z) of the standard normal distribution.
pub(super) fn upper_normal_tail(z: f64) -> f64 {
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn mid_ranks_of_tied_values() {
        let ranks = Ranks::of(&sample(&[1.0, 2.0, 2.0]), &sample(&[2.0, 5.0]));
        assert_eq!(ranks.doubled, [2, 6, 6, 6, 10]);
        assert_eq!(ranks.left_sum, 14);
        assert_eq!(ranks.ties, 24.0);
    }

    #[test]
    fn one_value_on_each_side_decides_nothing() {
        assert_eq!(p_left_greater(&sample(&[2.0]), &sample(&[1.0])), 0.5);
        assert_eq!(p_left_greater(&sample(&[1.0]), &sample(&[2.0])), 1.0);
        assert_eq!(p_left_greater(&sample(&[1.0]), &sample(&[1.0])), 1.0);
    }

    #[test]
    fn equal_values_give_one_in_both_ways_of_computing() {
        let (left, right) = (sample(&[3.0; 6]), sample(&[3.0; 4]));
        assert_eq!(p_left_greater(&left, &right), 1.0);
        assert_eq!(Ranks::of(&left, &right).normal(), 1.0);
    }

    #[test]
    fn separated_samples_give_the_smallest_p() {
        let low: Vec<f64> = (0..10).map(f64::from).collect();
        let high: Vec<f64> = (20..27).map(f64::from).collect();
        let (low, high) = (sample(&low), sample(&high));
        assert_relative_eq!(p_left_greater(&high, &low), smallest_p(7, 10), max_relative = 1e-13);
        assert_relative_eq!(p_left_greater(&low, &high), 1.0);
    }

    #[test]
    fn the_approximation_continues_the_exact_distribution() {
        // Forty against fifty values with ties: both ways are at hand and must nearly agree.
        let left: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 23) + 2.0).collect();
        let right: Vec<f64> = (0..50).map(|i| f64::from(i * 5 % 24)).collect();
        for (a, b) in [(&left, &right), (&right, &left)] {
            let ranks = Ranks::of(&sample(a), &sample(b));
            assert_relative_eq!(ranks.exact(), ranks.normal(), max_relative = 0.02);
        }
    }
}
