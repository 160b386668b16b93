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
use super::fill;
use super::grid::{Grid, Position};

mod allowance;
mod lines;
pub mod queue;

use self::allowance::Allowance;
pub(crate) use self::lines::Lines;
use self::lines::{absent, around, between, coarsest, insert};

/// Share of the full grid's cells, and of its time, that is measured. Only a grid so small that its coarse form exceeds
/// this gets more.
pub const SHARE: f64 = 0.2;

/// Least contrast that a colour shows. A smaller difference is ignored even if it crosses the end of a class.
const LEAST_CONTRAST: f64 = 0.025;

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

#[cfg(test)]
mod tests;
