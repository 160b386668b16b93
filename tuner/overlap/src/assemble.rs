//! Makes a cell of a map from the worker's report of a block.
//!
//! * Times are medians over the repetitions that were not disturbed.
//! * If the benchmark ends or begins with a message of zero bytes, half a round trip of such messages is subtracted from
//!   communication and from the whole. It is measured in every cell, because one bad value, taken once, would spoil a map.
//! * The half-widths of the 95 % intervals of the medians of communication and of computation go with the cell:
//!   [`super::noise`] pools them over the map. The variation of the whole is left out, because there the library shows.

use kilter_bench::launch::session::BlockOutcome;
use kilter_model::reading::Quantity;
use kilter_model::survey::Cell;
use kilter_protocol::fault::Fault;
use kilter_protocol::overlap::{Benchmark, Part};
use kilter_stats::median_interval::median_interval;
use kilter_stats::sample::Sample;

use super::grid::Point;
use super::noise::Widths;

/// Confidence of all intervals.
const CONFIDENCE: f64 = 0.95;

/// Item of a part.
#[must_use]
pub const fn item_id(part: Part) -> &'static str {
    match part {
        Part::Latency => "latency",
        Part::Communication => "communication",
        Part::Computation => "computation",
        Part::Overlapped => "overlapped",
    }
}

/// True if the benchmark's times contain a message of zero bytes: an acknowledgement, or the one that clears the
/// sender.
#[must_use]
pub const fn includes_latency(benchmark: Benchmark) -> bool {
    matches!(
        benchmark,
        Benchmark::Sender
            | Benchmark::Receiver
            | Benchmark::NonContiguous
            | Benchmark::ManyRequests
            | Benchmark::ManyPeers
    )
}

/// Measured parts of a cell.
#[must_use]
pub fn parts(benchmark: Benchmark) -> Vec<Part> {
    let latency = includes_latency(benchmark).then_some(Part::Latency);
    latency
        .into_iter()
        .chain([Part::Communication, Part::Computation, Part::Overlapped])
        .collect()
}

/// The first part of a cell that could not be measured.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoCell {
    /// It failed.
    #[error("`{item}`: {fault}")]
    Failed {
        /// The part's item.
        item: &'static str,
        /// The failure.
        fault: Fault,
    },
    /// The worker did not report it.
    #[error("`{item}` was not measured")]
    NotMeasured {
        /// The part's item.
        item: &'static str,
    },
    /// No repetition was left.
    #[error(
        "`{item}`: all {repetitions} repetitions were interrupted; leave the ranks their processing units to themselves"
    )]
    Interrupted {
        /// The part's item.
        item: &'static str,
        /// Its repetitions.
        repetitions: u32,
    },
}

/// A median with its interval.
struct Median {
    seconds: f64,
    interval: [f64; 2],
    kept: usize,
    disturbed: u32,
}

impl Median {
    fn half_width(&self) -> f64 {
        (self.interval[1] - self.interval[0]) / 2.0
    }
}

fn median(outcome: &BlockOutcome, part: Part) -> Result<Median, NoCell> {
    let item = item_id(part);
    if let Some(fault) = outcome.failed.get(item) {
        return Err(NoCell::Failed {
            item,
            fault: fault.clone(),
        });
    }
    let samples = outcome.samples.get(item).ok_or(NoCell::NotMeasured { item })?;
    let sample = Sample::new(samples.seconds.clone()).map_err(|_| NoCell::Interrupted {
        item,
        repetitions: samples.void,
    })?;
    let (low, high) = median_interval(&sample, CONFIDENCE);
    Ok(Median {
        seconds: sample.median(),
        interval: [low, high],
        kept: sample.len(),
        disturbed: samples.void,
    })
}

/// The cell, in seconds and without its noise, and the widths of its medians' intervals. The error names the first part
/// that could not be measured.
pub fn cell(benchmark: Benchmark, point: Point, outcome: &BlockOutcome) -> Result<(Cell, Widths), NoCell> {
    let latency = if includes_latency(benchmark) {
        median(outcome, Part::Latency)?.seconds
    } else {
        0.0
    };
    let communication = median(outcome, Part::Communication)?;
    let computation = median(outcome, Part::Computation)?;
    let whole = median(outcome, Part::Overlapped)?;
    let widths = Widths {
        communication: communication.half_width(),
        computation: match Quantity::of(benchmark) {
            Quantity::Ratio => computation.half_width(),
            Quantity::Slowdown => 0.0,
        },
    };
    let without_latency = |seconds: f64| (seconds - latency).max(0.0);
    let cell = Cell {
        bytes: point.bytes,
        computation_ns: point.load.computation_ns,
        threads: point.load.threads,
        communication_seconds: without_latency(communication.seconds),
        computation_seconds: computation.seconds,
        overlapped_seconds: without_latency(whole.seconds),
        overlapped_interval_seconds: whole.interval.map(without_latency),
        noise_seconds: 0.0,
        repetitions: u32::try_from(whole.kept).unwrap_or(u32::MAX),
        disturbed: whole.disturbed,
        inferred: false,
    };
    Ok((cell, widths))
}

#[cfg(test)]
mod tests {
    use kilter_bench::launch::session::ItemSamples;
    use kilter_model::reading::read;

    use super::*;
    use crate::grid::Load;

    const POINT: Point = Point {
        bytes: 65_536,
        load: Load {
            threads: 1,
            computation_ns: 100_000,
        },
    };

    /// Eleven repetitions around each of these times, in microseconds.
    fn outcome(parts: &[(Part, f64)]) -> BlockOutcome {
        let mut outcome = BlockOutcome::default();
        for (part, us) in parts {
            let seconds = (-5..=5).map(|step| (us + 0.1 * f64::from(step)) * 1e-6).collect();
            let samples = ItemSamples { seconds, void: 3 };
            outcome.samples.insert(item_id(*part).to_owned(), samples);
        }
        outcome
    }

    fn usual() -> BlockOutcome {
        outcome(&[
            (Part::Latency, 2.0),
            (Part::Communication, 42.0),
            (Part::Computation, 100.0),
            (Part::Overlapped, 122.0),
        ])
    }

    #[test]
    fn latency_is_taken_off_where_it_is_in() {
        let (cell, widths) = cell(Benchmark::Sender, POINT, &usual()).unwrap();
        for (seconds, us) in [
            (cell.communication_seconds, 40.0),
            (cell.computation_seconds, 100.0),
            (cell.overlapped_seconds, 120.0),
        ] {
            assert!((seconds - us * 1e-6).abs() < 1e-12, "{seconds} {us}");
        }
        let ratio = read(Benchmark::Sender, &cell).unwrap().value;
        assert!((ratio - 0.5).abs() < 1e-9);
        assert_eq!((cell.repetitions, cell.disturbed, cell.inferred), (11, 3, false));
        // Eleven values: from the second to the tenth.
        assert!((cell.overlapped_interval_seconds[0] - 119.6e-6).abs() < 1e-12);
        assert!((cell.overlapped_interval_seconds[1] - 120.4e-6).abs() < 1e-12);
        assert!((widths.communication - 0.4e-6).abs() < 1e-12 && (widths.computation - 0.4e-6).abs() < 1e-12);
    }

    #[test]
    fn without_an_acknowledgement_there_is_no_latency_to_measure() {
        assert!(!parts(Benchmark::CpuOverhead).contains(&Part::Latency));
        assert_eq!(parts(Benchmark::Receiver).len(), 4);
        let mut outcome = usual();
        outcome.samples.remove("latency");
        let (found, _) = cell(Benchmark::CpuOverhead, POINT, &outcome).unwrap();
        assert!((found.communication_seconds - 42e-6).abs() < 1e-12);
        let missing = cell(Benchmark::Sender, POINT, &outcome).unwrap_err();
        assert_eq!(missing, NoCell::NotMeasured { item: "latency" });
    }

    #[test]
    fn a_slowdown_is_told_without_computation() {
        let mut outcome = usual();
        let samples = outcome.samples.get_mut("computation").unwrap();
        samples.seconds = (0..11).map(|step| 1e-3 * f64::from(step)).collect();
        let (_, slowdown) = cell(Benchmark::ThreadLoad, POINT, &outcome).unwrap();
        assert_eq!(slowdown.computation, 0.0);
        let (_, ratio) = cell(Benchmark::BothSides, POINT, &outcome).unwrap();
        assert!((ratio.computation - 4e-3).abs() < 1e-12);
    }

    #[test]
    fn what_is_shorter_than_the_latency_is_nothing_and_masked() {
        let outcome = outcome(&[
            (Part::Latency, 2.0),
            (Part::Communication, 1.9),
            (Part::Computation, 100.0),
            (Part::Overlapped, 101.0),
        ]);
        let (mut found, _) = cell(Benchmark::Sender, POINT, &outcome).unwrap();
        assert_eq!(found.communication_seconds, 0.0);
        found.noise_seconds = 1e-9;
        assert_eq!(read(Benchmark::Sender, &found), None);
    }

    #[test]
    fn a_part_that_failed_says_why() {
        let mut failing = usual();
        failing.failed.insert("overlapped".to_owned(), Fault::BrokenBarrier);
        let reason = cell(Benchmark::Sender, POINT, &failing).unwrap_err();
        assert_eq!(reason.to_string(), format!("`overlapped`: {}", Fault::BrokenBarrier));
        let mut disturbed = usual();
        let samples = ItemSamples {
            seconds: Vec::new(),
            void: 50,
        };
        disturbed.samples.insert("computation".to_owned(), samples);
        let reason = cell(Benchmark::Sender, POINT, &disturbed).unwrap_err().to_string();
        assert!(
            reason.starts_with("`computation`: all 50 repetitions were interrupted"),
            "{reason}"
        );
    }
}
