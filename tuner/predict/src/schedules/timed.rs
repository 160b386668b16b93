//! Critical paths of the rows that a table has times of, counted once for all fits of it.
//!
//! The way through a schedule that takes longest depends on prices, though little. Paths are found at those that explain all times of the table
//! best; a fit that knows fewer layouts has prices of its own for the same paths.

use std::collections::BTreeMap;
use std::sync::Arc;

use kilter_algorithms::{Algorithm, Nodes};
use kilter_model::layout::Layout;

use super::critical::{self, Counts, USUAL};
use super::recorder;
use crate::least_squares;

/// The least price at which a path is found, as a share of the usual one: what costs nothing would make a path of any length.
const LEAST_PRICE: f64 = 1e-2;

/// Rows with their paths.
#[derive(Debug)]
pub(crate) struct Timed {
    rows: Vec<(&'static Algorithm, Vec<u64>)>,
    prices: Counts,
    /// By row, layout and bytes; `None` where there is no path.
    counted: BTreeMap<(usize, Layout, u64), Option<Counts>>,
}

impl Timed {
    /// `seen`: index of the row, layout, bytes and seconds.
    pub(crate) fn of(rows: Vec<(&'static Algorithm, Vec<u64>)>, seen: &[(usize, Layout, u64, f64)]) -> Timed {
        let mut timed = Timed {
            rows,
            prices: USUAL,
            counted: BTreeMap::new(),
        };
        timed.count(seen);
        let rows: Vec<(Vec<f64>, f64)> = seen
            .iter()
            .filter_map(|(row, layout, bytes, seconds)| Some((timed.at(*row, *layout, *bytes)?.to_vec(), *seconds)))
            .collect();
        let fitted = least_squares::robust_prices(&rows);
        for ((price, fitted), usual) in timed.prices.iter_mut().zip(fitted).zip(USUAL) {
            *price = fitted.max(LEAST_PRICE * usual);
        }
        timed.count(seen);
        timed
    }

    fn count(&mut self, seen: &[(usize, Layout, u64, f64)]) {
        let counted = seen.iter().map(|(row, layout, bytes, _)| {
            let path = self.path(*row, *layout, *bytes);
            ((*row, *layout, *bytes), path)
        });
        self.counted = counted.collect();
    }

    /// Counts of a row at a place, which need not be one of the table; `None` if nothing can be said.
    pub(crate) fn at(&self, row: usize, layout: Layout, bytes: u64) -> Option<Counts> {
        let counted = self.counted.get(&(row, layout, bytes)).copied();
        counted.unwrap_or_else(|| self.path(row, layout, bytes))
    }

    fn path(&self, row: usize, layout: Layout, bytes: u64) -> Option<Counts> {
        let (algorithm, parameters) = &self.rows[row];
        let nodes = Arc::new(placed(layout));
        let steps = recorder::record(algorithm, parameters, &nodes, bytes)?;
        critical::path(&steps, &nodes, &self.prices)
    }
}

/// Ranks in blocks by node.
pub(crate) fn placed(layout: Layout) -> Nodes {
    let on: Vec<usize> = (0..layout.ranks()).map(|rank| rank / layout.per_node).collect();
    Nodes::new(&on)
}
