//! Confidence interval of a median by order statistics. Values must be independent; their distribution does not matter.
//!
//! The number of values below the median is binomial with probability one half. The `k`-th smallest and the `k`-th
//! largest of `n` values therefore enclose it with probability `1 - 2 P(B <= k - 1)`. The largest `k` that keeps the
//! confidence is taken, so that the interval is a little wider than asked for. Ties make it wider still, never
//! narrower.
//!
//! Source: Thompson, The Annals of Mathematical Statistics 7(3):122-128, 1936, doi:10.1214/aoms/1177732502.

use statrs::distribution::{Binomial, DiscreteCDF as _};

use super::sample::Sample;

/// Lower and upper end in the sample's unit; `confidence` is a fraction such as `0.95`.
///
/// Fewer values than the confidence needs (six for 95 %) give the extremes, which enclose the median less often.
#[must_use]
pub fn median_interval(sample: &Sample, confidence: f64) -> (f64, f64) {
    let sorted = sample.sorted();
    let beyond = beyond(sorted.len(), confidence);
    (sorted[beyond], sorted[sorted.len() - 1 - beyond])
}

/// Number of values beyond each end of the interval.
fn beyond(n: usize, confidence: f64) -> usize {
    let Ok(below) = Binomial::new(0.5, n as u64) else {
        return 0;
    };
    let keeps = |k: &u64| 2.0 * below.cdf(*k) <= 1.0 - confidence;
    let ranks = (0..(n as u64).div_ceil(2)).take_while(keeps).count();
    ranks.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(n: u32, confidence: f64) -> (f64, f64) {
        let values = (1..=n).rev().map(f64::from).collect();
        median_interval(&Sample::new(values).unwrap(), confidence)
    }

    /// The tables of textbooks, such as Hollander and Wolfe, Nonparametric Statistical Methods, 1973.
    #[test]
    fn the_ranks_of_the_tables() {
        for (n, low, high) in [
            (6, 1, 6),
            (8, 1, 8),
            (9, 2, 8),
            (10, 2, 9),
            (12, 3, 10),
            (15, 4, 12),
            (16, 4, 13),
            (20, 6, 15),
            (50, 18, 33),
            (100, 40, 61),
        ] {
            assert_eq!(ranks(n, 0.95), (f64::from(low), f64::from(high)), "{n} values");
        }
        assert_eq!(ranks(20, 0.99), (4.0, 17.0));
    }

    #[test]
    fn too_few_values_give_their_extremes() {
        for n in 1..6 {
            assert_eq!(ranks(n, 0.95), (1.0, f64::from(n)));
        }
    }

    #[test]
    fn many_values_and_ties() {
        let (low, high) = ranks(4001, 0.95);
        assert!(
            low > 1930.0 && low < 1945.0 && (low + high - 4002.0).abs() < 1e-9,
            "{low} {high}"
        );
        let tied = Sample::new(vec![7.0; 30]).unwrap();
        assert_eq!(median_interval(&tied, 0.95), (7.0, 7.0));
    }
}
