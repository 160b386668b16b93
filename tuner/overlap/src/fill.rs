//! Fills in the cells that the adaptive mode does not measure.
//!
//! A cell's communication takes as long as that of the same size, its computation as long as that of the same load.
//! Between measured ones, both follow a line in logarithms. The ratio is filled in first on the lines of the coarse
//! grid, from the nearest measured cells on either side, and then between them, from the four cells of the surrounding
//! lines in the same row or column. Each of these votes for its band with the inverse of its distance. The ratio is the
//! weighted mean of those whose band wins, which lies in that band, too.

use std::collections::BTreeMap;

use kilter_model::reading::Quantity;
use kilter_model::survey::{Cell, MASK_FACTOR};
use kilter_protocol::overlap::Benchmark;

use super::adaptive::{Lines, Measured};
use super::band::Band;
use super::grid::{Grid, Position};

/// A time for each column or row, in seconds.
pub(super) struct Profile(Vec<f64>);

impl Profile {
    /// Makes a profile of `count` indices from the times known at some of them. A known index has the median of its
    /// times. Indices between two known ones follow a line in logarithms; those beyond have the time of the nearest.
    fn new(count: usize, known: &BTreeMap<usize, Vec<f64>>) -> Profile {
        let known: Vec<(usize, f64)> = known.iter().map(|(index, times)| (*index, middle(times))).collect();
        let at = |index: usize| {
            let after = known.partition_point(|(other, _)| *other < index);
            match (
                after.checked_sub(1).and_then(|before| known.get(before)),
                known.get(after),
            ) {
                (_, Some((other, seconds))) if *other == index => *seconds,
                (Some((low, a)), Some((high, b))) => {
                    let weight = (index - low) as f64 / (high - low) as f64;
                    geometric(*a, 1.0 - weight, *b, weight)
                }
                (Some((_, seconds)), None) | (None, Some((_, seconds))) => *seconds,
                (None, None) => 0.0,
            }
        };
        Profile((0..count).map(at).collect())
    }

    /// Time at an index, in seconds.
    pub(super) fn at(&self, index: usize) -> f64 {
        self.0[index]
    }
}

/// The median; of an even number the upper one.
fn middle(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// Weighted geometric mean; the arithmetic one if that does not exist.
fn geometric(a: f64, of_a: f64, b: f64, of_b: f64) -> f64 {
    let total = of_a + of_b;
    if a > 0.0 && b > 0.0 {
        ((a.ln() * of_a + b.ln() * of_b) / total).exp()
    } else {
        (a * of_a + b * of_b) / total
    }
}

/// Communication time of each column, and computation time of each row.
pub(super) fn profiles(grid: &Grid, measured: &Measured) -> (Profile, Profile) {
    let (mut communication, mut computation) = (BTreeMap::new(), BTreeMap::new());
    for (position, cell) in measured {
        if let Some(cell) = cell {
            let times: &mut Vec<f64> = communication.entry(position.column).or_default();
            times.push(cell.communication_seconds);
            let times: &mut Vec<f64> = computation.entry(position.row).or_default();
            times.push(cell.computation_seconds);
        }
    }
    (
        Profile::new(grid.sizes.len(), &communication),
        Profile::new(grid.loads.len(), &computation),
    )
}

/// Knowledge about a position; `None` if it, or the nearest position, could not be measured.
type Known = Option<Told>;

#[derive(Debug, Clone, Copy)]
struct Told {
    band: Band,
    /// Ratio, or slowdown.
    value: f64,
    noise_seconds: f64,
}

impl Told {
    fn by(benchmark: Benchmark, cell: &Cell) -> Told {
        let (zero, unit) = Quantity::of(benchmark).scale(cell.communication_seconds, cell.computation_seconds);
        let value = (cell.overlapped_seconds - zero) / unit;
        Told {
            band: Band::of(benchmark, cell),
            value: if value.is_finite() { value } else { 0.0 },
            noise_seconds: cell.noise_seconds,
        }
    }
}

/// Vote of neighbours at their distances in steps, which are above 0.
fn vote(neighbours: &[(usize, Known)]) -> Known {
    let weight = |distance: usize| 1.0 / distance as f64;
    let mut votes: BTreeMap<Option<Band>, f64> = BTreeMap::new();
    for (distance, known) in neighbours {
        *votes.entry(known.map(|told| told.band)).or_default() += weight(*distance);
    }
    let (winner, _) = votes.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let band = winner?;
    let mut sum: Option<(f64, f64, f64)> = None;
    for (distance, told) in neighbours
        .iter()
        .filter_map(|(distance, known)| Some((*distance, (*known)?)))
    {
        if told.band != band {
            continue;
        }
        let of = weight(distance);
        sum = Some(match sum {
            None => (of, told.value, told.noise_seconds),
            Some((total, value, noise)) => (
                total + of,
                (value * total + told.value * of) / (total + of),
                geometric(noise, total, told.noise_seconds, of),
            ),
        });
    }
    sum.map(|(_, value, noise_seconds)| Told {
        band,
        value,
        noise_seconds,
    })
}

/// All cells of the grid, in the order of its positions, and the positions that are left open although they were not
/// asked for.
pub(super) fn fill(
    benchmark: Benchmark,
    grid: &Grid,
    lines: &Lines,
    measured: &Measured,
) -> (Vec<Cell>, Vec<Position>) {
    let (communication, computation) = profiles(grid, measured);
    let told = tell(benchmark, grid, lines, measured);
    let (mut cells, mut open) = (Vec::new(), Vec::new());
    for position in grid.positions() {
        match (measured.get(&position), told.get(&position).copied().flatten()) {
            (Some(Some(cell)), _) => cells.push(cell.clone()),
            (Some(None), _) => {}
            (None, None) => open.push(position),
            (None, Some(told)) => {
                let times = (communication.at(position.column), computation.at(position.row));
                cells.push(inferred(benchmark, grid, position, times, told));
            }
        }
    }
    (cells, open)
}

/// Knowledge about every position: first about those on lines, then about those between.
fn tell(benchmark: Benchmark, grid: &Grid, lines: &Lines, measured: &Measured) -> BTreeMap<Position, Known> {
    let mut told: BTreeMap<Position, Known> = measured
        .iter()
        .map(|(position, cell)| (*position, cell.as_ref().map(|cell| Told::by(benchmark, cell))))
        .collect();
    let start = told.clone();
    let between = |position: &Position, along: fn(&Position) -> usize, across: fn(&Position) -> usize| {
        let on_line = start.iter().filter(|(other, _)| across(other) == across(position));
        let (before, after): (Vec<_>, Vec<_>) = on_line.partition(|(other, _)| along(other) < along(position));
        let nearest = [before.last().copied(), after.first().copied()];
        let neighbours: Vec<(usize, Known)> = nearest
            .into_iter()
            .flatten()
            .map(|(other, known)| (along(other).abs_diff(along(position)), *known))
            .collect();
        vote(&neighbours)
    };
    for position in grid.positions().filter(|position| !start.contains_key(position)) {
        if lines.columns.contains(&position.column) {
            told.insert(position, between(&position, |p| p.row, |p| p.column));
        } else if lines.rows.contains(&position.row) {
            told.insert(position, between(&position, |p| p.column, |p| p.row));
        }
    }
    let on_lines = told.clone();
    for position in grid.positions().filter(|position| !on_lines.contains_key(position)) {
        let Position { column, row } = position;
        let (left, right) = around(&lines.columns, column);
        let (below, above) = around(&lines.rows, row);
        let neighbours = [
            (column - left, Position { column: left, row }),
            (right - column, Position { column: right, row }),
            (row - below, Position { column, row: below }),
            (above - row, Position { column, row: above }),
        ];
        let neighbours = neighbours.map(|(distance, other)| (distance, on_lines.get(&other).copied().flatten()));
        told.insert(position, vote(&neighbours));
    }
    told
}

/// Neighbours in `lines` of an index that is on none.
fn around(lines: &[usize], index: usize) -> (usize, usize) {
    let after = lines.partition_point(|line| *line < index);
    let line = |at: usize| lines.get(at).copied().unwrap_or(index);
    (line(after.saturating_sub(1)), line(after))
}

fn inferred(
    benchmark: Benchmark,
    grid: &Grid,
    position: Position,
    (communication_seconds, computation_seconds): (f64, f64),
    told: Told,
) -> Cell {
    let point = grid.point(position);
    let (zero, unit) = Quantity::of(benchmark).scale(communication_seconds, computation_seconds);
    let overlapped_seconds = zero + told.value * unit;
    // It is masked if and only if those are that it follows.
    let edge = unit / MASK_FACTOR;
    let noise_seconds = match told.band {
        Band::Masked => told.noise_seconds.max(edge * 1.001),
        _ => told.noise_seconds.min(edge * 0.999),
    };
    Cell {
        bytes: point.bytes,
        computation_ns: point.load.computation_ns,
        threads: point.load.threads,
        communication_seconds,
        computation_seconds,
        overlapped_seconds,
        overlapped_interval_seconds: [overlapped_seconds - noise_seconds, overlapped_seconds + noise_seconds],
        noise_seconds,
        repetitions: 0,
        disturbed: 0,
        inferred: true,
    }
}
