//! The cost model: messages, bytes and combined bytes of an algorithm's schedule at prices that its own times give, and the residuals of these
//! times between the places where they were measured.
//!
//! Counts of Kilter's rows are the registry's, for all ranks and for the nodes alone, which separates two levels of the network. Schedules of
//! other implementations are unknown, but most libraries have the same few: their counts are those of the row of the registry that explains
//! their times best, or the terms that schedules of collectives are made of.

use std::sync::Arc;

use kilter_model::layout::Layout;

use super::{Fitted, Guess};
use crate::kriging::{Place, Residuals};
use crate::least_squares;
use crate::table::Table;
use crate::terms::Terms;

/// A prediction never leaves what was measured by more than this factor either way: prices of few layouts can be far out elsewhere.
const FURTHEST: f64 = 1e3;

pub(super) fn fit(table: &Table) -> Box<dyn Fitted> {
    let all = 0..table.implementations.len();
    Box::new(Costs {
        terms: Arc::clone(&table.terms),
        fits: all
            .filter_map(|implementation| Fit::of(table, implementation))
            .collect(),
    })
}

struct Costs {
    terms: Arc<Terms>,
    /// One for each implementation that was measured.
    fits: Vec<Fit>,
}

struct Fit {
    implementation: usize,
    schedule: usize,
    prices: Vec<f64>,
    residuals: Residuals,
    /// Least and greatest measured logarithm.
    span: (f64, f64),
}

impl Fitted for Costs {
    fn guesses(&self, layout: Layout, bytes: u64) -> Vec<Guess> {
        let place = Place::of(layout, bytes);
        let guesses = self.fits.iter().map(|fit| {
            let (residual, deviation) = fit.residuals.at(place);
            let made = seconds(&self.terms.at(fit.schedule, layout, bytes), &fit.prices);
            let (least, greatest) = fit.span;
            Guess {
                implementation: fit.implementation,
                log: (made.ln() + residual).clamp(least - FURTHEST.ln(), greatest + FURTHEST.ln()),
                deviation,
            }
        });
        guesses.collect()
    }
}

impl Fit {
    /// The fit of an implementation by the schedule that leaves the least; `None` without a time.
    fn of(table: &Table, implementation: usize) -> Option<Fit> {
        let points = table.points(implementation);
        let fits = table.terms.likely(implementation).iter().map(|schedule| {
            let terms = |at: usize| table.terms.at(*schedule, points[at].layout, points[at].bytes);
            let rows: Vec<(Vec<f64>, f64)> = (0..points.len()).map(|at| (terms(at), points[at].log.exp())).collect();
            let prices = least_squares::prices(&rows);
            let left = rows
                .iter()
                .zip(&points)
                .map(|((terms, _), point)| point.log - seconds(terms, &prices).ln());
            let left: Vec<f64> = left.collect();
            (*schedule, prices, left)
        });
        let squares = |left: &[f64]| left.iter().map(|left| left.powi(2)).sum::<f64>();
        let (schedule, prices, left) = fits.min_by(|a, b| squares(&a.2).total_cmp(&squares(&b.2)))?;
        let seen: Vec<(Place, f64, f64)> = points
            .iter()
            .zip(left)
            .map(|(point, left)| (Place::of(point.layout, point.bytes), left, point.noise))
            .collect();
        let logs = || points.iter().map(|point| point.log);
        let span = (
            logs().fold(f64::INFINITY, f64::min),
            logs().fold(f64::NEG_INFINITY, f64::max),
        );
        let residuals = Residuals::of(&seen, prices.iter().filter(|price| **price > 0.0).count());
        (!points.is_empty()).then_some(Fit {
            implementation,
            schedule,
            prices,
            residuals,
            span,
        })
    }
}

/// Terms times prices; a picosecond where all is free, which has a logarithm.
fn seconds(terms: &[f64], prices: &[f64]) -> f64 {
    let made: f64 = terms.iter().zip(prices).map(|(term, price)| term * price).sum();
    made.max(1e-12)
}
