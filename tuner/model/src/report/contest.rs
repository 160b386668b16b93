//! Candidates that competed for a violated cell, and those that were left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cost_model::{CostModel, Prediction};
use crate::change::Change;
use crate::fix::FixKind;
use crate::not_deployed::NotDeployed;

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

/// A candidate that was not measured because of a model's prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Such as `bcast.linear`.
    pub id: String,
    /// Time that the model predicts, with the best of its parameters.
    pub predicted: Prediction,
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
