//! Reading of an overlap cell: its overhead ratio, or how much longer a blocking call takes while threads compute.

use kilter_protocol::overlap::Benchmark;
use serde::Serialize;

use crate::survey::{Cell, MASK_FACTOR, Survey};

/// Up to this ratio communication hides behind computation.
pub const GOOD: f64 = 0.2;
/// From this ratio on almost nothing is hidden.
pub const PARTIAL: f64 = 0.8;
/// Above this ratio an attempt to overlap takes longer than one after the other.
pub const SERIALISED: f64 = 1.2;

/// Quantity that is read off a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// `(T_measured - max(T_comm, T_comp)) / min(T_comm, T_comp)`.
    Ratio,
    /// `T_measured / T_comm`: threads compute all the time, so that there is no computation time to hide anything behind.
    Slowdown,
}

impl Quantity {
    /// Quantity of a benchmark.
    #[must_use]
    pub const fn of(benchmark: Benchmark) -> Quantity {
        match benchmark {
            Benchmark::ThreadLoad => Quantity::Slowdown,
            _ => Quantity::Ratio,
        }
    }

    /// Word in files and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Quantity::Ratio => "ratio",
            Quantity::Slowdown => "slowdown",
        }
    }

    /// Time, in seconds, at which the quantity is 0, and the time by which it grows by 1.
    #[must_use]
    pub fn scale(self, communication_seconds: f64, computation_seconds: f64) -> (f64, f64) {
        match self {
            Quantity::Ratio => (
                communication_seconds.max(computation_seconds),
                communication_seconds.min(computation_seconds),
            ),
            Quantity::Slowdown => (0.0, communication_seconds),
        }
    }
}

/// A quantity with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Value for the median time.
    pub value: f64,
    /// Values for the ends of the median's interval.
    pub interval: [f64; 2],
}

/// Reading of a cell; `None` if it would be noise.
#[must_use]
pub fn read(benchmark: Benchmark, cell: &Cell) -> Option<Reading> {
    let (zero, unit) = Quantity::of(benchmark).scale(cell.communication_seconds, cell.computation_seconds);
    let of = |seconds: f64| (seconds - zero) / unit;
    let reading = Reading {
        value: of(cell.overlapped_seconds),
        interval: cell.overlapped_interval_seconds.map(of),
    };
    (unit >= MASK_FACTOR * cell.noise_seconds && reading.value.is_finite()).then_some(reading)
}

/// Largest distance of sizes at which a cell still speaks for another, as a power of two.
const NEAR: f64 = 2.0;

/// Ratio of the cell that is nearest to a size and a computation time, of those that stand out of the noise; `None` where the map has none within
/// a factor of four of the size. Computation that is longer or shorter than any that was measured is taken for the nearest.
#[must_use]
pub fn nearest_ratio(survey: &Survey, benchmark: Benchmark, bytes: u64, computation_ns: u64) -> Option<f64> {
    let distance = |a: u64, b: u64| (a.max(1) as f64 / b.max(1) as f64).log2().abs();
    let map = survey.maps.iter().find(|map| map.benchmark == benchmark)?;
    let near = map.cells.iter().filter_map(|cell| {
        let of_size = distance(cell.bytes, bytes);
        let reading = read(benchmark, cell).filter(|_| of_size <= NEAR)?;
        Some((of_size, distance(cell.computation_ns, computation_ns), reading.value))
    });
    let nearest = near.min_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1)));
    nearest.map(|(.., ratio)| ratio)
}

/// Second coordinate of a cell: computing threads if the benchmark is about them, else computation in nanoseconds.
#[must_use]
pub const fn row(benchmark: Benchmark, computation_ns: u64, threads: u32) -> u64 {
    match Quantity::of(benchmark) {
        Quantity::Ratio => computation_ns,
        Quantity::Slowdown => threads as u64,
    }
}

#[cfg(test)]
mod tests {
    use kilter_protocol::overlap::Model;

    use super::*;
    use crate::survey::Map;

    fn cell(bytes: u64, computation_ns: u64, ratio: f64) -> Cell {
        let (communication_seconds, computation_seconds) = (40e-6_f64, computation_ns as f64 * 1e-9);
        let (short, long) = (
            communication_seconds.min(computation_seconds),
            communication_seconds.max(computation_seconds),
        );
        Cell {
            bytes,
            computation_ns,
            threads: 1,
            communication_seconds,
            computation_seconds,
            overlapped_seconds: long + ratio * short,
            overlapped_interval_seconds: [long + ratio * short; 2],
            noise_seconds: 1e-8,
            repetitions: 50,
            disturbed: 0,
            inferred: false,
        }
    }

    #[test]
    fn the_nearest_cell_speaks_for_a_message_and_none_for_one_far_away() {
        let mut noise = cell(4096, 10_000, 0.0);
        noise.noise_seconds = 1.0;
        let survey = Survey {
            schema: 1,
            library: "scripted".to_owned(),
            ranks: 2,
            hosts: vec!["a".to_owned(); 2],
            processing_units: 4,
            processing_units_by: String::new(),
            transport: String::new(),
            computation: Model::FixedWork,
            command: String::new(),
            maps: vec![Map {
                benchmark: Benchmark::Receiver,
                cells: vec![
                    cell(1024, 10_000, 0.25),
                    cell(1024, 80_000, 0.5),
                    noise,
                    cell(65_536, 10_000, 1.0),
                ],
                failed: Vec::new(),
            }],
        };
        let ratio =
            |bytes, ns| nearest_ratio(&survey, Benchmark::Receiver, bytes, ns).map(|ratio| (ratio * 100.0).round());
        assert_eq!(ratio(1000, 12_000), Some(25.0));
        assert_eq!(ratio(1000, 70_000_000), Some(50.0));
        assert_eq!(
            ratio(4096, 10_000),
            Some(25.0),
            "a cell that would be noise says nothing"
        );
        assert_eq!(ratio(40_000, 1), Some(100.0));
        assert_eq!(ratio(8, 10_000), None);
        assert_eq!(nearest_ratio(&survey, Benchmark::Sender, 1000, 12_000), None);
    }

    #[test]
    fn a_ratio_is_masked_by_the_shorter_time_and_a_slowdown_by_communication_alone() {
        let mut cell = Cell {
            bytes: 1 << 16,
            computation_ns: 100_000,
            threads: 1,
            communication_seconds: 40e-6,
            computation_seconds: 100e-6,
            overlapped_seconds: 140e-6,
            overlapped_interval_seconds: [140e-6; 2],
            noise_seconds: 1.5e-7,
            repetitions: 50,
            disturbed: 0,
            inferred: false,
        };
        cell.overlapped_interval_seconds = [136e-6, 142e-6];
        let ratio = read(Benchmark::Sender, &cell).unwrap();
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(near(ratio.value, 1.0) && near(ratio.interval[0], 0.9) && near(ratio.interval[1], 1.05));
        cell.noise_seconds = 7.9e-6;
        assert!(read(Benchmark::Sender, &cell).is_some());
        cell.noise_seconds = 8.1e-6;
        assert_eq!(read(Benchmark::Sender, &cell), None);
        // The thread that communicates computes nothing.
        cell.computation_seconds = 0.0;
        cell.noise_seconds = 7e-6;
        let slowdown = read(Benchmark::ThreadLoad, &cell).unwrap();
        assert!((slowdown.value - cell.overlapped_seconds / 40e-6).abs() < 1e-12);
        cell.communication_seconds = 0.0;
        assert_eq!(read(Benchmark::ThreadLoad, &cell), None);
    }
}
