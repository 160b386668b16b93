//! A night: all that was found, and its standing. [`Kept`] is what the database keeps of it for later nights.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::changes::Change;
use crate::deployed::{self, State};
use crate::facts::Facts;
use crate::nodes::Map;
use crate::times::{Pace, Timed};

/// Version of the JSON.
pub const SCHEMA: u32 = 1;

/// The findings of `kilter guard`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Night {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The library, with its version.
    pub library: String,
    /// Ranks of the jobs.
    pub ranks: usize,
    /// Hosts of the ranks.
    pub hosts: Vec<String>,
    /// Begin, in UTC.
    pub started: String,
    /// Run in the database.
    pub run: i64,
    /// The state that it is compared with; absent where it is the first.
    pub accepted: Option<Accepted>,
    /// True if this state is accepted from now on.
    pub accepts: bool,
    /// Facts that changed.
    pub changes: Vec<Change>,
    /// Number of facts that were compared, or noted.
    pub facts: usize,
    /// Deployed changes.
    pub deployed: Vec<deployed::Change>,
    /// Guidelines that they fixed.
    pub guidelines: Vec<deployed::Guideline>,
    /// Times of the watched cells; empty where the state is the first.
    pub times: Vec<Timed>,
    /// Number of cells that were watched.
    pub watched: usize,
    /// Probability of even one false alarm of the times in ten nights of nothing.
    pub alpha: f64,
    /// Hosts against each other, with `--per-node`.
    pub nodes: Option<Map>,
    /// Parts that could not be checked, each with the reason.
    pub unchecked: Vec<String>,
    /// Things the reader should know.
    pub warnings: Vec<String>,
}

/// The state with which a night is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Accepted {
    /// Its run in the database.
    pub run: i64,
    /// Time of acceptance, in UTC.
    pub started: String,
    /// Nights since then in which nothing was found.
    pub silent_nights: usize,
}

/// Standing of a night.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nothing changed.
    Silent,
    /// Something changed, or is slower.
    Differs,
    /// Nothing was found, and something could not be checked.
    Unchecked,
}

impl Night {
    /// Standing.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let is_slower = self.times.iter().any(|timed| timed.pace == Pace::Slower);
        let has_reverted = self.deployed.iter().any(|change| change.state() == State::NoLonger);
        let is_broken = self.guidelines.iter().any(deployed::Guideline::is_broken);
        let has_slow = self.nodes.as_ref().is_some_and(|map| !map.slow.is_empty());
        if !self.changes.is_empty() || is_slower || has_reverted || is_broken || has_slow {
            return Standing::Differs;
        }
        let is_unmeasured = self.times.iter().any(|timed| timed.pace == Pace::NotMeasured)
            || self.guidelines.iter().any(deployed::Guideline::is_unmeasured)
            || self
                .deployed
                .iter()
                .any(|change| change.acted && change.state() == State::Unknown);
        if is_unmeasured || !self.unchecked.is_empty() {
            Standing::Unchecked
        } else {
            Standing::Silent
        }
    }
}

/// The parts of a night that later nights need.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Facts.
    pub facts: Facts,
    /// Launch medians of the watched cells, in seconds.
    pub times: BTreeMap<String, Vec<f64>>,
    /// Ids of the deployed changes that acted.
    #[serde(default)]
    pub acting: BTreeSet<String>,
}
