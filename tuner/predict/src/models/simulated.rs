//! Simulated schedules: what lies on the critical path of each row of the registry, at prices that all rows of a collective share, and the
//! residuals of each implementation between the places where it was measured.
//!
//! Few prices are fitted to the times of all rows, so that few layouts suffice. Schedules of other implementations are unknown, but most libraries
//! have the same ones: the row whose measured times are most alike stands for them, at each volume, since libraries choose by it.

use std::sync::Arc;

use kilter_model::layout::Layout;

use super::{Fitted, Guess};
use crate::kriging::{Place, Residuals};
use crate::least_squares;
use crate::schedules::{Counts, KINDS, Timed, terms};
use crate::table::Table;

/// Weight of other volumes where a row is looked for that is like an implementation at one volume.
const OTHER_VOLUMES: f64 = 0.1;
/// Deviation of an implementation that is no row itself: a library may switch algorithms between the layouts where it was measured, or beyond them.
const STAND_IN_DEVIATION: f64 = 0.1;
/// Difference that counts, as a logarithm, where one of both was not measured.
const NOT_MEASURED: f64 = 0.3;

pub(super) fn fit(table: &Table) -> Box<dyn Fitted> {
    let prices = prices(table);
    let volumes: Vec<u64> = table.calls().iter().map(|call| call.bytes).collect();
    let all = 0..table.implementations.len();
    let fits = all.filter_map(|implementation| Fit::of(table, &prices, &volumes, implementation));
    Box::new(Simulated {
        timed: Arc::clone(&table.timed),
        fits: fits.collect(),
        prices,
    })
}

struct Simulated {
    timed: Arc<Timed>,
    prices: Vec<f64>,
    fits: Vec<Fit>,
}

struct Fit {
    implementation: usize,
    /// The row at each volume.
    rows: Vec<(u64, usize)>,
    /// Deviation beside that of the residuals.
    deviation: f64,
    residuals: Residuals,
}

/// Prices that explain the times of all rows best.
fn prices(table: &Table) -> Vec<f64> {
    let rows = (0..table.implementations.len())
        .filter_map(|implementation| Some((implementation, table.rows[implementation]?)));
    let seen = rows.flat_map(|(implementation, row)| {
        let points = table.points(implementation).into_iter();
        points.filter_map(move |point| {
            let counts = table.timed.at(row, point.layout, point.bytes)?;
            Some((terms(&counts), point.log.exp()))
        })
    });
    let seen: Vec<(Vec<f64>, f64)> = seen.collect();
    let found = least_squares::robust_prices(&seen);
    if found.is_empty() { vec![0.0; KINDS + 1] } else { found }
}

/// Logarithm of the seconds of a path; `None` if nothing on it costs anything.
fn log_seconds(counts: &Counts, prices: &[f64]) -> Option<f64> {
    let made: f64 = terms(counts).iter().zip(prices).map(|(term, price)| term * price).sum();
    (made > 0.0).then(|| made.ln())
}

impl Fitted for Simulated {
    fn guesses(&self, layout: Layout, bytes: u64) -> Vec<Guess> {
        let place = Place::of(layout, bytes);
        let mut known: Vec<(usize, Option<f64>)> = Vec::new();
        let mut log_of = |row: usize| match known.iter().find(|(other, _)| *other == row) {
            Some((_, log)) => *log,
            None => {
                let counts = self.timed.at(row, layout, bytes);
                let log = counts.and_then(|counts| log_seconds(&counts, &self.prices));
                known.push((row, log));
                log
            }
        };
        let guesses = self.fits.iter().filter_map(|fit| {
            let (residual, deviation) = fit.residuals.at(place);
            Some(Guess {
                implementation: fit.implementation,
                log: log_of(fit.row(bytes)?)? + residual,
                deviation: deviation.hypot(fit.deviation),
            })
        });
        guesses.collect()
    }
}

impl Fit {
    fn of(table: &Table, prices: &[f64], volumes: &[u64], implementation: usize) -> Option<Fit> {
        let rows = volumes
            .iter()
            .filter_map(|bytes| Some((*bytes, like(table, implementation, *bytes)?)));
        let mut fit = Fit {
            implementation,
            rows: rows.collect(),
            deviation: if table.rows[implementation].is_some() {
                0.0
            } else {
                STAND_IN_DEVIATION
            },
            residuals: Residuals::of(&[], 0),
        };
        let points = table.points(implementation);
        let seen = points.iter().filter_map(|point| {
            let counts = table.timed.at(fit.row(point.bytes)?, point.layout, point.bytes)?;
            let left = point.log - log_seconds(&counts, prices)?;
            Some((Place::of(point.layout, point.bytes), left, point.noise))
        });
        let seen: Vec<(Place, f64, f64)> = seen.collect();
        fit.residuals = Residuals::of(&seen, 0);
        (!seen.is_empty()).then_some(fit)
    }

    /// The row at the nearest volume.
    fn row(&self, bytes: u64) -> Option<usize> {
        let apart = |volume: u64| ((volume.max(1) as f64).log2() - (bytes.max(1) as f64).log2()).abs();
        let nearest = self.rows.iter().min_by(|a, b| apart(a.0).total_cmp(&apart(b.0)));
        nearest.map(|(_, row)| *row)
    }
}

/// The row whose times are most like those of an implementation at a volume: its own, if it is one.
fn like(table: &Table, implementation: usize, bytes: u64) -> Option<usize> {
    if let Some(own) = table.rows[implementation] {
        return Some(own);
    }
    let points = table.points(implementation);
    let unlike = |other: usize| -> f64 {
        let each = points.iter().map(|point| {
            let weight = if point.bytes == bytes { 1.0 } else { OTHER_VOLUMES };
            let log = table.point(point.layout, point.bytes, other).map(|other| other.log);
            weight * log.map_or(NOT_MEASURED, |log| log - point.log).powi(2)
        });
        each.sum()
    };
    let rows = (0..table.implementations.len()).filter_map(|other| Some((table.rows[other]?, unlike(other))));
    rows.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(row, _)| row)
}
