//! A rate that was counted, with its interval.

use serde::Serialize;
use statrs::function::beta::beta_reg;

/// A count misses a promise where chance, at exactly the promised rate, would do so in fewer cases than this.
const CHANCE: f64 = 1.0 / 30_000.0;

/// Standard deviations of the interval that is shown.
const SHOWN: f64 = 1.959_964;

/// So many of so many.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// Cases. Where each trial gives a share (false discoveries), the sum of the shares.
    pub cases: f64,
    /// Trials.
    pub trials: usize,
}

impl Rate {
    /// Counts the trials for which it is true.
    #[must_use]
    pub fn of(outcomes: &[bool]) -> Rate {
        Rate {
            cases: outcomes.iter().filter(|&&outcome| outcome).count() as f64,
            trials: outcomes.len(),
        }
    }

    /// The sum of shares in [0, 1]: varies at most as much as a count of the same rate.
    #[must_use]
    pub fn of_shares(shares: &[f64]) -> Rate {
        Rate {
            cases: shares.iter().sum(),
            trials: shares.len(),
        }
    }

    /// Cases per trial; NaN without a trial.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.cases / self.trials as f64
    }

    /// The 95 % interval that is shown.
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        self.wilson(SHOWN)
    }

    /// True if the true rate may be at most `nominal`, by an exact binomial test.
    #[must_use]
    pub fn at_most(&self, nominal: f64) -> bool {
        let rest = self.trials as f64 - self.cases;
        self.cases <= 0.0 || nominal >= 1.0 || beta_reg(self.cases, rest + 1.0, nominal.max(0.0)) >= CHANCE
    }

    /// True if the true rate may be at least `promised`.
    #[must_use]
    pub fn at_least(&self, promised: f64) -> bool {
        let missing = Rate {
            cases: self.trials as f64 - self.cases,
            trials: self.trials,
        };
        missing.at_most(1.0 - promised)
    }

    /// Wilson, Journal of the American Statistical Association 22(158):209-212, 1927,
    /// doi:10.1080/01621459.1927.10502953.
    fn wilson(&self, z: f64) -> (f64, f64) {
        if self.trials == 0 {
            return (0.0, 1.0);
        }
        let (n, p) = (self.trials as f64, self.share());
        let center = p + z * z / (2.0 * n);
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let scale = 1.0 + z * z / n;
        (((center - half) / scale).max(0.0), ((center + half) / scale).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_and_promises() {
        let rate = Rate {
            cases: 50.0,
            trials: 1000,
        };
        let (low, high) = rate.interval();
        approx::assert_relative_eq!(low, 0.038_1, max_relative = 5e-3);
        approx::assert_relative_eq!(high, 0.065_3, max_relative = 5e-3);
        assert!(rate.at_most(0.05) && rate.at_most(0.04) && !rate.at_most(0.02));
        assert!(rate.at_least(0.05) && rate.at_least(0.06) && !rate.at_least(0.1));
        assert!(Rate::of(&[true]).at_most(0.05) && Rate::of(&[false]).at_least(0.95));
        assert!(Rate::of(&[]).at_most(0.0));
        assert_eq!(Rate::of(&[true, false]).share(), 0.5);
    }
}
