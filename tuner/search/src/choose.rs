//! Measured ways of a call, and what was chosen of them.

use kilter_model::deployment::Selection;
use kilter_model::report::Contest;
use kilter_stats::sample::Sample;

use crate::target::Target;

/// A candidate with its launch medians in seconds.
#[derive(Debug, Clone)]
pub struct Measured {
    /// `None` is the default: the library as it is launched.
    pub selection: Option<Selection>,
    /// One median per launch.
    pub medians: Sample,
}

/// The default and the finalists of a contest under one arrival pattern.
#[derive(Debug, Clone)]
pub struct Apart {
    /// The pattern in words.
    pub when: String,
    /// Their launch medians in seconds; the default is among them.
    pub candidates: Vec<Measured>,
}

/// A contest that was held, before anything is chosen.
#[derive(Debug, Clone)]
pub struct Held {
    /// The target of this contest.
    pub target: Target,
    /// The default and the finalists.
    pub candidates: Vec<Measured>,
    /// The default and the finalists when the ranks arrive apart, pattern by pattern.
    pub apart: Vec<Apart>,
}

/// The decision for a call.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The selection to deploy; `None` leaves the call alone.
    pub chosen: Option<Selection>,
    /// Why the call misses its bound; `None` where it meets it, or has none.
    pub unfixed_because: Option<String>,
    /// The contest, for the report.
    pub contest: Contest,
}
