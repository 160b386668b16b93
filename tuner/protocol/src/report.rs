//! Lines from the worker's rank 0 to the tuner.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One line of the report file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportLine {
    /// [`crate::VERSION`].
    pub v: u32,
    /// What is reported.
    #[serde(flatten)]
    pub event: Event,
}

/// What is reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// After `MPI_Init`.
    Start(Start),
    /// Times of the empty operation, in seconds.
    Noise {
        /// One per repetition.
        seconds: Vec<f64>,
    },
    /// The item is about to run for the first time: if nothing follows, it is the culprit.
    Enter {
        /// Block id.
        block: String,
        /// Item id.
        item: String,
    },
    /// The settings of an item as the library reports them after they were written.
    Settings {
        /// Block id.
        block: String,
        /// Item id.
        item: String,
        /// Name, value read back (the worst disagreement over the ranks, where they differ).
        read_back: Vec<(String, String)>,
    },
    /// The item is out of its block; the others go on.
    Failed {
        /// Block id.
        block: String,
        /// Item id.
        item: String,
        /// Why, with rank and position.
        reason: String,
    },
    /// Times of one item: latest end over the ranks minus the agreed start, in seconds.
    Samples {
        /// Block id.
        block: String,
        /// Item id.
        item: String,
        /// Valid repetitions in the order they were made.
        seconds: Vec<f64>,
        /// Repetitions discarded because a rank missed the start.
        void: u32,
    },
    /// The block is done; all its samples have been written before.
    BlockEnd {
        /// Block id.
        block: String,
        /// Wall time of the block, in seconds.
        seconds: f64,
    },
    /// Written at least every second while the job is alive.
    Heartbeat,
    /// The job ends in order.
    End(End),
}

/// What the job is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Start {
    /// `MPI_Get_library_version`, first line.
    pub library: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Host of each rank.
    pub hosts: Vec<String>,
    /// Smallest positive difference of two readings of the clock, in seconds.
    pub clock_tick_seconds: f64,
    /// Control variables: name, value on every rank, or `rank R: VALUE` parts where ranks differ; absent if unknown to the library.
    pub variables: BTreeMap<String, String>,
    /// Environment: name, value, in the same form.
    pub environment: BTreeMap<String, String>,
    /// Bytes above which `malloc` maps fresh pages, found by asking the allocator (smallest size mapped, rounded to a power of two).
    pub malloc_maps_from_bytes: Option<u64>,
}

/// What the job was.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct End {
    /// How often the drop-in ran each implementation on rank 0, where one is loaded: implementation id, calls.
    pub dropin_calls: BTreeMap<String, u64>,
}
