//! Grid of a benchmark: sizes in one direction, computation times or numbers of threads in the other.
//!
//! Both go by powers of the square root of 2 (Denis, Trahay 2016, section III.C), which gives twice as many points as
//! powers of two.

use kilter_algorithms::Collective;
use kilter_model::place::measured_bytes;
use kilter_protocol::expression::Side;
use kilter_protocol::overlap::Benchmark;

/// Nanoseconds of a piece of computation if threads are the second direction: they compute piece after piece all the
/// time.
pub const THREAD_LOAD_COMPUTATION_NS: u64 = 100_000;

/// Bytes of a block of [`Benchmark::NonContiguous`]: messages are whole blocks.
const BLOCK_BYTES: u64 = 32;

/// Computation beside the communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Load {
    /// Computing threads.
    pub threads: u32,
    /// Time that the computation takes by itself, in nanoseconds.
    pub computation_ns: u64,
}

/// A point of a grid by column and row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Index of the size.
    pub column: usize,
    /// Index of the load.
    pub row: usize,
}

/// The points of one benchmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Sizes of the message, or total volumes of a collective, in bytes; ascending.
    pub sizes: Vec<u64>,
    /// Loads, ascending.
    pub loads: Vec<Load>,
}

/// A point of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// Size in bytes.
    pub bytes: u64,
    /// The computation.
    pub load: Load,
}

impl Grid {
    /// Points of `benchmark` at these sizes and computation times, or, for [`Benchmark::ThreadLoad`], these numbers of
    /// threads. Sizes are rounded up to those that the benchmark can send among `ranks` ranks.
    #[must_use]
    pub fn of(benchmark: Benchmark, (sizes, computations_ns, threads): (&[u64], &[u64], &[u32]), ranks: usize) -> Grid {
        let unit = unit_bytes(benchmark, ranks);
        let mut sizes: Vec<u64> = sizes.iter().map(|size| measured_bytes(*size, unit)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let loads = if benchmark == Benchmark::ThreadLoad {
            let load = |threads: &u32| Load {
                threads: *threads,
                computation_ns: THREAD_LOAD_COMPUTATION_NS,
            };
            threads.iter().map(load).collect()
        } else {
            let load = |computation_ns: &u64| Load {
                threads: 1,
                computation_ns: *computation_ns,
            };
            computations_ns.iter().map(load).collect()
        };
        Grid { sizes, loads }
    }

    /// Number of points.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sizes.len() * self.loads.len()
    }

    /// All positions, column by column, which is the order of [`kilter_model::survey::Map::cells`].
    pub fn positions(&self) -> impl Iterator<Item = Position> {
        let rows = self.loads.len();
        (0..self.sizes.len()).flat_map(move |column| (0..rows).map(move |row| Position { column, row }))
    }

    /// Size and load of a position.
    ///
    /// # Panics
    /// The position is of another grid.
    #[must_use]
    pub fn point(&self, position: Position) -> Point {
        Point {
            bytes: self.sizes[position.column],
            load: self.loads[position.row],
        }
    }
}

/// Bytes of which a size must be a multiple.
fn unit_bytes(benchmark: Benchmark, ranks: usize) -> u64 {
    let of = |collective: Collective| Side::of(collective).unit_bytes(ranks as u64, 1);
    match benchmark {
        Benchmark::NonContiguous => BLOCK_BYTES,
        Benchmark::Iallgather => of(Collective::Allgather),
        Benchmark::Ialltoall => of(Collective::Alltoall),
        _ => 1,
    }
}

/// `low` times powers of the square root of 2, rounded, up to `high`; ascending, each once. `low` is 1 or more.
#[must_use]
pub fn ladder(low: u64, high: u64) -> Vec<u64> {
    let mut steps = Vec::new();
    for exponent in 0..=128 {
        let step = low.max(1) as f64 * 2.0_f64.powf(f64::from(exponent) / 2.0);
        if step.round() > high as f64 {
            break;
        }
        steps.push(step.round() as u64);
    }
    steps.dedup();
    steps
}

/// Numbers of computing threads from 1 to `most`: every one, or fewer if there are many.
#[must_use]
pub fn threads(most: u32, every: bool) -> Vec<u32> {
    if every {
        return (1..=most).collect();
    }
    let steps = ladder(1, u64::from(most)).into_iter();
    let mut counts: Vec<u32> = steps.filter_map(|count| u32::try_from(count).ok()).collect();
    counts.push(most);
    counts.dedup();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_has_twice_as_many_steps_as_powers_of_two() {
        assert_eq!(ladder(1000, 8000), [1000, 1414, 2000, 2828, 4000, 5657, 8000]);
        assert_eq!(ladder(1, 10), [1, 2, 3, 4, 6, 8]);
        let sizes = ladder(8, 4 << 20);
        assert_eq!((sizes.len(), sizes[38]), (39, 4 << 20));
        assert_eq!(ladder(5, 5), [5]);
        assert!(ladder(5, 4).is_empty());
        // Ends, whatever is asked for.
        assert!(ladder(1, u64::MAX).len() <= 129);
    }

    #[test]
    fn threads_are_all_or_few() {
        assert_eq!(threads(2, false), [1, 2]);
        assert_eq!(threads(5, true), [1, 2, 3, 4, 5]);
        assert_eq!(threads(20, false), [1, 2, 3, 4, 6, 8, 11, 16, 20]);
        assert_eq!(threads(1, false), [1]);
    }

    #[test]
    fn sizes_are_what_the_benchmark_can_send() {
        let axes: (&[u64], &[u64], &[u32]) = (&[8, 11, 32, 45, 64], &[1000, 1414], &[1, 2, 3]);
        assert_eq!(Grid::of(Benchmark::Sender, axes, 2).sizes, [8, 11, 32, 45, 64]);
        assert_eq!(Grid::of(Benchmark::NonContiguous, axes, 2).sizes, [32, 64]);
        assert_eq!(Grid::of(Benchmark::Ialltoall, axes, 3).sizes, [9, 12, 33, 45, 66]);
    }

    #[test]
    fn threads_are_the_second_direction_of_their_own_benchmark() {
        let axes: (&[u64], &[u64], &[u32]) = (&[8, 16], &[1000, 1414], &[1, 2, 3]);
        let grid = Grid::of(Benchmark::ThreadLoad, axes, 2);
        let threads: Vec<u32> = grid.loads.iter().map(|load| load.threads).collect();
        assert_eq!((threads, grid.count()), (vec![1, 2, 3], 6));
        let grid = Grid::of(Benchmark::Receiver, axes, 2);
        assert!(grid.loads.iter().all(|load| load.threads == 1));
        let points: Vec<(u64, u64)> = grid
            .positions()
            .map(|position| grid.point(position))
            .map(|point| (point.bytes, point.load.computation_ns))
            .collect();
        assert_eq!(points, [(8, 1000), (8, 1414), (16, 1000), (16, 1414)]);
    }
}
