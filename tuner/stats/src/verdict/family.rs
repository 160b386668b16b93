//! Judges all cells of a run together: pairs that stand for themselves, and functions whose sizes belong together.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::judge::{Bound, Conclusion, Intervals, Pair};
use super::monotony::SizeTests;
use super::{Rule, Test, monotony};
use crate::sample::Sample;
use crate::verdict::{Comparison, Outcome};

/// Cells that are tested together.
#[derive(Debug, Clone, PartialEq)]
pub enum Family {
    /// Pattern and split cells: one hypothesis each, whatever the others are.
    Independent(Vec<Pair>),
    /// One function at all its sizes (bytes to the medians of the launches, in seconds): a cell for each size but the
    /// largest, "this size is not slower than any larger one". The i-th values of samples of one length come from one launch. See
    /// [`monotony`].
    Monotony(BTreeMap<u64, Sample>),
}

impl Family {
    /// Number of cells: pairs, or all sizes but the largest.
    #[must_use]
    pub fn cells(&self) -> usize {
        match self {
            Family::Independent(pairs) => pairs.len(),
            Family::Monotony(sizes) => sizes.len().saturating_sub(1),
        }
    }

    /// Number of hypotheses that the correction counts: one per pair; two per size (its neighbour, and all beyond), one
    /// for the last but one.
    #[must_use]
    pub fn hypotheses(&self) -> usize {
        match self {
            Family::Independent(pairs) => pairs.len(),
            Family::Monotony(sizes) => Family::hypotheses_of_monotony(sizes.len()),
        }
    }

    /// Number of hypotheses that a function measured at so many sizes adds.
    #[must_use]
    pub const fn hypotheses_of_monotony(sizes: usize) -> usize {
        (2 * sizes).saturating_sub(3)
    }

    pub(super) fn views(&self) -> Vec<CellView<'_>> {
        match self {
            Family::Independent(pairs) => pairs
                .iter()
                .map(|pair| CellView {
                    bytes: None,
                    left: &pair.left,
                    rights: vec![(0, &pair.right)],
                })
                .collect(),
            Family::Monotony(sizes) => sizes
                .iter()
                .enumerate()
                .take(self.cells())
                .map(|(position, (bytes, left))| CellView {
                    bytes: Some(*bytes),
                    left,
                    rights: sizes
                        .iter()
                        .skip(position + 1)
                        .map(|(bytes, right)| (*bytes, right))
                        .collect(),
                })
                .collect(),
        }
    }
}

/// The verdict on one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The evidence; for a size against all larger ones that of the pair named by `sizes`.
    pub comparison: Comparison,
    /// The compared sizes; only monotony has them.
    pub sizes: Option<Sizes>,
}

/// The sizes of a monotony cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// The smaller size, in bytes: the left side.
    pub bytes: u64,
    /// The larger size that is violated most clearly (smallest p-value, then largest ratio), or comes nearest to it.
    pub right_bytes: u64,
    /// Larger sizes that are violated on their own, ascending. Each is corrected over the hypotheses of the run and, by
    /// Bonferroni, over the larger sizes. Empty in a violated cell that only its sizes together prove.
    pub violated: Vec<u64>,
}

/// One side and everything that bounds it.
pub(super) struct CellView<'a> {
    pub(super) bytes: Option<u64>,
    pub(super) left: &'a Sample,
    /// Bytes and samples, never empty.
    pub(super) rights: Vec<(u64, &'a Sample)>,
}

impl CellView<'_> {
    /// Launches that every sample of the cell has.
    pub(super) fn launches(&self) -> usize {
        self.rights
            .iter()
            .map(|(_, right)| right.len())
            .min()
            .unwrap_or(0)
            .min(self.left.len())
    }

    /// Confidence that the ratios' intervals reach where `confidence` is asked for. It depends on the numbers of launches alone.
    pub(super) fn reached_confidence(&self, confidence: f64, test: Test) -> f64 {
        let launches = self.left.len();
        if self.rights.iter().all(|(_, right)| right.len() == launches) {
            test.reached_confidence(launches, confidence)
        } else {
            confidence
        }
    }

    pub(super) fn tests(&self, rule: &Rule) -> SizeTests {
        monotony::tests(self.left, &self.rights, rule)
    }

    /// Draws the conclusion from the adjusted p-values of the cell's hypotheses. `family` is the number of hypotheses of
    /// the run.
    pub(super) fn conclude(
        &self,
        tests: &SizeTests,
        adjusted: &[f64],
        family: usize,
        bound: Bound,
        rule: &Rule,
        intervals: &Intervals,
    ) -> Judged {
        let conclusions: Vec<Conclusion> = (0..self.rights.len())
            .map(|index| {
                // The windows of what lies beyond include the neighbour.
                let hypothesis = if index > 0 || adjusted.get(1).is_some_and(|beyond| *beyond < adjusted[0]) {
                    adjusted.len() - 1
                } else {
                    0
                };
                Conclusion::of(
                    self.left,
                    self.rights[index].1,
                    (tests.hypotheses[hypothesis], adjusted[hypothesis]),
                    bound,
                    rule,
                    intervals,
                )
            })
            .collect();
        let relevant = |index: usize| conclusions[index].relevant;
        let clearer = |a: &usize, b: &usize| {
            let by_p = tests.pairs[*a].total_cmp(&tests.pairs[*b]);
            by_p.then(
                conclusions[*b]
                    .comparison
                    .ratio
                    .total_cmp(&conclusions[*a].comparison.ratio),
            )
        };
        let all = 0..self.rights.len();
        let violated = all
            .clone()
            .filter(|&index| conclusions[index].is_violated(rule))
            .min_by(clearer);
        let suspect = || all.clone().filter(|&index| relevant(index)).min_by(clearer);
        let named = violated
            .or_else(suspect)
            .or_else(|| all.clone().min_by(clearer))
            .unwrap_or(0);
        let mut comparison = conclusions[named].comparison.clone();
        comparison.verdict = if violated.is_some() {
            Outcome::Violated
        } else if conclusions.iter().all(|conclusion| conclusion.holds) {
            Outcome::Holds
        } else {
            Outcome::Undecided
        };
        let each = (self.rights.len() * family) as f64;
        let sizes = self.bytes.map(|bytes| Sizes {
            bytes,
            right_bytes: self.rights[named].0,
            violated: all
                .filter(|&index| violated.is_some() && tests.pairs[index] * each <= rule.alpha && relevant(index))
                .map(|index| self.rights[index].0)
                .collect(),
        });
        Judged { comparison, sizes }
    }
}

/// Judges all cells of a run together: for each family, in the order given, its cells in the order of its pairs or
/// ascending sizes. The correction for multiple tests runs over exactly these families, so every cell of the run must be
/// among them.
#[must_use]
pub fn judge_families(families: &[Family], rule: &Rule) -> Vec<Vec<Judged>> {
    let views: Vec<Vec<CellView<'_>>> = families.iter().map(Family::views).collect();
    let cells: Vec<&CellView<'_>> = views.iter().flatten().collect();
    let tests: Vec<SizeTests> = cells.par_iter().map(|cell| cell.tests(rule)).collect();
    let p: Vec<f64> = tests
        .iter()
        .flat_map(|tests| tests.hypotheses.iter().copied())
        .collect();
    let adjusted = rule.correction.adjust(&p);
    let mut rest = &adjusted[..];
    let own: Vec<&[f64]> = tests
        .iter()
        .map(|tests| {
            let (own, others) = rest.split_at(tests.hypotheses.len());
            rest = others;
            own
        })
        .collect();
    let intervals = Intervals::default();
    let judged: Vec<Judged> = cells
        .par_iter()
        .zip(tests.par_iter().zip(own))
        .map(|(cell, (tests, own))| cell.conclude(tests, own, p.len(), Bound::of_rule(rule), rule, &intervals))
        .collect();
    let mut judged = judged.into_iter();
    views
        .iter()
        .map(|cells| judged.by_ref().take(cells.len()).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::judge;

    fn sizes(medians: &[(u64, f64)]) -> Family {
        let sample =
            |median: f64| Sample::new((0..10).map(|i| median * (1.0 + 0.001 * f64::from(i))).collect()).unwrap();
        Family::Monotony(medians.iter().map(|&(bytes, median)| (bytes, sample(median))).collect())
    }

    fn violated(family: Family) -> Vec<(u64, u64, Vec<u64>)> {
        let judged = judge_families(&[family], &Rule::default());
        judged[0]
            .iter()
            .filter(|judged| judged.comparison.verdict == Outcome::Violated)
            .map(|judged| judged.sizes.clone().unwrap())
            .map(|sizes| (sizes.bytes, sizes.right_bytes, sizes.violated))
            .collect()
    }

    #[test]
    fn no_or_one_size_gives_no_cell() {
        for few in [&[][..], &[(8, 1.0)][..]] {
            let family = sizes(few);
            assert_eq!((family.cells(), family.hypotheses()), (0, 0));
            assert_eq!(judge_families(&[family], &Rule::default()), [vec![]]);
        }
        let family = sizes(&[(1, 1.0), (2, 1.0), (4, 1.0)]);
        assert_eq!((family.cells(), family.hypotheses()), (2, 3));
    }

    #[test]
    fn a_slow_single_byte_is_found_and_names_what_it_exceeds() {
        // MPI_Gather of Open MPI 4.1 on two ranks: 0.93 us for 1 byte, 0.33 us for 2.
        let gather = sizes(&[(8, 0.34e-6), (1, 0.93e-6), (4, 0.33e-6), (2, 0.33e-6)]);
        assert_eq!(violated(gather), [(1, 2, vec![2, 4, 8])]);
    }

    #[test]
    fn steps_below_the_floor_add_up() {
        let creeping = sizes(&[(1, 1.12), (2, 1.08), (4, 1.04), (8, 1.0)]);
        assert_eq!(violated(creeping), [(1, 8, vec![4, 8]), (2, 8, vec![8])]);
        let fine = judge_families(&[sizes(&[(1, 1.0), (2, 1.02), (4, 1.0), (8, 3.0)])], &Rule::default());
        assert!(fine[0].iter().all(|judged| judged.comparison.verdict == Outcome::Holds));
    }

    #[test]
    fn a_dip_behind_larger_times_is_found() {
        assert_eq!(
            violated(sizes(&[(1, 1.0), (2, 2.0), (4, 0.8), (8, 4.0)])),
            [(1, 4, vec![4]), (2, 4, vec![4])]
        );
    }

    #[test]
    fn pairs_alone_are_judged_as_before() {
        let sample = |center: f64| Sample::new((0..8).map(|i| center + 0.01 * f64::from(i)).collect()).unwrap();
        let pairs: Vec<Pair> = [1.0, 1.5, 0.5]
            .map(|left| Pair {
                left: sample(left),
                right: sample(1.0),
            })
            .to_vec();
        let judged = judge_families(&[Family::Independent(pairs.clone())], &Rule::default());
        let comparisons: Vec<Comparison> = judged[0].iter().map(|judged| judged.comparison.clone()).collect();
        assert_eq!(comparisons, judge(&pairs, &Rule::default()));
    }
}
