//! Holm's correction of p-values for multiple tests.
//!
//! Holds the probability of one or more false rejections among all tests of a family at alpha, for any dependence
//! between the tests (guidelines share measurements, so they depend on each other), and rejects everything that
//! Bonferroni's correction rejects, and more.
//!
//! The p-values are sorted; the i-th smallest of m (from 0) is multiplied by m - i; then each becomes at least as large
//! as the one before it, and at most 1. A test is rejected at level alpha if its adjusted p-value is at most alpha.
//!
//! Weights say which tests get more of alpha. The p-values are divided by them before they are sorted, and the sum of the weights that are left
//! takes the place of m - i. The bound holds for any weights that do not depend on the tests' own data.
//!
//! Sources: Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics
//! 6(2):65-70, 1979, which has the weights in its section 4; weights from other data: Genovese, Roeder and Wasserman, Biometrika
//! 93(3):509-524, 2006, doi:10.1093/biomet/93.3.509.

use super::evidence::ascending;

/// The adjusted p-values, in the order given. O(m log m).
///
/// NaN means that a test gave no p-value: it still counts as a test and is adjusted to 1, which rejects nothing.
#[must_use]
pub fn adjust(p: &[f64]) -> Vec<f64> {
    adjust_weighted(p, &vec![1.0; p.len()])
}

/// The same where each test has a weight above 0. What only the ratios of the weights say counts.
#[must_use]
pub fn adjust_weighted(p: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let known = p.iter().map(|p| if p.is_nan() { 1.0 } else { *p });
    let shares: Vec<f64> = known.zip(weights).map(|(p, weight)| p / weight).collect();
    let order = ascending(&shares);
    // Sums run from the end, so that the last test is multiplied by its own weight exactly.
    let mut left = vec![0.0; order.len() + 1];
    for (position, (index, _)) in order.iter().enumerate().rev() {
        left[position] = left[position + 1] + weights[*index];
    }
    let mut floor = 0.0_f64;
    for (position, (index, share)) in order.into_iter().enumerate() {
        floor = floor.max(share * left[position]).min(1.0);
        adjusted[index] = floor;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_and_one() {
        assert!(adjust(&[]).is_empty());
        assert_eq!(adjust(&[0.03]), [0.03]);
    }

    #[test]
    fn the_textbook_steps() {
        // Sorted .0625, .125, .125, .5 are multiplied by 4, 3, 2, 1: .25, .375, .25, .5; then made monotone.
        assert_eq!(adjust(&[0.125, 0.0625, 0.5, 0.125]), [0.375, 0.25, 0.5, 0.375]);
        assert_eq!(adjust(&[0.5, 0.75]), [1.0, 1.0]);
    }

    #[test]
    fn a_test_of_twice_the_weight_needs_half_the_evidence() {
        // p over weight is .125, .25, .25; 2 + 1 + 1 are left, then 2, then 1.
        assert_eq!(adjust_weighted(&[0.25, 0.25, 0.25], &[2.0, 1.0, 1.0]), [0.5, 0.5, 0.5]);
        assert_eq!(adjust_weighted(&[0.125, 0.25, 0.5], &[2.0, 1.0, 1.0]), [0.25, 0.5, 0.5]);
        // Alone with all the weight that matters.
        let adjusted = adjust_weighted(&[0.03, 0.9, 0.9], &[1.0, 1e-9, 1e-9]);
        assert!((adjusted[0] - 0.03).abs() < 1e-6, "{adjusted:?}");
        // Only the ratios of the weights count.
        let (p, weights) = ([0.01, 0.02, 0.3, 0.04], [1.0, 0.25, 0.5, 1.0]);
        let twice = weights.map(|weight| 2.0 * weight);
        assert_eq!(adjust_weighted(&p, &weights), adjust_weighted(&p, &twice));
    }

    #[test]
    fn equal_tests_are_rejected_as_often_as_alpha_whatever_the_weights() {
        // If all hypotheses are true, the smallest p over its weight is rejected with probability 1 - prod(1 - alpha w
        // / sum), below alpha.
        let weights = [1.0, 1.0, 0.5, 0.25, 0.25];
        let steps = 400;
        let alpha = 0.05;
        let mut kept = 1.0;
        for (own, weight) in weights.iter().enumerate() {
            let rejected = (0..steps)
                .filter(|step| {
                    let mut p = [1.0; 5];
                    p[own] = (f64::from(*step) + 0.5) / f64::from(steps) * alpha;
                    adjust_weighted(&p, &weights)[own] <= alpha
                })
                .count() as f64;
            let share = rejected / f64::from(steps) * alpha;
            assert!((share - alpha * weight / 3.0).abs() < alpha / 100.0, "{share}");
            kept *= 1.0 - share;
        }
        assert!(1.0 - kept <= alpha);
    }

    #[test]
    fn a_missing_p_value_counts_as_a_test_without_evidence() {
        assert_eq!(adjust(&[f64::NAN, 0.25]), [1.0, 0.5]);
    }
}
