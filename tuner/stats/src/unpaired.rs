//! The test of sides that do not share their launches: rank sum and Yuen's test, both of which must reject, one-sided.
//!
//! The rank sum ([`super::rank_sum`]) is exact if equal sides have one distribution, whatever it is; with spreads of 15 % and 2 %
//! it finds violations four times as often as it may, and no test on ranks can do better: where all of the left lie above all of
//! the right, it cannot see by how much. Yuen's test ([`super::yuen`]) is right for sides of different spread, and wrong for
//! modes and for clocks that step. The larger of both p-values is one if either is: where sides are distributed alike, or
//! about log-normal with whatever spreads.
//!
//! The estimate of the ratio is that of the rank sum ([`super::hodges_lehmann`]); the interval encloses those of both tests: the
//! ratios that not both of them reject.

use super::hodges_lehmann::{Interval, RatioEstimate};
use super::sample::Sample;
use super::{rank_sum, yuen};

/// The p-value for "the left side takes longer".
#[must_use]
pub fn p_left_greater(left: &Sample, right: &Sample) -> f64 {
    rank_sum::p_left_greater(left, right).max(yuen::p_left_greater(left, right))
}

/// The smaller one of the p-value and `most`. The rank sum takes by far the longest, and is not needed where Yuen's test alone is beyond.
pub(crate) fn p_at_most(left: &Sample, right: &Sample, most: f64) -> f64 {
    let by_means = yuen::p_left_greater(left, right);
    if by_means >= most {
        return most;
    }
    rank_sum::p_left_greater(left, right).max(by_means).min(most)
}

/// The smallest p-value that samples of these sizes can give: 1 / C(n + m, n), and 0.5 where a side has one value.
#[must_use]
pub fn smallest_p(n: usize, m: usize) -> f64 {
    let ranks = rank_sum::smallest_p(n, m);
    if n.min(m) < 2 { ranks.max(0.5) } else { ranks }
}

/// Estimates left / right from times in seconds; `confidence` as in [`super::hodges_lehmann::ratio`].
#[must_use]
pub fn ratio(left: &Sample, right: &Sample, confidence: f64) -> RatioEstimate {
    enclosing(
        Interval::of_sizes(left.len(), right.len(), confidence).estimate(left, right),
        left,
        right,
        confidence,
    )
}

/// The estimate by ranks with its interval widened to enclose Yuen's of the same confidence: the one that was asked for, or what the
/// ranks reach.
pub(crate) fn enclosing(ranks: RatioEstimate, left: &Sample, right: &Sample, confidence: f64) -> RatioEstimate {
    let tail = (1.0 - confidence.min(ranks.confidence)) / 2.0;
    let (low, high) = yuen::interval(left, right, tail).unwrap_or((ranks.low, ranks.high));
    RatioEstimate {
        low: ranks.low.min(low),
        high: ranks.high.max(high),
        ..ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn separate_sides_of_different_spread_are_not_beyond_doubt() {
        // Ten values half a spread above those of a side that hardly varies, as chance does once in a thousand.
        let left = sample(&[1.005, 1.21, 1.02, 1.09, 1.13, 1.04, 1.3, 1.06, 1.01, 1.16]);
        let right = sample(&[0.999, 1.0, 1.001, 0.998, 1.002, 0.9995, 1.0005, 1.0015, 0.9985, 1.0001]);
        assert!(rank_sum::p_left_greater(&left, &right) < 6e-6);
        assert!(p_left_greater(&left, &right) > 5e-4);
        let both = ratio(&left, &right, 0.95);
        assert!(
            both.low < hodges_lehmann_low(&left, &right) && both.low > 1.0,
            "{both:?}"
        );
    }

    fn hodges_lehmann_low(left: &Sample, right: &Sample) -> f64 {
        crate::hodges_lehmann::ratio(left, right, 0.95).low
    }

    #[test]
    fn a_p_value_above_what_counts_is_that() {
        let (left, right) = (sample(&[1.3, 1.1, 1.4, 1.2]), sample(&[1.0, 1.15, 1.05, 1.1]));
        let p = p_left_greater(&left, &right);
        for most in [0.0, p / 2.0, yuen::p_left_greater(&left, &right), p, 2.0 * p, 1.0] {
            assert_eq!(p_at_most(&left, &right, most), p.min(most), "{most}");
        }
    }

    #[test]
    fn a_clock_that_steps_does_not_make_p_zero() {
        let (left, right) = (sample(&[2.0; 5]), sample(&[1.0; 5]));
        assert_eq!(p_left_greater(&left, &right), smallest_p(5, 5));
        assert_eq!(smallest_p(1, 5000), 0.5);
    }

    #[test]
    fn few_values_give_an_interval_too() {
        for count in 1..6_usize {
            let (left, right) = (vec![1.1, 1.2, 1.3, 1.25, 1.15], vec![1.0, 1.01, 0.99, 1.02, 1.0]);
            let estimate = ratio(&sample(&left[..count]), &sample(&right[..count]), 0.95);
            assert!(
                estimate.low <= estimate.ratio && estimate.ratio <= estimate.high,
                "{estimate:?}"
            );
            assert!(estimate.high.is_finite());
        }
    }
}
