//! Yuen's test, one-sided: Welch's t-test on trimmed means of logarithms, for sides whose spreads differ.
//!
//! A tenth of the values is cut off at each end; the mean of the rest is compared, with the spread of each side estimated for
//! itself (winsorised variance) and the degrees of freedom by Welch and Satterthwaite. It asks for sides that are about
//! log-normal between their ends, and for nothing about how their spreads compare; a spike is cut off.
//!
//! *Small samples*: below five values nothing is cut off, and the test is Welch's. One value has no spread and decides
//! nothing: the p-value is then one half at best. *Ties*: where neither side varies, the p-value is 0 or 1; which is no
//! probability, so that this test never stands alone here ([`super::unpaired`]).
//!
//! Sources: Yuen, Biometrika 61(1):165-170, 1974, doi:10.1093/biomet/61.1.165; Welch, Biometrika 34(1-2):28-35, 1947,
//! doi:10.1093/biomet/34.1-2.28.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::hodges_lehmann::SHORTEST_SECONDS;
use super::sample::Sample;

/// Share of the values that is cut off at each end.
const TRIMMED: f64 = 0.1;

/// A trimmed mean.
struct Trimmed {
    mean: f64,
    /// Its squared standard error.
    squared_error: f64,
    /// Degrees of freedom.
    freedom: f64,
}

impl Trimmed {
    /// Trimmed mean of the logarithms; `None` for one value.
    fn of(sample: &Sample) -> Option<Trimmed> {
        let count = sample.len();
        if count < 2 {
            return None;
        }
        let cut = ((TRIMMED * count as f64).round() as usize).min((count - 2) / 2);
        let mut values: Vec<f64> = sample
            .sorted()
            .iter()
            .map(|seconds| seconds.max(SHORTEST_SECONDS).ln())
            .collect();
        let kept = (count - 2 * cut) as f64;
        let mean = values[cut..count - cut].iter().sum::<f64>() / kept;
        let (low, high) = (values[cut], values[count - 1 - cut]);
        values.iter_mut().for_each(|value| *value = value.clamp(low, high));
        let center = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
        Some(Trimmed {
            mean,
            squared_error: squares / (kept * (kept - 1.0)),
            freedom: kept - 1.0,
        })
    }
}

/// The difference of both trimmed means of logarithms, with its standard error and, where that is not 0, its distribution.
struct Difference {
    mean: f64,
    error: f64,
    distribution: Option<StudentsT>,
}

impl Difference {
    fn of(left: &Sample, right: &Sample) -> Option<Difference> {
        let (left, right) = (Trimmed::of(left)?, Trimmed::of(right)?);
        let squared = left.squared_error + right.squared_error;
        let parts = left.squared_error.powi(2) / left.freedom + right.squared_error.powi(2) / right.freedom;
        Some(Difference {
            mean: left.mean - right.mean,
            error: squared.sqrt(),
            distribution: StudentsT::new(0.0, 1.0, squared.powi(2) / parts).ok(),
        })
    }
}

/// The p-value for "the left side takes longer".
#[must_use]
pub fn p_left_greater(left: &Sample, right: &Sample) -> f64 {
    let Some(difference) = Difference::of(left, right) else {
        return if left.median() > right.median() { 0.5 } else { 1.0 };
    };
    match difference.distribution {
        Some(distribution) => distribution.sf(difference.mean / difference.error),
        // Values that do not vary.
        None => f64::from(difference.mean <= 0.0),
    }
}

/// The ends of the interval of left over right that leaves out at most `tail` on each side, in (0, 0.5]: the ratios that the
/// test does not reject. `None` where a side has one value, or for a tail of 0.
#[must_use]
pub fn interval(left: &Sample, right: &Sample, tail: f64) -> Option<(f64, f64)> {
    let difference = Difference::of(left, right)?;
    let Some(distribution) = &difference.distribution else {
        return Some((difference.mean.exp(), difference.mean.exp()));
    };
    let allowed = tail > 0.0 && tail <= 0.5;
    let half = allowed.then(|| -distribution.inverse_cdf(tail) * difference.error)?;
    Some(((difference.mean - half).exp(), (difference.mean + half).exp()))
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn one_value_decides_nothing() {
        assert_eq!(p_left_greater(&sample(&[9.0]), &sample(&[1.0; 100])), 0.5);
        assert_eq!(p_left_greater(&sample(&[1.0]), &sample(&[9.0, 9.1])), 1.0);
        assert_eq!(interval(&sample(&[9.0]), &sample(&[1.0, 2.0]), 0.05), None);
    }

    #[test]
    fn values_that_do_not_vary_are_compared_as_they_are() {
        let (slow, fast) = (sample(&[2.0; 4]), sample(&[1.0; 5]));
        assert_eq!((p_left_greater(&slow, &fast), p_left_greater(&fast, &slow)), (0.0, 1.0));
        assert_eq!(p_left_greater(&fast, &fast), 1.0);
        assert_eq!(interval(&slow, &fast, 0.05), Some((2.0, 2.0)));
    }

    #[test]
    fn a_spike_is_cut_off() {
        let calm: Vec<f64> = (0..10).map(|i| 1.0 + 0.01 * f64::from(i)).collect();
        let mut spiked = calm.clone();
        spiked[3] = 400.0;
        let left = sample(&calm.iter().map(|value| 1.2 * value).collect::<Vec<_>>());
        assert!(p_left_greater(&left, &sample(&calm)) < 1e-5);
        assert!(p_left_greater(&left, &sample(&spiked)) < 1e-4);
    }

    #[test]
    fn the_interval_is_the_test_turned_round() {
        let left = sample(&[1.9, 2.3, 2.0, 2.6, 2.2, 2.4]);
        let right = sample(&[1.0, 1.4, 1.2, 1.1, 1.3]);
        let (low, high) = interval(&left, &right, 0.03).unwrap();
        let at = |ratio: f64| sample(&right.values().iter().map(|value| value * ratio).collect::<Vec<_>>());
        assert_relative_eq!(p_left_greater(&left, &at(low)), 0.03, max_relative = 1e-6);
        assert_relative_eq!(p_left_greater(&left, &at(high)), 0.97, max_relative = 1e-6);
    }
}
