//! Uniform stretches of sizes or of times, for a map whose good cells fill no region.
//!
//! The ratio is modelled as constant by stretches along one direction: sizes, computation times, or computation by communication. Dynamic
//! programming finds the best division into at most [`MOST`] of them, by the sum of distances to the stretches' medians plus a price for
//! each stretch. A stretch of sizes that is not uniform is divided once more, by time. Uniform stretches must cover most of the map
//! ([`COVERED`]), or less of it with all large messages ([`COVERED_BELOW_LARGE`]), else there is no pattern.

use super::Seen;
use super::stretch::{Level, Stretch};

/// Most stretches along one direction.
const MOST: usize = 4;
/// Price of a stretch in units of the ratio's distance, as a share of all cells.
const PRICE: f64 = 0.03;
/// Limits beyond which ratios are no longer distinguished.
const CLAMP: [f64; 2] = [0.0, 2.0];
/// Largest distance from the median at which a cell is like its stretch.
const CLOSE: f64 = 0.3;
/// Share of like cells that makes a stretch uniform.
const ALIKE: f64 = 0.8;
/// Least number of cells in a stretch.
const FEWEST: usize = 4;
/// Least share of the cells in uniform stretches.
const COVERED: f64 = 0.6;
/// The same where the stretch of the largest messages is uniform: it is what a program gains or loses most by, whatever short messages do.
const COVERED_BELOW_LARGE: f64 = 0.4;

/// A direction of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    Size,
    Computation,
    /// Computation as a multiple of communication, in powers of two.
    Quotient,
}

impl Axis {
    pub(super) fn of(self, seen: &Seen<'_>) -> i64 {
        let whole = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        match self {
            Axis::Size => whole(seen.cell.bytes),
            Axis::Computation => whole(seen.cell.computation_ns),
            // A masked cell has no reading, so that neither time is 0; a cast of what is no number is 0.
            Axis::Quotient => (seen.cell.computation_seconds / seen.cell.communication_seconds)
                .log2()
                .floor() as i64,
        }
    }
}

/// A map as stretches.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps {
    pub(super) stretches: Vec<Stretch>,
    /// Share of the cells in uniform stretches.
    pub(super) covered: f64,
    cost: f64,
}

/// The division that explains most; `None` if even that explains little.
pub(super) fn fit(seen: &[Seen<'_>]) -> Option<Steps> {
    let all: Vec<&Seen<'_>> = seen.iter().collect();
    let along = [Axis::Size, Axis::Computation, Axis::Quotient].map(|axis| along(&all, axis, true));
    // The first of equals is taken, because sizes are what a program knows.
    let best = along
        .into_iter()
        .reduce(|a, b| if b.worth() > a.worth() + 0.05 { b } else { a })?;
    let last = best.stretches.last();
    let is_large_told = last.is_some_and(|last| last.axis() == Axis::Size && last.level != Level::Unlike);
    let least = if is_large_told { COVERED_BELOW_LARGE } else { COVERED };
    (best.covered >= least).then_some(best)
}

impl Steps {
    fn worth(&self) -> f64 {
        self.covered - self.cost
    }
}

/// Best stretches along a direction.
fn along(seen: &[&Seen<'_>], axis: Axis, divide_again: bool) -> Steps {
    let mut values: Vec<i64> = seen.iter().map(|seen| axis.of(seen)).collect();
    values.sort_unstable();
    values.dedup();
    let columns: Vec<Vec<&Seen<'_>>> = values
        .iter()
        .map(|value| seen.iter().copied().filter(|seen| axis.of(seen) == *value).collect())
        .collect();
    let (ends, cost) = divide(&columns, PRICE * seen.len() as f64);
    let mut stretches = Vec::new();
    let mut covered = 0;
    let mut start = 0;
    for end in ends {
        let cells: Vec<&Seen<'_>> = columns[start..end].iter().flatten().copied().collect();
        let mut stretch = Stretch::new(axis, &cells, level(&cells));
        if stretch.level == Level::Unlike && divide_again && axis == Axis::Size {
            let within = along(&cells, Axis::Computation, false);
            if within.covered >= ALIKE {
                covered += (within.covered * cells.len() as f64).round() as usize;
                stretch.within = within.stretches;
            }
        }
        if stretch.level != Level::Unlike {
            covered += cells.len();
        }
        stretches.push(stretch);
        start = end;
    }
    for index in 1..stretches.len() {
        let (before, after) = stretches.split_at_mut(index);
        Stretch::meet(&mut before[index - 1], &mut after[0], seen);
    }
    Steps {
        stretches: merged(stretches),
        covered: covered as f64 / seen.len().max(1) as f64,
        cost: cost / seen.len().max(1) as f64,
    }
}

/// Joins neighbours that are described by the same words.
fn merged(stretches: Vec<Stretch>) -> Vec<Stretch> {
    let mut out: Vec<Stretch> = Vec::new();
    for stretch in stretches {
        match out.last_mut() {
            Some(last) if last.is_told_as(&stretch) => last.join(stretch),
            _ => out.push(stretch),
        }
    }
    out
}

/// Ends of the stretches, exclusive, and the cost of the division.
fn divide(columns: &[Vec<&Seen<'_>>], price: f64) -> (Vec<usize>, f64) {
    let n = columns.len();
    // Cost of columns `from..to` as one stretch.
    let cost = |from: usize, to: usize| -> f64 {
        let values = sorted(columns[from..to].iter().flatten().copied());
        let middle = values.get(values.len() / 2).copied().unwrap_or(0.0);
        price + values.iter().map(|value| (value - middle).abs()).sum::<f64>()
    };
    let costs: Vec<Vec<f64>> = (0..n)
        .map(|from| (from + 1..=n).map(|to| cost(from, to)).collect())
        .collect();
    // For each number of stretches: the least cost of the columns up to an end, and the start of its last stretch.
    let mut table: Vec<Vec<(f64, usize)>> = vec![
        (0..=n)
            .map(|end| if end == 0 { (0.0, 0) } else { (f64::INFINITY, 0) })
            .collect(),
    ];
    for count in 1..=MOST {
        let best_to = |end: usize| {
            let from = (0..end).map(|from| (table[count - 1][from].0 + costs[from][end - from - 1], from));
            from.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0))
        };
        let row = (0..=n).map(best_to).collect();
        table.push(row);
    }
    let best = (1..=MOST)
        .min_by(|a, b| table[*a][n].0.total_cmp(&table[*b][n].0))
        .unwrap_or(1);
    let (mut ends, mut end) = (Vec::new(), n);
    for count in (1..=best).rev() {
        ends.push(end);
        end = table[count][end].1;
    }
    ends.reverse();
    (ends, table[best][n].0)
}

fn sorted<'a>(seen: impl Iterator<Item = &'a Seen<'a>>) -> Vec<f64> {
    let mut values: Vec<f64> = seen.map(|seen| seen.value.clamp(CLAMP[0], CLAMP[1])).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Common behaviour of the cells of a stretch.
fn level(cells: &[&Seen<'_>]) -> Level {
    let values = sorted(cells.iter().copied());
    let middle = values.get(values.len() / 2).copied().unwrap_or(0.0);
    let close = values.iter().filter(|value| (*value - middle).abs() <= CLOSE).count();
    if values.len() < FEWEST || (close as f64) < ALIKE * values.len() as f64 {
        return Level::Unlike;
    }
    Level::of(middle)
}

#[cfg(test)]
mod tests;
