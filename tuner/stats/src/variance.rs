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

/// Standard errors between an estimate and what it is told from: 1.645 for a one-sided bound of 95 %, and 1.282 for nine of ten such
/// cells to keep it.
const ERRORS: f64 = 2.927;

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
        // Without variation, or without cost, one repetition is as good as more.
        return 1.min(max);
    }
    optimum.round().clamp(1.0, f64::from(max.max(1))) as u32
}

/// The least number of repetitions per launch with which `launches` launches see that the ratio of two equal sides exceeds 1 by less than
/// `margin` (a logarithm): with so many, the interval of the ratio ends [`ERRORS`] standard errors away. More would say nothing that is
/// asked. `max` where launches themselves vary too much for that. Variances are those of one side.
#[must_use]
pub fn enough_repetitions(within: f64, between: f64, launches: usize, margin: f64, max: u32) -> u32 {
    let allowed = launches as f64 * (margin / ERRORS).powi(2) / 2.0 - between;
    let count = MEDIAN_OVER_MEAN * within / allowed;
    if allowed > 0.0 && count.is_finite() {
        count.ceil().clamp(1.0, f64::from(max.max(1))) as u32
    } else {
        max
    }
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

    #[test]
    fn enough_is_what_tells_one_from_the_margin_and_no_more() {
        let margin = 1.05_f64.ln();
        for (within, between, launches) in [(0.05_f64.powi(2), 0.0, 10), (0.2_f64.powi(2), 0.02_f64.powi(2), 10)] {
            let count = enough_repetitions(within, between, launches, margin, 1000);
            let error = |r: u32| (2.0 * (between + MEDIAN_OVER_MEAN * within / f64::from(r)) / launches as f64).sqrt();
            assert!(ERRORS * error(count) <= margin, "{count}");
            assert!(count == 1 || ERRORS * error(count - 1) > margin, "{count}");
        }
        assert_eq!(enough_repetitions(0.05_f64.powi(2), 0.0, 10, margin, 1000), 3);
        assert_eq!(
            enough_repetitions(0.0025, 0.05_f64.powi(2), 10, margin, 60),
            60,
            "launches vary too much"
        );
        assert_eq!(enough_repetitions(0.0, 0.0, 10, margin, 60), 1);
        assert_eq!(
            enough_repetitions(0.0025, 0.0, 10, 0.0, 60),
            60,
            "nothing is small enough"
        );
        assert_eq!(enough_repetitions(f64::NAN, 0.0, 10, margin, 60), 60);
    }
}
