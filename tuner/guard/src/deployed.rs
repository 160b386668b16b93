//! The state of what was tuned and deployed: if it still acts, and if the guideline that it fixed still holds.

use schemars::JsonSchema;
use serde::Serialize;

use kilter_stats::verdict::{Comparison, Outcome};

/// A deployed change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The change, such as `btl_vader_eager_limit=32768` or `reduce 4096: reduce.ring`.
    pub id: String,
    /// Its state tonight.
    pub acts: Acts,
    /// True if it acted when the state was accepted.
    pub acted: bool,
}

/// If a change acts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "acts", content = "because", rename_all = "snake_case")]
pub enum Acts {
    /// It acts, with the evidence.
    Yes(String),
    /// It does not, with the evidence.
    No(String),
    /// Nobody can tell, with the reason.
    Unknown(String),
}

/// Standing of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It acts.
    Acts,
    /// It acted when the state was accepted, and does not any more.
    NoLonger,
    /// It did not act when the state was accepted, or nobody looked: it was never installed here.
    NotInForce,
    /// Nobody can tell.
    Unknown,
}

impl Change {
    /// Standing.
    #[must_use]
    pub fn state(&self) -> State {
        match (&self.acts, self.acted) {
            (Acts::Yes(_), _) => State::Acts,
            (Acts::No(_), true) => State::NoLonger,
            (Acts::No(_), false) => State::NotInForce,
            (Acts::Unknown(_), _) => State::Unknown,
        }
    }
}

/// A guideline that was violated and that a deployed change fixed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Guideline {
    /// The cell, such as `GL8 reduce 4096`.
    pub cell: String,
    /// The guideline, such as `reduce(n) <= allreduce(n)`.
    pub expression: String,
    /// The change that fixed it.
    pub fix: String,
    /// True if the change acts, or acted when the state was accepted: only then it should hold.
    pub is_expected: bool,
    /// The verdict of tonight; absent where a side was not measured.
    pub comparison: Option<Comparison>,
}

impl Guideline {
    /// True if it should hold, and is violated.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        let verdict = self.comparison.as_ref().map(|comparison| comparison.verdict);
        self.is_expected && verdict == Some(Outcome::Violated)
    }

    /// True if it should hold, and no times tell.
    #[must_use]
    pub fn is_unmeasured(&self) -> bool {
        self.is_expected && self.comparison.is_none()
    }
}
