//! Critical paths of the rows that a table has times of, counted once for all fits of it.
//!
//! Protocol and ports ([`Wire`]) are taken from the times: of all that are tried, those that explain the times of few ranks best. A critical path depends on
//! prices, though little. Paths are found at the prices that explain all times of the table best; a fit that knows fewer layouts has prices of its own for the
//! same paths.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kilter_algorithms::{Algorithm, Nodes};
use kilter_model::layout::Layout;

use super::critical::{self, Counts, USUAL, Wire};
use super::recorder::{self, Step};
use crate::least_squares;

/// The least price at which a path is found, as a share of the usual one: what costs nothing would make a path of any length.
const LEAST_PRICE: f64 = 1e-2;

/// Bytes of the longest eager messages that are tried: half-way between powers of two, which volumes and segments mostly are.
const EAGER_BYTES: [usize; 8] = [usize::MAX, 1536, 3072, 6144, 12_288, 24_576, 49_152, 98_304];
/// Ranks up to which times say how messages are carried, and the most times that are asked: a protocol is the same on all layouts.
const FEW_RANKS: usize = 64;
const MOST_ASKED: usize = 120;

/// Rows with their paths.
#[derive(Debug)]
pub(crate) struct Timed {
    rows: Vec<(&'static Algorithm, Vec<u64>)>,
    wire: Wire,
    prices: Counts,
    /// By row, layout and bytes; `None` where there is no path.
    counted: BTreeMap<Place, Option<Counts>>,
}

/// Index of a row, layout and bytes.
type Place = (usize, Layout, u64);
/// The same, and seconds.
type Seen = (usize, Layout, u64, f64);

/// The steps of a row on nodes, with its seconds.
struct Recorded {
    nodes: Arc<Nodes>,
    steps: Vec<Vec<Step>>,
    seconds: f64,
}

impl Timed {
    /// Paths at the places that were `seen`, and of every row at the `asked` ones.
    pub(crate) fn of(rows: Vec<(&'static Algorithm, Vec<u64>)>, seen: &[Seen], asked: &[(Layout, u64)]) -> Timed {
        let mut timed = Timed {
            rows,
            wire: Wire {
                eager_bytes: usize::MAX,
                has_ports: true,
            },
            prices: USUAL,
            counted: BTreeMap::new(),
        };
        timed.wire = timed.carried(seen);
        let places = seen.iter().map(|(row, layout, bytes, _)| (*row, *layout, *bytes));
        let places: BTreeSet<Place> = places.collect();
        timed.count(&places);
        let rows: Vec<(Vec<f64>, f64)> = seen
            .iter()
            .filter_map(|(row, layout, bytes, seconds)| Some((terms(&timed.at(*row, *layout, *bytes)?), *seconds)))
            .collect();
        let fitted = least_squares::robust_prices(&rows);
        for ((price, fitted), usual) in timed.prices.iter_mut().zip(fitted.into_iter().skip(1)).zip(USUAL) {
            *price = fitted.max(LEAST_PRICE * usual);
        }
        let all = 0..timed.rows.len();
        let asked = all.flat_map(|row| asked.iter().map(move |(layout, bytes)| (row, *layout, *bytes)));
        timed.count(&places.into_iter().chain(asked).collect());
        timed
    }

    /// The way to carry messages that explains times best: first for which bytes they are eager, then if those on a node share ports.
    fn carried(&self, seen: &[Seen]) -> Wire {
        let asked = self.asked(seen);
        let best = |wires: Vec<Wire>| {
            let misfits = wires.into_iter().map(|wire| (wire, misfit(&asked, wire)));
            let best = misfits.reduce(|best, next| if next.1 < best.1 { next } else { best });
            best.map_or(self.wire, |(wire, _)| wire)
        };
        let eager = EAGER_BYTES.into_iter().map(|eager_bytes| Wire {
            eager_bytes,
            ..self.wire
        });
        let wire = best(eager.collect());
        let ports = [true, false].into_iter().map(|has_ports| Wire { has_ports, ..wire });
        best(ports.collect())
    }

    /// Schedules of few ranks, evenly picked among those that were timed; of the fewest ranks if none are few.
    fn asked(&self, seen: &[Seen]) -> Vec<Recorded> {
        let fewest = seen.iter().map(|(_, layout, ..)| layout.ranks()).min().unwrap_or(0);
        let few: Vec<&Seen> = seen
            .iter()
            .filter(|(_, layout, ..)| layout.ranks() <= fewest.max(FEW_RANKS))
            .collect();
        let picked = few.iter().step_by(few.len().div_ceil(MOST_ASKED).max(1));
        let recorded = picked.filter_map(|(row, layout, bytes, seconds)| {
            let (nodes, steps) = self.recorded(*row, *layout, *bytes)?;
            Some(Recorded {
                nodes,
                steps,
                seconds: *seconds,
            })
        });
        recorded.collect()
    }

    fn count(&mut self, places: &BTreeSet<Place>) {
        let counted = places.iter().map(|(row, layout, bytes)| {
            let path = self.path(*row, *layout, *bytes);
            ((*row, *layout, *bytes), path)
        });
        self.counted = counted.collect();
    }

    /// Counts of a row at a place, found now unless it was seen or asked; `None` if nothing can be said.
    pub(crate) fn at(&self, row: usize, layout: Layout, bytes: u64) -> Option<Counts> {
        let counted = self.counted.get(&(row, layout, bytes)).copied();
        counted.unwrap_or_else(|| self.path(row, layout, bytes))
    }

    fn path(&self, row: usize, layout: Layout, bytes: u64) -> Option<Counts> {
        let (nodes, steps) = self.recorded(row, layout, bytes)?;
        critical::path(&steps, &nodes, self.wire, &self.prices)
    }

    fn recorded(&self, row: usize, layout: Layout, bytes: u64) -> Option<(Arc<Nodes>, Vec<Vec<Step>>)> {
        let (algorithm, parameters) = &self.rows[row];
        let nodes = Arc::new(placed(layout));
        let steps = recorder::record(algorithm, parameters, &nodes, bytes)?;
        Some((nodes, steps))
    }
}

/// Terms of a time: a constant for each call, and counts on its path.
pub(crate) fn terms(counts: &Counts) -> Vec<f64> {
    [&[1.0], &counts[..]].concat()
}

/// The mean error of times, as a share of them, at the prices that explain them best.
fn misfit(asked: &[Recorded], wire: Wire) -> f64 {
    let rows = asked.iter().filter_map(|recorded| {
        let counts = critical::path(&recorded.steps, &recorded.nodes, wire, &USUAL)?;
        Some((terms(&counts), recorded.seconds))
    });
    let rows: Vec<(Vec<f64>, f64)> = rows.collect();
    let prices = least_squares::robust_prices(&rows);
    let errors = rows.iter().map(|(terms, seconds)| {
        let made: f64 = terms.iter().zip(&prices).map(|(term, price)| term * price).sum();
        (made / seconds - 1.0).abs().min(1.0)
    });
    let without_end = asked.len() - rows.len();
    (errors.sum::<f64>() + without_end as f64) / asked.len().max(1) as f64
}

/// Ranks in blocks by node.
pub(crate) fn placed(layout: Layout) -> Nodes {
    let on: Vec<usize> = (0..layout.ranks()).map(|rank| rank / layout.per_node).collect();
    Nodes::new(&on)
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::registry;

    use super::*;

    fn layout(text: &str) -> Layout {
        kilter_model::layout::parse_list(text).unwrap()[0]
    }

    /// Times of broadcasts on a network on which messages are carried in some way.
    fn scripted(rows: &[(&'static Algorithm, Vec<u64>)], wire: Wire) -> Vec<Seen> {
        let mut seen = Vec::new();
        for layout in ["4x1", "7x1", "4x3"].map(layout) {
            let nodes = Arc::new(placed(layout));
            for bytes in [1 << 10, 8 << 10, 64 << 10] {
                for (at, (row, parameters)) in rows.iter().enumerate() {
                    let steps = recorder::record(row, parameters, &nodes, bytes).unwrap();
                    let counts = critical::path(&steps, &nodes, wire, &USUAL).unwrap();
                    let made: f64 = counts.iter().zip(USUAL).map(|(count, price)| count * price).sum();
                    seen.push((at, layout, bytes, made));
                }
            }
        }
        seen
    }

    #[test]
    fn the_way_messages_are_carried_is_found_in_the_times() {
        let rows = registry::by_collective(kilter_algorithms::Collective::Bcast);
        let rows = rows.filter(|row| row.unmet(4, true, false).is_none());
        let rows: Vec<(&Algorithm, Vec<u64>)> = rows.map(|row| (row, row.default_parameters())).collect();
        for (eager_bytes, has_ports) in [(usize::MAX, true), (12_288, false), (6144, true)] {
            let wire = Wire { eager_bytes, has_ports };
            let timed = Timed::of(rows.clone(), &scripted(&rows, wire), &[]);
            assert_eq!(timed.wire, wire);
        }
    }

    #[test]
    fn the_smallest_layout_is_asked_where_none_is_small() {
        let row = registry::find("bcast.binomial").unwrap();
        let of = |text: &str| (0, layout(text), 1024, 1e-5);
        let timed = Timed::of(vec![(row, Vec::new())], &[of("100x1"), of("200x1")], &[]);
        let ranks: Vec<usize> = timed
            .asked(&[of("100x1"), of("200x1")])
            .iter()
            .map(|asked| asked.steps.len())
            .collect();
        assert_eq!(ranks, [100]);
    }
}
