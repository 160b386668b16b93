//! Split-robustness: a function must not be slower than the same data sent in k parts, A(n) <= k A(n / k).
//!
//! The times at hand only predict: k calls one after the other may be faster than k times one call (the pipeline stays
//! filled) or slower. [`split`] names one way to split each size; **measure each of them for real** (A(n) and k calls of
//! A(m) interleaved in the same launches) and judge it as an independent pair. The choice was made on other launches, so
//! that it biases nothing, and it does not depend on whether a violation is predicted, so that the number of hypotheses
//! is known from the start.
//!
//! Source: PGMPI (Hunold, Carpen-Amarie, Lübbe and Träff, Automatic Verification of Self-Consistent MPI Performance
//! Guidelines, Euro-Par 2016, doi:10.1007/978-3-319-43659-3_32): the smallest multiple of a measured size that reaches
//! n, a tolerance of 5 %, the largest such size. PGMPI reports predictions.

use std::collections::BTreeMap;

use crate::sample::Sample;

/// A size and the parts that it is to be compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitCandidate {
    /// The whole, in bytes.
    pub bytes: u64,
    /// The size of a part, in bytes: the largest for which a violation is predicted, else the one that comes nearest.
    pub part_bytes: u64,
    /// Number of parts that reach the whole: `bytes / part_bytes` rounded up, at least 2.
    pub parts: u64,
    /// Predicted ratio: median of the whole over `parts` times median of a part; infinite where the part took no time.
    pub predicted_ratio: f64,
    /// True if the ratio exceeds 1 by more than the tolerance.
    pub predicted: bool,
}

/// One split for each size of a function that has a smaller one, ascending. `sizes` maps bytes to the medians of the
/// launches, in seconds; `tolerance` is the fraction by which A(n) may exceed k A(m) before a violation is predicted
/// (the effect floor). Size 0 cannot be a part.
#[must_use]
pub fn split(sizes: &BTreeMap<u64, Sample>, tolerance: f64) -> Vec<SplitCandidate> {
    let medians: Vec<(u64, f64)> = sizes.iter().map(|(&bytes, sample)| (bytes, sample.median())).collect();
    let mut candidates = Vec::new();
    for (position, &(bytes, whole)) in medians.iter().enumerate() {
        let smaller = medians[..position]
            .iter()
            .rev()
            .filter(|(part_bytes, _)| *part_bytes > 0);
        let ways: Vec<SplitCandidate> = smaller
            .map(|&(part_bytes, part)| {
                let parts = bytes.div_ceil(part_bytes);
                let bound = parts as f64 * part;
                SplitCandidate {
                    bytes,
                    part_bytes,
                    parts,
                    // Two times of zero do not differ.
                    predicted_ratio: if whole == bound { 1.0 } else { whole / bound },
                    predicted: whole > bound * (1.0 + tolerance),
                }
            })
            .collect();
        let largest_predicted = ways.iter().find(|way| way.predicted);
        // Among equally near ways the one with the largest part is the simplest.
        let nearest = || {
            ways.iter()
                .rev()
                .max_by(|a, b| a.predicted_ratio.total_cmp(&b.predicted_ratio))
        };
        candidates.extend(largest_predicted.or_else(nearest));
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(medians: &[(u64, f64)]) -> Vec<(u64, u64, u64)> {
        let sample = |median: f64| Sample::new(vec![median]).unwrap();
        let sizes = medians.iter().map(|&(bytes, median)| (bytes, sample(median))).collect();
        split(&sizes, 0.05)
            .iter()
            .filter(|found| found.predicted)
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
        // If the largest part does not beat the whole, the next one does.
        let medians = [(64, 1.0), (256, 3.0), (512, 20.0), (1024, 30.0)];
        assert_eq!(candidates(&medians), [(512, 256, 2), (1024, 256, 4)]);
    }

    #[test]
    fn every_size_has_a_split_to_measure() {
        let sample = |values: &[f64]| Sample::new(values.to_vec()).unwrap();
        let sizes = BTreeMap::from([
            (0, sample(&[1.0])),
            (8, sample(&[1.0, 1.0, 90.0])),
            (16, sample(&[6.0, 6.0, 6.0])),
            (32, sample(&[1.5])),
            (64, sample(&[0.0])),
            (128, sample(&[1e-6])),
        ]);
        let found: Vec<_> = split(&sizes, 0.05)
            .iter()
            .map(|way| (way.bytes, way.part_bytes, way.parts, way.predicted_ratio, way.predicted))
            .collect();
        assert_eq!(
            found,
            [
                (16, 8, 2, 3.0, true),
                (32, 8, 4, 0.375, false),
                (64, 32, 2, 0.0, false),
                (128, 64, 2, f64::INFINITY, true),
            ]
        );
    }
}
