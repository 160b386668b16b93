//! Pictures of the change by tuning: a small map of each target's benchmark, for the untouched library and for the
//! deployed settings.
//!
//! Targets are judged by few cells, whose computation covers communication. The cells around them are not judged, and a reader wants to see
//! them. They are measured last, in one launch each, if the budget has room.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::setup::Setup;
use kilter_model::survey::{Map, Survey};
use kilter_protocol::overlap::Benchmark;
use kilter_search::context::Jobs;

use super::Goals;
use super::launches::ends_the_run;
use super::points::{COMPUTATION_NS, COVERS};
use crate::grid::{Grid, Point};
use crate::together;

/// Number of sizes, and of computation times, in a picture.
const LINES: u32 = 5;
/// Uncounted rounds of a part: the first, whose data is compared, and warm-ups.
const UNCOUNTED: u32 = 3;

/// Maps of the untouched library and, if there is one, of the deployed state.
pub(super) type Picture = (Survey, Option<Survey>);

impl Goals {
    /// Measures the picture if the budget has room for all of it; `staged` is the deployed state.
    ///
    /// A job that fails leaves it out, because the tuning itself is measured already. Errors are an interruption and
    /// the database.
    pub fn draw(&mut self, jobs: &Jobs<'_>, staged: Option<&Setup>) -> anyhow::Result<()> {
        let Some(judged) = together::of_launches(&self.base) else {
            return Ok(());
        };
        let ranks = jobs.site.options.ranks;
        let points: BTreeMap<Benchmark, Vec<Point>> = judged
            .maps
            .iter()
            .filter_map(|map| Some((map.benchmark, around(map, ranks)?)))
            .collect();
        let repetitions = self.suite.repetitions;
        let once = jobs.launch_seconds()
            + judged
                .maps
                .iter()
                .map(|map| seconds(&points, map, repetitions))
                .sum::<f64>();
        let times = if staged.is_some() { 2.0 } else { 1.0 };
        if points.is_empty() || jobs.budget.spent_seconds() + times * once > jobs.budget.total_seconds() {
            return Ok(());
        }
        let surveys = self
            .survey_at(jobs, &points, "targets/picture/before", &Setup::default())
            .and_then(|before| {
                let after = staged.map(|staged| self.survey_at(jobs, &points, "targets/picture/after", staged));
                Ok((before, after.transpose()?))
            });
        match surveys {
            Ok(picture) => self.picture = Some(picture),
            Err(error) if ends_the_run(&error) => return Err(error),
            Err(error) => jobs
                .progress
                .warn(&format!("the report has no small maps of overlap: {error:#}")),
        }
        Ok(())
    }
}

/// Points around those of a map: all sizes from the smallest to the largest. Computations range from those that are as
/// much shorter than the shortest communication as the target's are longer, to those that cover the longest. `None`
/// without a second direction or a cell.
fn around(map: &Map, ranks: usize) -> Option<Vec<Point>> {
    if map.benchmark == Benchmark::ThreadLoad {
        return None;
    }
    let (first, last) = (map.cells.first()?, map.cells.last()?);
    let sizes: BTreeSet<u64> = steps(first.bytes as f64, last.bytes as f64).collect();
    let of_communication = map.cells.iter().map(|cell| cell.communication_seconds * 1e9);
    let shortest = of_communication.clone().fold(f64::INFINITY, f64::min) / COVERS;
    let longest = of_communication.fold(0.0, f64::max) * COVERS;
    let [least, most] = COMPUTATION_NS.map(|ns| ns as f64);
    let computations: BTreeSet<u64> = steps(shortest.clamp(least, most), longest.clamp(least, most)).collect();
    let (sizes, computations): (Vec<u64>, Vec<u64>) = (sizes.into_iter().collect(), computations.into_iter().collect());
    let grid = Grid::of(map.benchmark, (&sizes, &computations, &[]), ranks);
    Some(grid.positions().map(|position| grid.point(position)).collect())
}

/// Steps from `low` to `high` by equal factors.
fn steps(low: f64, high: f64) -> impl Iterator<Item = u64> {
    let factor = (high / low.max(1.0)).max(1.0);
    (0..LINES).map(move |step| {
        let share = f64::from(step) / f64::from(LINES - 1);
        (low.max(1.0) * factor.powf(share)).round() as u64
    })
}

/// Seconds that the points of a map's benchmark take in a launch: each part by itself, and the whole as if nothing were
/// hidden. A size takes as long as the next larger one that was measured.
fn seconds(points: &BTreeMap<Benchmark, Vec<Point>>, map: &Map, repetitions: u32) -> f64 {
    let communication: BTreeMap<u64, f64> = map
        .cells
        .iter()
        .map(|cell| (cell.bytes, cell.communication_seconds))
        .collect();
    let rounds = f64::from(repetitions + UNCOUNTED);
    let of_point = |point: &Point| {
        let larger = communication.range(point.bytes..).next();
        let alone = larger
            .or(communication.last_key_value())
            .map_or(0.0, |(_, seconds)| *seconds);
        2.0 * rounds * (alone + point.load.computation_ns as f64 * 1e-9)
    };
    points.get(&map.benchmark).into_iter().flatten().map(of_point).sum()
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::survey as fixture;

    use super::*;
    use crate::tuning::points::REPETITIONS;

    /// A map of 64 KiB, 1 MiB and 8 MiB beside computation of three times communication, which takes these
    /// milliseconds.
    fn judged(benchmark: Benchmark, ms: [f64; 3]) -> Map {
        let cells = [64 << 10, 1 << 20, 8 << 20].into_iter().zip(ms);
        let cell = |(bytes, ms): (u64, f64)| fixture::cell(bytes, (3e6 * ms) as u64, 1, ms * 1e-3, 1.0);
        Map {
            benchmark,
            cells: cells.map(cell).collect(),
            failed: Vec::new(),
        }
    }

    #[test]
    fn a_picture_is_a_small_grid_around_the_cells_of_the_targets() {
        let points = around(&judged(Benchmark::Receiver, [1.0, 10.0, 81.0]), 2).unwrap();
        assert_eq!(points.len(), 25);
        let sizes: BTreeSet<u64> = points.iter().map(|point| point.bytes).collect();
        assert_eq!(sizes.first().zip(sizes.last()), Some((&(64 << 10), &(8 << 20))));
        let computations: BTreeSet<u64> = points.iter().map(|point| point.load.computation_ns).collect();
        assert_eq!(
            computations.into_iter().collect::<Vec<_>>(),
            [333_333, 1_732_051, 9_000_000, 46_765_372, 243_000_000]
        );
        // Communication of a microsecond cannot be covered by less than the shortest computation.
        let short = around(&judged(Benchmark::Receiver, [1e-3; 3]), 2).unwrap();
        assert!(short.iter().all(|point| point.load.computation_ns == 20_000) && short.len() == 5);
        assert_eq!(
            around(&judged(Benchmark::ThreadLoad, [1.0; 3]), 2),
            None,
            "its cells are a map"
        );
        let empty = Map {
            cells: Vec::new(),
            ..judged(Benchmark::Sender, [1.0; 3])
        };
        assert_eq!(around(&empty, 2), None);
    }

    #[test]
    fn what_it_takes_is_known_before() {
        let map = judged(Benchmark::Receiver, [1.0, 10.0, 81.0]);
        let points = |all: Vec<Point>| BTreeMap::from([(Benchmark::Receiver, all)]);
        let all = around(&map, 2).unwrap();
        // 64 KiB beside 333 us: twice 1.333 ms in each of 12 rounds.
        let first = seconds(&points(vec![all[0]]), &map, REPETITIONS);
        assert!((first - 12.0 * 2.0 * 1.333_333e-3).abs() < 1e-6, "{first}");
        let whole = seconds(&points(all), &map, REPETITIONS);
        assert!((55.0..60.0).contains(&whole), "{whole}");
        assert_eq!(seconds(&BTreeMap::new(), &map, REPETITIONS), 0.0);
    }
}
