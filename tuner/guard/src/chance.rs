//! Tails of distributions.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// The probability that Student's t of this freedom exceeds `statistic`; 1 for what is no number.
pub(crate) fn upper_tail(statistic: f64, freedom: f64) -> f64 {
    if statistic.is_nan() {
        return 1.0;
    }
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |distribution| distribution.sf(statistic))
}

/// The median of values; `None` where there are none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let sample = kilter_stats::sample::Sample::new(values.into_iter().collect());
    sample.ok().map(|sample| sample.median())
}

/// Makes the median absolute deviation of a normal distribution its standard deviation.
const OF_NORMAL: f64 = 1.4826;

/// The spread of values about a centre by their median absolute deviation, as a standard deviation; 0 where there are none.
pub(crate) fn spread(values: &[f64], centre: f64) -> f64 {
    median(values.iter().map(|value| (value - centre).abs())).map_or(0.0, |deviation| OF_NORMAL * deviation)
}
