//! Finds the region of a map that overlaps well: the simplest region of sizes and computation times that separates its
//! good cells from the others.
//!
//! The regions are the shapes of Denis and Trahay (doi:10.1109/ICPP.2016.37, section V.A). Each is bounded by one or
//! two of the measured sizes and computation times. Every bound has a price: a region may misname so many cells per
//! bound ([`WRONG_PER_BOUND`]) more than a simpler one, and in the end hardly any ([`WRONG`]). Noise scatters good
//! cells. A test therefore excludes that the cells inside and outside of a region differ by chance alone (Fisher's
//! exact test, one-sided, Bonferroni's correction over all regions looked at).

use statrs::distribution::{DiscreteCDF as _, Hypergeometric};

/// Share of the cells that a bound must set right; two cells at least.
const WRONG_PER_BOUND: f64 = 0.04;
/// Largest share of misnamed cells.
const WRONG: f64 = 0.15;
/// Smallest share of good cells inside; the share outside is at most the rest.
const SHARE: f64 = 0.8;
/// Least number of cells on either side of a bound.
const CELLS: usize = 3;
/// Probability with which noise alone may make a region.
const ALPHA: f64 = 0.05;

/// A cell and if it is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) bytes: u64,
    pub(super) computation_ns: u64,
    pub(super) good: bool,
}

/// Region of a map that overlaps well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Region {
    Everywhere,
    Nowhere,
    /// Sizes up to this one.
    UpTo(u64),
    /// Sizes from this one on.
    From(u64),
    /// Computation up to this time, in nanoseconds.
    Short(u64),
    /// Sizes up to this one, or computation up to this time.
    UpToOrShort(u64, u64),
    /// Sizes from this one on with computation up to this time.
    LargeAndShort(u64, u64),
}

impl Region {
    pub(super) fn contains(self, point: &Point) -> bool {
        match self {
            Region::Everywhere => true,
            Region::Nowhere => false,
            Region::UpTo(bytes) => point.bytes <= bytes,
            Region::From(bytes) => point.bytes >= bytes,
            Region::Short(ns) => point.computation_ns <= ns,
            Region::UpToOrShort(bytes, ns) => point.bytes <= bytes || point.computation_ns <= ns,
            Region::LargeAndShort(bytes, ns) => point.bytes >= bytes && point.computation_ns <= ns,
        }
    }

    const fn bounds(self) -> usize {
        match self {
            Region::Everywhere | Region::Nowhere => 0,
            Region::UpTo(_) | Region::From(_) | Region::Short(_) => 1,
            Region::UpToOrShort(..) | Region::LargeAndShort(..) => 2,
        }
    }
}

/// A region with its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    pub(super) region: Region,
    /// Cells inside, and how many of them are good.
    pub(super) inside: Counted,
    /// Cells outside, and how many of them are good.
    pub(super) outside: Counted,
}

/// Cells, and how many of them are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counted {
    pub(super) cells: usize,
    pub(super) good: usize,
}

impl Counted {
    fn share(self) -> f64 {
        self.good as f64 / self.cells as f64
    }
}

/// The region, if one says more than chance. Without a good cell it is nowhere, without a bad one everywhere.
pub(super) fn fit(points: &[Point]) -> Option<Fit> {
    let (regions, n) = (candidates(points), points.len());
    let price = (WRONG_PER_BOUND * n as f64).max(2.0);
    let fits = regions.iter().map(|region| Fit::of(*region, points));
    let best = fits.min_by(|a, b| {
        let cost = |fit: &Fit| fit.wrong() as f64 + price * fit.region.bounds() as f64;
        cost(a).total_cmp(&cost(b))
    })?;
    (best.wrong() as f64 <= WRONG * n as f64 && (best.region.bounds() == 0 || best.is_told(regions.len())))
        .then_some(best)
}

impl Fit {
    fn of(region: Region, points: &[Point]) -> Fit {
        let mut fit = Fit {
            region,
            inside: Counted::default(),
            outside: Counted::default(),
        };
        for point in points {
            let side = if region.contains(point) {
                &mut fit.inside
            } else {
                &mut fit.outside
            };
            side.cells += 1;
            side.good += usize::from(point.good);
        }
        fit
    }

    /// Number of cells that the region misnames.
    fn wrong(&self) -> usize {
        self.inside.cells - self.inside.good + self.outside.good
    }

    /// True if both sides deserve their names, by more than chance.
    fn is_told(&self, looked_at: usize) -> bool {
        let (inside, outside) = (self.inside, self.outside);
        if inside.cells.min(outside.cells) < CELLS || inside.share() < SHARE || outside.share() > 1.0 - SHARE {
            return false;
        }
        let good = (inside.good + outside.good) as u64;
        let by_chance = Hypergeometric::new((inside.cells + outside.cells) as u64, good, inside.cells as u64)
            .map_or(1.0, |chance| chance.sf((inside.good as u64).saturating_sub(1)));
        by_chance * looked_at as f64 <= ALPHA
    }
}

/// Regions bounded by measured values, simpler ones first.
fn candidates(points: &[Point]) -> Vec<Region> {
    let distinct = |of: fn(&Point) -> u64| {
        let mut values: Vec<u64> = points.iter().map(of).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let (sizes, times) = (distinct(|point| point.bytes), distinct(|point| point.computation_ns));
    // A bound beyond the last value bounds nothing.
    let up_to = &sizes[..sizes.len().saturating_sub(1)];
    let from = sizes.get(1..).unwrap_or_default();
    let short = &times[..times.len().saturating_sub(1)];
    let mut regions = vec![Region::Everywhere, Region::Nowhere];
    regions.extend(up_to.iter().map(|bytes| Region::UpTo(*bytes)));
    regions.extend(from.iter().map(|bytes| Region::From(*bytes)));
    regions.extend(short.iter().map(|ns| Region::Short(*ns)));
    for ns in short {
        regions.extend(up_to.iter().map(|bytes| Region::UpToOrShort(*bytes, *ns)));
        regions.extend(from.iter().map(|bytes| Region::LargeAndShort(*bytes, *ns)));
    }
    regions
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn grid(side: u64, good: impl Fn(u64, u64) -> bool) -> Vec<Point> {
        let cells = (0..side).flat_map(|x| (0..side).map(move |y| (1 << x, 1000 << y)));
        cells
            .map(|(bytes, computation_ns)| Point {
                bytes,
                computation_ns,
                good: good(bytes, computation_ns),
            })
            .collect()
    }

    fn region(points: &[Point]) -> Option<Region> {
        fit(points).map(|fit| fit.region)
    }

    #[test]
    fn each_shape_is_found_with_its_bounds() {
        for wanted in [
            Region::Everywhere,
            Region::Nowhere,
            Region::UpTo(32),
            Region::From(64),
            Region::Short(8000),
            Region::UpToOrShort(16, 8000),
            Region::LargeAndShort(64, 8000),
        ] {
            let points = grid(10, |bytes, computation_ns| {
                wanted.contains(&Point {
                    bytes,
                    computation_ns,
                    good: false,
                })
            });
            assert_eq!(region(&points), Some(wanted));
        }
    }

    #[test]
    fn a_tenth_of_wrong_cells_hides_no_threshold_and_makes_none() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        for _ in 0..20 {
            let mut scattered = |truth: fn(u64) -> bool| {
                grid(12, truth_of(truth))
                    .into_iter()
                    .map(|point| Point {
                        good: point.good != random.random_bool(0.1),
                        ..point
                    })
                    .collect::<Vec<Point>>()
            };
            assert_eq!(region(&scattered(|bytes| bytes <= 64)), Some(Region::UpTo(64)));
            assert_eq!(region(&scattered(|_| false)), Some(Region::Nowhere));
            assert_eq!(region(&scattered(|_| true)), Some(Region::Everywhere));
        }
    }

    fn truth_of(truth: fn(u64) -> bool) -> impl Fn(u64, u64) -> bool {
        move |bytes, _| truth(bytes)
    }

    #[test]
    fn cells_drawn_by_lot_have_no_region() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        for side in [3, 4, 8, 16] {
            let found = (0..200)
                .filter(|_| {
                    let mut points = grid(side, |_, _| false);
                    for point in &mut points {
                        point.good = random.random_bool(0.5);
                    }
                    fit(&points).is_some_and(|fit| fit.region.bounds() > 0)
                })
                .count();
            assert!(found <= 14, "{found} of 200 maps of side {side}");
        }
    }
}
