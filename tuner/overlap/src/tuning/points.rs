//! Points at which a target is measured, and their repetitions.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::config::target::Target;
use kilter_model::setup::Setup;
use kilter_protocol::overlap::{Benchmark, Model};
use kilter_search::context::Jobs;

use super::Goals;
use crate::grid::{Grid, Load, Point};
use crate::measure::Surveyor;
use crate::options::Suite;
use crate::targets;
use crate::targets::looks::FIRST_LAUNCHES;

/// Repetitions of each part of a cell.
pub(super) const REPETITIONS: u32 = 9;
/// Seconds that the repetitions of a part may take.
const PART_SECONDS: f64 = 0.4;
/// Factor of repetitions if noise hid a target: medians then vary by less than half as much.
const MORE_PRECISELY: u32 = 5;
/// Computation at such a point in multiples of the communication time.
pub(super) const COVERS: f64 = 3.0;
/// Shortest and longest computation, in nanoseconds.
pub(super) const COMPUTATION_NS: [u64; 2] = [20_000, 400_000_000];

impl Goals {
    /// Finds the points of the targets: the ends and the middle of a target's sizes, and computations in multiples of
    /// the communication time here.
    pub(super) fn find_points(&mut self, jobs: &Jobs<'_>) -> anyhow::Result<()> {
        let mut sizes: BTreeMap<Benchmark, BTreeSet<u64>> = BTreeMap::new();
        for target in &self.targets {
            let [low, high] = target.bytes;
            let middle = (low as f64 * high as f64).sqrt() as u64;
            sizes
                .entry(target.benchmark)
                .or_default()
                .extend([low, middle.next_power_of_two().min(high), high]);
        }
        let ranks = jobs.site.options.ranks;
        let mut probe = Surveyor::new(jobs, &self.suite, &Setup::default(), "targets/sizes")?.whatever_it_costs();
        self.spare = probe.units().spare();
        for (benchmark, sizes) in sizes {
            let sizes: Vec<u64> = sizes.into_iter().collect();
            let mut threads = vec![1, probe.units().count()];
            threads.dedup();
            let shortest = Grid::of(benchmark, (&sizes, &COMPUTATION_NS[..1], &threads), ranks);
            let all: Vec<Point> = shortest.positions().map(|position| shortest.point(position)).collect();
            if benchmark == Benchmark::ThreadLoad {
                self.points.insert(benchmark, all);
                continue;
            }
            let cells = probe.points(benchmark, &all)?;
            let points = all
                .iter()
                .zip(cells)
                .filter_map(|(point, cell)| Some((point, cell?)))
                .map(|(point, cell)| covering(*point, cell.communication_seconds));
            self.points.insert(benchmark, points.collect());
        }
        probe.finish(Vec::new())?;
        Ok(())
    }

    /// Raises the number of repetitions from now on, so that interruptions by others enter fewer of the medians.
    pub(super) fn look_more_precisely(&mut self) {
        self.suite.repetitions *= MORE_PRECISELY;
        self.suite.part_seconds *= f64::from(MORE_PRECISELY);
    }

    /// True if the search's budget covers the first launches, which took so many seconds, once more with the higher
    /// number of repetitions, and a search of the same cost.
    pub(super) fn affords_more_precision(&self, jobs: &Jobs<'_>, seconds: f64) -> bool {
        let starting = FIRST_LAUNCHES as f64 * jobs.launch_seconds();
        let further = starting + f64::from(MORE_PRECISELY) * (seconds - starting).max(0.0);
        // And as much again at least for the search, which looks as often.
        !jobs.budget.search_exhausted(2.0 * further)
    }
}

/// Point of the same size whose computation covers communication.
fn covering(point: Point, communication_seconds: f64) -> Point {
    let [shortest, longest] = COMPUTATION_NS;
    let load = Load {
        threads: 1,
        computation_ns: ((COVERS * communication_seconds * 1e9) as u64).clamp(shortest, longest),
    };
    Point { load, ..point }
}

/// The benchmarks of these targets as a suite.
pub(super) fn suite(wanted: &[Target], model: Model) -> Suite {
    Suite {
        benchmarks: targets::benchmarks(wanted).into_iter().collect(),
        sizes: Vec::new(),
        computations_ns: Vec::new(),
        threads: None,
        model,
        requests: 4,
        repetitions: REPETITIONS,
        part_seconds: PART_SECONDS,
        full: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computation_covers_communication_within_what_is_sensible() {
        let point = Point {
            bytes: 8,
            load: Load {
                threads: 1,
                computation_ns: 20_000,
            },
        };
        let ns = |seconds| covering(point, seconds).load.computation_ns;
        assert_eq!((ns(1e-3), ns(1e-6), ns(10.0)), (3_000_000, 20_000, 400_000_000));
    }
}
