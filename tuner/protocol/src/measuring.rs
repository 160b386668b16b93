//! Start of a repetition and state of the caches: parts of the plan's header.

use serde::{Deserialize, Serialize};

/// Method by which the ranks start a repetition together, and the definition of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Synchronisation {
    /// `SharedClock` where all ranks read one clock, else `RoundTime`.
    #[default]
    Auto,
    /// All ranks read one clock, which is checked: a common start ahead, the latest end minus that start.
    SharedClock,
    /// Each rank has a clock of its own, and a model of how rank 0's differs: otherwise as with a shared clock.
    RoundTime,
    /// A barrier, then the longest of the local times. The fall-back: a delay in leaving the barrier is missing from the time.
    Barrier,
}

impl Synchronisation {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Synchronisation::Auto => "auto",
            Synchronisation::SharedClock => "shared-clock",
            Synchronisation::RoundTime => "round-time",
            Synchronisation::Barrier => "barrier",
        }
    }
}

/// Contents of the caches when a repetition starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// The leftovers of the repetition before: the user's buffers, as far as they fit.
    #[default]
    Warm,
    /// Nothing of the user's buffers: every rank sweeps other memory before each start.
    Cold {
        /// Bytes swept; `None`: twice the last-level cache of the rank's host.
        bytes: Option<u64>,
    },
}

/// For tests: gives a rank a clock that is wrong. It shows `t + offset + drift t` where the host's shows `t`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockFault {
    /// The rank.
    pub rank: usize,
    /// Lead of the clock, in seconds.
    pub offset_seconds: f64,
    /// Excess of its speed, in parts per million.
    pub drift_ppm: f64,
}
