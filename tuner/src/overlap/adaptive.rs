//! The same picture from a fraction of the cells: measure a coarse grid, look more closely where the class changes, fill in the rest.
//!
//! The coarse grid is every fourth column and row. Along each of its lines, two neighbours of different class are halved until they
//! touch, so that a border is known exactly wherever it crosses a line; what lies between the lines is told by the four lines around
//! it ([`super::fill`]). A border of length L thus costs about L/2 cells, where refining whole areas would cost all that it touches.
//! Borders of the most contrast come first, and no more is measured than [`SHARE`] of the cells and of the time of the full grid.
//!
//! An island that no line crosses, less than four steps wide and high, is not seen: that is the price.
//!
//! Pure: cells come from a closure, which is a job, a full map that is replayed, or a script.

use std::collections::BTreeMap;

use kilter_protocol::overlap::Benchmark;

use super::band::{Band, contrast};
use super::fill::{self, Profile};
use super::grid::{Grid, Position};
use super::model::Cell;
use super::reading::read;

/// Share of the cells, and of the time, of the full grid that is measured; more only where the grid is so small that its coarse form is
/// more already.
pub const SHARE: f64 = 0.2;

/// Where the coarse grid is already more than that, so much of its own cells and time may be measured, itself included.
const BEYOND_COARSE: f64 = 1.5;

/// A difference below this is none that a colour shows, even where it crosses the end of a class.
const LEAST_CONTRAST: f64 = 0.025;

/// Seconds of a repetition that are neither communication nor computation: clearing the peer, reading clocks.
const OVERHEAD_SECONDS: f64 = 20e-6;

/// Cells by position; `None` where one could not be measured.
pub type Measured = BTreeMap<Position, Option<Cell>>;

/// Answers positions in their order, with `None` where one cannot be measured.
pub type Ask<'a, E> = dyn FnMut(&[Position]) -> Result<Vec<Option<Cell>>, E> + 'a;

/// What [`explore`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct Explored {
    /// Measured and inferred ones, in the order of [`Grid::positions`].
    pub cells: Vec<Cell>,
    /// What was asked for.
    pub measured: Measured,
    /// Positions that are left open, because what is nearest could not be measured.
    pub open: Vec<Position>,
}

/// Explores the map of `benchmark`.
///
/// # Errors
/// Those of `ask`.
pub fn explore<E>(benchmark: Benchmark, grid: &Grid, ask: &mut Ask<'_, E>) -> Result<Explored, E> {
    let lines = Lines::of(grid);
    let mut measured = Measured::new();
    let mut ask_all = |positions: &[Position], measured: &mut Measured| -> Result<(), E> {
        let answers = ask(positions)?;
        measured.extend(positions.iter().copied().zip(answers));
        Ok(())
    };
    ask_all(&lines.crossings(), &mut measured)?;
    let mut allowance = Allowance::after_coarse(grid, &measured);
    loop {
        let wanted = lines.wanted(benchmark, &measured, &allowance);
        let taken: Vec<Position> = wanted
            .into_iter()
            .filter(|position| allowance.take(*position))
            .collect();
        if taken.is_empty() {
            break;
        }
        ask_all(&taken, &mut measured)?;
    }
    let (cells, open) = fill::fill(benchmark, grid, &lines, &measured);
    Ok(Explored { cells, measured, open })
}

/// The columns and rows of the coarse grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lines {
    /// Ascending, the first and the last column among them.
    pub(super) columns: Vec<usize>,
    /// Likewise.
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
        let of_column = |column: &usize| {
            let column = *column;
            self.rows.iter().map(move |row| Position { column, row: *row })
        };
        self.columns.iter().flat_map(of_column).collect()
    }

    /// The middles between neighbours on a line that differ: the most contrast over the widest gap first, of equals the cheapest.
    fn wanted(&self, benchmark: Benchmark, measured: &Measured, allowance: &Allowance) -> Vec<Position> {
        let on_columns = self.columns.iter().map(|line| {
            let on_line = measured.iter().filter(move |(position, _)| position.column == *line);
            on_line.collect::<Vec<_>>()
        });
        let on_rows = self.rows.iter().map(|line| {
            let on_line = measured.iter().filter(move |(position, _)| position.row == *line);
            on_line.collect::<Vec<_>>()
        });
        let mut found: BTreeMap<Position, f64> = BTreeMap::new();
        for line in on_columns.chain(on_rows) {
            for pair in line.windows(2) {
                let [(a, Some(left)), (b, Some(right))] = pair else {
                    continue;
                };
                let gap = (b.column - a.column).max(b.row - a.row);
                let contrast = contrast(benchmark, read(benchmark, left), read(benchmark, right));
                let differ = Band::of(benchmark, left) != Band::of(benchmark, right);
                if gap < 2 || !differ || contrast < LEAST_CONTRAST {
                    continue;
                }
                let middle = Position {
                    column: a.column.midpoint(b.column),
                    row: a.row.midpoint(b.row),
                };
                found.insert(middle, contrast * gap as f64);
            }
        }
        let mut wanted: Vec<(Position, f64)> = found.into_iter().collect();
        wanted.sort_by(|(a, gain), (b, other)| {
            let cheaper = || allowance.seconds_of(*a).total_cmp(&allowance.seconds_of(*b));
            other.total_cmp(gain).then_with(cheaper)
        });
        wanted.into_iter().map(|(position, _)| position).collect()
    }
}

/// Every fourth of `count` lines counted from the last, where time is spent, and the first; of few lines every second, of very few all.
fn coarse(count: usize) -> Vec<usize> {
    let step = match count {
        0..=8 => 1,
        9..=16 => 2,
        _ => 4,
    };
    let mut lines: Vec<usize> = (0..count).rev().step_by(step).collect();
    lines.push(0);
    lines.sort_unstable();
    lines.dedup();
    lines.truncate(count);
    lines
}

/// What may still be measured.
struct Allowance {
    cells: usize,
    seconds: f64,
    communication: Profile,
    computation: Profile,
}

impl Allowance {
    fn after_coarse(grid: &Grid, measured: &Measured) -> Allowance {
        let (communication, computation) = fill::profiles(grid, measured);
        let mut allowance = Allowance {
            cells: 0,
            seconds: 0.0,
            communication,
            computation,
        };
        let whole: f64 = grid.positions().map(|position| allowance.seconds_of(position)).sum();
        let coarse: f64 = measured.keys().map(|position| allowance.seconds_of(*position)).sum();
        let cells = (SHARE * grid.count() as f64).max(BEYOND_COARSE * measured.len() as f64);
        allowance.cells = (cells as usize).min(grid.count()).saturating_sub(measured.len());
        allowance.seconds = (SHARE * whole).max(BEYOND_COARSE * coarse) - coarse;
        allowance
    }

    /// What a repetition of a cell takes: each of the two alone, and both one after the other at the worst that is usual.
    fn seconds_of(&self, position: Position) -> f64 {
        2.0 * (self.communication.at(position.column) + self.computation.at(position.row)) + OVERHEAD_SECONDS
    }

    /// Takes a cell out of it, where there is enough left.
    fn take(&mut self, position: Position) -> bool {
        let seconds = self.seconds_of(position);
        if self.cells == 0 || seconds > self.seconds {
            return false;
        }
        self.cells -= 1;
        self.seconds -= seconds;
        true
    }
}

#[cfg(test)]
mod tests;
