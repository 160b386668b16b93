//! Variance components of times on logarithms, and the number of repetitions that follows from them.
//!
//! A time varies at two levels: repetitions differ within a launch, and launches differ. The variance of the mean of R launches
//! with r repetitions each is `between / R + within / (R r)`. A launch costs `c_launch` beside its repetitions, a repetition
//! `c_repetition`. For a given cost that variance is smallest at
//!
//! ```text
//! r = sqrt( (c_launch / c_repetition) * (within / between) )
//! ```
//!
//! More repetitions than that buy less than another launch would. Source: Kalibera and Jones, Rigorous Benchmarking in
//! Reasonable Time, ISMM 2013, doi:10.1145/2464157.2464160, section 5 (two levels of their n).

use super::hodges_lehmann::SHORTEST_SECONDS;
use super::sample::Sample;

/// An interquartile range over this is the standard deviation of a normal distribution.
const NORMAL_QUARTILES: f64 = 1.349;

/// Variance of a median over the variance of a mean of as many normal values: pi / 2.
const MEDIAN_OVER_MEAN: f64 = std::f64::consts::FRAC_PI_2;

/// Variance of the logarithm of one time within a launch, from the quartiles, so that one spike does not decide; `None` for fewer
/// than two times.
#[must_use]
pub fn within_launch(seconds: &[f64]) -> Option<f64> {
    let logs = seconds
        .iter()
        .map(|seconds| seconds.max(SHORTEST_SECONDS).ln())
        .collect();
    let sample = Sample::new(logs).ok().filter(|sample| sample.len() > 1)?;
    let deviation = (sample.quantile(0.75) - sample.quantile(0.25)) / NORMAL_QUARTILES;
    Some(deviation * deviation)
}

/// Variance between launches, given the variance `of_medians` of the medians of launches with `repetitions` each, whose
/// times vary by `within`: what the repetitions do not explain. Not below 0.
#[must_use]
pub fn between_launches(of_medians: f64, within: f64, repetitions: f64) -> f64 {
    (of_medians - MEDIAN_OVER_MEAN * within / repetitions.max(1.0)).max(0.0)
}

/// The number of repetitions per launch at which a decision costs least; `max` where launches do not differ, 1 where
/// repetitions do not. Costs are in seconds, variances in any one unit.
#[must_use]
pub fn optimal_repetitions(within: f64, between: f64, launch_seconds: f64, repetition_seconds: f64, max: u32) -> u32 {
    let optimum = ((launch_seconds / repetition_seconds) * (within / between)).sqrt();
    if optimum.is_nan() {
        // Nothing varies, or nothing costs anything.
        return 1.min(max);
    }
    optimum.round().clamp(1.0, f64::from(max.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimum_is_where_the_variance_for_the_cost_is_least() {
        for (within, between, launch, repetition) in [
            (0.04, 0.01, 0.5, 0.002),
            (0.01, 0.04, 3.0, 0.01),
            (0.2, 0.002, 0.01, 0.01),
        ] {
            let best = optimal_repetitions(within, between, launch, repetition, 10_000);
            // Variance times cost, per launch.
            let price = |r: u32| (between + within / f64::from(r)) * (launch + repetition * f64::from(r));
            let least = (1..10_000).min_by(|a, b| price(*a).total_cmp(&price(*b))).unwrap();
            assert!(best.abs_diff(least) <= 1, "{best} against {least}");
        }
    }

    #[test]
    fn the_ends() {
        assert_eq!(optimal_repetitions(0.0, 0.01, 1.0, 0.01, 60), 1);
        assert_eq!(optimal_repetitions(0.01, 0.0, 1.0, 0.01, 60), 60);
        assert_eq!(optimal_repetitions(0.0, 0.0, 1.0, 0.01, 60), 1);
        assert_eq!(optimal_repetitions(0.01, 0.01, 1.0, 0.0, 60), 60);
        assert_eq!(optimal_repetitions(0.01, 0.01, f64::NAN, 0.1, 60), 1);
    }

    #[test]
    fn a_spike_does_not_raise_the_variance_within() {
        let mut times: Vec<f64> = (0..20).map(|i| 1e-5 * (1.0 + 0.01 * f64::from(i))).collect();
        let quiet = within_launch(&times).unwrap();
        times[7] = 1.0;
        let spiked = within_launch(&times).unwrap();
        assert!(spiked < 1.5 * quiet, "{spiked} against {quiet}");
        assert_eq!(within_launch(&[1.0]), None);
        assert_eq!(within_launch(&[0.0, 0.0]), Some(0.0));
    }

    #[test]
    fn the_repetitions_share_is_taken_off() {
        approx::assert_relative_eq!(
            between_launches(0.05, 0.02, 4.0),
            0.05 - 0.01 * std::f64::consts::PI / 4.0,
            max_relative = 1e-6
        );
        assert_eq!(between_launches(0.001, 0.02, 4.0), 0.0);
    }
}
