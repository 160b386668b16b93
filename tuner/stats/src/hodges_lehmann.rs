//! The ratio of two sets of times with a confidence interval: Hodges-Lehmann shift estimate on logarithms, Moses
//! interval.
//!
//! All n * m ratios left / right are formed. Their median (taken on logarithms) is the estimate; the interval ends at
//! the c-th smallest and the c-th largest of them, where c is the largest rank for which the interval still has the
//! confidence asked for. It is the rank-sum test turned round: the ratios that the two-sided test would not reject. So
//! it shares the test's assumptions (independent values; the two distributions differ by a factor) and its indifference
//! to spikes.
//!
//! *Small samples* ([`rank_sum::is_exact`]): c comes from the exact distribution without ties; with ties the closed
//! interval only covers more. *Larger samples*: c comes from the normal approximation with continuity correction. Where
//! the samples are too small for the confidence asked for, the interval is the full range of ratios, and
//! [`RatioEstimate::confidence`] says what it achieves: 0 for one value on each side, 2/3 for two, 0.9 for three, 0.97
//! for four.
//!
//! O(nm) time and memory.
//!
//! Sources: Hodges and Lehmann, Annals of Mathematical Statistics 34(2):598-611, 1963, doi:10.1214/aoms/1177704172;
//! Moses in Walker and Lev, Statistical Inference, 1953, chapter 18; Hollander, Wolfe and Chicken, Nonparametric
//! Statistical Methods, 3rd edition, 2014, sections 4.2 and 4.3, doi:10.1002/9781119196037.
//!
//! [`rank_sum::is_exact`]: super::rank_sum::is_exact

use statrs::function::erf::erfc_inv;

use super::rank_distribution::is_exact;
use super::rank_sum::upper_normal_tail;
use super::sample::{Sample, median_and_ends};
use super::untied;

/// Shorter times, zero included, count as this long: no clock in use resolves less. A simulated or coarse clock may
/// well report zero, and a ratio must stay finite.
pub const SHORTEST_SECONDS: f64 = 1e-9;

/// Ratio of the left side's time to the right side's, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioEstimate {
    /// Left over right: the median of all pairwise ratios.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Confidence that the interval achieves: at least what was asked for, less only where the samples are too small
    /// for it.
    pub confidence: f64,
}

/// Estimates left / right from times in seconds.
///
/// `confidence` is that of the two-sided interval, such as 0.95. At 1 or above, or NaN, the interval is the full range.
#[must_use]
pub fn ratio(left: &Sample, right: &Sample, confidence: f64) -> RatioEstimate {
    Interval::of_sizes(left.len(), right.len(), confidence).estimate(left, right)
}

/// The order statistics of the pairwise ratios that bound the interval. They depend only on the sizes and the
/// confidence, so that many samples of the same sizes share one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    /// The interval begins at the `rank`-th smallest ratio, from 1, and ends at the `rank`-th largest.
    rank: usize,
    /// Confidence that the interval achieves.
    confidence: f64,
}

impl Interval {
    /// The narrowest interval for `n` and `m` values that has the confidence, else the full range.
    pub(crate) fn of_sizes(n: usize, m: usize, confidence: f64) -> Interval {
        let outside = if confidence.is_nan() {
            0.0
        } else {
            (1.0 - confidence).clamp(0.0, 1.0)
        };
        if is_exact(n, m) {
            Interval::exact(n, m, outside / 2.0)
        } else {
            Interval::normal(n, m, outside / 2.0)
        }
    }

    /// `tail`: probability allowed beyond each end.
    fn exact(n: usize, m: usize, tail: f64) -> Interval {
        // The ranks from 1 to nm/2 are the candidates: beyond, the ends would cross.
        let last = (n * m).div_ceil(2);
        let distribution = untied::rank_sum(n + m, n.min(m));
        let distribution = &distribution[..last];
        // A probability such as 1/40 and a tail such as (1 - 0.95)/2 are equal up to rounding.
        let allowed = tail * (1.0 + 1e-9);
        let rank = distribution.partition_point(|&beyond| beyond <= allowed).max(1);
        Interval {
            rank,
            confidence: (1.0 - 2.0 * distribution[rank - 1]).max(0.0),
        }
    }

    fn normal(n: usize, m: usize, tail: f64) -> Interval {
        let (n, m) = (n as f64, m as f64);
        let mean = n * m / 2.0;
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        // The tail beyond rank c is P(U <= c - 1), approximately P(Z < (c - 1/2 - mean) / deviation).
        let z = std::f64::consts::SQRT_2 * erfc_inv(2.0 * tail);
        let rank = (mean - z * deviation + 0.5).floor().clamp(1.0, (mean + 0.5).floor());
        let beyond = upper_normal_tail((mean - rank + 0.5) / deviation);
        Interval {
            rank: rank as usize,
            confidence: (1.0 - 2.0 * beyond).max(0.0),
        }
    }

    /// Confidence that it achieves.
    pub(crate) fn confidence(&self) -> f64 {
        self.confidence
    }

    /// The estimate for samples of these sizes.
    pub(crate) fn estimate(&self, left: &Sample, right: &Sample) -> RatioEstimate {
        let logarithms = |sample: &Sample| -> Vec<f64> {
            sample
                .sorted()
                .iter()
                .map(|seconds| seconds.max(SHORTEST_SECONDS).ln())
                .collect()
        };
        let right = logarithms(right);
        let mut differences: Vec<f64> = logarithms(left)
            .iter()
            .flat_map(|l| right.iter().map(move |r| l - r + 0.0))
            .collect();
        let (low, median, high) = median_and_ends(&mut differences, self.rank);
        RatioEstimate {
            ratio: median.exp(),
            low: low.exp(),
            high: high.exp(),
            confidence: self.confidence,
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn too_few_launches_give_the_full_range_and_say_so() {
        let all = [8.0, 4.0, 16.0, 32.0];
        let right = sample(&[1.0, 2.0, 1.0, 2.0][..3]);
        let three = ratio(&sample(&all[..3]), &right, 0.95);
        assert_relative_eq!(three.low, 2.0, max_relative = 1e-12);
        assert_relative_eq!(three.high, 16.0, max_relative = 1e-12);
        assert_relative_eq!(three.confidence, 0.9, max_relative = 1e-12);
        for (n, confidence) in [(1, 0.0), (2, 2.0 / 3.0), (3, 0.9), (4, 1.0 - 2.0 / 70.0)] {
            assert_relative_eq!(
                Interval::of_sizes(n, n, 0.95).confidence,
                confidence,
                max_relative = 1e-12
            );
        }
    }

    #[test]
    fn a_confidence_that_is_just_reached_is_reached() {
        // Three against three: the full range has exactly 0.9, and the next interval 0.8.
        assert_eq!(Interval::of_sizes(3, 3, 0.9).rank, 1);
        assert_eq!(Interval::of_sizes(3, 3, 0.8).rank, 2);
        // Tables for n = m = 10 at 95 %: the critical value of U is 23, so the interval begins at the 24th ratio.
        assert_eq!(Interval::of_sizes(10, 10, 0.95).rank, 24);
    }

    #[test]
    fn any_confidence_gives_an_interval() {
        for confidence in [-1.0, 0.0, 0.5, 1.0, 2.0, f64::NAN] {
            for (n, m) in [(1, 1), (1, 2), (4, 3), (70, 70), (2, 4000)] {
                let interval = Interval::of_sizes(n, m, confidence);
                assert!(
                    1 <= interval.rank && 2 * interval.rank <= n * m + 1,
                    "{n} {m} {confidence}: {interval:?}"
                );
                assert!((0.0..=1.0).contains(&interval.confidence));
            }
        }
        assert_eq!(Interval::of_sizes(70, 70, 1.0).rank, 1);
    }

    #[test]
    fn the_approximation_continues_the_exact_interval() {
        for (n, m) in [(30, 30), (20, 45), (50, 50)] {
            let exact = Interval::exact(n, m, 0.025);
            let normal = Interval::normal(n, m, 0.025);
            assert!(exact.rank.abs_diff(normal.rank) <= 1, "{n} {m}: {exact:?} {normal:?}");
            assert_relative_eq!(exact.confidence, normal.confidence, max_relative = 2e-3);
        }
    }

    #[test]
    fn a_time_of_zero_keeps_the_ratio_finite() {
        let zero = sample(&[0.0, 0.0]);
        assert_eq!(ratio(&zero, &zero, 0.95).ratio, 1.0);
        let estimate = ratio(&sample(&[1e-6, 1e-6]), &zero, 0.95);
        assert_relative_eq!(estimate.ratio, 1000.0, max_relative = 1e-12);
        assert!(estimate.high.is_finite());
    }
}
