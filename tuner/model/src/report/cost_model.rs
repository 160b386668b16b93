//! Prices, and the times that they predict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Prices by which a cell's times are predicted and explained. They are measured with messages between two ranks and
/// with local work. Without such measurements they are fitted to the times of collectives: a call takes `rounds * alpha
/// + bytes sent * beta + bytes combined * gamma`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostModel {
    /// Carrier of the data: `messages` or `shared memory`.
    pub medium: String,
    /// Measured prices; empty if they are fitted.
    #[serde(default)]
    pub prices: Vec<MeasuredPrice>,
    /// Seconds per message of collectives' times beyond measured prices: software, for which there is no price.
    #[serde(default)]
    pub residual: f64,
    /// Fitted seconds per round; 0 if prices are measured.
    pub alpha: f64,
    /// Fitted seconds per byte sent.
    pub beta: f64,
    /// Fitted seconds per byte combined.
    pub gamma: f64,
    /// Number of times of collectives to which it was fitted, or with which it was compared.
    pub points: usize,
    /// Factor between measured and modelled times within which four of five lie.
    pub misfit: f64,
    /// True if it fits well enough to leave candidates out.
    pub trusted: bool,
}

/// A measured price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredPrice {
    /// Priced quantity, such as `latency between nodes`.
    pub what: String,
    /// The median in seconds.
    pub seconds: f64,
    /// Ends of its interval at a confidence of 95 %, in seconds.
    pub interval: (f64, f64),
}

/// Time that a cost model predicts for a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// Seconds.
    pub seconds: f64,
    /// Ends of the interval within which the model cannot tell times apart, in seconds.
    pub interval: (f64, f64),
    /// Terms of the explained time: `7 hops x 196 us + 14 messages x 4.00 us + 448 KiB sent x 8.50 ns/B`. If
    /// `unexplained` is present, they explain nothing.
    pub because: String,
    /// States that the model does not explain the measured time, and how far off it is; absent if it does.
    #[serde(default)]
    pub unexplained: Option<String>,
}
