//! Compares the adaptive mode with full maps: the agreement of the pictures, and the cost.
//!
//! Both are measured in this run, in jobs of their own, and the full map twice. Cells at the end of a band, or of the mask, change it from
//! one measurement to the next, so that no mode can agree with a full map better than another full map does. The adaptive mode is also
//! replayed on the first full map, which leaves only the cells that it infers.

use std::collections::BTreeMap;
use std::convert::Infallible;

use comfy_table::{Table, presets};
use kilter_model::setup::Setup;
use kilter_model::survey::Cell;
use kilter_protocol::overlap::Benchmark;
use kilter_render::format;
use kilter_render::table::trimmed;
use kilter_search::context::Jobs;
use serde::Serialize;

use super::adaptive::{self, Explored, SHARE};
use super::band::Band;
use super::grid::{Grid, Position};
use super::measure::Surveyor;
use super::options::Suite;

/// Share of the cells whose band should be the same.
pub const GOAL: f64 = 0.95;

/// Agreement of the adaptive mode with full maps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agreement {
    /// The library, as it names itself.
    pub library: String,
    /// Number of ranks.
    pub ranks: usize,
    /// The command.
    pub command: String,
    /// One per benchmark.
    pub rows: Vec<Row>,
}

/// One benchmark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// Cells of the full map.
    pub cells: usize,
    /// Seconds to measure all of them.
    pub full_seconds: f64,
    /// Result of the adaptive mode measured anew.
    pub anew: Shares,
    /// Seconds that it took.
    pub adaptive_seconds: f64,
    /// Result of the adaptive mode on the cells of the full map.
    pub replayed: Shares,
    /// Share of cells whose band is the same in two full maps, the best that the machine allows.
    pub full_again: f64,
    /// Agreement of the adaptive mode, measured anew, on these cells alone.
    pub settled: f64,
}

/// Quality of the adaptive mode.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shares {
    /// Share of all cells that it measures.
    pub measured: f64,
    /// Share of the cells in both maps whose band is that of the full map.
    pub agreement: f64,
}

/// Measures every benchmark of the suite in both ways.
pub fn run(jobs: &Jobs<'_>, suite: &Suite) -> anyhow::Result<Agreement> {
    let ranks = jobs.site.options.ranks;
    let untouched = Setup::default();
    let mut rows = Vec::new();
    let mut library = String::new();
    for &benchmark in &suite.benchmarks {
        // One job after the other: even one that waits takes cycles from the other.
        let surveyor = |what: &str| {
            let label = format!("overlap/{what}/{}", benchmark.name());
            Surveyor::new(jobs, suite, &untouched, &label)
        };
        let mut full = surveyor("full")?;
        let grid = full.grid(benchmark);
        let whole = full.map(benchmark, true)?;
        let full_seconds = full.take_seconds();
        library = full.finish(Vec::new())?.library;
        let mut anew = surveyor("adaptive")?;
        let explored = anew.adaptive(benchmark, &grid)?;
        let adaptive_seconds = anew.take_seconds();
        anew.finish(Vec::new())?;
        let mut again = surveyor("full again")?;
        let whole_again = again.map(benchmark, true)?;
        again.finish(Vec::new())?;
        rows.push(row(
            benchmark,
            &grid,
            [&whole.cells, &whole_again.cells],
            &explored,
            (full_seconds, adaptive_seconds),
        ));
    }
    Ok(Agreement {
        library,
        ranks,
        command: jobs.typed.clone(),
        rows,
    })
}

fn row(benchmark: Benchmark, grid: &Grid, full: [&[Cell]; 2], anew: &Explored, seconds: (f64, f64)) -> Row {
    let known = by_point(full[0]);
    let replay = |positions: &[Position]| -> Result<Vec<Option<Cell>>, Infallible> {
        let answer = |position: &Position| {
            let point = grid.point(*position);
            let cell = known.get(&(point.bytes, point.load.computation_ns, point.load.threads))?;
            Some((*cell).clone())
        };
        Ok(positions.iter().map(answer).collect())
    };
    let Ok(replayed) = adaptive::explore(benchmark, grid, &mut { replay });
    let shares = |explored: &Explored| Shares {
        measured: explored.measured.len() as f64 / grid.count() as f64,
        agreement: agreement(benchmark, &known, &explored.cells),
    };
    let is_settled = |cell: &&Cell| same(benchmark, &known, cell) == Some(true);
    let settled: Vec<Cell> = full[1].iter().filter(is_settled).cloned().collect();
    Row {
        benchmark,
        cells: grid.count(),
        full_seconds: seconds.0,
        adaptive_seconds: seconds.1,
        anew: shares(anew),
        replayed: shares(&replayed),
        full_again: agreement(benchmark, &known, full[1]),
        settled: agreement(benchmark, &by_point(&settled), &anew.cells),
    }
}

/// Size, computation in nanoseconds, threads.
type Key = (u64, u64, u32);

fn by_point(cells: &[Cell]) -> BTreeMap<Key, &Cell> {
    let key = |cell: &Cell| (cell.bytes, cell.computation_ns, cell.threads);
    cells.iter().map(|cell| (key(cell), cell)).collect()
}

/// True if `cell` has the same band in `full`; `None` if `full` lacks the cell.
fn same(benchmark: Benchmark, full: &BTreeMap<Key, &Cell>, cell: &Cell) -> Option<bool> {
    let other = full.get(&(cell.bytes, cell.computation_ns, cell.threads))?;
    Some(Band::of(benchmark, cell) == Band::of(benchmark, other))
}

/// Share of the common cells whose band is the same; 1 without common cells.
fn agreement(benchmark: Benchmark, full: &BTreeMap<Key, &Cell>, cells: &[Cell]) -> f64 {
    let (mut all, mut agreeing) = (0_usize, 0_usize);
    for is_same in cells.iter().filter_map(|cell| same(benchmark, full, cell)) {
        all += 1;
        agreeing += usize::from(is_same);
    }
    if all == 0 { 1.0 } else { agreeing as f64 / all as f64 }
}

/// The comparison as text.
#[must_use]
pub fn text(found: &Agreement) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "benchmark",
        "cells",
        "full",
        "adaptive",
        "time",
        "measured",
        "agreement",
        "full again",
        "settled",
        "replayed",
        "agreement",
    ]);
    for row in &found.rows {
        table.add_row([
            row.benchmark.name().to_owned(),
            row.cells.to_string(),
            format::span(row.full_seconds),
            format::span(row.adaptive_seconds),
            format::percent(row.adaptive_seconds / row.full_seconds),
            format::percent(row.anew.measured),
            format::percent(row.anew.agreement),
            format::percent(row.full_again),
            format::percent(row.settled),
            format::percent(row.replayed.measured),
            format::percent(row.replayed.agreement),
        ]);
    }
    let sum = |of: fn(&Row) -> f64| found.rows.iter().map(of).sum::<f64>();
    let (full, adaptive) = (sum(|row| row.full_seconds), sum(|row| row.adaptive_seconds));
    format!(
        "The adaptive mode against every cell: {}, {} ranks\n{}\n\
         All: {} against {}, {}. Goals: {} of the time, {} agreement.\n\
         agreement: cells whose band (masked; ratio up to 0.2, 0.8, 1.2, beyond) is that of the full map.\n\
         full again: agreement of a second full map, which is what the machine allows. settled: agreement of the adaptive mode on the \
         cells whose band was the same in both full maps.\n\
         replayed: the adaptive mode on the cells of the full map.\n",
        found.library,
        found.ranks,
        trimmed(&table),
        format::span(adaptive),
        format::span(full),
        format::percent(adaptive / full),
        format::percent(SHARE),
        format::percent(GOAL),
    )
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::survey as fixture;

    use super::*;
    use crate::grid::ladder;

    fn full(grid: &Grid) -> Vec<Cell> {
        let cell = |position| {
            let point = grid.point(position);
            let ns = point.load.computation_ns;
            let ratio = fixture::rendezvous(point.bytes, ns);
            fixture::cell(point.bytes, ns, 1, fixture::communication(point.bytes), ratio)
        };
        grid.positions().map(cell).collect()
    }

    #[test]
    fn a_replay_and_a_measurement_of_the_same_map_agree() {
        let (sizes, computations) = (ladder(8, 4 << 20), ladder(1000, 10_000_000));
        let grid = Grid::of(Benchmark::Receiver, (&sizes, &computations, &[]), 2);
        let full = full(&grid);
        let known: BTreeMap<Position, Cell> = grid.positions().zip(full.iter().cloned()).collect();
        let mut ask = |positions: &[Position]| -> Result<Vec<Option<Cell>>, Infallible> {
            // The second measurement finds every tenth cell another colour.
            let again = |position: &Position| {
                let mut cell = known[position].clone();
                if (position.column + position.row).is_multiple_of(10) {
                    cell.overlapped_seconds += 3.0 * cell.serialised_overhead_seconds();
                }
                Some(cell)
            };
            Ok(positions.iter().map(again).collect())
        };
        let Ok(anew) = adaptive::explore(Benchmark::Receiver, &grid, &mut ask);
        let Ok(again) = ask(&grid.positions().collect::<Vec<_>>());
        let again: Vec<Cell> = again.into_iter().flatten().collect();
        let row = row(Benchmark::Receiver, &grid, [&full, &again], &anew, (100.0, 21.0));
        assert_eq!(row.cells, 39 * 27);
        assert!(
            row.replayed.agreement >= GOAL && row.replayed.measured <= SHARE,
            "{:?}",
            row.replayed
        );
        assert!((0.8..0.97).contains(&row.full_again), "{}", row.full_again);
        assert!(row.anew.agreement < row.replayed.agreement);
        assert!(
            row.settled > row.anew.agreement,
            "{} {}",
            row.settled,
            row.anew.agreement
        );
        let found = Agreement {
            library: "Open MPI 4.1.4".to_owned(),
            ranks: 2,
            command: "kilter overlap --benchmark-adaptive".to_owned(),
            rows: vec![row],
        };
        let text = text(&found);
        assert!(
            text.contains("receiver") && text.contains("21 %") && text.contains("1 min 40 s"),
            "{text}"
        );
    }

    #[test]
    fn cells_that_only_one_map_has_do_not_count() {
        let cells = [
            fixture::cell(8, 1000, 1, 1e-5, 0.0),
            fixture::cell(16, 1000, 1, 1e-5, 0.0),
        ];
        let mut other = cells.to_vec();
        other[1].bytes = 17;
        assert_eq!(agreement(Benchmark::Sender, &by_point(&cells), &other), 1.0);
        other[0].overlapped_seconds *= 2.0;
        assert_eq!(agreement(Benchmark::Sender, &by_point(&cells), &other), 0.0);
        assert_eq!(agreement(Benchmark::Sender, &by_point(&cells), &[]), 1.0);
    }
}
