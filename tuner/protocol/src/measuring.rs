//! How a repetition is started and what state the caches are in: parts of the plan's header.

use serde::{Deserialize, Serialize};

/// How the ranks start a repetition together, and what its time is.
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
    /// A barrier, then the longest of the local times. The fall-back: what leaves the barrier late is missing from the time.
    Barrier,
}

impl Synchronisation {
    /// As a report spells it.
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

/// What the caches hold when a repetition starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// What the repetition before left there: the user's buffers, as far as they fit.
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
    /// What the clock is ahead by, in seconds.
    pub offset_seconds: f64,
    /// How much too fast it is, in parts per million.
    pub drift_ppm: f64,
}
