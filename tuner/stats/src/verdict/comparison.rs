//! A verdict: an outcome and the numbers that it rests on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A verdict with its evidence. Where samples are missing, numbers are not-a-number, which JSON writes as `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The outcome.
    pub verdict: Outcome,
    /// Left over right: of the medians of the launch medians, or, where launches came in modes, typical within a launch.
    #[serde(deserialize_with = "crate::nan::null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub ratio: f64,
    /// 95 % confidence interval of the ratio (Hodges-Lehmann on logarithms).
    #[serde(deserialize_with = "crate::nan::null_pair_as_nan")]
    #[schemars(with = "(Option<f64>, Option<f64>)")]
    pub ratio_ci: (f64, f64),
    /// One-sided p-value of the rank-sum test.
    #[serde(deserialize_with = "crate::nan::null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub p: f64,
    /// The same after correction for all tests of the run.
    #[serde(deserialize_with = "crate::nan::null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub p_adjusted: f64,
    /// Median of the left side, in seconds.
    #[serde(deserialize_with = "crate::nan::null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub seconds: f64,
    /// Median of the right side, in seconds.
    #[serde(deserialize_with = "crate::nan::null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub right_seconds: f64,
    /// Per-launch medians of the left side, in seconds.
    pub left_medians: Vec<f64>,
    /// Per-launch medians of the right side, in seconds.
    pub right_medians: Vec<f64>,
}

/// The outcome of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The guideline holds.
    Holds,
    /// The guideline is broken, significantly and beyond the effect floor.
    Violated,
    /// The samples do not decide.
    Undecided,
    /// The machine changed while it was measured.
    Unstable,
    /// Looked at in the screening alone: it can be violated, and the seconds ended before fresh launches confirmed it or not.
    Screened,
}
