//! Place, time and method of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fix::Setting;

/// Place, time and method of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The library's own version string.
    pub library_string: String,
    /// Hosts reached, each once.
    pub hosts: Vec<String>,
    /// Seed of every order.
    pub seed: u64,
    /// The command line that made this report.
    pub command_line: String,
    /// A launch as it was run, before tuning.
    pub launch_before: String,
    /// A launch as it was run with the deployed settings; empty for `check`.
    pub launch_after: String,
    /// Start of the run, the first one if it was resumed: RFC 3339 in UTC.
    pub started: String,
    /// Wall-clock seconds of the command, without the time of an interrupted run that it resumed.
    pub measuring_seconds: f64,
    /// Shares of the budget; absent if one part had it all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budget: Vec<BudgetPart>,
    /// Launches (R); cells that were decided early have fewer.
    pub launches: usize,
    /// Significance level after correction.
    pub alpha: f64,
    /// Smallest effect that counts, as a fraction.
    pub effect_floor: f64,
    /// Spread of the empty operation (timer and synchronisation), in seconds.
    pub noise_seconds: f64,
    /// Smallest step of the clock, in seconds.
    pub clock_tick_seconds: f64,
    /// Cost of one reading of the clock, in seconds.
    #[serde(default)]
    pub clock_read_seconds: f64,
    /// Time that a rank measures for an empty repetition by itself, in seconds.
    #[serde(default)]
    pub loop_overhead_seconds: f64,
    /// Synchronisation of ranks at the start of a repetition: `shared-clock`, `round-time`, `barrier`; empty if not
    /// known.
    #[serde(default)]
    pub sync_method: String,
    /// Largest difference of a rank's idea of the common time from rank 0's, as found by asking, in seconds.
    #[serde(default)]
    pub sync_residual_seconds: f64,
    /// Largest error of that difference (half the round trip of asking), in seconds.
    #[serde(default)]
    pub sync_bound_seconds: f64,
    /// Version of Kilter.
    pub kilter_version: String,
    /// The simulated machine, such as `ib-32x1`, on which all times are exact; absent if ranks really ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_machine: Option<String>,
    /// Parameters that the site requested for every launch (`--mca`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub site_parameters: Vec<Setting>,
}

/// A part of a command's time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetPart {
    /// Such as `first verification`.
    pub part: String,
    /// Allotted seconds.
    pub allotted_seconds: f64,
    /// Used seconds.
    pub used_seconds: f64,
}
