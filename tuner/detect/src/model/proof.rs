//! Proof of a finding: its messages, measured beside the collectives that would replace them.

use kilter_stats::verdict::{Comparison, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of measuring a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// All sides have times.
    Measured(Box<Measured>),
    /// The reason why it was not measured.
    NotMeasured(String),
}

/// Times of a finding's typical occurrence and of its replacements, from the same launches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Index of the occurrence whose messages were repeated.
    pub instance: usize,
    /// Volume of the collective call, in bytes.
    pub bytes: u64,
    /// Launches that the comparisons rest on.
    pub launches: usize,
    /// True if the budget ended before all launches were made.
    pub ended_by_budget: bool,
    /// The messages, without the pauses and the copies of the program: median of the launches' medians, in seconds.
    pub schedule_seconds: f64,
    /// True if the data of the messages show that they do what the collective does.
    pub is_shown: bool,
    /// Operator and datatype by which all sides combine, of a reduction. By hand that is done once for each message that brings a part of the
    /// result, which is assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub combined: Option<String>,
    /// The library's collective, and Kilter's fastest algorithm, where one ran.
    pub replacements: Vec<Side>,
    /// Replacements that could not run, each with the reason.
    pub failed: Vec<String>,
}

/// A replacement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// The library's function, such as `MPI_Bcast`, or the id of Kilter's algorithm.
    pub name: String,
    /// Median of the launches' medians, in seconds.
    pub seconds: f64,
    /// Smallest difference from it that counts, in seconds.
    pub smallest_seconds: f64,
    /// The messages (left) beside this replacement (right). Violated: the messages take longer.
    pub comparison: Comparison,
}

impl Measured {
    /// The fastest replacement that the messages are slower than, by the verdict.
    #[must_use]
    pub fn best(&self) -> Option<&Side> {
        let faster = self
            .replacements
            .iter()
            .filter(|side| side.comparison.verdict == Outcome::Violated && side.seconds < self.schedule_seconds);
        faster.min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// Seconds that the best replacement saves in so many occurrences, without the waiting of the program; 0 where none is faster.
    #[must_use]
    pub fn gain_seconds(&self, instances: usize) -> f64 {
        let saves = self.best().map_or(0.0, |side| self.schedule_seconds - side.seconds);
        saves * instances as f64
    }
}
