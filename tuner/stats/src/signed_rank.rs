//! The Wilcoxon signed-rank test, one-sided, and the ratio of two sets of times that belong together in pairs.
//!
//! The i-th values of both samples come from the same launch. The logarithm of their ratio is free of whatever slowed that
//! launch as a whole (a mode, a drift), which the rank-sum test has to count as noise. The price is resolution: n launches
//! reach no p-value below 2^-n, where the rank sum reaches 1 / C(2n, n); ten launches 0.001 against 0.000005.
//!
//! The absolute values of the n logarithms are ranked (mid-ranks for ties; zeros are left out, as Wilcoxon did). The
//! statistic is the sum of the ranks of the positive ones; under the null hypothesis, that the sides could be exchanged
//! in every launch, each of the 2^n ways to put the signs is equally likely. *Up to [`EXACT_LENGTH`] launches* the
//! distribution is exact, ties included; *beyond* the normal approximation with tie and continuity correction.
//!
//! The estimate of the ratio is the median of the Walsh averages (Hodges and Lehmann); the interval ends at the c-th
//! smallest and the c-th largest of them: the shifts that the two-sided test would not reject.
//!
//! Sources: Wilcoxon, Biometrics Bulletin 1(6):80-83, 1945, doi:10.2307/3001968; Hollander, Wolfe and Chicken,
//! Nonparametric Statistical Methods, 3rd edition, 2014, sections 3.1 to 3.3, doi:10.1002/9781119196037.

use statrs::function::erf::erfc_inv;

use super::hodges_lehmann::{RatioEstimate, SHORTEST_SECONDS};
use super::rank_sum::upper_normal_tail;
use super::sample::{Sample, median_and_ends, middle_places, order_statistics};
use super::untied;

/// Launches up to which the distribution is exact: a million updates.
pub const EXACT_LENGTH: usize = 100;

/// Logarithms of the ratios within the launches; `None` where the samples are not of one length.
fn differences(left: &Sample, right: &Sample) -> Option<Vec<f64>> {
    let log = |seconds: &f64| seconds.max(SHORTEST_SECONDS).ln();
    let both = left.values().iter().zip(right.values());
    (left.len() == right.len()).then(|| both.map(|(left, right)| log(left) - log(right)).collect())
}

/// The p-value for "left is slower within its launches", in (0, 1]. `None` where the samples are not of one length, and
/// so not paired.
#[must_use]
pub fn p_left_greater(left: &Sample, right: &Sample) -> Option<f64> {
    let mut values = differences(left, right)?;
    values.retain(|value| *value != 0.0);
    values.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let (mut doubled, mut positive, mut ties) = (Vec::with_capacity(values.len()), 0, 0.0);
    let mut first = 0;
    while first < values.len() {
        let size = values[first].abs();
        // Ratios of equal times differ in the last digit.
        let group = values[first..]
            .iter()
            .take_while(|value| value.abs() <= size * (1.0 + 1e-12))
            .count();
        let rank = 2 * first + group + 1;
        let above = values[first..first + group]
            .iter()
            .filter(|value| **value > 0.0)
            .count();
        doubled.extend(std::iter::repeat_n(rank, group));
        positive += rank * above;
        ties += (group as f64).powi(3) - group as f64;
        first += group;
    }
    Some(if doubled.is_empty() {
        1.0
    } else if doubled.len() <= EXACT_LENGTH {
        exact(&doubled, positive)
    } else {
        normal(&doubled, positive, ties)
    })
}

fn exact(doubled: &[usize], positive: usize) -> f64 {
    // A large positive sum is a small negative one.
    lower_tail(doubled, doubled.iter().sum::<usize>() - positive)
}

/// `ties`: the sum of t^3 - t over groups of t equal values.
fn normal(doubled: &[usize], positive: usize, ties: f64) -> f64 {
    let (count, all) = (doubled.len() as f64, doubled.iter().sum::<usize>() as f64);
    let variance = (count * (count + 1.0) * (2.0 * count + 1.0) - ties / 2.0) / 24.0;
    upper_normal_tail((positive as f64 / 2.0 - all / 4.0 - 0.5) / variance.sqrt())
}

/// P(sum of a random subset of the ranks <= limit).
fn lower_tail(ranks: &[usize], limit: usize) -> f64 {
    if ranks.iter().copied().eq((1..=ranks.len()).map(|rank| 2 * rank)) {
        return untied::signed_rank(ranks.len(), distribution)[limit].min(1.0);
    }
    distribution(ranks, limit).iter().sum::<f64>().min(1.0)
}

/// P(sum of a random subset of the ranks = s) for s = 0, ..., `limit`.
pub(super) fn distribution(ranks: &[usize], limit: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; limit + 1];
    probabilities[0] = 1.0;
    for &rank in ranks {
        for sum in (0..=limit).rev() {
            let with = if sum >= rank { probabilities[sum - rank] } else { 0.0 };
            probabilities[sum] = 0.5 * (probabilities[sum] + with);
        }
    }
    probabilities
}

/// The smallest p-value that `n` launches can give: 2^-n.
#[must_use]
pub fn smallest_p(n: usize) -> f64 {
    0.5_f64.powi(n.min(2000) as i32)
}

/// The averages of all pairs of log ratios.
fn walsh_averages(left: &Sample, right: &Sample) -> Option<Vec<f64>> {
    let values = differences(left, right)?;
    let each = values.iter().enumerate();
    Some(
        each.flat_map(|(i, a)| values[i..].iter().map(move |b| a.midpoint(*b)))
            .collect(),
    )
}

/// Left over right within the launches, without an interval. `None` where the samples are not of one length.
#[must_use]
pub fn estimate(left: &Sample, right: &Sample) -> Option<f64> {
    let mut averages = walsh_averages(left, right)?;
    let places = middle_places(averages.len());
    let [below, above] = order_statistics(&mut averages, places);
    Some(below.midpoint(above).exp())
}

/// The confidence that the interval of `n` launches reaches where `confidence` is asked for.
pub(crate) fn reached(n: usize, confidence: f64) -> f64 {
    interval(n, ((1.0 - confidence) / 2.0).clamp(0.0, 0.5)).1
}

/// Left over right within the launches, as [`super::hodges_lehmann::ratio`] for samples that are not paired. `None` where
/// the samples are not of one length. O(n^2) time.
#[must_use]
pub fn ratio(left: &Sample, right: &Sample, confidence: f64) -> Option<RatioEstimate> {
    let mut averages = walsh_averages(left, right)?;
    let outside = if confidence.is_nan() {
        0.0
    } else {
        (1.0 - confidence).clamp(0.0, 1.0)
    };
    let (rank, reached) = interval(left.len(), outside / 2.0);
    let (low, median, high) = median_and_ends(&mut averages, rank);
    Some(RatioEstimate {
        ratio: median.exp(),
        low: low.exp(),
        high: high.exp(),
        confidence: reached,
    })
}

/// Rank, from 1, of the Walsh average that begins the interval, and the confidence. At most `tail` of the probability
/// lies beyond each end; if no rank achieves that, the first one is taken.
fn interval(n: usize, tail: f64) -> (usize, f64) {
    let middle = n * (n + 1) / 4 + 1;
    if n <= EXACT_LENGTH {
        let below = untied::signed_rank(n, distribution);
        let mut best = (1, 0.0);
        // Ranks are doubled there.
        for (sum, &beyond) in below.iter().step_by(2).take(middle + 1).enumerate() {
            if sum == 0 || (beyond <= tail * (1.0 + 1e-9) && 2 * (sum + 1) <= n * (n + 1) / 2 + 1) {
                best = (sum + 1, (1.0 - 2.0 * beyond).max(0.0));
            }
        }
        best
    } else {
        let count = n as f64;
        let deviation = (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
        let z = std::f64::consts::SQRT_2 * erfc_inv(2.0 * tail);
        let mean = count * (count + 1.0) / 4.0;
        let rank = (mean - z * deviation + 0.5).floor().clamp(1.0, (mean + 0.5).floor());
        let beyond = upper_normal_tail((mean - rank + 0.5) / deviation);
        (rank as usize, (1.0 - 2.0 * beyond).max(0.0))
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
    fn unpaired_samples_have_no_answer() {
        assert_eq!(p_left_greater(&sample(&[1.0]), &sample(&[1.0, 2.0])), None);
        assert_eq!(ratio(&sample(&[1.0]), &sample(&[1.0, 2.0]), 0.95), None);
    }

    #[test]
    fn slower_in_every_launch_gives_the_smallest_p_whatever_the_launches() {
        let right = sample(&[1.0, 15.0, 1.1, 14.0, 200.0]);
        let left = sample(&[1.2, 18.1, 1.3, 17.0, 240.0]);
        assert_eq!(p_left_greater(&left, &right), Some(1.0 / 32.0));
        assert_eq!(p_left_greater(&right, &left), Some(1.0));
        assert_eq!(p_left_greater(&right, &right), Some(1.0));
        let estimate = ratio(&left, &right, 0.9).unwrap();
        assert!((1.18..1.22).contains(&estimate.ratio), "{estimate:?}");
        assert!(estimate.low > 1.1 && estimate.high < 1.25);
        assert_relative_eq!(estimate.confidence, 1.0 - 2.0 / 32.0, max_relative = 1e-12);
    }

    #[test]
    fn intervals_of_the_tables() {
        // n = 10 at 95 %: the critical value is 8, so the interval begins at the ninth average.
        assert_eq!(interval(10, 0.025).0, 9);
        assert_eq!(interval(1, 0.025), (1, 0.0));
        for (n, tail) in [(1, 0.0), (2, 0.5), (3, 0.5), (120, 0.0), (120, 0.5)] {
            let (rank, confidence) = interval(n, tail);
            assert!(1 <= rank && 2 * rank <= n * (n + 1) / 2 + 1, "{n} {tail}: {rank}");
            assert!((0.0..=1.0).contains(&confidence));
        }
    }

    #[test]
    fn the_approximation_continues_the_exact_distribution() {
        let untied: Vec<usize> = (1..=90).map(|rank| 2 * rank).collect();
        // Pairs of equal values share the mean of their ranks.
        let tied: Vec<usize> = (0..90).map(|index| 4 * (index / 2) + 3).collect();
        for share in [4500, 5000, 5500] {
            assert_relative_eq!(exact(&untied, share), normal(&untied, share, 0.0), max_relative = 0.1);
            assert_relative_eq!(
                exact(&tied, share),
                normal(&tied, share, 45.0 * 6.0),
                max_relative = 0.1
            );
        }
    }
}
