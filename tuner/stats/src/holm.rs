//! Holm's correction of p-values for multiple tests.
//!
//! Holds the probability of one or more false rejections among all tests of a family at alpha, for any dependence
//! between the tests (guidelines share measurements, so they depend on each other), and rejects everything that
//! Bonferroni's correction rejects, and more.
//!
//! The p-values are sorted; the i-th smallest of m (from 0) is multiplied by m - i; then each becomes at least as large
//! as the one before it, and at most 1. A test is rejected at level alpha if its adjusted p-value is at most alpha.
//!
//! Source: Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics
//! 6(2):65-70, 1979.

use super::evidence::ascending;

/// The adjusted p-values, in the order given. O(m log m).
///
/// NaN means that a test gave no p-value: it still counts as a test and is adjusted to 1, which rejects nothing.
#[must_use]
pub fn adjust(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut floor = 0.0_f64;
    for (position, (index, evidence)) in ascending(p).into_iter().enumerate() {
        floor = floor.max(evidence * (p.len() - position) as f64).min(1.0);
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
    fn a_missing_p_value_counts_as_a_test_without_evidence() {
        assert_eq!(adjust(&[f64::NAN, 0.25]), [1.0, 0.5]);
    }
}
