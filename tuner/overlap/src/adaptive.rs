//! Adaptive maps: a picture from a fraction of the cells. A coarse grid is measured first, then the places where the
//! class changes, and the rest is filled in.
//!
//! The coarse grid is every fourth column and row. Every eighth comes first ([`Exploration::coarse`]), in all requested maps. Then [`queue`]
//! goes on in turn, always with the least known cells for their cost: a further line of the coarse grid, or a cell on the present lines.
//! Along each line, two neighbours of different class are halved until they touch, so that a border is known exactly wherever it crosses a
//! line. Cells between the lines follow from the four lines around them ([`super::fill`]). A border of length L thus costs about L/2 cells;
//! refining whole areas would cost all that it touches. Borders with the most contrast per second come first. No more is measured than
//! [`SHARE`] of the cells and of the time of the full grid. The price is that an island which no line crosses, less than four steps wide and
//! high, is not seen.
//!
//! Pure: cells come from a closure, which is a job, a full map that is replayed, or a script.

use std::collections::BTreeMap;

use kilter_model::reading::read;
use kilter_model::survey::Cell;
use kilter_protocol::overlap::Benchmark;

use super::band::{Band, contrast};
use super::fill::{self, Profile};
use super::grid::{Grid, Position};

pub mod queue;

/// Share of the full grid's cells, and of its time, that is measured. Only a grid so small that its coarse form exceeds
/// this gets more.
pub const SHARE: f64 = 0.2;

/// Limit for a small map whose coarse grid exceeds the shares above: cells and time in multiples of the coarse grid's,
/// itself included.
const BEYOND_COARSE: f64 = 1.5;

/// Least contrast that a colour shows. A smaller difference is ignored even if it crosses the end of a class.
const LEAST_CONTRAST: f64 = 0.025;

/// Seconds of a repetition beyond communication and computation: clearing the peer, reading clocks.
const OVERHEAD_SECONDS: f64 = 20e-6;

/// Cells of a step, unless it is a line.
const AT_ONCE: usize = 16;

/// Uncertainty between equal neighbours, on the scale of a contrast, which is at most 1.
const UNSEEN: f64 = 0.05;

/// Cells by position; `None` for one that could not be measured.
pub type Measured = BTreeMap<Position, Option<Cell>>;

/// Answers positions in their order, with `None` for one that cannot be measured.
pub type Ask<'a, E> = dyn FnMut(&[Position]) -> Result<Vec<Option<Cell>>, E> + 'a;

/// Result of [`explore`].
#[derive(Debug, Clone, PartialEq)]
pub struct Explored {
    /// Measured and inferred cells, in the order of [`Grid::positions`].
    pub cells: Vec<Cell>,
    /// The requested cells.
    pub measured: Measured,
    /// Positions left open, because the nearest measurement failed.
    pub open: Vec<Position>,
}

/// Explores the map of `benchmark`.
pub fn explore<E>(benchmark: Benchmark, grid: &Grid, ask: &mut Ask<'_, E>) -> Result<Explored, E> {
    let mut explorations = [Exploration::new(benchmark, grid.clone())];
    queue::explore_all(&mut explorations, &mut |_, positions| ask(positions).map(Some))?;
    Ok(explorations[0].finish())
}

/// A map on its way from its coarsest lines to the picture.
#[derive(Debug, Clone)]
pub struct Exploration {
    benchmark: Benchmark,
    grid: Grid,
    /// Lines that are measured in the end.
    wanted: Lines,
    /// Lines that are measured so far.
    present: Lines,
    measured: Measured,
}

/// Cells to measure next.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Their positions.
    pub positions: Vec<Position>,
    /// Lack of knowledge about them per second that they take.
    pub urgency: f64,
}

impl Exploration {
    /// An exploration without any measured cell.
    #[must_use]
    pub fn new(benchmark: Benchmark, grid: Grid) -> Exploration {
        let wanted = Lines::of(&grid);
        let present = Lines {
            columns: coarsest(&wanted.columns),
            rows: coarsest(&wanted.rows),
        };
        Exploration {
            benchmark,
            grid,
            wanted,
            present,
            measured: Measured::new(),
        }
    }

    /// Cells that every map gets before any is refined.
    #[must_use]
    pub fn coarse(&self) -> Vec<Position> {
        Lines {
            columns: coarsest(&self.wanted.columns),
            rows: coarsest(&self.wanted.rows),
        }
        .crossings()
    }

    /// Its grid.
    #[must_use]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Its benchmark.
    #[must_use]
    pub fn benchmark(&self) -> Benchmark {
        self.benchmark
    }

    /// Number of its cells that were asked for so far.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.measured.len()
    }

    /// The measured cells, to correct their noise.
    pub fn measured_mut(&mut self) -> impl Iterator<Item = (Position, &mut Cell)> {
        let cells = self.measured.iter_mut();
        cells.filter_map(|(position, cell)| Some((*position, cell.as_mut()?)))
    }

    /// Takes the answers to `positions`, with `None` for one that cannot be measured. A line is used once all of its
    /// crossings are there.
    pub fn record(&mut self, positions: &[Position], answers: Vec<Option<Cell>>) {
        self.measured.extend(positions.iter().copied().zip(answers));
        let complete = |positions: &[Position]| positions.iter().all(|position| self.measured.contains_key(position));
        for column in absent(&self.wanted.columns, &self.present.columns) {
            if complete(&self.present.column(column)) {
                insert(&mut self.present.columns, column);
            }
        }
        for row in absent(&self.wanted.rows, &self.present.rows) {
            if complete(&self.present.row(row)) {
                insert(&mut self.present.rows, row);
            }
        }
    }

    /// Cells with the most to learn per second; `None` if the picture is complete.
    #[must_use]
    pub fn next(&self) -> Option<Step> {
        let mut allowance = Allowance::of(&self.grid, &self.wanted, &self.measured);
        let line = self.best_line(&allowance);
        let mut middles = self.middles(&allowance);
        middles.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        middles.retain(|(position, _)| self.wanted.cross_at(*position) || allowance.fits(*position));
        let best = middles.first().map_or(0.0, |(_, urgency)| *urgency);
        if let Some(line) = line.filter(|line| line.urgency >= best) {
            return Some(line);
        }
        let mut positions = Vec::new();
        for (position, urgency) in middles {
            if urgency < best / 2.0 || positions.len() == AT_ONCE {
                break;
            }
            if self.wanted.cross_at(position) || allowance.take(position) {
                positions.push(position);
            }
        }
        (!positions.is_empty()).then_some(Step {
            positions,
            urgency: best,
        })
    }

    /// The picture from the measurements so far.
    #[must_use]
    pub fn finish(&self) -> Explored {
        let (cells, open) = fill::fill(self.benchmark, &self.grid, &self.present, &self.measured);
        Explored {
            cells,
            measured: self.measured.clone(),
            open,
        }
    }

    /// Whole wanted line with the most to learn.
    fn best_line(&self, allowance: &Allowance) -> Option<Step> {
        let columns = absent(&self.wanted.columns, &self.present.columns)
            .into_iter()
            .map(|column| {
                let gap = around(&self.present.columns, column);
                let beside = |position: Position, other: usize| Position {
                    column: other,
                    ..position
                };
                self.line(&self.present.column(column), gap, &beside, allowance)
            });
        let rows = absent(&self.wanted.rows, &self.present.rows).into_iter().map(|row| {
            let gap = around(&self.present.rows, row);
            let beside = |position: Position, other: usize| Position { row: other, ..position };
            self.line(&self.present.row(row), gap, &beside, allowance)
        });
        let lines = columns.chain(rows).filter(|line| !line.positions.is_empty());
        lines.max_by(|a, b| a.urgency.total_cmp(&b.urgency))
    }

    fn line(
        &self,
        positions: &[Position],
        (before, after): (usize, usize),
        beside: &dyn Fn(Position, usize) -> Position,
        allowance: &Allowance,
    ) -> Step {
        let (mut gain, mut seconds) = (0.0, 0.0);
        let mut left = Vec::new();
        for position in positions
            .iter()
            .copied()
            .filter(|position| !self.measured.contains_key(position))
        {
            let at = |other: usize| self.measured.get(&beside(position, other)).and_then(Option::as_ref);
            gain += match (at(before), at(after)) {
                (Some(a), Some(b)) => {
                    UNSEEN + contrast(self.benchmark, read(self.benchmark, a), read(self.benchmark, b))
                }
                _ => UNSEEN,
            };
            seconds += allowance.price_of(position);
            left.push(position);
        }
        Step {
            positions: left,
            urgency: gain * (after - before) as f64 / seconds.max(f64::MIN_POSITIVE),
        }
    }

    /// Positions between differing neighbours on a line, with their urgency: contrast times gap, per second. Lines that
    /// are wanted anyway come first, so that no cell is measured without need.
    fn middles(&self, allowance: &Allowance) -> Vec<(Position, f64)> {
        let on_columns = self.present.columns.iter().map(|line| {
            let on_line = self
                .measured
                .iter()
                .filter(move |(position, _)| position.column == *line);
            on_line.collect::<Vec<_>>()
        });
        let on_rows = self.present.rows.iter().map(|line| {
            let on_line = self.measured.iter().filter(move |(position, _)| position.row == *line);
            on_line.collect::<Vec<_>>()
        });
        let mut found: BTreeMap<Position, f64> = BTreeMap::new();
        for line in on_columns.chain(on_rows) {
            for pair in line.windows(2) {
                let [(a, Some(left)), (b, Some(right))] = pair else {
                    continue;
                };
                let gap = (b.column - a.column).max(b.row - a.row);
                let contrast = contrast(self.benchmark, read(self.benchmark, left), read(self.benchmark, right));
                let differ = Band::of(self.benchmark, left) != Band::of(self.benchmark, right);
                if gap < 2 || !differ || contrast < LEAST_CONTRAST {
                    continue;
                }
                let middle = Position {
                    column: between(&self.wanted.columns, a.column, b.column),
                    row: between(&self.wanted.rows, a.row, b.row),
                };
                let urgency = contrast * gap as f64 / allowance.price_of(middle);
                let known = found.entry(middle).or_insert(urgency);
                *known = known.max(urgency);
            }
        }
        found.into_iter().collect()
    }
}

/// Columns and rows of a coarse grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lines {
    /// Ascending, including the first and the last column.
    pub(super) columns: Vec<usize>,
    /// Ascending, including the first and the last row.
    pub(super) rows: Vec<usize>,
}

impl Lines {
    fn of(grid: &Grid) -> Lines {
        Lines {
            columns: coarse(grid.sizes.len()),
            rows: coarse(grid.loads.len()),
        }
    }

    fn crossings(&self) -> Vec<Position> {
        self.columns.iter().flat_map(|column| self.column(*column)).collect()
    }

    /// Crossings of a column with the rows.
    fn column(&self, column: usize) -> Vec<Position> {
        self.rows.iter().map(|row| Position { column, row: *row }).collect()
    }

    /// Crossings of a row with the columns.
    fn row(&self, row: usize) -> Vec<Position> {
        self.columns
            .iter()
            .map(|column| Position { column: *column, row })
            .collect()
    }

    fn cross_at(&self, position: Position) -> bool {
        self.columns.binary_search(&position.column).is_ok() && self.rows.binary_search(&position.row).is_ok()
    }
}

/// Every second of these lines counted from the last, and the first; all of very few.
fn coarsest(lines: &[usize]) -> Vec<usize> {
    coarse_by(lines.len(), if lines.len() <= 4 { 1 } else { 2 })
        .into_iter()
        .map(|index| lines[index])
        .collect()
}

fn absent(wanted: &[usize], present: &[usize]) -> Vec<usize> {
    wanted.iter().copied().filter(|line| !present.contains(line)).collect()
}

fn insert(lines: &mut Vec<usize>, line: usize) {
    let at = lines.partition_point(|other| *other < line);
    lines.insert(at, line);
}

/// Neighbours in `lines` of a line that is not among them.
fn around(lines: &[usize], line: usize) -> (usize, usize) {
    let after = lines.partition_point(|other| *other < line);
    let at = |index: usize| lines.get(index).copied().unwrap_or(line);
    (at(after.saturating_sub(1)), at(after))
}

/// Line of `wanted` between two indices that is nearest to their middle; the middle itself if there is none.
fn between(wanted: &[usize], a: usize, b: usize) -> usize {
    let middle = a.midpoint(b);
    let inside = wanted.iter().copied().filter(|line| a < *line && *line < b);
    inside.min_by_key(|line| line.abs_diff(middle)).unwrap_or(middle)
}

/// Every fourth of `count` lines counted from the last, where time is spent, and the first. Of few lines every second,
/// of very few all.
fn coarse(count: usize) -> Vec<usize> {
    let step = match count {
        0..=8 => 1,
        9..=16 => 2,
        _ => 4,
    };
    coarse_by(count, step)
}

fn coarse_by(count: usize, step: usize) -> Vec<usize> {
    let mut lines: Vec<usize> = (0..count).rev().step_by(step).collect();
    lines.push(0);
    lines.sort_unstable();
    lines.dedup();
    lines.truncate(count);
    lines
}

/// Cells and seconds left in addition to the wanted lines' crossings.
struct Allowance {
    cells: usize,
    seconds: f64,
    /// Mean time of a cell of the grid.
    mean_seconds: f64,
    communication: Profile,
    computation: Profile,
}

impl Allowance {
    fn of(grid: &Grid, wanted: &Lines, measured: &Measured) -> Allowance {
        let (communication, computation) = fill::profiles(grid, measured);
        let mut allowance = Allowance {
            cells: 0,
            seconds: 0.0,
            mean_seconds: 0.0,
            communication,
            computation,
        };
        let crossings = wanted.crossings();
        let beside: Vec<Position> = measured
            .keys()
            .copied()
            .filter(|position| !wanted.cross_at(*position))
            .collect();
        let seconds =
            |positions: &[Position]| -> f64 { positions.iter().map(|position| allowance.seconds_of(*position)).sum() };
        let whole: f64 = grid.positions().map(|position| allowance.seconds_of(position)).sum();
        let (coarse, spent) = (seconds(&crossings), seconds(&beside));
        let cells = (SHARE * grid.count() as f64).max(BEYOND_COARSE * crossings.len() as f64);
        allowance.cells = (cells as usize)
            .min(grid.count())
            .saturating_sub(crossings.len() + beside.len());
        allowance.seconds = (SHARE * whole).max(BEYOND_COARSE * coarse) - coarse - spent;
        allowance.mean_seconds = whole / grid.count().max(1) as f64;
        allowance
    }

    /// Time of a repetition of a cell: each of the two alone, and both one after the other as the usual worst case.
    fn seconds_of(&self, position: Position) -> f64 {
        2.0 * (self.communication.at(position.column) + self.computation.at(position.row)) + OVERHEAD_SECONDS
    }

    /// Divisor of urgency. It adds the mean time, because otherwise cells that take almost no time would all come
    /// first, although they show only the edge of the noise.
    fn price_of(&self, position: Position) -> f64 {
        self.seconds_of(position) + self.mean_seconds
    }

    fn fits(&self, position: Position) -> bool {
        self.cells > 0 && self.seconds_of(position) <= self.seconds
    }

    /// Takes a cell out of the allowance; false if too little is left.
    fn take(&mut self, position: Position) -> bool {
        let fits = self.fits(position);
        if fits {
            self.cells -= 1;
            self.seconds -= self.seconds_of(position);
        }
        fits
    }
}

#[cfg(test)]
mod tests;
