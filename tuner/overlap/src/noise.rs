//! Noise of a map: the variation of its times that is not the library's.
//!
//! The variation of communication depends on the size alone, that of computation on the load alone. Some fifty
//! repetitions of one cell estimate either badly, and the mask would be ragged. The half-widths of the medians' 95 %
//! intervals are therefore pooled: their median over the cells of the same and of nearby columns, and over those of the
//! same and of nearby rows. The larger of the two counts, and at least the variation of the empty operation. A cell
//! that was disturbed far beyond the others keeps a part of its own.

use super::grid::Position;

/// Distance within which columns and rows count as well. It is as large as the gaps of the coarse grid, so that each
/// has some.
const REACH: usize = 2;

/// Multiple of the pooled noise beyond which a cell's variation counts as noise of its own.
const OWN: f64 = 3.0;

/// Half-widths of the 95 % intervals of a cell's medians, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Widths {
    /// Width of the communication's interval.
    pub communication: f64,
    /// Width of the computation's interval; 0 if it does not enter the cell's reading.
    pub computation: f64,
}

/// The widths of the cells of a map so far.
#[derive(Debug, Default)]
pub(super) struct Pool {
    cells: Vec<(Position, Widths)>,
}

impl Pool {
    /// Adds a cell.
    pub(super) fn add(&mut self, position: Position, widths: Widths) {
        self.cells.push((position, widths));
    }

    /// The cells so far.
    pub(super) fn cells(&self) -> impl Iterator<Item = (Position, Widths)> {
        self.cells.iter().copied()
    }

    /// Noise of a cell in seconds; `least_seconds` is the least variation of the machine's times.
    pub(super) fn noise(&self, position: Position, own: Widths, least_seconds: f64) -> f64 {
        let near = |a: usize, b: usize| a.abs_diff(b) <= REACH;
        let of_column = self
            .cells
            .iter()
            .filter(|(other, _)| near(other.column, position.column));
        let of_row = self.cells.iter().filter(|(other, _)| near(other.row, position.row));
        median(of_column.map(|(_, widths)| widths.communication).collect())
            .max(median(of_row.map(|(_, widths)| widths.computation).collect()))
            .max(own.communication.max(own.computation) / OWN)
            .max(least_seconds)
    }
}

/// Median; of an even number of values the upper one, of none 0.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(column: usize, row: usize) -> Position {
        Position { column, row }
    }

    fn widths(communication: f64, computation: f64) -> Widths {
        Widths {
            communication,
            computation,
        }
    }

    /// Communication varies by a hundredth of its column, computation by that of its row.
    fn pool() -> Pool {
        let mut pool = Pool::default();
        for column in 0..20 {
            for row in 0..20 {
                // The estimate of one cell is off by a factor, up or down.
                let off = [0.5, 1.0, 2.0][(column + 2 * row) % 3];
                pool.add(at(column, row), widths(off * 0.01 * column as f64, off * row as f64));
            }
        }
        pool
    }

    #[test]
    fn columns_tell_of_communication_and_rows_of_computation() {
        let pool = pool();
        let none = widths(0.0, 0.0);
        let noise = pool.noise(at(3, 10), none, 0.0);
        assert!((9.0..=12.0).contains(&noise), "{noise}");
        assert_eq!(noise, pool.noise(at(17, 10), none, 0.0), "the same along the row");
        let still = |(position, of): &(Position, Widths)| (*position, widths(of.communication, 0.0));
        let still = Pool {
            cells: pool.cells.iter().map(still).collect(),
        };
        let noise = still.noise(at(10, 3), none, 0.0);
        assert!((0.09..=0.12).contains(&noise), "{noise}");
    }

    #[test]
    fn a_disturbed_cell_keeps_noise_of_its_own() {
        let pool = pool();
        let usual = pool.noise(at(3, 10), widths(0.03, 10.0), 0.0);
        assert_eq!(pool.noise(at(3, 10), widths(0.03, 2.0 * usual), 0.0), usual);
        assert_eq!(pool.noise(at(3, 10), widths(9.0 * usual, 10.0), 0.0), 3.0 * usual);
    }

    #[test]
    fn the_machine_s_noise_is_the_least() {
        assert_eq!(pool().noise(at(1, 1), widths(0.0, 0.0), 50.0), 50.0);
        assert_eq!(Pool::default().noise(at(1, 1), widths(0.0, 6.0), 0.5), 2.0);
    }
}
