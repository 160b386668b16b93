//! Survey of overlap: maps of cells, each the medians of one benchmark at one size and one computation time.
//!
//! Denis, Trahay: MPI Overlap: Benchmark and Analysis (ICPP 2016, doi:10.1109/ICPP.2016.37), section III.

use kilter_protocol::overlap::{Benchmark, Model};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Multiple of the noise below which a cell is masked: the smaller of communication and computation must exceed it.
pub const MASK_FACTOR: f64 = 5.0;

/// Maps of one library on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Survey {
    /// Version of this format.
    pub schema: u32,
    /// The library, as it names itself.
    pub library: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Host of each rank.
    pub hosts: Vec<String>,
    /// Processing units of rank 0's host that the job may use.
    pub processing_units: u32,
    /// Source of this number, such as `hwloc 2.8`.
    #[serde(default)]
    pub processing_units_by: String,
    /// Transport of the messages, if it is known, for example `vader, cma`.
    pub transport: String,
    /// Model of computation.
    #[schemars(schema_with = "computation")]
    pub computation: Model,
    /// The command that was typed.
    pub command: String,
    /// One per benchmark.
    pub maps: Vec<Map>,
}

impl Survey {
    /// True if each rank of the fullest host has a processing unit to spare. Without one, progress takes time from a
    /// computation.
    #[must_use]
    pub fn has_spare_core(&self) -> bool {
        let fullest = self
            .hosts
            .iter()
            .map(|host| self.hosts.iter().filter(|other| *other == host).count())
            .max()
            .unwrap_or(0);
        self.processing_units as usize >= 2 * fullest
    }
}

/// Measurements that a tuning run made with the benchmarks of the targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BeforeAndAfter {
    /// True for a small grid, measured in one launch each; false for the cells by which the targets were judged,
    /// medians over the launches.
    pub is_grid: bool,
    /// Survey of the untouched library.
    pub before: Survey,
    /// The deployed settings, relative to the communication and computation times of the untouched library; absent if
    /// nothing is deployed.
    pub after: Option<Survey>,
}

/// The cells of one benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Map {
    /// Benchmark of the map.
    #[schemars(schema_with = "benchmark")]
    pub benchmark: Benchmark,
    /// Cells in ascending order of size, then computation (threads for [`Benchmark::ThreadLoad`]).
    pub cells: Vec<Cell>,
    /// Cells that could not be measured, with the reason.
    pub failed: Vec<Failed>,
}

/// A cell that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failed {
    /// Size of the message in bytes.
    pub bytes: u64,
    /// Computation asked for, in nanoseconds.
    pub computation_ns: u64,
    /// Computing threads.
    pub threads: u32,
    /// Reason.
    pub reason: String,
}

/// One benchmark at one size and one computation time: medians over repetitions, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Size of the message in bytes.
    pub bytes: u64,
    /// Computation asked for, in nanoseconds.
    pub computation_ns: u64,
    /// Computing threads.
    pub threads: u32,
    /// `T_comm`, of communication alone, without the latency of the acknowledgement.
    pub communication_seconds: f64,
    /// `T_comp`, of computation alone.
    pub computation_seconds: f64,
    /// `T_measured`, of both, without the latency of the acknowledgement.
    pub overlapped_seconds: f64,
    /// 95 % interval of `T_measured`'s median.
    pub overlapped_interval_seconds: [f64; 2],
    /// Variation of times that is not the library's.
    pub noise_seconds: f64,
    /// Repetitions of `T_measured` that were kept.
    pub repetitions: u32,
    /// Repetitions during which the thread was interrupted, and which do not count.
    pub disturbed: u32,
    /// True if it was filled in from its neighbours rather than measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
}

impl Cell {
    /// Time with perfect overlap.
    #[must_use]
    pub fn ideal_seconds(&self) -> f64 {
        self.communication_seconds.max(self.computation_seconds)
    }

    /// Time added to that without any overlap, the unit of ratios.
    #[must_use]
    pub fn serialised_overhead_seconds(&self) -> f64 {
        self.communication_seconds.min(self.computation_seconds)
    }
}

/// Words of a benchmark, which belong to the format of the worker's plan.
fn benchmark(_: &mut SchemaGenerator) -> Schema {
    one_of(&Benchmark::ALL)
}

/// Words of the models of computation, which belong to that format, too.
fn computation(_: &mut SchemaGenerator) -> Schema {
    one_of(&[Model::FixedWork, Model::ClockSpin])
}

fn one_of<T: serde::Serialize>(all: &[T]) -> Schema {
    let words: Vec<serde_json::Value> = all.iter().filter_map(|one| serde_json::to_value(one).ok()).collect();
    json_schema!({ "type": "string", "enum": words })
}
