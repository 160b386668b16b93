//! The Kolmogorov-Smirnov test of two samples, one-sided.
//!
//! The statistic is the largest amount by which the right sample's empirical distribution function exceeds the left
//! one's: where a larger share of the right values is small, the left side is slower. Unlike the rank-sum test it sees a
//! difference of shape as well (a second mode, a tail), and it needs more launches for a plain shift.
//!
//! *Small samples* (see [`is_exact`]): the exact distribution over all C(n + m, n) ways to split the pooled values.
//! Each way is a lattice path from (0, 0) to (n, m); a path is followed through every pooled value, but compared with the
//! statistic only where a group of equal values is complete, so that ties are exact too. *Larger samples*: the asymptotic
//! distribution with Hodges' correction for finite samples; with ties it errs on the side of fewer alarms.
//!
//! The smallest p-value is 1 / C(n + m, n), as for the rank sum. Samples whose values are all equal give 1.
//!
//! Sources: Smirnov, Bulletin Mathematique de l'Universite de Moscou 2(2), 1939; Hodges, The significance probability of
//! the Smirnov two-sample test, Arkiv foer Matematik 3(5):469-486, 1958, doi:10.1007/BF02589501; ties: Schroer and
//! Trenkler, Exact and randomization distributions of Kolmogorov-Smirnov tests for two or three samples, Computational
//! Statistics and Data Analysis 20(2):185-202, 1995.

use super::sample::Sample;

/// Steps of lattice paths up to which the distribution is worked out exactly: a few milliseconds.
const EXACT_WORK: u128 = 4_000_000;

/// The p-value for "left is stochastically larger": the probability of a statistic at least as large as the one seen, if
/// both samples come from one distribution. In (0, 1]; the asymptotic one of very large samples may underflow to 0.
#[must_use]
pub fn p_left_greater(left: &Sample, right: &Sample) -> f64 {
    let walk = Walk::of(left, right);
    if walk.largest <= 0 {
        return 1.0;
    }
    if is_exact(walk.n, walk.m) {
        walk.exact()
    } else {
        walk.asymptotic()
    }
}

/// True if samples of these sizes get the exact distribution: `n * m` is at most 4 million.
#[must_use]
pub fn is_exact(n: usize, m: usize) -> bool {
    (n as u128).saturating_mul(m as u128) <= EXACT_WORK
}

/// Two samples merged: where groups of equal values end, and the statistic.
struct Walk {
    n: usize,
    m: usize,
    /// `complete[k]`: the first k + 1 pooled values end with a group of equal ones.
    complete: Vec<bool>,
    /// The statistic times nm: an integer.
    largest: i128,
}

impl Walk {
    /// O(n + m).
    fn of(left: &Sample, right: &Sample) -> Walk {
        let (a, b) = (left.sorted(), right.sorted());
        let (n, m) = (a.len(), b.len());
        let mut complete = Vec::with_capacity(n + m);
        let (mut i, mut j, mut largest) = (0, 0, 0);
        while i < n || j < m {
            let value = match (a.get(i), b.get(j)) {
                (Some(&x), Some(&y)) => x.min(y),
                (Some(&x), None) => x,
                (None, Some(&y)) => y,
                (None, None) => break,
            };
            i += a[i..].iter().take_while(|&&x| x == value).count();
            j += b[j..].iter().take_while(|&&y| y == value).count();
            complete.resize(i + j, false);
            complete[i + j - 1] = true;
            largest = largest.max(excess(n, m, i, j));
        }
        Walk {
            n,
            m,
            complete,
            largest,
        }
    }

    /// The probability that a random path reaches the statistic where a group is complete. Only positive terms are
    /// added, so that small probabilities are as accurate as large ones. O(nm) time, O(n) memory.
    fn exact(&self) -> f64 {
        // below[i]: probability of having met i left values so far without having reached the statistic.
        let mut below = vec![0.0; self.n + 1];
        below[0] = 1.0;
        let mut reached = 0.0;
        let total = self.n + self.m;
        for (seen, complete) in self.complete.iter().enumerate() {
            let rest = (total - seen) as f64;
            let first = seen.saturating_sub(self.m);
            for i in (first..=seen.min(self.n)).rev() {
                let probability = below[i];
                below[i] = probability * (self.m - (seen - i)) as f64 / rest;
                if i < self.n {
                    below[i + 1] += probability * (self.n - i) as f64 / rest;
                }
            }
            if *complete {
                for (i, probability) in below.iter_mut().enumerate().take(seen + 2) {
                    if i <= seen + 1
                        && seen + 1 - i <= self.m
                        && excess(self.n, self.m, i, seen + 1 - i) >= self.largest
                    {
                        reached += std::mem::take(probability);
                    }
                }
            }
        }
        reached.min(1.0)
    }

    fn asymptotic(&self) -> f64 {
        let (n, m) = (self.n.max(self.m) as f64, self.n.min(self.m) as f64);
        let distance = self.largest as f64 / (n * m);
        let z = (n * m / (n + m)).sqrt() * distance;
        let exponent = -2.0 * z * z - 2.0 * z * (n + 2.0 * m) / (n * m * (n + m)).sqrt() / 3.0;
        exponent.exp().clamp(0.0, 1.0)
    }
}

/// nm times the excess of the right distribution function over the left one, after i left and j right values.
fn excess(n: usize, m: usize, i: usize, j: usize) -> i128 {
    j as i128 * n as i128 - i as i128 * m as i128
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::rank_sum::smallest_p;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn one_value_on_each_side_decides_nothing() {
        assert_eq!(p_left_greater(&sample(&[2.0]), &sample(&[1.0])), 0.5);
        assert_eq!(p_left_greater(&sample(&[1.0]), &sample(&[2.0])), 1.0);
        assert_eq!(p_left_greater(&sample(&[1.0; 7]), &sample(&[1.0; 3])), 1.0);
    }

    #[test]
    fn separated_samples_give_the_smallest_p() {
        let low: Vec<f64> = (0..10).map(f64::from).collect();
        let high: Vec<f64> = (20..27).map(f64::from).collect();
        let p = p_left_greater(&sample(&high), &sample(&low));
        assert_relative_eq!(p, smallest_p(7, 10), max_relative = 1e-12);
        assert_eq!(p_left_greater(&sample(&low), &sample(&high)), 1.0);
    }

    #[test]
    fn the_approximation_continues_the_exact_distribution() {
        let left: Vec<f64> = (0..300).map(|i| f64::from(i * 7 % 307) + 25.0).collect();
        let right: Vec<f64> = (0..200).map(|i| f64::from(i * 11 % 311)).collect();
        let walk = Walk::of(&sample(&left), &sample(&right));
        assert_relative_eq!(walk.exact(), walk.asymptotic(), max_relative = 0.05);
        assert!(is_exact(2000, 2000) && !is_exact(2000, 2001) && !is_exact(usize::MAX, usize::MAX));
    }
}
