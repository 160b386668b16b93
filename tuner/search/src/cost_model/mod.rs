//! Predicted time of a collective: `hops * latency + messages * gap + bytes_sent * byte + bytes_reduced * combine`. The prices are measured
//! here, with messages between two ranks and with local work, and are not taken from collectives' times.
//!
//! The counts are those of the registry's rows ([`kilter_algorithms::Cost`]), which are tested against messages that were counted, and the
//! messages that wait for each other.
//!
//! * [`measure`]: the launch that measures prices; [`crate::pricing`] makes it. All here is pure.
//! * [`prices`]: the measured prices, with intervals, by size and distance.
//! * [`counts`]: the counts of a call.
//! * [`explain`]: a time in words, and the test that it explains the measured one.
//! * [`calibrated`]: the error of prices for collectives, and what these need beside them.
//! * [`fit`]: prices fitted to collectives' times, for copies in shared memory and where no price was measured: Hockney's model with a term
//!   for combining (R. W. Hockney, The communication challenge for MPP, Parallel Computing 20(3), 1994,
//!   doi:10.1016/S0167-8191(06)80021-9). They help to leave candidates out.
//! * [`prune`]: which candidates need not be measured.
//!
//! One set of prices does not fit everything: eager and rendezvous messages, caches and copies in shared memory cost differently.
//! So rows that send messages and rows that copy in shared memory are judged apart ([`Medium`]), each target with the points within
//! a factor of [`WINDOW`] of its size; and where a model is wrong even there, nothing is decided by it.

pub mod calibrated;
pub mod counts;
pub mod explain;
pub mod fit;
pub mod measure;
pub mod prices;
pub mod prune;

use kilter_algorithms::{Algorithm, Cost, Need, Nodes, Setting};

/// Points whose volume is within this factor of a target's are fitted for it: protocols and caches change over a few octaves.
pub const WINDOW: u64 = 16;

/// The carrier of the data: a price fitted to one says nothing about the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Medium {
    /// Messages; a round is a message on the critical path.
    Messages,
    /// Copies in memory that all ranks share; a round is a step that a rank waits for.
    SharedMemory,
}

impl Medium {
    /// The medium of a row of the registry.
    #[must_use]
    pub fn of(row: &Algorithm) -> Medium {
        if row.needs.contains(&Need::OneNode) {
            Medium::SharedMemory
        } else {
            Medium::Messages
        }
    }

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Medium::Messages => "messages",
            Medium::SharedMemory => "shared memory",
        }
    }
}

/// A measured time and the counts of its call.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The measured row, such as `reduce.ring`.
    pub id: String,
    /// The carrier of its data.
    pub medium: Medium,
    /// Volume in bytes.
    pub bytes: u64,
    /// Messages and bytes on the critical path.
    pub counts: counts::Counts,
    /// Measured, in seconds.
    pub seconds: f64,
}

/// True if a point of `bytes` counts for a target of `target_bytes`.
#[must_use]
pub fn is_near(bytes: u64, target_bytes: u64) -> bool {
    let (a, b) = (bytes.max(1), target_bytes.max(1));
    a.max(b) / a.min(b) <= WINDOW
}

/// The values of an algorithm's parameters that a search could come to, with their costs: powers of two of each range, no segment
/// larger than the message, and the defaults.
#[must_use]
pub fn costs(row: &Algorithm, p_ranks: usize, n_bytes: u64, nodes: &Nodes) -> Vec<(Vec<u64>, Cost)> {
    let mut settings = vec![Vec::new()];
    for parameter in row.parameters {
        let is_segment = parameter.name.contains("segment");
        let max = if is_segment {
            parameter.max.min(n_bytes)
        } else {
            parameter.max
        };
        let powers = (0..u64::BITS).map(|exponent| 1 << exponent);
        let mut values: Vec<u64> = powers.filter(|value| (parameter.min..=max).contains(value)).collect();
        values.push(parameter.default);
        values.push(parameter.min);
        values.sort_unstable();
        values.dedup();
        settings = settings
            .into_iter()
            .flat_map(|setting: Vec<u64>| {
                values
                    .iter()
                    .map(move |value| [setting.clone(), vec![*value]].concat())
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    settings
        .into_iter()
        .map(|parameters| {
            let cost = cost(row, p_ranks, n_bytes, &parameters, nodes);
            (parameters, cost)
        })
        .collect()
}

/// The counts of one call; `n_bytes` is the total volume.
#[must_use]
pub fn cost(row: &Algorithm, p_ranks: usize, n_bytes: u64, parameters: &[u64], nodes: &Nodes) -> Cost {
    (row.cost)(&Setting {
        p_ranks,
        n_bytes: usize::try_from(n_bytes).unwrap_or(usize::MAX),
        parameters,
        nodes,
    })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod tests_of_prices;
