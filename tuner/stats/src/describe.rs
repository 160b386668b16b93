//! Descriptions of samples: relative standard error, interquartile range, medians of launches.

use super::sample::{Sample, SampleError};

/// Mean and standard deviation (n - 1 in the denominator) by Welford's method; the deviation needs two values.
///
/// Source: Welford, Technometrics 4(3):419-420, 1962, doi:10.1080/00401706.1962.10490022.
#[must_use]
pub fn mean_and_deviation(sample: &Sample) -> (f64, Option<f64>) {
    let (mut mean, mut squares) = (0.0, 0.0);
    for (seen, value) in sample.values().iter().enumerate() {
        let step = value - mean;
        mean += step / (seen + 1) as f64;
        squares += step * (value - mean);
    }
    let deviation = (sample.len() > 1).then(|| (squares / (sample.len() - 1) as f64).sqrt());
    (mean, deviation)
}

/// Standard error of the mean over the mean: s / (sqrt(n) |mean|), a fraction.
///
/// `None` for one value, which has no standard error, and where the mean is zero.
#[must_use]
pub fn relative_standard_error(sample: &Sample) -> Option<f64> {
    let (mean, deviation) = mean_and_deviation(sample);
    let error = deviation? / (sample.len() as f64).sqrt();
    (mean != 0.0).then(|| error / mean.abs())
}

/// Third quartile minus first quartile, in the sample's unit; 0 for one value.
#[must_use]
pub fn interquartile_range(sample: &Sample) -> f64 {
    sample.quantile(0.75) - sample.quantile(0.25)
}

/// The median of each launch: the sample that every verdict is made from, in the order of the launches.
pub fn launch_medians(launches: &[Sample]) -> Result<Sample, SampleError> {
    Sample::new(launches.iter().map(Sample::median).collect())
}

/// The median of the medians of the launches. A launch counts once, however many repetitions it had.
pub fn median_of_launches(launches: &[Sample]) -> Result<f64, SampleError> {
    Ok(launch_medians(launches)?.median())
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn relative_standard_error_of_known_values() {
        // Mean 5, sum of squares 32: s = sqrt(32/7), error = s / sqrt(8).
        let values = sample(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        let expected = (32.0_f64 / 7.0 / 8.0).sqrt() / 5.0;
        assert_relative_eq!(
            relative_standard_error(&values).unwrap(),
            expected,
            max_relative = 1e-14
        );
    }

    #[test]
    fn an_offset_far_above_the_spread_does_not_drown_it() {
        let (_, deviation) = mean_and_deviation(&sample(&[1e9, 1e9 + 1.0, 1e9 + 2.0]));
        assert_eq!(deviation, Some(1.0));
    }

    #[test]
    fn no_standard_error_of_one_value_or_around_zero() {
        assert_eq!(relative_standard_error(&sample(&[3.0])), None);
        assert_eq!(relative_standard_error(&sample(&[-1.0, 1.0])), None);
        assert_eq!(relative_standard_error(&sample(&[3.0, 3.0])), Some(0.0));
    }

    #[test]
    fn interquartile_range_of_five_values() {
        assert_eq!(interquartile_range(&sample(&[5.0, 1.0, 3.0, 2.0, 4.0])), 2.0);
        assert_eq!(interquartile_range(&sample(&[5.0])), 0.0);
    }

    #[test]
    fn each_launch_counts_once() {
        let launches = [sample(&[1.0]), sample(&[9.0; 100]), sample(&[2.0, 2.0, 50.0])];
        assert_eq!(launch_medians(&launches).unwrap().values(), [1.0, 9.0, 2.0]);
        assert_eq!(median_of_launches(&launches), Ok(2.0));
        assert_eq!(median_of_launches(&[]), Err(SampleError::Empty));
    }
}
