//! The test of Brunner and Munzel, permuted, one-sided: P(left > right) against one half, for sides whose spreads differ.
//!
//! The rank sum over its standard deviation as each side shows it for itself (studentised), where the rank sum alone takes both
//! spreads as equal. The reference is the same statistic under all ways to split the pooled values (Neubert and Brunner), which is
//! exact where both sides have one distribution and near the level where only their spreads differ. In the far tail it is not: that all of
//! the left exceed all of the right is as improbable as splits make it only if the spreads are alike. Among hundreds of cells
//! [`super::unpaired`] is the safer choice.
//!
//! *Small samples*: all splits, up to [`COMPLETE`] of them (eight values against eight), ties included. *Larger ones*, up to
//! [`PERMUTED`] values in all: up to [`DRAWN`] splits drawn from a fixed seed until [`ENOUGH`] of them reach the statistic, itself a
//! valid test (Besag and Clifford), with p-values from 1 / (1 + [`DRAWN`]) on. *Beyond*: Student's t with the degrees of freedom of Brunner and Munzel, and no p-value below 2^-min(n, m),
//! what the values of one side alone could show. Samples whose values are all equal give 1.
//!
//! Sources: Brunner and Munzel, Biometrical Journal 42(1):17-25, 2000,
//! doi:10.1002/(SICI)1521-4036(200001)42:1<17::AID-BIMJ17>3.0.CO;2-U; Neubert and Brunner, Computational Statistics and Data
//! Analysis 51(10):5192-5204, 2007, doi:10.1016/j.csda.2006.05.024; Besag and Clifford, Biometrika 78(2):301-304, 1991,
//! doi:10.1093/biomet/78.2.301.

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::rank_distribution::binomial;
use super::sample::Sample;

/// Splits up to which all are looked at.
const COMPLETE: f64 = 20_000.0;

/// Values in all up to which splits are drawn.
const PERMUTED: usize = 100;

/// Largest number of splits that are drawn.
const DRAWN: usize = 49_999;

/// Drawing ends once so many splits reach the statistic: the p-value is then known to a seventh, and not small.
const ENOUGH: usize = 50;

/// Statistics this close to each other, as a fraction, are one.
const ROUNDING: f64 = 1e-9;

/// The p-value for "the left side takes longer", in (0, 1].
#[must_use]
pub fn p_left_greater(left: &Sample, right: &Sample) -> f64 {
    let (n, m) = (left.len(), right.len());
    let (groups, mut labels) = pooled(left, right);
    let seen = Moments::of(&groups, &labels, n, m);
    if groups.len() == 1 || n.min(m) < 2 {
        return if seen.effect() > 0.0 && groups.len() > 1 {
            0.5
        } else {
            1.0
        };
    }
    let limit = seen.statistic();
    let limit = limit - ROUNDING * if limit.is_finite() { limit.abs() } else { 0.0 };
    let reaches = |labels: &[bool]| Moments::of(&groups, labels, n, m).statistic() >= limit;
    let splits = binomial(n + m, n);
    if splits <= COMPLETE {
        let mut positions: Vec<usize> = (0..n).collect();
        let mut reached = 0.0;
        loop {
            labels.fill(false);
            positions.iter().for_each(|&position| labels[position] = true);
            reached += f64::from(u8::from(reaches(&labels)));
            if !advance(&mut positions, n + m) {
                return reached / splits;
            }
        }
    }
    if n + m <= PERMUTED {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
        let (mut reached, mut drawn) = (0, 0);
        while drawn < DRAWN {
            // Fisher and Yates, as far as one side's labels.
            for place in 0..n.min(m) {
                let other = random.random_range(place..n + m);
                labels.swap(place, other);
            }
            drawn += 1;
            reached += usize::from(reaches(&labels));
            if reached == ENOUGH {
                return reached as f64 / drawn as f64;
            }
        }
        return (reached + 1) as f64 / (DRAWN + 1) as f64;
    }
    seen.p_by_t().max(0.5_f64.powi(n.min(m).min(1000) as i32))
}

/// The smallest p-value that samples of these sizes can give.
#[must_use]
pub fn smallest_p(n: usize, m: usize) -> f64 {
    let splits = binomial(n + m, n);
    if n.min(m) < 2 {
        0.5
    } else if splits <= COMPLETE {
        1.0 / splits
    } else if n + m <= PERMUTED {
        1.0 / (DRAWN + 1) as f64
    } else {
        0.5_f64.powi(n.min(m).min(1000) as i32)
    }
}

/// The statistic, positive where the left side takes longer, and its one-sided p-value by Student's t: what is said of large samples.
#[must_use]
pub fn by_students_t(left: &Sample, right: &Sample) -> (f64, f64) {
    let (groups, labels) = pooled(left, right);
    let moments = Moments::of(&groups, &labels, left.len(), right.len());
    (moments.statistic(), moments.p_by_t())
}

/// Pools both samples in ascending order: the number of values at each place, and for each value if it is the left
/// side's.
fn pooled(left: &Sample, right: &Sample) -> (Vec<usize>, Vec<bool>) {
    let mut values: Vec<(f64, bool)> = left.values().iter().map(|value| (*value, true)).collect();
    values.extend(right.values().iter().map(|value| (*value, false)));
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let groups = values.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
    (groups, values.into_iter().map(|(_, is_left)| is_left).collect())
}

/// The next subset of 0..`all` in lexical order; false after the last.
fn advance(positions: &mut [usize], all: usize) -> bool {
    let count = positions.len();
    let Some(place) = (0..count).rev().find(|&place| positions[place] < all - count + place) else {
        return false;
    };
    let first = positions[place] + 1;
    for (offset, position) in positions[place..].iter_mut().enumerate() {
        *position = first + offset;
    }
    true
}

/// Means and variances of the placements: how many values of the other side lie below each, equal ones by half.
struct Moments {
    n: f64,
    m: f64,
    left_mean: f64,
    left_variance: f64,
    right_variance: f64,
}

impl Moments {
    fn of(groups: &[usize], labels: &[bool], n: usize, m: usize) -> Moments {
        let (mut lefts, mut rights, mut at) = (0.0, 0.0, 0);
        let (mut left_sum, mut left_squares, mut right_sum, mut right_squares) = (0.0, 0.0, 0.0, 0.0);
        for &size in groups {
            let own = labels[at..at + size].iter().filter(|&&is_left| is_left).count() as f64;
            let others = size as f64 - own;
            let (left, right) = (rights + others / 2.0, lefts + own / 2.0);
            left_sum += own * left;
            left_squares += own * left * left;
            right_sum += others * right;
            right_squares += others * right * right;
            lefts += own;
            rights += others;
            at += size;
        }
        let (n, m) = (n as f64, m as f64);
        let variance = |sum: f64, squares: f64, count: f64| ((squares - sum * sum / count) / (count - 1.0)).max(0.0);
        Moments {
            n,
            m,
            left_mean: left_sum / n,
            left_variance: variance(left_sum, left_squares, n),
            right_variance: variance(right_sum, right_squares, m),
        }
    }

    /// P(left > right) - 1/2, equal ones by half.
    fn effect(&self) -> f64 {
        self.left_mean / self.m - 0.5
    }

    /// Infinite where the sides do not overlap.
    fn statistic(&self) -> f64 {
        let deviation = (self.n * self.left_variance + self.m * self.right_variance).sqrt();
        // Sums of squares that should cancel leave a rest.
        if deviation > 1e-6 {
            self.n * self.m * self.effect() / deviation
        } else if self.effect().abs() < ROUNDING {
            0.0
        } else {
            self.effect().signum() * f64::INFINITY
        }
    }

    fn p_by_t(&self) -> f64 {
        let statistic = self.statistic();
        if statistic.is_infinite() {
            return f64::from(statistic < 0.0);
        }
        let (left, right) = (self.n * self.left_variance, self.m * self.right_variance);
        let freedom = (left + right).powi(2) / (left.powi(2) / (self.n - 1.0) + right.powi(2) / (self.m - 1.0));
        StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |distribution| distribution.sf(statistic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn all_subsets_come_once() {
        let mut positions = vec![0, 1];
        let mut seen = vec![positions.clone()];
        while advance(&mut positions, 4) {
            seen.push(positions.clone());
        }
        assert_eq!(seen, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
    }

    #[test]
    fn separate_sides_give_the_smallest_p_and_equal_ones_give_one() {
        let (slow, fast) = (sample(&[5.0, 6.0, 7.0, 8.0]), sample(&[1.0, 2.0, 3.0]));
        assert_eq!(p_left_greater(&slow, &fast), 1.0 / 35.0);
        assert_eq!(smallest_p(4, 3), 1.0 / 35.0);
        assert_eq!(p_left_greater(&fast, &slow), 1.0);
        assert_eq!(p_left_greater(&sample(&[1.0; 4]), &sample(&[1.0; 3])), 1.0);
        assert_eq!(p_left_greater(&sample(&[2.0]), &fast), 1.0);
        assert_eq!(p_left_greater(&sample(&[9.0]), &fast), 0.5);
    }

    #[test]
    fn drawn_splits_come_near_all_of_them_and_students_t() {
        let left: Vec<f64> = (0..11).map(|i| f64::from(i * 7 % 23) + 3.5).collect();
        let right: Vec<f64> = (0..11).map(|i| f64::from(i * 5 % 24)).collect();
        let (left, right) = (sample(&left), sample(&right));
        let (_, by_t) = by_students_t(&left, &right);
        let drawn = p_left_greater(&left, &right);
        assert!((drawn / by_t - 1.0).abs() < 0.35, "{drawn} {by_t}");
        assert_eq!(drawn, p_left_greater(&left, &right));
    }
}
