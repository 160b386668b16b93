//! The pooled test: do launches that follow each other, or belong to one group, resemble each other?
//!
//! Each cell's log ratios are replaced by their ranks within the cell, so that one launch that took a hundred times as long
//! counts no more than any other, and centred. All statistics are sums of products of two launches' scores, and the cells
//! enter them only through the matrix of these products, added up over the cells: a permutation costs as much for a thousand
//! cells as for one.
//!
//! *Statistics*: the products of neighbours (lag 1), and of all launches of a group: in time 2, 4, 8, ... launches, and the
//! allocations where they are known. Each is standardised by its permutation distribution; the largest one is the test.
//!
//! *Calibration*: cells share launches and sides, so that they are anything but independent of each other. The order of the
//! **launches** is permuted, the same for all cells: under the null hypothesis every order is equally likely, whatever the
//! cells have in common. Orders are enumerated where there are few, else drawn.
//!
//! *Cells that ended*: a cell that was decided after some launches has no further ones, and those that went on were chosen by
//! what these launches showed. A cell that goes on because of a few high ratios has lower ones later, by chance alone. So
//! launches are permuted only within **segments** between the looks at which more than a few cells ended, and centred
//! within them. Whatever was decided then did not depend on their order.
//!
//! Source: rank tests of serial dependence, Wald and Wolfowitz, Annals of Mathematical Statistics 14(4):378-388, 1943,
//! doi:10.1214/aoms/1177731358; the largest of several standardised statistics: Westfall and Young, Resampling-Based Multiple
//! Testing, 1993.

use std::collections::{BTreeMap, BTreeSet};

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::scores::{centre, ranks};
use super::{Allocations, CellRatios};

/// Orders that are enumerated at most.
const MOST_ENUMERATED: u64 = 5040;

/// Orders that are drawn where there are more.
const DRAWN: usize = 999;

/// Share of the cells that may end unnoticed: what that selects is far below what the test can see.
const FEW_ENDED: f64 = 0.1;

/// Seed of the orders: the answer depends on the data alone.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Products of the scores of two launches, added up over cells; launches in order.
#[derive(Debug, Clone)]
pub(super) struct Products {
    size: usize,
    sums: Vec<f64>,
}

impl Products {
    fn new(size: usize) -> Products {
        Products {
            size,
            sums: vec![0.0; size * size],
        }
    }

    fn add(&mut self, scores: &[f64]) {
        for (row, a) in scores.iter().enumerate() {
            for (sum, b) in self.sums[row * self.size..].iter_mut().zip(scores) {
                *sum += a * b;
            }
        }
    }

    fn at(&self, a: usize, b: usize) -> f64 {
        self.sums[a * self.size + b]
    }

    /// Number of launches, or of groups of them.
    pub(super) fn len(&self) -> usize {
        self.size
    }

    /// The sum of squares.
    pub(super) fn trace(&self) -> f64 {
        (0..self.size).map(|a| self.at(a, a)).sum()
    }

    /// Neighbours in this order.
    pub(super) fn lag_one(&self, order: &[usize]) -> f64 {
        order.windows(2).map(|pair| self.at(pair[0], pair[1])).sum()
    }

    /// Sum over these pairs of positions.
    fn within(&self, order: &[usize], pairs: &[(usize, usize)]) -> f64 {
        pairs.iter().map(|(a, b)| self.at(order[*a], order[*b])).sum()
    }

    /// The products of the means of groups, `groups[launch]` from 0 in order.
    pub(super) fn grouped(&self, groups: &[usize]) -> Products {
        let count = groups.last().map_or(0, |last| last + 1);
        let mut sizes = vec![0.0; count];
        for group in groups {
            sizes[*group] += 1.0;
        }
        let mut grouped = Products::new(count);
        for (a, first) in groups.iter().enumerate() {
            for (b, second) in groups.iter().enumerate() {
                grouped.sums[first * count + second] += self.at(a, b) / (sizes[*first] * sizes[*second]);
            }
        }
        grouped
    }
}

/// Result of the permutation test.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// p-value of the largest statistic.
    pub(super) p: f64,
    /// True if the grouping by allocations gave the largest statistic.
    pub(super) by_allocation: bool,
}

/// Scores of the cells, ready to be tested.
#[derive(Debug)]
pub(super) struct Pooled {
    /// Launches of the run, ascending.
    pub(super) launches: Vec<usize>,
    /// Centred within segments.
    products: Products,
    /// Products of cells with all launches, centred as a whole; for estimates.
    pub(super) whole: Products,
    /// First launches of segments, as positions; ends with the number of launches.
    bounds: Vec<usize>,
}

impl Pooled {
    /// `None` where no cell has three launches with different ratios.
    pub(super) fn of(cells: &[CellRatios]) -> Option<Pooled> {
        let launches: BTreeSet<usize> = cells.iter().flat_map(|cell| cell.launches.iter().copied()).collect();
        let launches: Vec<usize> = launches.into_iter().collect();
        let position: BTreeMap<usize, usize> = launches.iter().enumerate().map(|(at, launch)| (*launch, at)).collect();
        let scored: Vec<Vec<Option<f64>>> = cells
            .iter()
            .filter_map(|cell| {
                let scores = ranks(&cell.logarithms)?;
                let mut row = vec![None; launches.len()];
                for (launch, score) in cell.launches.iter().zip(scores) {
                    row[position[launch]] = Some(score);
                }
                Some(row)
            })
            .collect();
        let bounds = bounds(&scored, launches.len());
        let mut products = Products::new(launches.len());
        let mut whole = Products::new(launches.len());
        // If no cell has every launch, those with the most stand for all.
        let count = |row: &[Option<f64>]| row.iter().flatten().count();
        let most = scored.iter().map(|row| count(row)).max()?;
        for row in &scored {
            let mut centred = vec![0.0; launches.len()];
            for segment in bounds.windows(2) {
                centre(&row[segment[0]..segment[1]], &mut centred[segment[0]..segment[1]]);
            }
            products.add(&centred);
            if count(row) == most {
                let present: Vec<f64> = row.iter().flatten().copied().collect();
                let mean = present.iter().sum::<f64>() / present.len() as f64;
                whole.add(
                    &row.iter()
                        .map(|score| score.map_or(0.0, |score| score - mean))
                        .collect::<Vec<_>>(),
                );
            }
        }
        (products.trace() > 0.0).then_some(Pooled {
            launches,
            products,
            whole,
            bounds,
        })
    }

    /// The test.
    pub(super) fn test(&self, allocations: Allocations<'_>) -> Found {
        let count = self.launches.len();
        let mut groupings: Vec<Vec<(usize, usize)>> = std::iter::successors(Some(2), |width| Some(width * 2))
            .take_while(|width| width * 2 <= count)
            .map(|width| alike(self.launches.iter().map(|launch| launch / width)).0)
            .collect();
        let known = match allocations {
            Allocations::Unknown => None,
            Allocations::Known(of) | Allocations::Units(of) => {
                let (pairs, labels) = alike(self.launches.iter().map(|launch| of.get(*launch).copied().unwrap_or(0)));
                (labels > 1).then_some(pairs)
            }
        };
        let has_allocations = known.is_some();
        groupings.extend(known);
        // The observed order comes first.
        let (orders, _) = self.orders();
        let column = |statistic: &dyn Fn(&[usize]) -> f64| {
            let drawn: Vec<f64> = orders.iter().map(|order| statistic(order)).collect();
            standardised(drawn)
        };
        let mut largest = column(&|order| self.products.lag_one(order));
        let mut last = largest[0];
        for pairs in &groupings {
            let drawn = column(&|order| self.products.within(order, pairs));
            last = drawn[0];
            largest
                .iter_mut()
                .zip(drawn)
                .for_each(|(most, one)| *most = most.max(one));
        }
        let reached = largest.iter().filter(|value| **value >= largest[0] - 1e-9).count();
        Found {
            p: reached as f64 / largest.len() as f64,
            by_allocation: has_allocations && last >= largest[0] - 1e-9,
        }
    }

    /// Orders of the launches for the permutation test, the observed one first: all of them, or a random draw. The flag
    /// tells if these are all.
    fn orders(&self) -> (Vec<Vec<usize>>, bool) {
        let identity: Vec<usize> = (0..self.launches.len()).collect();
        let all = self
            .bounds
            .windows(2)
            .flat_map(|segment| 1..=(segment[1] - segment[0]) as u64)
            .fold(1_u64, u64::saturating_mul);
        let mut orders = vec![identity.clone()];
        if all <= MOST_ENUMERATED {
            let mut order = identity;
            for segment in self.bounds.windows(2) {
                let so_far = std::mem::take(&mut orders);
                for begun in so_far {
                    order.clone_from(&begun);
                    permute(&mut order, segment[0], segment[1], &mut orders);
                }
            }
            return (orders, true);
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED ^ self.launches.len() as u64);
        for _ in 0..DRAWN {
            let mut order = identity.clone();
            for segment in self.bounds.windows(2) {
                order[segment[0]..segment[1]].shuffle(&mut random);
            }
            orders.push(order);
        }
        (orders, false)
    }
}

/// Standard deviation of the lag-1 sum over the orders of all launches or groups.
pub(super) fn deviation_of_lag_one(products: &Products) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED ^ random_salt(products.len()));
    let mut order: Vec<usize> = (0..products.len()).collect();
    let sums: Vec<f64> = (0..200)
        .map(|_| {
            order.shuffle(&mut random);
            products.lag_one(&order)
        })
        .collect();
    let mean = sums.iter().sum::<f64>() / sums.len() as f64;
    (sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / sums.len() as f64).sqrt()
}

fn random_salt(size: usize) -> u64 {
    Xoshiro256PlusPlus::seed_from_u64(size as u64).random()
}

/// Adds every order of `order[at..end]`, the given one first.
fn permute(order: &mut Vec<usize>, at: usize, end: usize, all: &mut Vec<Vec<usize>>) {
    if at + 1 >= end {
        all.push(order.clone());
        return;
    }
    for other in at..end {
        order.swap(at, other);
        permute(order, at + 1, end, all);
        order.swap(at, other);
    }
}

/// All pairs of positions with one label, and the number of labels.
fn alike(labels: impl Iterator<Item = usize>) -> (Vec<(usize, usize)>, usize) {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (position, label) in labels.enumerate() {
        groups.entry(label).or_default().push(position);
    }
    let count = groups.len();
    let pairs = groups.values().flat_map(|group| {
        let each = group.iter().enumerate();
        each.flat_map(|(at, a)| group[at + 1..].iter().map(|b| (*a, *b)))
    });
    (pairs.collect(), count)
}

/// A statistic less its mean, by its standard deviation, over all orders.
fn standardised(mut drawn: Vec<f64>) -> Vec<f64> {
    let count = drawn.len() as f64;
    let mean = drawn.iter().sum::<f64>() / count;
    let deviation = (drawn.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    // A statistic that is the same in every order shows nothing.
    let varies = deviation > 1e-12;
    for value in &mut drawn {
        *value = if varies { (*value - mean) / deviation } else { 0.0 };
    }
    drawn
}

/// Begins of segments: after launches with which more than a few cells ended.
fn bounds(scored: &[Vec<Option<f64>>], launches: usize) -> Vec<usize> {
    let mut ended = vec![0_usize; launches];
    for row in scored {
        if let Some(last) = row.iter().rposition(Option::is_some) {
            ended[last] += 1;
        }
    }
    let mut bounds = vec![0];
    let mut since = 0;
    for (launch, count) in ended.iter().enumerate() {
        since += count;
        if since as f64 > FEW_ENDED * scored.len() as f64 && launch + 1 < launches {
            bounds.push(launch + 1);
            since = 0;
        }
    }
    bounds.push(launches);
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_end_where_many_cells_do() {
        let row = |launches: usize| (0..10).map(|at| (at < launches).then_some(1.0)).collect::<Vec<_>>();
        let mut rows = vec![row(10); 50];
        rows.extend(vec![row(3); 5]);
        assert_eq!(bounds(&rows, 10), [0, 10], "a few are none");
        rows.extend(vec![row(5); 40]);
        assert_eq!(bounds(&rows, 10), [0, 5, 10]);
    }

    #[test]
    fn few_orders_are_enumerated_and_many_drawn() {
        let cell = |launches: usize| CellRatios {
            launches: (0..launches).collect(),
            logarithms: (0..launches).map(|at| ((at * 7) % 5) as f64).collect(),
        };
        for (launches, orders, exact) in [(5, 120, true), (7, 5040, true), (8, DRAWN + 1, false)] {
            let pooled = Pooled::of(&[cell(launches)]).unwrap();
            let (all, enumerated) = pooled.orders();
            assert_eq!((all.len(), enumerated), (orders, exact));
            assert!(all[0].iter().enumerate().all(|(at, launch)| at == *launch));
            let distinct: BTreeSet<&Vec<usize>> = all.iter().collect();
            assert!(!exact || distinct.len() == orders);
        }
    }

    #[test]
    fn all_launches_of_a_group_are_paired_wherever_they_stand() {
        let (pairs, labels) = alike([4, 4, 7, 7, 4].into_iter());
        assert_eq!((pairs, labels), (vec![(0, 1), (0, 4), (1, 4), (2, 3)], 2));
        assert_eq!(standardised(vec![1.0, 1.0]), [0.0, 0.0], "the same in every order");
        assert_eq!(standardised(vec![1.0, 3.0]), [-1.0, 1.0]);
    }

    #[test]
    fn grouped_products_are_those_of_means() {
        let mut products = Products::new(4);
        products.add(&[1.0, 3.0, -2.0, -2.0]);
        let grouped = products.grouped(&[0, 0, 1, 1]);
        assert_eq!((grouped.at(0, 0), grouped.at(0, 1), grouped.at(1, 1)), (4.0, -4.0, 4.0));
    }
}
