//! Gains of calls: the untouched library beside what is deployed, in launches in turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Gains of all calls that the proof compared, in one look. A call at several sizes counts once per size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gain {
    /// Calls that were compared.
    pub calls: usize,
    /// Those that became faster.
    pub faster: usize,
    /// Those that became slower.
    pub slower: usize,
    /// Default time over deployed time, geometric mean over all compared calls; above 1 is faster.
    pub geometric_mean: f64,
    /// The call with the largest factor: of those that became faster, if any did.
    pub best: CallAt,
    /// The call with the smallest factor: of those that became slower, if any did.
    pub worst: CallAt,
}

/// A call at one size, and its factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallAt {
    /// Such as `reduce`.
    pub function: String,
    /// Measured total volume, in bytes.
    pub bytes: u64,
    /// Default time over deployed time; above 1 is faster.
    pub factor: f64,
}

/// A call at one size under the deployed files, beside the untouched library in launches in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallGain {
    /// Such as `reduce`.
    pub function: String,
    /// Measured total volume, in bytes.
    pub bytes: u64,
    /// Median of the untouched library's launches, in seconds.
    pub default_seconds: f64,
    /// Median of the launches with the deployed files, in seconds.
    pub deployed_seconds: f64,
    /// Default time over deployed time, from the pairs of launches; above 1 is faster.
    pub factor: f64,
    /// Interval of the factor.
    pub factor_ci: (f64, f64),
    /// Launches with the deployed files.
    pub launches: usize,
    /// The launches' verdict.
    pub verdict: GainVerdict,
}

/// The verdict of launches in turn on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GainVerdict {
    /// Faster: the interval excludes 1, and the factor is beyond the effect floor.
    Faster,
    /// Slower, by the same rule.
    Slower,
    /// Neither is shown.
    Same,
}

impl Gain {
    /// The gains of these calls; `None` where no call was compared.
    #[must_use]
    pub fn of(calls: &[CallGain]) -> Option<Gain> {
        let by_factor = |a: &&CallGain, b: &&CallGain| a.factor.total_cmp(&b.factor);
        // A large factor that launches do not confirm is no gain to boast of.
        let shown = |verdict| calls.iter().filter(move |call| call.verdict == verdict);
        let best = shown(GainVerdict::Faster).max_by(by_factor);
        let worst = shown(GainVerdict::Slower).min_by(by_factor);
        let best = best.or_else(|| calls.iter().max_by(by_factor))?;
        let worst = worst.or_else(|| calls.iter().min_by(by_factor))?;
        let number = |verdict| calls.iter().filter(|call| call.verdict == verdict).count();
        Some(Gain {
            calls: calls.len(),
            faster: number(GainVerdict::Faster),
            slower: number(GainVerdict::Slower),
            geometric_mean: geometric_mean(calls),
            best: best.at(),
            worst: worst.at(),
        })
    }
}

impl CallGain {
    /// The call with its factor alone.
    fn at(&self) -> CallAt {
        CallAt {
            function: self.function.clone(),
            bytes: self.bytes,
            factor: self.factor,
        }
    }
}

/// Geometric mean of the factors of these calls; not-a-number where there are none.
#[must_use]
pub fn geometric_mean(calls: &[CallGain]) -> f64 {
    let logs: f64 = calls.iter().map(|call| call.factor.ln()).sum();
    (logs / calls.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(bytes: u64, factor: f64, verdict: GainVerdict) -> CallGain {
        CallGain {
            function: "reduce".to_owned(),
            bytes,
            default_seconds: factor * 1e-6,
            deployed_seconds: 1e-6,
            factor,
            factor_ci: (0.9 * factor, 1.1 * factor),
            launches: 10,
            verdict,
        }
    }

    #[test]
    fn calls_are_counted_once_per_size_and_factors_multiplied() {
        let calls = [
            call(1, 4.0, GainVerdict::Faster),
            call(2, 1.0, GainVerdict::Same),
            call(4, 0.5, GainVerdict::Slower),
        ];
        let gain = Gain::of(&calls).unwrap();
        assert_eq!((gain.calls, gain.faster, gain.slower), (3, 1, 1));
        assert!((gain.geometric_mean - 2_f64.cbrt()).abs() < 1e-12);
        assert_eq!((gain.best.bytes, gain.worst.bytes), (1, 4));
        assert_eq!(Gain::of(&[]), None);
        let unsure = [call(1, 9.0, GainVerdict::Same), call(2, 4.0, GainVerdict::Faster)];
        assert_eq!(
            Gain::of(&unsure).unwrap().best.bytes,
            2,
            "launches do not show the larger one"
        );
    }
}
