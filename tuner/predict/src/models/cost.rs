//! The cost model: messages, bytes and combined bytes of an algorithm's schedule at prices that its own times give, and the residuals of these
//! times between the places where they were measured.
//!
//! Counts of Kilter's rows are the registry's, for all ranks and for the nodes alone, which separates two levels of the network. Schedules of
//! other implementations are unknown, but most libraries have the same few: their counts are those of the row of the registry that explains
//! their times best, or the terms that schedules of collectives are made of (logarithms and numbers of nodes and ranks, alone and by the volume).

use std::collections::BTreeMap;

use kilter_algorithms::{Algorithm, Collective, Need, Nodes, Setting, registry};
use kilter_model::deployment::Selection;
use kilter_model::layout::Layout;

use super::{Fitted, Guess};
use crate::Implementation;
use crate::kriging::{Place, Residuals};
use crate::least_squares;
use crate::table::{Point, Table};

pub(super) fn fit(table: &Table) -> Box<dyn Fitted> {
    Box::new(Costs::of(table))
}

/// A prediction never leaves what was measured by more than this factor either way: prices of few layouts can be far out elsewhere.
const FURTHEST: f64 = 1e3;

struct Costs {
    /// One for each implementation that was measured.
    fits: Vec<Fit>,
}

struct Fit {
    implementation: usize,
    terms: Terms,
    prices: Vec<f64>,
    residuals: Residuals,
    /// Least and greatest measured logarithm.
    span: (f64, f64),
}

/// The terms that an implementation's time is made of.
enum Terms {
    Row(&'static Algorithm, Vec<u64>),
    Unknown,
}

impl Costs {
    fn of(table: &Table) -> Costs {
        let places: BTreeMap<Layout, Nodes> = table
            .layouts()
            .into_iter()
            .map(|layout| (layout, nodes(layout)))
            .collect();
        let all = table.implementations.iter().enumerate();
        let fits = all.filter_map(|(index, implementation)| {
            Fit::of(table.collective, index, implementation, &table.points(index), &places)
        });
        Costs { fits: fits.collect() }
    }
}

impl Fitted for Costs {
    fn guesses(&self, layout: Layout, bytes: u64) -> Vec<Guess> {
        let nodes = nodes(layout);
        let guesses = self.fits.iter().map(|fit| {
            let (residual, deviation) = fit.residuals.at(Place::of(layout, bytes));
            let made = seconds(&fit.terms.at(layout, &nodes, bytes), &fit.prices);
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
    /// The fit by the terms that leave the least.
    fn of(
        collective: Collective,
        index: usize,
        implementation: &Implementation,
        points: &[Point],
        places: &BTreeMap<Layout, Nodes>,
    ) -> Option<Fit> {
        let logs = || points.iter().map(|point| point.log);
        let fits = Terms::of(collective, implementation)
            .into_iter()
            .map(|terms| {
                let rows: Vec<(Vec<f64>, f64)> = points
                    .iter()
                    .filter_map(|point| {
                        let nodes = places.get(&point.layout)?;
                        Some((terms.at(point.layout, nodes, point.bytes), point.log.exp()))
                    })
                    .collect();
                let prices = least_squares::prices(&rows);
                let left: Vec<f64> = points
                    .iter()
                    .zip(&rows)
                    .map(|(point, (terms, _))| point.log - seconds(terms, &prices).ln())
                    .collect();
                (terms, prices, left)
            })
            .filter(|_| !points.is_empty());
        let squares = |left: &[f64]| left.iter().map(|left| left.powi(2)).sum::<f64>();
        let (terms, prices, left) = fits.min_by(|a, b| squares(&a.2).total_cmp(&squares(&b.2)))?;
        let seen: Vec<(Place, f64, f64)> = points
            .iter()
            .zip(left)
            .map(|(point, left)| (Place::of(point.layout, point.bytes), left, point.noise))
            .collect();
        Some(Fit {
            implementation: index,
            terms,
            prices,
            residuals: Residuals::of(&seen),
            span: (
                logs().fold(f64::INFINITY, f64::min),
                logs().fold(f64::NEG_INFINITY, f64::max),
            ),
        })
    }
}

/// Ranks in blocks by node.
fn nodes(layout: Layout) -> Nodes {
    let on: Vec<usize> = (0..layout.ranks()).map(|rank| rank / layout.per_node).collect();
    Nodes::new(&on)
}

/// Terms times prices; a picosecond where all is free, which has a logarithm.
fn seconds(terms: &[f64], prices: &[f64]) -> f64 {
    let made: f64 = terms.iter().zip(prices).map(|(term, price)| term * price).sum();
    made.max(1e-12)
}

impl Terms {
    /// The terms that an implementation's times may be made of, the likeliest first.
    fn of(collective: Collective, implementation: &Implementation) -> Vec<Terms> {
        if let Implementation::Selected(Selection::Algorithm(id, values)) = implementation
            && let Some(row) = registry::find(id).filter(|row| row.parameters.len() == values.len())
        {
            return vec![Terms::Row(row, values.clone())];
        }
        let rows = registry::by_collective(collective).filter(|row| !row.needs.contains(&Need::OneNode));
        let alike = rows.map(|row| Terms::Row(row, row.default_parameters()));
        alike.chain([Terms::Unknown]).collect()
    }

    fn at(&self, layout: Layout, nodes: &Nodes, bytes: u64) -> Vec<f64> {
        let n = bytes as f64;
        let sharing = layout.per_node as f64;
        match self {
            Terms::Row(row, parameters) => {
                let counts = |p_ranks: usize, nodes: &Nodes| {
                    let n_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                    (row.cost)(&Setting {
                        p_ranks,
                        n_bytes,
                        parameters,
                        nodes,
                    })
                };
                let all = counts(layout.ranks(), nodes);
                let across = counts(layout.nodes, &Nodes::each_alone(layout.nodes));
                vec![
                    1.0,
                    all.rounds,
                    all.bytes_sent,
                    all.bytes_reduced,
                    across.rounds,
                    across.bytes_sent,
                    across.bytes_sent * sharing,
                    n * (sharing - 1.0),
                ]
            }
            Terms::Unknown => {
                let (nodes, ranks) = ((layout.nodes as f64), layout.ranks() as f64);
                let (high, low) = (nodes.log2(), sharing.log2());
                vec![
                    1.0,
                    high,
                    low,
                    nodes,
                    ranks,
                    n,
                    n * high,
                    n * low,
                    n * (sharing - 1.0),
                    n / ranks,
                ]
            }
        }
    }
}
