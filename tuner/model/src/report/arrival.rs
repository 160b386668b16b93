//! Findings on ranks that arrive apart.

use kilter_stats::verdict::Comparison;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A comparison of two sides whose ranks arrive apart. Times are the last end minus the last arrival.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalCell {
    /// The arrival pattern, such as `when ranks arrive at random`.
    pub when: String,
    /// Guideline id; null where a call under what is deployed is compared with itself in the untouched library.
    pub guideline: Option<String>,
    /// Both sides as text, such as `reduce(n) <= allreduce(n)`.
    pub expression: String,
    /// The collective on the left side, such as `reduce`.
    pub function: String,
    /// Measured total volume, in bytes.
    pub bytes: u64,
    /// Offset of the last rank from the first one, in seconds.
    pub offset_seconds: f64,
    /// The verdict with its evidence.
    pub comparison: Comparison,
    /// Mean delay of the ranks on the left and on the right side, in seconds: a rank's own end minus its own arrival. Null where it is not
    /// known.
    pub delays: Option<(f64, f64)>,
}
