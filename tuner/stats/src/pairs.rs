//! The test of sides that are measured in the same launches: signed ranks of the ratios within the launches, or the test of
//! independent sides, each at half of the level; one-sided.
//!
//! The i-th values of both samples come from one launch. On a noisy day both move together, and only their ratio says something:
//! that is for the signed ranks ([`super::signed_rank`]). But n launches reach no p-value below 2^-n that way, which is too few
//! among hundreds of cells; where the sides vary independently, the test of unpaired sides ([`super::unpaired`]) reaches
//! 1 / C(2n, n). Which of them is the right one is not known before, so that both are made and the price is paid: the p-value is
//! twice the smaller one (Bonferroni), and it is one whatever the sides have in common.
//!
//! *What it asks for*: launches that are independent of each other, and, for equal sides, log ratios that are symmetric (as they are
//! where the sides could be exchanged, whatever their distribution, and wherever both are symmetric themselves, whatever their
//! spreads), and one of the two that [`super::unpaired`] asks for. What both sides of a launch have in common, such as load, modes or
//! drift, is free. A side that alone falls into two modes is beyond it.
//!
//! *Ratio and interval*: the estimate is that of the signed ranks, the median of the Walsh averages of the log ratios. The interval is
//! what the intervals of both halves have in common, widened to the estimate in the rare case that it lies outside. Where the steps of 2^-n are a small part of its
//! error, from nine launches on for 95 %, the signed ranks have nine tenths of the error: what both sides of a launch share widens the other half alone. The
//! tenth is for what they are worse at: one launch of ten in which one side took twenty times as long is more than they bear, and less than two samples do.
//! With fewer launches the shares are three fifths and two fifths (the steps want the larger share); and where the signed ranks cannot reach theirs
//! (below seven for 95 %), the other half has all of it. Which of the three it is depends on the number of launches alone. So an interval of 95 % of nine launches and more begins above
//! 1 exactly where one half finds p <= 2.25 % or the other p <= 0.25 %, one-sided; a violation is one at a level that is far smaller among many cells, and its
//! interval lies above 1.
//!
//! *Sides of unequal length* are not paired: they get the test of unpaired sides, with the whole level.

use super::hodges_lehmann::{Interval, RatioEstimate};
use super::sample::Sample;
use super::{signed_rank, unpaired};

/// Share of an interval's error that the signed ranks get, of few launches and of many.
const PAIRED_SHARES: [f64; 2] = [0.6, 0.9];

/// Steps of the signed ranks in an interval's error from which on launches are many.
const STEPS: f64 = 8.0;

/// Confidences this close to each other are one.
const ROUNDING: f64 = 1e-9;

/// The p-value for "the left side takes longer".
#[must_use]
pub fn p_left_greater(left: &Sample, right: &Sample) -> f64 {
    p_of_halves(left, right, right)
}

/// The same with a right side for each half: one value per launch, and all values.
pub(crate) fn p_of_halves(left: &Sample, by_launch: &Sample, all: &Sample) -> f64 {
    match signed_rank::p_left_greater(left, by_launch) {
        Some(paired) => (2.0 * unpaired::p_at_most(left, all, paired)).min(1.0),
        None => unpaired::p_left_greater(left, all),
    }
}

/// The smallest p-value that `n` launches can give: 2 / C(2n, n), from two launches on.
#[must_use]
pub fn smallest_p(n: usize) -> f64 {
    (2.0 * signed_rank::smallest_p(n).min(unpaired::smallest_p(n, n))).min(1.0)
}

/// Estimates left / right from times in seconds; `confidence` as in [`super::hodges_lehmann::ratio`].
#[must_use]
pub fn ratio(left: &Sample, right: &Sample, confidence: f64) -> RatioEstimate {
    estimate(left, right, confidence, &mut |confidence| {
        Interval::of_sizes(left.len(), right.len(), confidence)
    })
}

/// The same with the ranks that bound the interval of the unpaired sides, by confidence.
pub(crate) fn estimate(
    left: &Sample,
    right: &Sample,
    confidence: f64,
    ranks: &mut dyn FnMut(f64) -> Interval,
) -> RatioEstimate {
    let mut independent = |confidence: f64| {
        let ranks = ranks(confidence).estimate(left, right);
        unpaired::enclosing(ranks, left, right, confidence)
    };
    let [of_paired, of_rest] = errors(left.len(), 1.0 - confidence);
    let Some(paired) = signed_rank::ratio(left, right, 1.0 - of_paired) else {
        return independent(confidence);
    };
    let rest = independent(1.0 - of_rest);
    let (low, high, confidence) = if reaches(paired.confidence, of_paired) && reaches(rest.confidence, of_rest) {
        let confidence = paired.confidence + rest.confidence - 1.0;
        (paired.low.max(rest.low), paired.high.min(rest.high), confidence)
    } else {
        let whole = independent(confidence);
        (whole.low, whole.high, whole.confidence)
    };
    RatioEstimate {
        ratio: paired.ratio,
        low: low.min(paired.ratio),
        high: high.max(paired.ratio),
        confidence,
    }
}

/// The confidence that the interval of `n` launches reaches where `confidence` is asked for, which follows from their number alone.
pub(crate) fn reached(n: usize, confidence: f64) -> f64 {
    let [of_paired, of_rest] = errors(n, 1.0 - confidence);
    let independent = |confidence: f64| Interval::of_sizes(n, n, confidence).confidence();
    let (paired, rest) = (signed_rank::reached(n, 1.0 - of_paired), independent(1.0 - of_rest));
    if reaches(paired, of_paired) && reaches(rest, of_rest) {
        paired + rest - 1.0
    } else {
        independent(confidence)
    }
}

/// The parts of an interval's error for the signed ranks of `n` launches and for the other half.
fn errors(n: usize, error: f64) -> [f64; 2] {
    let [of_few, of_many] = PAIRED_SHARES;
    let are_many = STEPS * signed_rank::smallest_p(n) <= error / 2.0;
    let share = if are_many { of_many } else { of_few };
    [share * error, (1.0 - share) * error]
}

fn reaches(confidence: f64, error: f64) -> bool {
    1.0 - confidence <= error + ROUNDING
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::hodges_lehmann;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    /// Launches that differ by a factor of five, and a left side that is a fifth slower in each of them.
    fn noisy_day() -> (Sample, Sample) {
        let load = [1.0, 4.6, 2.2, 1.4, 3.1, 5.0, 1.1, 2.7, 1.8, 3.9, 1.3, 2.4];
        let own = [0.99, 1.02, 1.0, 1.01, 0.98, 1.03, 1.0, 0.97, 1.02, 0.99, 1.01, 1.0];
        let right: Vec<f64> = load.to_vec();
        let left: Vec<f64> = load.iter().zip(own).map(|(load, own)| 1.2 * load * own).collect();
        (sample(&left), sample(&right))
    }

    #[test]
    fn what_both_sides_share_does_not_hide_a_slowdown() {
        let (left, right) = noisy_day();
        assert!(unpaired::p_left_greater(&left, &right) > 0.1);
        assert_relative_eq!(p_left_greater(&left, &right), 2.0 / 4096.0);
        let (paired, blind) = (ratio(&left, &right, 0.95), hodges_lehmann::ratio(&left, &right, 0.95));
        assert!(blind.low < 0.8 && blind.high > 1.7, "{blind:?}");
        assert!(paired.low > 1.17 && paired.high < 1.23, "{paired:?}");
        assert!((0.95..1.0).contains(&paired.confidence));
    }

    #[test]
    fn independent_sides_reach_what_signed_ranks_cannot() {
        let left: Vec<f64> = (0..10).map(|i| 1.3 + 0.01 * f64::from(i * 7 % 10)).collect();
        let right: Vec<f64> = (0..10).map(|i| 1.0 + 0.01 * f64::from(i * 3 % 10)).collect();
        let p = p_left_greater(&sample(&left), &sample(&right));
        assert_relative_eq!(p, smallest_p(10), max_relative = 1e-9);
        assert_relative_eq!(smallest_p(10), 2.0 / 184_756.0, max_relative = 1e-9);
        assert_eq!(smallest_p(1), 1.0);
    }

    #[test]
    fn the_interval_begins_above_one_where_the_paired_half_rejects() {
        let (left, right) = noisy_day();
        for step in 0..=300 {
            // No ratio of the launches is as even, so that no average lies at 1.
            let factor = 1.0 + 0.001 * f64::from(step) + 0.000_013;
            let bound = sample(&right.values().iter().map(|value| value * factor).collect::<Vec<_>>());
            let rejected = signed_rank::p_left_greater(&left, &bound).unwrap() <= 0.0225;
            assert_eq!(ratio(&left, &bound, 0.95).low > 1.0, rejected, "{factor}");
        }
    }

    #[test]
    fn the_confidence_that_is_reached_is_known_before() {
        let value = |i: usize, of: usize| 1.0 + 0.01 * (i * of % 37) as f64;
        for count in 2..25_usize {
            let of = |of: usize| sample(&(0..count).map(|i| value(i, of)).collect::<Vec<_>>());
            let (left, right) = (of(7), of(11));
            for confidence in [0.9, 0.95, 0.975, 0.99] {
                let estimate = ratio(&left, &right, confidence);
                assert_relative_eq!(estimate.confidence, reached(count, confidence), epsilon = 1e-12);
            }
        }
    }

    #[test]
    fn unequal_lengths_are_not_paired() {
        let (left, right) = (sample(&[2.0, 2.1, 2.2, 2.3]), sample(&[1.0, 1.1, 1.2]));
        assert_eq!(p_left_greater(&left, &right), unpaired::p_left_greater(&left, &right));
        assert_eq!(ratio(&left, &right, 0.9), unpaired::ratio(&left, &right, 0.9));
    }

    #[test]
    fn few_launches_give_what_there_is() {
        let (left, right) = noisy_day();
        for count in 1..12_usize {
            let (left, right) = (sample(&left.values()[..count]), sample(&right.values()[..count]));
            let estimate = ratio(&left, &right, 0.95);
            assert!(
                estimate.low <= estimate.ratio && estimate.ratio <= estimate.high,
                "{estimate:?}"
            );
            assert!((0.0..1.0).contains(&estimate.confidence));
            assert!(ratio(&left, &right, f64::NAN).low.is_finite());
        }
    }
}
