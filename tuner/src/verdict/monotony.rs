//! Monotony: a function must not get slower when it is asked for less, A(n) <= A(n + k).

use std::collections::BTreeMap;

use super::Pair;
use crate::stats::sample::Sample;

/// One function at two sizes. Violated means: the smaller size is slower.
#[derive(Debug, Clone, PartialEq)]
pub struct SizePair {
    /// The smaller size, in bytes: the left side.
    pub bytes: u64,
    /// The larger size, in bytes: the right side.
    pub right_bytes: u64,
    /// The samples.
    pub pair: Pair,
}

impl SizePair {
    fn new((bytes, left): (&u64, &Sample), (right_bytes, right): (&u64, &Sample)) -> SizePair {
        let pair = Pair {
            left: left.clone(),
            right: right.clone(),
        };
        SizePair {
            bytes: *bytes,
            right_bytes: *right_bytes,
            pair,
        }
    }
}

/// All pairs of adjacent sizes of one function, ascending. `sizes` maps bytes to the medians of the launches, in
/// seconds; fewer than two sizes give no pair.
#[must_use]
pub fn monotony(sizes: &BTreeMap<u64, Sample>) -> Vec<SizePair> {
    sizes
        .iter()
        .zip(sizes.iter().skip(1))
        .map(|(smaller, larger)| SizePair::new(smaller, larger))
        .collect()
}

/// Every size with every larger one, not only the next: finds a function that gets faster in steps too small to be
/// relevant one by one.
///
/// s sizes give s (s - 1) / 2 pairs, and each counts as a test in the correction for multiple tests.
#[must_use]
pub fn monotony_over_all(sizes: &BTreeMap<u64, Sample>) -> Vec<SizePair> {
    let mut pairs = Vec::new();
    for (position, smaller) in sizes.iter().enumerate() {
        pairs.extend(
            sizes
                .iter()
                .skip(position + 1)
                .map(|larger| SizePair::new(smaller, larger)),
        );
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::Outcome;
    use crate::verdict::{Rule, judge};

    fn sizes(medians: &[(u64, f64)]) -> BTreeMap<u64, Sample> {
        let sample =
            |median: f64| Sample::new((0..6).map(|i| median * (1.0 + 0.001 * f64::from(i))).collect()).unwrap();
        medians.iter().map(|&(bytes, median)| (bytes, sample(median))).collect()
    }

    fn violated(pairs: Vec<SizePair>) -> Vec<(u64, u64)> {
        let samples: Vec<Pair> = pairs.iter().map(|sizes| sizes.pair.clone()).collect();
        let verdicts = judge(&samples, &Rule::default());
        let violations = pairs
            .iter()
            .zip(verdicts)
            .filter(|(_, comparison)| comparison.verdict == Outcome::Violated);
        violations.map(|(sizes, _)| (sizes.bytes, sizes.right_bytes)).collect()
    }

    #[test]
    fn no_or_one_size_gives_no_pair() {
        assert!(monotony(&sizes(&[])).is_empty());
        assert!(monotony(&sizes(&[(8, 1.0)])).is_empty());
        assert!(monotony_over_all(&sizes(&[(8, 1.0)])).is_empty());
    }

    #[test]
    fn a_slow_single_byte_is_found_and_names_its_neighbour() {
        // MPI_Gather of Open MPI 4.1 on two ranks: 0.93 us for 1 byte, 0.33 us for 2.
        let gather = sizes(&[(8, 0.33e-6), (1, 0.93e-6), (4, 0.35e-6), (2, 0.33e-6)]);
        let pairs = monotony(&gather);
        assert_eq!(
            pairs
                .iter()
                .map(|pair| (pair.bytes, pair.right_bytes))
                .collect::<Vec<_>>(),
            [(1, 2), (2, 4), (4, 8)]
        );
        // The step from 4 to 8 bytes, 6 %, is as real in these times as the large one.
        assert_eq!(violated(pairs), [(1, 2), (4, 8)]);
    }

    #[test]
    fn small_steps_add_up_over_all_pairs_only() {
        let creeping = sizes(&[(1, 1.12), (2, 1.08), (4, 1.04), (8, 1.0)]);
        assert_eq!(violated(monotony(&creeping)), []);
        let pairs = monotony_over_all(&creeping);
        assert_eq!(pairs.len(), 6);
        assert_eq!(violated(pairs), [(1, 4), (1, 8), (2, 8)]);
    }
}
