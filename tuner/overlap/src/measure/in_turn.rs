//! Adaptive pictures of all benchmarks of a suite, in turn within one budget.

use std::collections::BTreeMap;

use kilter_model::survey::{Failed, Map};

use super::{PATIENCE, Surveyor, failed_at};
use crate::adaptive::queue::{self, Reached};
use crate::adaptive::{self, Exploration};
use crate::grid::Position;
use crate::noise::Pool;

/// State of one map while others are asked in between.
struct Kept {
    pool: Pool,
    patience: usize,
    failed: Vec<Failed>,
}

/// Measures all maps of the surveyor's suite.
pub(super) fn maps(surveyor: &mut Surveyor<'_, '_>) -> anyhow::Result<Vec<Map>> {
    let of = |benchmark| Exploration::new(benchmark, surveyor.grid(benchmark));
    let mut explorations: Vec<Exploration> = surveyor.suite.benchmarks.iter().copied().map(of).collect();
    let cells: usize = explorations.iter().map(|map| map.grid().count()).sum();
    let jobs = surveyor.jobs;
    jobs.progress.phase("overlap", (cells as f64 * adaptive::SHARE) as u64);
    let benchmarks: Vec<_> = explorations
        .iter()
        .map(|map| (map.benchmark(), map.grid().clone()))
        .collect();
    let mut kept: Vec<Kept> = benchmarks.iter().map(|_| Kept::new()).collect();
    let reached = queue::explore_all(&mut explorations, &mut |index, positions| {
        if surveyor.is_over() {
            return Ok(None);
        }
        let (benchmark, grid) = &benchmarks[index];
        kept[index].swap(surveyor);
        let cells = surveyor.cells(*benchmark, grid, positions);
        kept[index].swap(surveyor);
        cells.map(Some)
    })?;
    let budget = jobs.budget.total_seconds();
    match reached {
        Reached::Whole => {}
        Reached::Coarse => jobs.progress.warn(&format!(
            "overlap: the budget of {budget} s ended while maps were refined; every map has its coarse grid at least"
        )),
        Reached::Part => jobs.progress.warn(&format!(
            "overlap: the budget of {budget} s ended before every map had its coarse grid ({}); raise --budget, or ask for fewer \
             --benchmarks or shorter --computation",
            short_of(&explorations)
        )),
    }
    let least_seconds = surveyor.noise();
    let of_map = |(mut exploration, kept): (Exploration, Kept)| {
        // The pool knows more now than when the cell was measured.
        let widths: BTreeMap<Position, _> = kept.pool.cells().collect();
        for (position, cell) in exploration.measured_mut() {
            if let Some(widths) = widths.get(&position) {
                cell.noise_seconds = kept.pool.noise(position, *widths, least_seconds);
            }
        }
        let reason = match reached {
            Reached::Part => format!(
                "not measured: the budget of {budget} s ended before the coarse grid was measured; raise --budget"
            ),
            _ => "not measured: its neighbours on the grid failed".to_owned(),
        };
        let explored = exploration.finish();
        let open = explored.open.iter();
        let mut failed = kept.failed;
        failed.extend(open.map(|position| failed_at(exploration.grid().point(*position), &reason)));
        failed.sort_by_key(|failed| (failed.bytes, failed.threads, failed.computation_ns));
        Map {
            benchmark: exploration.benchmark(),
            cells: explored.cells,
            failed,
        }
    };
    Ok(explorations.into_iter().zip(kept).map(of_map).collect())
}

/// Measured part of each coarse grid that is incomplete, in words.
fn short_of(explorations: &[Exploration]) -> String {
    let short = explorations.iter().filter(|map| map.asked() < map.coarse().len());
    let words = short.map(|map| {
        format!(
            "{}: {} of {} cells",
            map.benchmark().name(),
            map.asked(),
            map.coarse().len()
        )
    });
    words.collect::<Vec<_>>().join(", ")
}

impl Kept {
    fn new() -> Kept {
        Kept {
            pool: Pool::default(),
            patience: PATIENCE,
            failed: Vec::new(),
        }
    }

    /// Swaps the state with the surveyor's.
    fn swap(&mut self, surveyor: &mut Surveyor<'_, '_>) {
        std::mem::swap(&mut self.pool, &mut surveyor.pool);
        std::mem::swap(&mut self.patience, &mut surveyor.patience);
        std::mem::swap(&mut self.failed, &mut surveyor.failed);
    }
}
