//! Benjamini and Hochberg's correction of p-values for multiple tests.
//!
//! Holds the expected share of false rejections among all rejections (the false discovery rate) at alpha, where the
//! tests are independent or positively dependent. It finds more than Holm's correction and promises less: of 20 reported
//! violations one may be false at 5 %, where Holm's correction makes one false violation in the whole run improbable.
//!
//! The p-values are sorted; the i-th smallest of m (from 1) is multiplied by m / i; then, from the largest down, each
//! becomes at most as large as the one after it.
//!
//! Sources: Benjamini and Hochberg, Journal of the Royal Statistical Society B 57(1):289-300, 1995,
//! doi:10.1111/j.2517-6161.1995.tb02031.x; positive dependence: Benjamini and Yekutieli, Annals of Statistics
//! 29(4):1165-1188, 2001, doi:10.1214/aos/1013699998.

use super::evidence::ascending;

/// The adjusted p-values, in the order given. O(m log m).
///
/// NaN means that a test gave no p-value: it still counts as a test and is adjusted to 1, which rejects nothing.
#[must_use]
pub fn adjust(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut ceiling = 1.0_f64;
    for (position, (index, evidence)) in ascending(p).into_iter().enumerate().rev() {
        ceiling = ceiling.min(evidence * p.len() as f64 / (position + 1) as f64);
        adjusted[index] = ceiling;
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
        // Sorted .0625, .125, .125, .5 times 4, 2, 4/3, 1: .25, .25, .1666, .5; then from the end downwards.
        let adjusted = adjust(&[0.125, 0.0625, 0.5, 0.125]);
        assert_eq!(adjusted, [0.125 * 4.0 / 3.0, 0.125 * 4.0 / 3.0, 0.5, 0.125 * 4.0 / 3.0]);
    }

    #[test]
    fn a_missing_p_value_counts_as_a_test_without_evidence() {
        assert_eq!(adjust(&[f64::NAN, 0.25]), [1.0, 0.5]);
    }
}
