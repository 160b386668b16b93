//! Gradient boosting of small regression trees on the logarithm of the time, one model an implementation
//! (J. H. Friedman, Greedy function approximation, Annals of Statistics 29(5), 2001, doi:10.1214/aos/1013203451), as the literature on choosing
//! collectives has it (Hunold et al., CLUSTER 2020, doi:10.1109/CLUSTER49012.2020.00036).
//!
//! Trees are constant beyond what they saw. Their uncertainty is the error that a tree grown without a layout makes there.

use kilter_model::layout::Layout;

use super::{Fitted, Guess};
use crate::table::{Point, Table};

pub(super) fn fit(table: &Table) -> Box<dyn Fitted> {
    Box::new(Forest::of(table))
}

const FEATURES: usize = 6;
const ROUNDS: usize = 120;
const DEPTH: usize = 3;
const SHRINKAGE: f64 = 0.15;
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

/// Root mean square of the errors on each layout of trees that were grown without it.
fn held_out_error(points: &[Point]) -> f64 {
    let mut layouts: Vec<Layout> = points.iter().map(|point| point.layout).collect();
    layouts.sort_unstable();
    layouts.dedup();
    let mut squares = Vec::new();
    for layout in layouts {
        let (held, rest): (Vec<Point>, Vec<Point>) = points.iter().partition(|point| point.layout == layout);
        if let Some(boosted) = Boosted::of(&rest) {
            squares.extend(held.iter().map(|point| {
                let guess = boosted.value(&features(point.layout, point.bytes));
                (guess - point.log).powi(2)
            }));
        }
    }
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

impl Boosted {
    fn of(points: &[Point]) -> Option<Boosted> {
        let rows: Vec<Features> = points.iter().map(|point| features(point.layout, point.bytes)).collect();
        let mean = points.iter().map(|point| point.log).sum::<f64>() / points.len() as f64;
        let mut rest: Vec<f64> = points.iter().map(|point| point.log - mean).collect();
        let mut trees = Vec::with_capacity(ROUNDS);
        let all: Vec<usize> = (0..points.len()).collect();
        for _ in 0..ROUNDS {
            let tree = Tree::grow(&rows, &rest, &all, DEPTH);
            rows.iter()
                .zip(&mut rest)
                .for_each(|(row, rest)| *rest -= SHRINKAGE * tree.value(row));
            trees.push(tree);
        }
        (!points.is_empty()).then_some(Boosted { mean, trees })
    }

    fn value(&self, at: &Features) -> f64 {
        self.mean + self.trees.iter().map(|tree| SHRINKAGE * tree.value(at)).sum::<f64>()
    }
}

impl Tree {
    /// The split of least squares, and trees of either side.
    fn grow(rows: &[Features], rest: &[f64], chosen: &[usize], depth: usize) -> Tree {
        let sum: f64 = chosen.iter().map(|row| rest[*row]).sum();
        let leaf = Tree::Leaf(sum / chosen.len().max(1) as f64);
        if depth == 0 || chosen.len() < 2 {
            return leaf;
        }
        // Squares are least where the sums of both sides, squared and by their lengths, are greatest.
        let mut best: Option<(f64, usize, f64)> = None;
        for feature in 0..FEATURES {
            let mut sorted = chosen.to_vec();
            sorted.sort_by(|a, b| rows[*a][feature].total_cmp(&rows[*b][feature]).then(a.cmp(b)));
            let mut low = 0.0;
            for (count, pair) in (1..).zip(sorted.windows(2)) {
                low += rest[pair[0]];
                let (left, right) = (rows[pair[0]][feature], rows[pair[1]][feature]);
                if left == right {
                    continue;
                }
                let gain =
                    low.powi(2) / f64::from(count) + (sum - low).powi(2) / (chosen.len() as f64 - f64::from(count));
                if best.is_none_or(|(other, _, _)| gain > other) {
                    best = Some((gain, feature, f64::midpoint(left, right)));
                }
            }
        }
        let Some((_, feature, below)) = best else {
            return leaf;
        };
        let (low, high): (Vec<usize>, Vec<usize>) = chosen.iter().partition(|row| rows[**row][feature] < below);
        let grow = |side: &[usize]| Box::new(Tree::grow(rows, rest, side, depth - 1));
        Tree::Split {
            feature,
            below,
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
