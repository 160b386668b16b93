//! Decides if a small sample has two modes: the best split in two (Fisher-Jenks) is compared with splits of one mode.
//!
//! The sorted values are cut where the sum of squares between the two parts takes the largest share of the whole; each
//! part has at least two values. Any sample can be cut so. For few values of a single mode the share is large, too: ten
//! normal values reach 0.86 in one sample of twenty. Two modes are therefore found only if the share exceeds the one
//! that normal samples of that size reach in one case of a hundred. Samples with heavier tails reach it more rarely,
//! because one far value alone is no part. Such values are outliers and must be taken out first.
//!
//! Sources: Fisher, On grouping for maximum homogeneity, Journal of the American Statistical Association
//! 53(284):789-798, 1958, doi:10.1080/01621459.1958.10501479; Engelman and Hartigan, Percentage points of a test for
//! clusters, ibid. 64(328):1647-1648, 1969.

use super::sample::Sample;

/// The best cut of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    /// Between the two parts.
    pub at: f64,
    /// Share of the sum of squares that lies between the parts, in [0, 1].
    pub share: f64,
    /// True if one mode would reach that share in less than one case of a hundred.
    pub significant: bool,
}

/// Number of values, and the share that one normal mode exceeds in one case of a hundred: 200,000 samples each.
const CRITICAL: [(f64, f64); 16] = [
    (4.0, 0.9935),
    (5.0, 0.9820),
    (6.0, 0.9670),
    (7.0, 0.9516),
    (8.0, 0.9359),
    (9.0, 0.9217),
    (10.0, 0.9084),
    (12.0, 0.8864),
    (14.0, 0.8683),
    (16.0, 0.8538),
    (20.0, 0.8309),
    (25.0, 0.8085),
    (30.0, 0.7926),
    (40.0, 0.7725),
    (60.0, 0.7475),
    (100.0, 0.7211),
];

/// The best cut; `None` below four values and where all are equal. O(n log n).
#[must_use]
pub fn best_cut(sample: &Sample) -> Option<Cut> {
    let sorted = sample.sorted();
    let n = sorted.len();
    if n < 4 || sample.min() == sample.max() {
        return None;
    }
    // Around the middle of the range, so that a common level does not drown the differences.
    let level = sample.min().midpoint(sample.max());
    let total: f64 = sorted.iter().map(|value| value - level).sum();
    let mean = total / n as f64;
    let squares: f64 = sorted.iter().map(|value| (value - level - mean).powi(2)).sum();
    let mut below = sorted[0] - level;
    let mut best = (f64::NEG_INFINITY, 0.0);
    for lower in 2..=n - 2 {
        below += sorted[lower - 1] - level;
        let upper = (n - lower) as f64;
        let distance = (total - below) / upper - below / lower as f64;
        let between = lower as f64 * upper / n as f64 * distance * distance;
        if between > best.0 && sorted[lower] > sorted[lower - 1] {
            best = (between, sorted[lower - 1].midpoint(sorted[lower]));
        }
    }
    let share = (best.0 / squares).min(1.0);
    (best.0 > 0.0).then(|| Cut {
        at: best.1,
        share,
        significant: share > critical(n as f64),
    })
}

/// Interpolated in 1/n.
fn critical(n: f64) -> f64 {
    let above = CRITICAL.iter().position(|(size, _)| *size >= n);
    match above {
        Some(0) => CRITICAL[0].1,
        None => CRITICAL[CRITICAL.len() - 1].1,
        Some(index) => {
            let ((a, low), (b, high)) = (CRITICAL[index - 1], CRITICAL[index]);
            let weight = (1.0 / a - 1.0 / n) / (1.0 / a - 1.0 / b);
            low + weight * (high - low)
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn two_clear_modes_are_cut_between() {
        let sample = Sample::new(vec![8.7, 15.6, 8.8, 15.5, 8.6, 8.7, 15.7, 8.65]).unwrap();
        let cut = best_cut(&sample).unwrap();
        assert!(
            cut.significant && cut.share > 0.99 && 9.0 < cut.at && cut.at < 15.0,
            "{cut:?}"
        );
    }

    #[test]
    fn few_equal_or_lonely_values_are_no_modes() {
        assert_eq!(best_cut(&Sample::new(vec![1.0, 1.0, 2.0]).unwrap()), None);
        assert_eq!(best_cut(&Sample::new(vec![3.0; 9]).unwrap()), None);
        let lonely = Sample::new(vec![1.0, 1.01, 1.02, 0.99, 1.0, 0.98, 1.03, 9.0]).unwrap();
        assert!(!best_cut(&lonely).unwrap().significant);
    }

    #[test]
    fn one_mode_is_taken_for_two_once_in_a_hundred() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        for n in [4, 5, 8, 10, 11, 17, 22, 80] {
            const TRIALS: usize = 4000;
            let mut found = 0;
            for _ in 0..TRIALS {
                let values = (0..n).map(|_| {
                    let (a, b): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
                    100.0 + (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
                });
                let cut = best_cut(&Sample::new(values.collect()).unwrap());
                found += usize::from(cut.is_some_and(|cut| cut.significant));
            }
            assert!((14..=66).contains(&found), "{n} values: {found} of {TRIALS}");
        }
    }
}
