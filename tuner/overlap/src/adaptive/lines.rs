//! Lines of a grid that are measured whole.

use crate::grid::{Grid, Position};

/// Columns and rows of a coarse grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lines {
    /// Ascending, including the first and the last column.
    pub(crate) columns: Vec<usize>,
    /// Ascending, including the first and the last row.
    pub(crate) rows: Vec<usize>,
}

impl Lines {
    pub(super) fn of(grid: &Grid) -> Lines {
        Lines {
            columns: coarse(grid.sizes.len()),
            rows: coarse(grid.loads.len()),
        }
    }

    pub(super) fn crossings(&self) -> Vec<Position> {
        self.columns.iter().flat_map(|column| self.column(*column)).collect()
    }

    /// Crossings of a column with the rows.
    pub(super) fn column(&self, column: usize) -> Vec<Position> {
        self.rows.iter().map(|row| Position { column, row: *row }).collect()
    }

    /// Crossings of a row with the columns.
    pub(super) fn row(&self, row: usize) -> Vec<Position> {
        self.columns
            .iter()
            .map(|column| Position { column: *column, row })
            .collect()
    }

    pub(super) fn cross_at(&self, position: Position) -> bool {
        self.columns.binary_search(&position.column).is_ok() && self.rows.binary_search(&position.row).is_ok()
    }
}

/// Every second of these lines counted from the last, and the first; all of very few.
pub(super) fn coarsest(lines: &[usize]) -> Vec<usize> {
    coarse_by(lines.len(), if lines.len() <= 4 { 1 } else { 2 })
        .into_iter()
        .map(|index| lines[index])
        .collect()
}

pub(super) fn absent(wanted: &[usize], present: &[usize]) -> Vec<usize> {
    wanted.iter().copied().filter(|line| !present.contains(line)).collect()
}

pub(super) fn insert(lines: &mut Vec<usize>, line: usize) {
    let at = lines.partition_point(|other| *other < line);
    lines.insert(at, line);
}

/// Neighbours in `lines` of a line that is not among them.
pub(super) fn around(lines: &[usize], line: usize) -> (usize, usize) {
    let after = lines.partition_point(|other| *other < line);
    let at = |index: usize| lines.get(index).copied().unwrap_or(line);
    (at(after.saturating_sub(1)), at(after))
}

/// Line of `wanted` between two indices that is nearest to their middle; the middle itself if there is none.
pub(super) fn between(wanted: &[usize], a: usize, b: usize) -> usize {
    let middle = a.midpoint(b);
    let inside = wanted.iter().copied().filter(|line| a < *line && *line < b);
    inside.min_by_key(|line| line.abs_diff(middle)).unwrap_or(middle)
}

/// Every fourth of `count` lines counted from the last, where time is spent, and the first. Of few lines every second,
/// of very few all.
pub(super) fn coarse(count: usize) -> Vec<usize> {
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
