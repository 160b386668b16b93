//! The Mann-Kendall test of a trend, over one series or over several together, and the Theil-Sen slope.
//!
//! S counts the pairs of a series whose later value is larger, minus those whose later value is smaller. Several series
//! (the positions within each of many launches) are tested together by the sum of their S, which no difference between
//! the series can disturb.
//!
//! The distribution of S under the null hypothesis (every order of a series equally likely) is exact, by convolution of
//! the distributions of inversions; beyond [`EXACT_LENGTH`] values the normal approximation with continuity correction.
//! Both are those of untied values: ties make S vary less, so that with them the test errs on the side of no trend.
//!
//! Sources: Mann, Econometrica 13(3):245-259, 1945, doi:10.2307/1907187; Kendall, Rank Correlation Methods, 4th edition,
//! 1975; several series: Hirsch, Slack and Smith, Water Resources Research 18(1):107-121, 1982,
//! doi:10.1029/WR018i001p00107; slope: Sen, Journal of the American Statistical Association 63(324):1379-1389, 1968,
//! doi:10.1080/01621459.1968.10480934.

use statrs::function::erf::erfc;

use super::sample::median_of_sorted;

/// Values in all series together up to which the distribution of S is exact.
pub const EXACT_LENGTH: usize = 120;

/// Kendall's S of one series: later larger minus later smaller.
#[must_use]
pub fn s(series: &[f64]) -> i64 {
    let mut s = 0;
    for (index, earlier) in series.iter().enumerate() {
        for later in &series[index + 1..] {
            s += i64::from(later > earlier) - i64::from(later < earlier);
        }
    }
    s
}

/// The two-sided p-value of "there is a trend", common to all series. In (0, 1]; series of fewer than two values say
/// nothing, and without any other the answer is 1. Values are finite.
#[must_use]
pub fn p_of_trend<'a>(series: impl IntoIterator<Item = &'a [f64]>) -> f64 {
    let (mut observed, mut lengths) = (0, Vec::new());
    for values in series {
        observed += s(values);
        lengths.push(values.len());
    }
    let magnitude = observed.unsigned_abs();
    if lengths.iter().sum::<usize>() <= EXACT_LENGTH {
        exact(&lengths, magnitude)
    } else {
        normal(&lengths, magnitude)
    }
}

fn exact(lengths: &[usize], magnitude: u64) -> f64 {
    // probabilities[k]: k inversions in all series so far. S is the number of pairs minus twice the inversions.
    let mut probabilities = vec![1.0];
    for &length in lengths {
        // A value put before k of the earlier ones adds k inversions, k = 0, ..., position, each equally likely.
        for position in 1..length {
            let mut next = vec![0.0; probabilities.len() + position];
            for (inversions, probability) in probabilities.iter().enumerate() {
                for more in &mut next[inversions..=inversions + position] {
                    *more += probability / (position + 1) as f64;
                }
            }
            probabilities = next;
        }
    }
    let pairs = (probabilities.len() - 1) as u64;
    // |S| >= magnitude; the distribution is symmetric.
    let few = (pairs - magnitude.min(pairs)) / 2;
    let tail: f64 = probabilities[..=few as usize].iter().sum();
    (2.0 * tail).min(1.0)
}

fn normal(lengths: &[usize], magnitude: u64) -> f64 {
    let variance: f64 = lengths
        .iter()
        .map(|&length| {
            let n = length as f64;
            n * (n - 1.0) * (2.0 * n + 5.0) / 18.0
        })
        .sum();
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (magnitude as f64 - 1.0).max(0.0) / variance.sqrt();
    erfc(z / std::f64::consts::SQRT_2).min(1.0)
}

/// The Theil-Sen slope: the median over all pairs of (later - earlier) / (distance in steps); `None` below two values.
#[must_use]
pub fn slope(series: &[f64]) -> Option<f64> {
    let mut slopes: Vec<f64> = series
        .iter()
        .enumerate()
        .flat_map(|(i, a)| {
            series
                .iter()
                .enumerate()
                .skip(i + 1)
                .map(move |(j, b)| (b - a) / (j - i) as f64)
        })
        .collect();
    slopes.sort_unstable_by(f64::total_cmp);
    (!slopes.is_empty()).then(|| median_of_sorted(&slopes))
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn known_tails() {
        // Kendall's table: n = 4, S = 6 has 1/24; n = 5, S = 8 has 5/120.
        assert_relative_eq!(
            p_of_trend([&[1.0, 2.0, 3.0, 4.0][..]]),
            2.0 / 24.0,
            max_relative = 1e-12
        );
        assert_relative_eq!(
            p_of_trend([&[5.0, 4.0, 3.0, 1.0, 2.0][..]]),
            2.0 * 5.0 / 120.0,
            max_relative = 1e-12
        );
        for empty in [&[][..], &[1.0][..], &[3.0, 3.0, 3.0][..]] {
            assert_eq!(p_of_trend([empty]), 1.0);
        }
    }

    #[test]
    fn several_series_add_up_whatever_their_levels() {
        // Three rising pairs: each has probability 1/2, all three 1/8, either way 1/4.
        let series: [&[f64]; 3] = [&[1.0, 2.0], &[100.0, 101.0], &[-5.0, 0.0]];
        assert_relative_eq!(p_of_trend(series), 0.25, max_relative = 1e-12);
    }

    #[test]
    fn the_approximation_continues_the_exact_distribution() {
        for magnitude in [0, 52, 202, 352] {
            assert_relative_eq!(
                exact(&[40], magnitude),
                normal(&[40], magnitude),
                max_relative = 0.05,
                epsilon = 1e-4
            );
        }
        let long: Vec<f64> = (0..200).map(f64::from).collect();
        assert!(p_of_trend([&long[..]]) < 1e-9);
    }

    #[test]
    fn slopes_ignore_a_spike() {
        assert_eq!(slope(&[1.0, 2.0, 300.0, 4.0, 5.0]), Some(1.0));
        assert_eq!(slope(&[1.0]), None);
    }
}
