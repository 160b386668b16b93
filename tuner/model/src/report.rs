//! `report.json`: findings, changes and proofs of a run. The other reports are renderings of it.

mod arrival;
pub mod change;
mod contest;
mod cost_model;
pub mod gain;
mod provenance;
mod target;

use std::collections::{BTreeMap, BTreeSet};

use kilter_protocol::fault::FaultKind;
use kilter_stats::verdict::Comparison;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::fix::{Fix, FixKind, Setting};
pub use arrival::ArrivalCell;
pub use change::{DeployedChange, SizeRange};
pub use contest::{Contest, Contestant, LeftOut, Refused, Screened};
pub use cost_model::{CostModel, MeasuredPrice, Prediction};
pub use gain::{CallAt, CallGain, Gain, GainVerdict};
pub use provenance::{BudgetPart, Provenance};
pub use target::{TargetCandidate, TargetCell, TargetReport};

use crate::config::mix::Application;
use crate::survey::BeforeAndAfter;

/// Version of the schema.
pub const SCHEMA: u32 = 1;

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
    /// Gains of the calls in one look; absent for `check`, and where nothing that is deployed was measured beside the untouched library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// Calls that what is deployed may act on, beside the untouched library in launches in turn.
    #[serde(default)]
    pub gains: Vec<CallGain>,
    /// Deployed changes; empty for `check`.
    pub changes: Vec<DeployedChange>,
    /// Candidates for each violated cell, best first; empty for `check`.
    pub contests: Vec<Contest>,
    /// Time that the changes save an application with the given call mix (`--mix`); for `check`, the time that the
    /// violations cost it.
    #[serde(default)]
    pub savings: Vec<Saving>,
    /// The part of the application's time that was looked at; absent without a call mix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_stake: Option<AtStake>,
    /// The application's run in which the calls of the mix were counted, if it is known; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    /// Overlap targets, if any were requested.
    #[serde(default)]
    pub targets: Vec<TargetReport>,
    /// Overlap maps at the points by which the targets were judged; absent without targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<BeforeAndAfter>,
    /// Comparisons with ranks that arrive apart (`--arrival`).
    #[serde(default)]
    pub arrivals: Vec<ArrivalCell>,
    /// Candidates that hung, crashed or delivered wrong data.
    pub quarantined: Vec<Quarantined>,
    /// Guidelines, or sides of them, that could not be verified here, each with the reason.
    #[serde(default)]
    pub not_verified: BTreeMap<String, String>,
    /// Sides among them that no launch reached: more time would.
    #[serde(default)]
    pub unreached: BTreeSet<String>,
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
    /// Verdict with the deployed settings; absent for `check`, and for cells that were not measured again.
    pub after: Option<Comparison>,
    /// Why the cell was not measured again although what is deployed may act on it, such as `the budget ended`: nothing is known of it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_measured_again: Option<String>,
    /// The fix; a partial one where the cell is violated still.
    pub fix: Option<Fix>,
    /// Reason why a violated cell is not fixed; what is deployed for it all the same comes first.
    pub unfixed_because: Option<String>,
    /// Remark on the verdict, such as why it is unstable.
    #[serde(default)]
    pub note: Option<String>,
}

/// Seconds of a rank of an application in the calls of its mix: measured ones where the mix has them, or what such calls take about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtStake {
    /// In all calls that guidelines speak of.
    pub seconds: f64,
    /// In those that were timed.
    pub looked_at_seconds: f64,
    /// Functions and volumes of the others, the dearest first.
    pub not_looked_at: Vec<String>,
}

impl AtStake {
    /// The sentence that says how much was looked at.
    #[must_use]
    pub fn in_words(&self) -> String {
        const NAMED: usize = 3;
        let missing = &self.not_looked_at;
        if missing.is_empty() {
            return "Calls that hold at least 99 % of the application's time were looked at, of those that guidelines speak of.".to_owned();
        }
        // What is missing is never rounded away.
        let percent = (100.0 * self.looked_at_seconds / self.seconds).floor().min(99.0);
        let named = missing.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = match missing.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "{percent} % of the application's time in the calls that guidelines speak of were looked at; not reached: {named}{more}."
        )
    }
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

/// A candidate that must never be proposed again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quarantined {
    /// The candidate's id.
    pub id: String,
    /// Failure: `hung`, `crashed`, `did not start`, `delivered wrong data`, `had no effect`, `other results`, `could not be run`,
    /// `failed the correctness matrix`, `could not be verified`.
    #[schemars(with = "String")]
    pub what: FaultKind,
    /// The details.
    pub detail: String,
}
