//! A target for overlap, before and after.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fix::Fix;
use crate::not_deployed::NotDeployed;

/// Result for an overlap target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetReport {
    /// Such as `OV_RECEIVER`.
    pub target: String,
    /// The benchmark it is stated for.
    pub benchmark: String,
    /// Statement about times of the untouched library.
    pub statement: String,
    /// Sizes and computations for which it is stated.
    pub stated_for: String,
    /// Verdict with the untouched library: `holds`, `missed`, `undecided` or `not measured`.
    pub before: String,
    /// Verdict with the deployed settings; `None` if nothing is deployed.
    pub after: Option<String>,
    /// Settings that meet the target, if it was missed.
    pub fix: Option<Fix>,
    /// Reason why it is still missed.
    pub unmet_because: Option<String>,
    /// True if it can be met on this machine.
    pub attainable: bool,
    /// Cells by which it was judged.
    pub cells: Vec<TargetCell>,
    /// Candidates that looked better in a launch of the search for the missed targets; the same for all of them.
    #[serde(default)]
    pub candidates: Vec<TargetCandidate>,
}

/// A setting that looked better for overlap in a launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetCandidate {
    /// Such as `KILTER_PROGRESS=on`.
    pub id: String,
    /// Excess over the bounds of the missed targets without it, as a fraction of what could be hidden.
    pub shortfall_before: f64,
    /// Excess with it.
    pub shortfall: f64,
    /// Reason why it is not deployed; absent if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_deployed: Option<NotDeployed>,
}

impl TargetReport {
    /// True if it is missed (with the deployed settings, if there are any) and could be met here.
    #[must_use]
    pub fn is_missed(&self) -> bool {
        self.after.as_ref().unwrap_or(&self.before) == "missed" && self.attainable
    }
}

/// A target in one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetCell {
    /// Size of the message in bytes.
    pub bytes: u64,
    /// Computation, in nanoseconds.
    pub computation_ns: u64,
    /// Computing threads.
    pub threads: u32,
    /// `holds`, `missed`, `undecided` or `masked`.
    pub verdict_before: String,
    /// Bounded value.
    pub value_before: f64,
    /// Verdict with the deployed settings.
    pub verdict_after: Option<String>,
    /// Bounded value with the deployed settings, by the untouched library's times for communication and computation.
    pub value_after: Option<f64>,
}
