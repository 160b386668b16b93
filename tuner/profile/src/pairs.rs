//! Receives by their senders: for whom a rank stands, and where.

use schemars::JsonSchema;
use serde::Serialize;

use crate::profile::{Profile, Received};

/// Blocking receives and probes of a rank that waited for messages of another one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OfPair {
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Function of the receiver.
    pub function: String,
    /// Place of its calls in the program.
    pub place: String,
    /// Number of calls.
    pub calls: u64,
    /// Seconds in them.
    pub seconds: f64,
    /// Bytes that came; 0 for probes.
    pub bytes: u64,
}

/// The pairs of a profile, by their time.
#[must_use]
pub fn of(profile: &Profile) -> Vec<OfPair> {
    let pair = |line: &Received| OfPair {
        from: line.from,
        to: line.rank,
        function: line.function.clone(),
        place: profile.place(line.site),
        calls: line.calls,
        seconds: line.seconds,
        bytes: line.bytes,
    };
    let mut pairs: Vec<OfPair> = profile.received.iter().map(pair).collect();
    pairs.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    pairs
}
