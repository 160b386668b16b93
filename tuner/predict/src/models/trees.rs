//! Gradient boosting of small regression trees on the logarithm of the time, one model an implementation
//! (J. H. Friedman, Greedy function approximation, Annals of Statistics 29(5), 2001, doi:10.1214/aos/1013203451), as the literature on choosing
//! collectives has it (Hunold et al., CLUSTER 2020, doi:10.1109/CLUSTER49012.2020.00036).
//!
//! Trees are constant beyond what they saw. Their uncertainty is the error that trees make on layouts without which they were grown.

use kilter_model::layout::Layout;

use super::{Fitted, Guess};
use crate::table::{Point, Table};

pub(super) fn fit(table: &Table) -> Box<dyn Fitted> {
    Box::new(Forest::of(table))
}

const FEATURES: usize = 6;
const ROUNDS: usize = 60;
const DEPTH: usize = 3;
const SHRINKAGE: f64 = 0.2;
/// No forest is thought to be more exact.
const LEAST_DEVIATION: f64 = 0.03;

type Features = [f64; FEATURES];

fn features(layout: Layout, bytes: u64) -> Features {
    let octaves = |number: usize| (number as f64).log2();
    let flag = |number: usize| f64::from(u8::from(number.is_power_of_two()));
    [
        octaves(layout.nodes),
        octaves(layout.per_node),
        octaves(layout.ranks()),
        flag(layout.nodes),
        flag(layout.ranks()),
        (bytes.max(1) as f64).log2(),
    ]
}

struct Forest {
    /// By implementation: its index, the boosted trees, and their deviation.
    grown: Vec<(usize, Boosted, f64)>,
}

impl Forest {
    fn of(table: &Table) -> Forest {
        let grow = |index: usize| {
            let points = table.points(index);
            let boosted = Boosted::of(&points)?;
            Some((index, boosted, held_out_error(&points)))
        };
        Forest {
            grown: (0..table.implementations.len()).filter_map(grow).collect(),
        }
    }
}

impl Fitted for Forest {
    fn guesses(&self, layout: Layout, bytes: u64) -> Vec<Guess> {
        let at = features(layout, bytes);
        let guess = |(implementation, boosted, deviation): &(usize, Boosted, f64)| Guess {
            implementation: *implementation,
            log: boosted.value(&at),
            deviation: *deviation,
        };
        self.grown.iter().map(guess).collect()
    }
}

/// Root mean square of the errors on each half of the layouts, every second one, of trees that were grown on the other half.
fn held_out_error(points: &[Point]) -> f64 {
    let mut layouts: Vec<Layout> = points.iter().map(|point| point.layout).collect();
    layouts.sort_unstable();
    layouts.dedup();
    let half = |point: &&Point| {
        layouts
            .binary_search(&point.layout)
            .is_ok_and(|at| at.is_multiple_of(2))
    };
    let (even, odd): (Vec<Point>, Vec<Point>) = points.iter().partition(half);
    let errors = |held: &[Point], rest: &[Point]| {
        let boosted = Boosted::of(rest);
        let error = |point: &Point| {
            let guess = boosted.as_ref()?.value(&features(point.layout, point.bytes));
            Some((guess - point.log).powi(2))
        };
        held.iter().filter_map(error).collect::<Vec<f64>>()
    };
    let squares = [errors(&even, &odd), errors(&odd, &even)].concat();
    let mean = squares.iter().sum::<f64>() / squares.len().max(1) as f64;
    mean.sqrt().max(LEAST_DEVIATION)
}

struct Boosted {
    mean: f64,
    trees: Vec<Tree>,
}

enum Tree {
    Leaf(f64),
    Split {
        feature: usize,
        below: f64,
        low: Box<Tree>,
        high: Box<Tree>,
    },
}

/// Rows by the number of their value among the sorted ones of a feature, and the bounds between these.
struct Binned {
    rows: Vec<[usize; FEATURES]>,
    bounds: [Vec<f64>; FEATURES],
}

impl Binned {
    fn of(points: &[Point]) -> Binned {
        let features: Vec<Features> = points.iter().map(|point| features(point.layout, point.bytes)).collect();
        let values: [Vec<f64>; FEATURES] = std::array::from_fn(|feature| {
            let mut values: Vec<f64> = features.iter().map(|row| row[feature]).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        });
        let bin = |row: &Features| {
            std::array::from_fn(|feature| values[feature].partition_point(|value| *value < row[feature]))
        };
        Binned {
            rows: features.iter().map(bin).collect(),
            bounds: values
                .clone()
                .map(|values| values.windows(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect()),
        }
    }
}

impl Boosted {
    fn of(points: &[Point]) -> Option<Boosted> {
        let binned = Binned::of(points);
        let mean = points.iter().map(|point| point.log).sum::<f64>() / points.len() as f64;
        let mut rest: Vec<f64> = points.iter().map(|point| point.log - mean).collect();
        let all: Vec<usize> = (0..points.len()).collect();
        let trees = (0..ROUNDS).map(|_| {
            let mut told = Vec::with_capacity(all.len());
            let tree = Tree::grow(&binned, &rest, &all, DEPTH, &mut told);
            told.into_iter().for_each(|(row, value)| rest[row] -= SHRINKAGE * value);
            tree
        });
        let trees = trees.collect();
        (!points.is_empty()).then_some(Boosted { mean, trees })
    }

    fn value(&self, at: &Features) -> f64 {
        self.mean + self.trees.iter().map(|tree| SHRINKAGE * tree.value(at)).sum::<f64>()
    }
}

impl Tree {
    /// The split of least squares, and trees of either side; `told` gets the value of each row.
    fn grow(binned: &Binned, rest: &[f64], chosen: &[usize], depth: usize, told: &mut Vec<(usize, f64)>) -> Tree {
        let sum: f64 = chosen.iter().map(|row| rest[*row]).sum();
        let split = if depth == 0 {
            None
        } else {
            best_split(binned, rest, chosen, sum)
        };
        let Some((feature, bin)) = split else {
            let value = sum / chosen.len().max(1) as f64;
            told.extend(chosen.iter().map(|row| (*row, value)));
            return Tree::Leaf(value);
        };
        let (low, high): (Vec<usize>, Vec<usize>) = chosen.iter().partition(|row| binned.rows[**row][feature] <= bin);
        let mut grow = |side: &[usize]| Box::new(Tree::grow(binned, rest, side, depth - 1, told));
        Tree::Split {
            feature,
            below: binned.bounds[feature][bin],
            low: grow(&low),
            high: grow(&high),
        }
    }

    fn value(&self, at: &Features) -> f64 {
        match self {
            Tree::Leaf(value) => *value,
            Tree::Split {
                feature,
                below,
                low,
                high,
            } => {
                let side = if at[*feature] < *below { low } else { high };
                side.value(at)
            }
        }
    }
}

/// Feature and last bin of the lower side. Squares are least where the sums of both sides, squared and by their lengths, are greatest.
fn best_split(binned: &Binned, rest: &[f64], chosen: &[usize], sum: f64) -> Option<(usize, usize)> {
    let mut best: Option<(f64, usize, usize)> = None;
    for (feature, bounds) in binned.bounds.iter().enumerate() {
        let mut bins = vec![(0.0, 0.0); bounds.len() + 1];
        for row in chosen {
            let bin = &mut bins[binned.rows[*row][feature]];
            *bin = (bin.0 + 1.0, bin.1 + rest[*row]);
        }
        let (mut count, mut low) = (0.0, 0.0);
        for (bin, (rows, part)) in bins.iter().enumerate().take(bounds.len()) {
            (count, low) = (count + rows, low + part);
            let others = chosen.len() as f64 - count;
            if count == 0.0 || others == 0.0 {
                continue;
            }
            let gain = low * low / count + (sum - low).powi(2) / others;
            if best.is_none_or(|(other, _, _)| gain > other) {
                best = Some((gain, feature, bin));
            }
        }
    }
    best.map(|(_, feature, bin)| (feature, bin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: impl Fn(usize, u64) -> f64) -> Vec<Point> {
        let mut points = Vec::new();
        for nodes in [2, 3, 4, 6, 8, 16] {
            for bytes in [64, 4096, 1 << 18] {
                let layout = Layout { nodes, per_node: 2 };
                points.push(Point {
                    layout,
                    bytes,
                    log: of(nodes, bytes).ln(),
                    noise: 0.0,
                });
            }
        }
        points
    }

    #[test]
    fn a_step_is_found() {
        let points = points(|nodes, bytes| {
            if nodes.is_power_of_two() && bytes > 1000 {
                1e-5
            } else {
                4e-5
            }
        });
        let boosted = Boosted::of(&points).unwrap();
        for point in &points {
            let found = boosted.value(&features(point.layout, point.bytes));
            assert!((found - point.log).abs() < 0.02, "{point:?} {found}");
        }
        let unseen = boosted.value(&features(Layout { nodes: 8, per_node: 4 }, 4096));
        assert!((unseen - 1e-5_f64.ln()).abs() < 0.1, "{unseen}");
    }

    #[test]
    fn the_error_is_that_of_layouts_that_were_held_out() {
        assert!((held_out_error(&points(|_, _| 1e-5)) - LEAST_DEVIATION).abs() < 1e-9);
        assert!(held_out_error(&points(|nodes, _| 1e-6 * nodes as f64)) > 0.2);
    }

    #[test]
    fn nothing_grows_no_trees() {
        assert!(Boosted::of(&[]).is_none());
    }
}
