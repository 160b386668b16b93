//! Number of launches that a run needs before any of its cells can be decided.

use statrs::distribution::{ContinuousCDF as _, Normal};

use super::sequential::DEFAULT_MAX_LAUNCHES;
use super::{Rule, Test};

/// More launches than anybody makes.
const MOST: usize = 2000;

/// The smallest R such that R launches on each side can be significant among `tests` tests at level `alpha` after
/// Holm's correction: the smallest p-value of the test is at most alpha / tests. That is C(2R, R) >= 2 tests / alpha for
/// [`Test::Pairs`].
///
/// No test counts as one. Where no number suffices, as for an `alpha` of 0, less or NaN, the answer is `usize::MAX`.
#[must_use]
pub fn launches_needed(tests: usize, alpha: f64, test: Test) -> usize {
    let tests = tests.max(1) as f64;
    (1..=MOST)
        .find(|&launches| tests * test.smallest_p(launches) <= alpha && alpha > 0.0)
        .unwrap_or(usize::MAX)
}

/// Launches at most where a run plans for a noisy machine.
pub const MOST_PLANNED: usize = 60;

/// Slowdown that is worth launches on a noisy machine, and the one-sided quantile of the probability (95 %) to find it.
const WORTH: f64 = 1.3;
const SURE: f64 = 1.645;

/// Share of alpha that the last look has at least, and what a launch is worth to signed ranks so far out in the tail, where logarithms are
/// normal: with the 0.955 that holds near the middle of the distribution, 80 to 87 % were found in `kilter validate-statistics`, not 95 %.
const LAST_SHARE: f64 = 0.25;
const EFFICIENCY: f64 = 0.72;

/// Standard errors between equal sides and a violation among `tests` tests, at the last look of the half of the test that sees more.
fn distance(tests: usize, rule: &Rule) -> f64 {
    // Half of the level for each half of the test.
    let level = LAST_SHARE * rule.alpha / (2.0 * tests.max(1) as f64);
    Normal::standard().inverse_cdf(1.0 - level)
}

/// The smallest slowdown that a number of launches can show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// Logarithm of the ratio that is found to be a violation every other time; not below the floor.
    pub logarithm: f64,
    /// Standard error of the logarithm of a ratio after these launches.
    pub error: f64,
}

impl Reach {
    /// The reach of `launches` of a cell among `tests` hypotheses; `deviation` is the standard deviation of the log
    /// ratio between launches.
    #[must_use]
    pub fn of(deviation: f64, launches: usize, tests: usize, rule: &Rule) -> Reach {
        let error = deviation / (EFFICIENCY * launches.max(1) as f64).sqrt();
        Reach {
            logarithm: (distance(tests, rule) * error).max(rule.effect_floor.ln_1p()),
            error,
        }
    }
}

/// Launches for a cell at most: the usual number, and more where the ratio varies so much from launch to launch (`deviation` of its
/// logarithm) that these would miss a slowdown by 30 % among `tests` more often than once in twenty. It follows from a screening, whose
/// launches take no part in what is tested.
#[must_use]
pub fn launches_planned(deviation: f64, tests: usize, rule: &Rule) -> usize {
    let launches = ((distance(tests, rule) + SURE) * deviation / WORTH.ln()).powi(2) / EFFICIENCY;
    if launches.is_nan() {
        return DEFAULT_MAX_LAUNCHES;
    }
    (launches.ceil() as usize).clamp(DEFAULT_MAX_LAUNCHES, MOST_PLANNED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_launches_reach_further_down_and_never_below_the_floor() {
        let rule = Rule::default();
        let reach = |launches| Reach::of(0.25, launches, 100, &rule);
        // 3.84 errors of 0.25 / sqrt(0.72 x 20).
        approx::assert_relative_eq!(reach(20).error, 0.0659, max_relative = 1e-2);
        approx::assert_relative_eq!(reach(20).logarithm, 3.84 * 0.0659, max_relative = 1e-2);
        assert!(reach(60).logarithm < 0.6 * reach(20).logarithm);
        assert_eq!(Reach::of(1e-4, 20, 100, &rule).logarithm, rule.effect_floor.ln_1p());
        assert_eq!(Reach::of(0.0, 0, 0, &rule).error, 0.0);
    }

    #[test]
    fn known_numbers() {
        let expected = [
            (0, 3),
            (1, 3),
            (2, 4),
            (3, 4),
            (4, 5),
            (12, 5),
            (13, 6),
            (46, 6),
            (47, 7),
            (171, 7),
            (172, 8),
            (643, 8),
            (644, 9),
            (2431, 9),
            (2432, 10),
            (9237, 10),
            (9238, 11),
        ];
        for (tests, launches) in expected {
            assert_eq!(launches_needed(tests, 0.05, Test::RankSum), launches, "{tests} tests");
            let halved = launches_needed(tests.max(1).div_ceil(2), 0.05, Test::Pairs);
            assert!(halved >= launches && halved <= launches + 1, "{tests} tests of pairs");
        }
    }

    #[test]
    fn levels_at_and_beyond_the_ends() {
        assert_eq!(launches_needed(1, 1.0, Test::RankSum), 1);
        assert_eq!(launches_needed(1, 0.5, Test::RankSum), 1);
        for alpha in [0.0, -1.0, f64::NAN] {
            assert_eq!(launches_needed(1, alpha, Test::Pairs), usize::MAX);
        }
        assert!(launches_needed(1_000_000, 1e-9, Test::RankSum) < 100);
        // Drawn splits reach no further than their number, and are drawn up to fifty launches.
        assert_eq!(launches_needed(10_000, 0.05, Test::BrunnerMunzel), 51);
        assert_eq!(launches_needed(0, 0.05, Test::SignedRank), 5);
        assert_eq!(launches_needed(9, 0.05, Test::Exact), 1);
    }

    #[test]
    fn a_noisy_machine_gets_more_launches_and_a_quiet_one_the_usual_number() {
        let planned = |deviation, tests| launches_planned(deviation, tests, &Rule::default());
        assert_eq!(planned(0.05, 300), DEFAULT_MAX_LAUNCHES);
        assert_eq!(planned(0.15, 300), DEFAULT_MAX_LAUNCHES);
        // Sides that vary by 0.2 each, among a hundred: 5.5 standard errors.
        assert_eq!(planned(0.283, 100), 49);
        assert!(planned(0.283, 400) > planned(0.283, 100));
        assert_eq!(planned(3.0, 100), MOST_PLANNED);
        assert_eq!(planned(f64::NAN, 100), DEFAULT_MAX_LAUNCHES);
    }
}
