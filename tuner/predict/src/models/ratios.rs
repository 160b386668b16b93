//! Ratios of neighbours: how much longer than the best each implementation takes on measured layouts, averaged by how near these are. Schedules
//! are not asked for, and a factor that all implementations share cancels.
//!
//! Layouts are near by their octaves. Powers of two and other numbers of ranks are an octave further apart, and so are nodes with one rank and with
//! several. Seconds are the best ones of the neighbours, averaged alike.

use kilter_model::layout::Layout;

use super::{Fitted, Guess};
use crate::between::{is_odd, is_single, octaves};
use crate::table::Table;

/// A neighbour counts `e` times as much as one that is so many octaves further away.
const OCTAVES: f64 = 0.3;
/// Deviation for each octave to the nearest measured layout.
const DEVIATION: f64 = 0.1;

pub(super) fn fit(table: &Table) -> Box<dyn Fitted> {
    Box::new(Ratios(table.clone()))
}

struct Ratios(Table);

fn distance(one: Layout, other: Layout) -> f64 {
    let kinds = [is_odd(one) != is_odd(other), is_single(one) != is_single(other)];
    octaves(one, other) + kinds.into_iter().filter(|differs| *differs).count() as f64
}

impl Fitted for Ratios {
    fn guesses(&self, layout: Layout, bytes: u64) -> Vec<Guess> {
        let known = self.0.compared(bytes);
        let nearest = known
            .iter()
            .map(|other| distance(*other, layout))
            .fold(f64::INFINITY, f64::min);
        // By implementation: weight, and weighted logarithm of the ratio; and the same of the best times.
        let mut sums = vec![(0.0, 0.0); self.0.implementations.len()];
        let mut bests = (0.0, 0.0);
        for other in &known {
            let weight = (-(distance(*other, layout) - nearest) / OCTAVES).exp();
            let measured = self.0.measured(*other, bytes);
            let best = measured
                .iter()
                .map(|(_, point)| point.log)
                .fold(f64::INFINITY, f64::min);
            bests = (bests.0 + weight, bests.1 + weight * best);
            for (implementation, point) in measured {
                let sum = &mut sums[implementation];
                *sum = (sum.0 + weight, sum.1 + weight * (point.log - best));
            }
        }
        let seen = sums.into_iter().enumerate().filter(|(_, (weight, _))| *weight > 0.0);
        seen.map(|(implementation, (weight, ratio))| Guess {
            implementation,
            log: ratio / weight + bests.1 / bests.0,
            deviation: DEVIATION * nearest,
        })
        .collect()
    }
}
