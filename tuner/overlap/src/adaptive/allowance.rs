//! Allowance of a map: cells and seconds that it may cost.

use super::lines::Lines;
use super::{Measured, SHARE};
use crate::fill::{self, Profile};
use crate::grid::{Grid, Position};

/// Limit for a small map whose coarse grid exceeds the shares above: cells and time in multiples of the coarse grid's,
/// itself included.
const BEYOND_COARSE: f64 = 1.5;

/// Seconds of a repetition beyond communication and computation: clearing the peer, reading clocks.
const OVERHEAD_SECONDS: f64 = 20e-6;

/// Cells and seconds left in addition to the wanted lines' crossings.
pub(super) struct Allowance {
    cells: usize,
    seconds: f64,
    /// Mean time of a cell of the grid.
    mean_seconds: f64,
    communication: Profile,
    computation: Profile,
}

impl Allowance {
    pub(super) fn of(grid: &Grid, wanted: &Lines, measured: &Measured) -> Allowance {
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
    pub(super) fn price_of(&self, position: Position) -> f64 {
        self.seconds_of(position) + self.mean_seconds
    }

    pub(super) fn fits(&self, position: Position) -> bool {
        self.cells > 0 && self.seconds_of(position) <= self.seconds
    }

    /// Takes a cell out of the allowance; false if too little is left.
    pub(super) fn take(&mut self, position: Position) -> bool {
        let fits = self.fits(position);
        if fits {
            self.cells -= 1;
            self.seconds -= self.seconds_of(position);
        }
        fits
    }
}
