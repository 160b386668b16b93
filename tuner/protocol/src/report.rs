//! Lines from the worker's rank 0 to the tuner.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cpus::ProcessingUnits;
use crate::fault::Fault;
use crate::measuring::Synchronisation;
use crate::plan::Wait;

/// Name under which [`Event::Settings`] has an item's results on random doubles: a digest over all ranks, equal for results that are equal bit
/// by bit; or [`BITS_VARY`].
pub const BITS: &str = "bits of random doubles";

/// Name under which [`Event::Settings`] has the mean delay of an item with an arrival pattern, in seconds: a rank's own end minus its own
/// arrival, averaged over the counted repetitions and the ranks.
pub const MEAN_DELAY: &str = "mean delay of the ranks";

/// Text for results that differ from call to call.
pub const BITS_VARY: &str = "vary";

/// One line of the report file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportLine {
    /// [`crate::VERSION`].
    pub v: u32,
    /// The reported event.
    #[serde(flatten)]
    pub event: Event,
}

crate::json_line::json_lines![ReportLine];

/// The reported event.
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
    /// The settings of an item as the library reports them after they were written; its counters' growth in one call; its results on random
    /// doubles ([`BITS`]); the delay of its ranks ([`MEAN_DELAY`]). An item may have each, in lines of their own.
    Settings {
        /// Block id.
        block: String,
        /// Item id.
        item: String,
        /// Name, value read back (the worst disagreement over the ranks, where they differ); of a counter `0>1:2 1>0:1`, that rank 0
        /// counted 2 for rank 1 and rank 1 counted 1 for rank 0.
        read_back: Vec<(String, String)>,
    },
    /// The item is out of its block; the others go on.
    Failed {
        /// Block id.
        block: String,
        /// Item id.
        item: String,
        /// The reason.
        fault: Fault,
    },
    /// Times of one item: latest end over the ranks minus the agreed start, or minus the latest arrival where the item has a pattern, in
    /// seconds.
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
        /// Division of the seconds; absent for blocks that measure overlap.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        costs: Option<Costs>,
    },
    /// Written at least every second while the job is alive.
    Heartbeat,
    /// The job ends in order.
    End(End),
}

/// Division of a block's wall time, on rank 0.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Costs {
    /// Making its items ready and trying each out once, in seconds.
    pub prepare_seconds: f64,
    /// The loop of the repetitions: times, exchanges, leads, in seconds.
    pub repeat_seconds: f64,
    /// The times that were counted, in seconds.
    pub own_seconds: f64,
    /// Repetitions in it: counted, void, and warming up.
    pub runs: u64,
    /// Checking the data at the end, and freeing the items, in seconds.
    pub check_seconds: f64,
}

/// Description of the job.
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
    /// Cost of one reading of the clock, in seconds.
    #[serde(default)]
    pub clock_read_seconds: f64,
    /// Time of an empty repetition on rank 0 by itself (waiting for a start, ending), median in seconds.
    #[serde(default)]
    pub loop_overhead_seconds: f64,
    /// Synchronisation of repetitions, and its quality before the first one.
    #[serde(default)]
    pub sync: Option<Synchronised>,
    /// Behaviour of waiting ranks: the plan's word, or what the ranks decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// Bytes that rank 0 sweeps before each repetition so that caches are cold; `None` where they stay warm.
    #[serde(default)]
    pub swept_bytes: Option<u64>,
    /// Control variables: name, value on every rank, or `rank R: VALUE` parts where ranks differ; absent if unknown to the library.
    pub variables: BTreeMap<String, String>,
    /// Environment: name, value, in the same form.
    pub environment: BTreeMap<String, String>,
    /// Bytes above which `malloc` maps fresh pages, found by asking the allocator (smallest size mapped, rounded to a power of two).
    pub malloc_maps_from_bytes: Option<u64>,
    /// Processing units of rank 0's host, if the header asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processing_units: Option<ProcessingUnits>,
}

/// Account of the job at its end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct End {
    /// Calls of each implementation by the drop-in on rank 0, if one is loaded: implementation id, calls.
    pub dropin_calls: BTreeMap<String, u64>,
    /// As [`Start::sync`], after the last repetition.
    #[serde(default)]
    pub sync: Option<Synchronised>,
    /// Number of times that rank 0 swept its caches.
    #[serde(default)]
    pub sweeps: u64,
}

/// Agreement of the ranks on the time: rank 0 asks each for it and compares with the middle of question and answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Synchronised {
    /// The method in use, never `Auto`.
    pub method: Synchronisation,
    /// Largest difference found, in seconds; 0 with a barrier, which needs no common time.
    pub residual_seconds: f64,
    /// Possible error of a difference: half the longest of the round trips, in seconds.
    pub bound_seconds: f64,
    /// Largest drift in the ranks' models, in parts per million; 0 where there are none.
    pub drift_ppm_max: f64,
    /// Number of times that the models were checked, and improved, between repetitions.
    #[serde(default)]
    pub checks: u32,
    /// Number of times that the models were learnt anew because a check contradicted them.
    pub relearnt: u32,
    /// For tests, where clocks are made wrong on purpose: the largest true difference, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub true_error_seconds: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stored_before_clocks_were_told_are_read() {
        let start = r#"{"library":"L","ranks":2,"hosts":["a"],"clock_tick_seconds":2e-8,"variables":{},"environment":{},
            "malloc_maps_from_bytes":null}"#;
        let start: Start = serde_json::from_str(start).unwrap();
        assert_eq!((start.ranks, start.sync, start.swept_bytes), (2, None, None));
        let end: End = serde_json::from_str(r#"{"dropin_calls":{"x":3}}"#).unwrap();
        assert_eq!((end.dropin_calls["x"], end.sync, end.sweeps), (3, None, 0));
    }

    #[test]
    fn what_was_found_out_about_clocks_survives() {
        let sync = Synchronised {
            method: Synchronisation::RoundTime,
            residual_seconds: 1.5e-7,
            bound_seconds: 4e-7,
            drift_ppm_max: 12.5,
            checks: 3,
            relearnt: 1,
            true_error_seconds: None,
        };
        let event = Event::End(End {
            sync: Some(sync),
            sweeps: 9,
            ..End::default()
        });
        let text = serde_json::to_string(&event).unwrap();
        assert!(
            text.contains(r#""method":"round_time""#) && !text.contains("true_error"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}
