//! `report.json`: findings, changes and proofs of a run. The other reports are renderings of it.

use std::collections::BTreeMap;

use kilter_stats::verdict::Comparison;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::fix::{Fix, FixKind, Setting};

use super::not_deployed::NotDeployed;
use crate::change::Change;
use crate::survey::BeforeAndAfter;

/// Version of the schema.
pub const SCHEMA: u32 = 1;

/// Reason for a side that no launch reached.
pub const UNREACHED: &str = "the time did not reach it; raise --budget";

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// `check` or `tune`.
    pub command: String,
    /// The measured library.
    pub library: Library,
    /// Ranks of the communicator.
    pub ranks: usize,
    /// Place, time and method of the run.
    pub provenance: Provenance,
    /// Every guideline at every size.
    pub cells: Vec<Cell>,
    /// Deployed changes; empty for `check`.
    pub changes: Vec<DeployedChange>,
    /// Candidates for each violated cell, best first; empty for `check`.
    pub contests: Vec<Contest>,
    /// Time that the changes save an application with the given call mix (`--mix`); for `check`, the time that the
    /// violations cost it.
    #[serde(default)]
    pub savings: Vec<Saving>,
    /// Overlap targets, if any were requested.
    #[serde(default)]
    pub targets: Vec<TargetReport>,
    /// Overlap maps at the points by which the targets were judged; absent without targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<BeforeAndAfter>,
    /// Candidates that hung, crashed or delivered wrong data.
    pub quarantined: Vec<Quarantined>,
    /// Guidelines, or sides of them, that could not be verified here, each with the reason.
    #[serde(default)]
    pub not_verified: BTreeMap<String, String>,
    /// Things the reader should know, each ending in an action.
    pub warnings: Vec<String>,
}

/// An MPI library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Library {
    /// Such as `Open MPI`.
    pub name: String,
    /// Such as `4.1.4`.
    pub version: String,
}

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

/// One guideline at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Guideline id, such as `GL8`.
    pub guideline: String,
    /// The guideline as text for this cell, such as `reduce(n) <= allreduce(n)`; a monotony cell names both sizes.
    pub expression: String,
    /// `monotony`, `split` or `pattern`.
    pub kind: String,
    /// The collective on the left side, such as `reduce`.
    pub function: String,
    /// Requested total volume, in bytes.
    pub bytes: u64,
    /// Measured total volume: `bytes` rounded up to a multiple of `ranks` if blocks are involved.
    pub measured_bytes: u64,
    /// Size of the right side if it differs (monotony, split).
    pub right_bytes: Option<u64>,
    /// Ranks of the communicator.
    pub ranks: usize,
    /// Verdict with the untouched library.
    pub before: Comparison,
    /// Verdict with the deployed settings; absent for `check`.
    pub after: Option<Comparison>,
    /// The fix.
    pub fix: Option<Fix>,
    /// Reason why a violated cell has no fix.
    pub unfixed_because: Option<String>,
    /// Remark on the verdict, such as why it is unstable.
    #[serde(default)]
    pub note: Option<String>,
}

/// One deployed change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Change")]
pub struct DeployedChange {
    /// The kind.
    pub kind: FixKind,
    /// Parameter name, or collective.
    pub name: String,
    /// Value, or implementation id.
    pub value: String,
    /// File in the `emit` directory that carries it.
    pub file: String,
    /// The violated cells that it fixes, in words.
    pub why: String,
    /// Time before over time after on the cells that it fixes (geometric mean); above 1 is faster.
    #[serde(deserialize_with = "kilter_stats::nan::null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub gain: f64,
    /// The cells that it fixes, as `GL8 reduce 4096`.
    pub cells: Vec<String>,
}

/// Candidates that competed for one violated cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contest {
    /// The collective.
    pub function: String,
    /// Total volume in bytes.
    pub bytes: u64,
    /// Candidates, fastest first, the default among them.
    pub candidates: Vec<Contestant>,
    /// Evidence that choosing among the library's algorithms acts here, or that it does not; absent if none of them was
    /// compared.
    #[serde(default)]
    pub proof: Option<String>,
    /// Cost models that predicted the candidates.
    #[serde(default)]
    pub models: Vec<CostModel>,
    /// Candidates that were not measured because a model puts them far above the best.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// Candidates that were not measured because the options forbid them.
    #[serde(default)]
    pub refused: Vec<Refused>,
    /// Candidates that were faster than the default in the screening but were not measured further, fastest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub screened: Vec<Screened>,
}

/// A candidate that was faster than the default in a screening but reached no final.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Screened {
    /// Such as `reduce.binomial`.
    pub id: String,
    /// Time over the default's, in the screening.
    #[serde(deserialize_with = "kilter_stats::nan::null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub ratio_to_default: f64,
    /// Reason why it is not deployed.
    pub not_deployed: NotDeployed,
}

/// A candidate that the options forbid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refused {
    /// Such as `reduce.binomial`.
    pub id: String,
    /// Reason: `keeps up to 2 MiB of scratch on a rank, --scratch-limit allows 1 MiB`.
    pub because: String,
}

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

/// A candidate that was not measured because of a model's prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Such as `bcast.linear`.
    pub id: String,
    /// Time that the model predicts, with the best of its parameters.
    pub predicted: Prediction,
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

/// Time that a change saves an application at one function and volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Saving {
    /// Such as `reduce`.
    pub function: String,
    /// Total volume of the calls in the mix, in bytes.
    pub bytes: u64,
    /// Calls in the mix.
    pub calls: f64,
    /// Seconds of a call with the untouched library.
    pub seconds_before: f64,
    /// Seconds of a call with the deployed settings; for `check`, those of the tightest right side of a violated
    /// guideline.
    pub seconds_after: f64,
    /// Calls times the difference, in seconds; below zero if calls became slower.
    pub saved_seconds: f64,
    /// True if the difference is significant and beyond the noise floor.
    pub certain: bool,
}

/// One candidate in a contest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contestant {
    /// Such as `default`, `coll_tuned_reduce_algorithm=4 coll_tuned_reduce_algorithm_segmentsize=32768`, `reduce.ring`.
    pub id: String,
    /// The kind; absent for the default.
    pub kind: Option<FixKind>,
    /// Median time in seconds.
    #[serde(deserialize_with = "kilter_stats::nan::null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub seconds: f64,
    /// Time over the default's time in the same job.
    #[serde(deserialize_with = "kilter_stats::nan::null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub ratio_to_default: f64,
    /// Time over the tightest right side of the violated guidelines.
    #[serde(deserialize_with = "kilter_stats::nan::null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub ratio_to_bound: f64,
    /// True if it is statistically as good as the fastest.
    pub among_best: bool,
    /// True if it was chosen.
    pub chosen: bool,
    /// The change that would be deployed if it were chosen, empty for the default. Not part of the file.
    #[serde(skip)]
    pub change: Change,
    /// Reason why a candidate faster than the default is not deployed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_deployed: Option<NotDeployed>,
    /// Time predicted by a cost model fitted to the other candidates; absent for candidates without counts of rounds
    /// and bytes.
    #[serde(default)]
    pub predicted: Option<Prediction>,
}

/// A candidate that must never be proposed again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quarantined {
    /// The candidate's id.
    pub id: String,
    /// Failure: `hung`, `crashed`, `wrong data`, `had no effect`.
    pub what: String,
    /// The details.
    pub detail: String,
}
