//! Split-robustness: a function must not be slower than the same data sent in k parts, A(n) <= k A(n / k).
//!
//! The times at hand only predict a violation: k calls one after the other may be faster than k times one call (the
//! pipeline stays filled) or slower. The candidates returned here are for measuring the k calls for real before
//! anything is reported.
//!
//! Source: PGMPI (Hunold, Carpen-Amarie, Lübbe and Träff, Automatic Verification of Self-Consistent MPI Performance
//! Guidelines, Euro-Par 2016, doi:10.1007/978-3-319-43659-3_32): the smallest multiple of a measured size that reaches
//! n, a tolerance of 5 %, the largest such size.

use std::collections::BTreeMap;

use crate::stats::sample::Sample;

/// By how much A(n) may exceed k A(m) before a violation is predicted, as a fraction.
pub const TOLERANCE: f64 = 0.05;

/// A predicted violation, to be measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitCandidate {
    /// The whole, in bytes.
    pub bytes: u64,
    /// The size of a part, in bytes: the largest for which a violation is predicted.
    pub part_bytes: u64,
    /// How many parts reach the whole: `bytes / part_bytes` rounded up, at least 2.
    pub parts: u64,
    /// Predicted ratio: median of the whole over `parts` times median of a part; infinite where the part took no time.
    pub predicted_ratio: f64,
}

/// The predicted violations of one function, at most one per size, ascending. `sizes` maps bytes to the medians of the
/// launches, in seconds. Size 0 cannot be a part.
#[must_use]
pub fn split(sizes: &BTreeMap<u64, Sample>) -> Vec<SplitCandidate> {
    let medians: Vec<(u64, f64)> = sizes.iter().map(|(&bytes, sample)| (bytes, sample.median())).collect();
    let candidate = |position: usize| {
        let (bytes, whole) = medians[position];
        let smaller = medians[..position]
            .iter()
            .rev()
            .filter(|(part_bytes, _)| *part_bytes > 0);
        smaller
            .map(|&(part_bytes, part)| {
                let parts = bytes.div_ceil(part_bytes);
                (part_bytes, parts, parts as f64 * part)
            })
            .find(|&(_, _, bound)| whole > bound * (1.0 + TOLERANCE))
            .map(|(part_bytes, parts, bound)| SplitCandidate {
                bytes,
                part_bytes,
                parts,
                predicted_ratio: whole / bound,
            })
    };
    (0..medians.len()).filter_map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(medians: &[(u64, f64)]) -> Vec<(u64, u64, u64)> {
        let sample = |median: f64| Sample::new(vec![median]).unwrap();
        let sizes = medians.iter().map(|&(bytes, median)| (bytes, sample(median))).collect();
        split(&sizes)
            .iter()
            .map(|found| (found.bytes, found.part_bytes, found.parts))
            .collect()
    }

    #[test]
    fn nothing_to_split() {
        assert_eq!(candidates(&[]), []);
        assert_eq!(candidates(&[(8, 1.0)]), []);
        assert_eq!(candidates(&[(0, 1.0), (8, 1000.0)]), []);
    }

    #[test]
    fn the_tolerance_is_five_percent_not_twice_the_time() {
        assert_eq!(candidates(&[(100, 1.0), (200, 2.09)]), []);
        assert_eq!(candidates(&[(100, 1.0), (200, 2.11)]), [(200, 100, 2)]);
        // Half as slow again, which a threshold of 2.05 would miss.
        assert_eq!(candidates(&[(100, 1.0), (200, 3.0)]), [(200, 100, 2)]);
    }

    #[test]
    fn parts_are_rounded_up() {
        assert_eq!(candidates(&[(100, 1.0), (201, 3.1)]), []);
        assert_eq!(candidates(&[(100, 1.0), (201, 3.2)]), [(201, 100, 3)]);
    }

    #[test]
    fn the_largest_part_is_reported_not_the_first_or_the_fastest() {
        // 16 parts of 64, 4 of 256 and 2 of 512 all beat the whole; 2 of 512 is the simplest way.
        let medians = [(64, 1.0), (256, 3.0), (512, 9.0), (1024, 40.0)];
        assert_eq!(candidates(&medians), [(512, 256, 2), (1024, 512, 2)]);
        // Where the largest does not beat it, the next one does.
        let medians = [(64, 1.0), (256, 3.0), (512, 20.0), (1024, 30.0)];
        assert_eq!(candidates(&medians), [(512, 256, 2), (1024, 256, 4)]);
    }

    #[test]
    fn the_prediction_is_a_ratio_of_medians() {
        let sample = |values: &[f64]| Sample::new(values.to_vec()).unwrap();
        let sizes = BTreeMap::from([
            (8, sample(&[1.0, 1.0, 90.0])),
            (16, sample(&[6.0, 6.0, 6.0])),
            (32, sample(&[0.0])),
        ]);
        assert_eq!(
            split(&sizes),
            [SplitCandidate {
                bytes: 16,
                part_bytes: 8,
                parts: 2,
                predicted_ratio: 3.0
            }]
        );
        let sizes = BTreeMap::from([(8, sample(&[0.0])), (16, sample(&[1e-6]))]);
        assert_eq!(split(&sizes)[0].predicted_ratio, f64::INFINITY);
    }
}
