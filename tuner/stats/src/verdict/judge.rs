//! The verdict on each pair of a run.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use rayon::prelude::*;

use super::{Rule, Test};
use crate::hodges_lehmann::{Interval, RatioEstimate, SHORTEST_SECONDS};
use crate::sample::Sample;
use crate::verdict::{Comparison, Outcome};
use crate::{pairs, signed_rank, unpaired};

/// Both sides of a guideline at one size: the median of each launch, in seconds. The i-th values come from one launch; sides that do
/// not share their launches are judged by [`Rule::unpaired`].
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The side that should not be slower.
    pub left: Sample,
    /// Times of the side that bounds the left one.
    pub right: Sample,
}

/// Ratios and confidences this close to a limit are at it: logarithms round, and the unit of the times must not decide.
const ROUNDING: f64 = 1e-9;

/// Judges all pairs of a run together, in the order given. The correction for multiple tests runs over exactly these
/// pairs, so every pair of the run must be among them. A run with monotony in it is one for
/// [`judge_families`](super::judge_families).
#[must_use]
pub fn judge(pairs: &[Pair], rule: &Rule) -> Vec<Comparison> {
    let p: Vec<f64> = pairs
        .par_iter()
        .map(|pair| rule.test.p_left_greater(&pair.left, &pair.right))
        .collect();
    let adjusted = rule.correction.adjust(&p);
    let intervals = Intervals::default();
    pairs
        .par_iter()
        .zip(p.into_par_iter().zip(adjusted))
        .map(|(pair, p)| {
            let conclusion = Conclusion::of(&pair.left, &pair.right, p, Bound::of_rule(rule), rule, &intervals);
            conclusion.comparison
        })
        .collect()
}

/// The condition under which samples exclude a relevant difference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    /// Confidence of the two-sided interval whose upper end counts; `None` excludes nothing.
    pub(super) confidence: Option<f64>,
    /// The one-sided confidence that the samples must reach for it.
    pub(super) needed: f64,
    /// True if a left side that is faster in every value holds even with fewer launches than that.
    pub(super) faster_holds: bool,
}

impl Bound {
    /// The bound of a single look. Only the upper end of the interval matters, so its one-sided confidence counts: the
    /// two-sided interval of three launches on each side has 0.9 and supports a bound at 0.95.
    pub(super) fn of_rule(rule: &Rule) -> Bound {
        Bound {
            confidence: Some(rule.confidence),
            needed: rule.confidence,
            faster_holds: true,
        }
    }
}

/// The ranks that bound intervals, by sizes and confidence. Each is worked out once, or once by each of the threads that need it first.
#[derive(Debug, Default)]
pub(super) struct Intervals(RwLock<BTreeMap<(usize, usize, u64), Interval>>);

impl Intervals {
    fn of_sizes(&self, n: usize, m: usize, confidence: f64) -> Interval {
        let key = (n, m, confidence.to_bits());
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        known.unwrap_or_else(|| {
            let interval = Interval::of_sizes(n, m, confidence);
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            all.insert(key, interval);
            interval
        })
    }

    fn estimate(&self, left: &Sample, right: &Sample, confidence: f64, test: Test) -> RatioEstimate {
        let (n, m) = (left.len(), right.len());
        let mut ranks = |confidence: f64| self.of_sizes(n, m, confidence);
        match test {
            Test::Pairs => pairs::estimate(left, right, confidence, &mut ranks),
            Test::SignedRank if n == m => {
                signed_rank::ratio(left, right, confidence).unwrap_or_else(|| ranks(confidence).estimate(left, right))
            }
            Test::SignedRank | Test::Unpaired => {
                unpaired::enclosing(ranks(confidence).estimate(left, right), left, right, confidence)
            }
            Test::RankSum | Test::BrunnerMunzel | Test::KolmogorovSmirnov => ranks(confidence).estimate(left, right),
            Test::Exact => {
                let ratio = left.median().max(SHORTEST_SECONDS) / right.median().max(SHORTEST_SECONDS);
                RatioEstimate {
                    ratio,
                    low: ratio,
                    high: ratio,
                    confidence: 1.0,
                }
            }
        }
    }
}

/// One pair, judged.
pub(super) struct Conclusion {
    pub(super) comparison: Comparison,
    /// True if the difference exceeds the floors, significant or not.
    pub(super) relevant: bool,
    /// True if the samples exclude a relevant difference, whatever the test says.
    pub(super) holds: bool,
}

impl Conclusion {
    /// `p`: as computed, and adjusted.
    pub(super) fn of(
        left: &Sample,
        right: &Sample,
        (p, p_adjusted): (f64, f64),
        bound: Bound,
        rule: &Rule,
        intervals: &Intervals,
    ) -> Conclusion {
        let estimate = intervals.estimate(left, right, rule.confidence, rule.test);
        let (left_seconds, right_seconds) = (left.median(), right.median());
        // Sides that are compared launch by launch get the ratio within the launches: medians of launches in two modes
        // say little.
        let ratio = if rule.test.is_paired() && left.len() == right.len() {
            estimate.ratio
        } else {
            left_seconds.max(SHORTEST_SECONDS) / right_seconds.max(SHORTEST_SECONDS)
        };
        let limit = 1.0 + rule.floor_fraction(right_seconds) + ROUNDING;
        let excluded = bound.confidence.is_some_and(|confidence| {
            let upper = if confidence == rule.confidence {
                estimate
            } else {
                intervals.estimate(left, right, confidence, rule.test)
            };
            let one_sided = f64::midpoint(1.0, upper.confidence);
            one_sided >= bound.needed - ROUNDING && upper.high <= limit
        });
        // Not slower, and nothing that was measured speaks for a relevant difference. A ratio below 1 alone says nothing
        // when launches differ by factors.
        let faster = ratio.max(estimate.ratio) <= 1.0 + ROUNDING && estimate.high <= limit;
        let holds = excluded || (bound.faster_holds && faster);
        let mut conclusion = Conclusion {
            comparison: Comparison {
                verdict: Outcome::Undecided,
                ratio,
                ratio_ci: (estimate.low, estimate.high),
                p,
                p_adjusted,
                seconds: left_seconds,
                right_seconds,
                left_medians: left.values().to_vec(),
                right_medians: right.values().to_vec(),
            },
            relevant: if rule.test.is_paired() && left.len() == right.len() {
                rule.is_relevant_ratio(ratio, right_seconds)
            } else {
                rule.is_relevant(left_seconds, right_seconds)
            },
            holds,
        };
        conclusion.comparison.verdict = if conclusion.is_violated(rule) {
            Outcome::Violated
        } else if holds {
            Outcome::Holds
        } else {
            Outcome::Undecided
        };
        conclusion
    }

    /// Significant and relevant.
    pub(super) fn is_violated(&self, rule: &Rule) -> bool {
        self.comparison.p_adjusted <= rule.alpha && self.relevant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(left: &[f64], right: &[f64]) -> Pair {
        Pair {
            left: Sample::new(left.to_vec()).unwrap(),
            right: Sample::new(right.to_vec()).unwrap(),
        }
    }

    /// Ten times around `center`, 1 % apart in all.
    fn around(center: f64) -> Vec<f64> {
        (0..10).map(|i| center * (0.995 + 0.001 * f64::from(i))).collect()
    }

    fn verdict(left: &[f64], right: &[f64], rule: &Rule) -> Outcome {
        judge(&[pair(left, right)], rule)[0].verdict
    }

    #[test]
    fn nothing_to_judge() {
        assert!(judge(&[], &Rule::default()).is_empty());
    }

    #[test]
    fn slower_beyond_doubt_is_violated_and_everything_is_filled() {
        let (left, mut right) = (around(2e-6), around(1e-6));
        right.reverse();
        let comparison = &judge(&[pair(&left, &right)], &Rule::default())[0];
        assert_eq!(comparison.verdict, Outcome::Violated);
        approx::assert_relative_eq!(comparison.ratio, 2.0, max_relative = 1e-12);
        approx::assert_relative_eq!(comparison.p, 2.0 / 184_756.0, max_relative = 1e-9);
        assert_eq!(comparison.p_adjusted, comparison.p);
        assert!(1.98 < comparison.ratio_ci.0 && comparison.ratio_ci.0 < 2.0);
        assert!(2.0 < comparison.ratio_ci.1 && comparison.ratio_ci.1 < 2.02);
        approx::assert_relative_eq!(comparison.seconds, 1.999e-6, max_relative = 1e-9);
        approx::assert_relative_eq!(comparison.right_seconds, 0.9995e-6, max_relative = 1e-9);
        assert_eq!((&comparison.left_medians, &comparison.right_medians), (&left, &right));
    }

    #[test]
    fn significant_but_irrelevant_holds() {
        let comparison = &judge(&[pair(&around(1.02e-3), &around(1e-3))], &Rule::default())[0];
        assert!(comparison.p_adjusted < 0.001);
        assert_eq!(comparison.verdict, Outcome::Holds);
    }

    #[test]
    fn within_the_noise_of_the_clock_holds() {
        let rule = Rule {
            noise_seconds: 1e-7,
            ..Rule::default()
        };
        assert_eq!(verdict(&around(1.1e-6), &around(1e-6), &rule), Outcome::Holds);
        assert_eq!(
            verdict(&around(1.1e-6), &around(1e-6), &Rule::default()),
            Outcome::Violated
        );
    }

    #[test]
    fn relevant_but_not_significant_is_undecided() {
        let left = [1.3e-6, 0.9e-6, 1.4e-6, 1.2e-6, 0.95e-6];
        let right = [1.0e-6, 1.25e-6, 0.9e-6, 1.1e-6, 0.93e-6];
        assert_eq!(verdict(&left, &right, &Rule::default()), Outcome::Undecided);
    }

    #[test]
    fn slower_by_about_the_floor_is_undecided() {
        let mut right = around(1e-3);
        right.reverse();
        let comparison = &judge(&[pair(&around(1.048e-3), &right)], &Rule::default())[0];
        assert!(comparison.p_adjusted < 0.001 && comparison.ratio < 1.05 && comparison.ratio_ci.1 > 1.05);
        assert_eq!(comparison.verdict, Outcome::Undecided);
    }

    #[test]
    fn faster_in_the_middle_of_chaos_is_undecided() {
        // Medians of launches on a machine that was busy with something else: ratio 0.83, interval 0.06 to 17.
        let left = [20152.99, 3.51, 60.6, 67.08, 3.52, 4.17, 3.71].map(|us| us * 1e-6);
        let right = [8130.7, 3.67, 54.76, 57.52, 3.72, 5.01, 3.93].map(|us| us * 1e-6);
        let rule = Rule {
            test: Test::RankSum,
            ..Rule::default()
        };
        let comparison = &judge(&[pair(&left, &right)], &rule)[0];
        assert!(comparison.ratio < 1.0 && comparison.ratio_ci.1 > 2.0, "{comparison:?}");
        assert_eq!(comparison.verdict, Outcome::Undecided);
        // Launch by launch one of seven was 2.5 times slower, and the others between 0.83 and 1.2.
        let paired = &judge(&[pair(&left, &right)], &Rule::default())[0];
        assert!(paired.ratio > 1.0 && paired.ratio_ci.1 > 1.5, "{paired:?}");
        assert_eq!(paired.verdict, Outcome::Undecided);
    }

    #[test]
    fn pairs_are_judged_by_the_ratio_within_their_launches() {
        // Launches that differ by a factor of five; the medians alone would say 1.03, which is irrelevant.
        let load = [1.0, 5.0, 2.0, 1.5, 3.0, 4.0, 1.2, 2.5, 1.8, 3.5, 1.1, 1.3];
        let own = [1.2, 1.21, 1.02, 1.2, 1.19, 1.22, 1.18, 1.2, 1.02, 1.2, 1.23, 1.2];
        let left: Vec<f64> = load.iter().zip(own).map(|(load, own)| load * own * 1e-4).collect();
        let right = load.map(|load| load * 1e-4);
        let comparison = &judge(&[pair(&left, &right)], &Rule::default())[0];
        assert_eq!(comparison.verdict, Outcome::Violated, "{comparison:?}");
        assert!((1.15..1.21).contains(&comparison.ratio) && comparison.ratio_ci.0 > 1.0);
        let blind = Rule {
            test: Test::Unpaired,
            ..Rule::default()
        };
        assert_eq!(verdict(&left, &right, &blind), Outcome::Undecided);
    }

    #[test]
    fn faster_holds_even_with_one_launch() {
        assert_eq!(verdict(&[1e-6], &[2e-6], &Rule::default()), Outcome::Holds);
    }

    #[test]
    fn one_or_two_launches_do_not_exclude_a_violation_but_three_do() {
        let (left, right) = ([1.01, 1.02, 1.015], [1.0, 1.001, 1.002]);
        assert_eq!(verdict(&left[..1], &right[..1], &Rule::default()), Outcome::Undecided);
        assert_eq!(verdict(&left[..2], &right[..2], &Rule::default()), Outcome::Undecided);
        assert_eq!(verdict(&left, &right, &Rule::default()), Outcome::Holds);
    }

    #[test]
    fn the_correction_runs_over_all_pairs() {
        // Five launches give p = 2/252 at best: significant alone and among 6, but not among 7.
        let slow = pair(&around(2.0)[..5], &around(1.0)[..5]);
        let fine = pair(&around(1.0)[..5], &around(1.0)[..5]);
        let outcome = |others: usize| {
            let mut pairs = vec![fine.clone(); others];
            pairs.push(slow.clone());
            judge(&pairs, &Rule::default())[others].verdict
        };
        assert_eq!(outcome(0), Outcome::Violated);
        assert_eq!(outcome(5), Outcome::Violated);
        assert_eq!(outcome(6), Outcome::Undecided);
    }

    #[test]
    fn a_simulated_time_of_zero() {
        let rule = Rule::default();
        assert_eq!(verdict(&[0.0; 5], &[0.0; 5], &rule), Outcome::Holds);
        assert_eq!(verdict(&[0.0; 5], &[1e-6; 5], &rule), Outcome::Holds);
        let comparison = &judge(&[pair(&[1e-6; 5], &[0.0; 5])], &rule)[0];
        assert_eq!(comparison.verdict, Outcome::Violated);
        approx::assert_relative_eq!(comparison.ratio, 1000.0, max_relative = 1e-9);
        let noisy = Rule {
            noise_seconds: 1e-6,
            ..rule
        };
        assert_eq!(verdict(&[1e-6; 5], &[0.0; 5], &noisy), Outcome::Holds);
    }

    #[test]
    fn exact_times_need_one_launch_and_the_floor_alone_decides() {
        let rule = Rule {
            test: Test::Exact,
            ..Rule::default()
        };
        let one = |left: f64, right: f64| judge(&[pair(&[left], &[right])], &rule)[0].clone();
        let slower = one(93e-6, 56e-6);
        assert_eq!(
            (slower.verdict, slower.p, slower.p_adjusted),
            (Outcome::Violated, 0.0, 0.0)
        );
        assert_eq!(slower.ratio_ci, (slower.ratio, slower.ratio));
        assert_eq!(one(1.06e-6, 1e-6).verdict, Outcome::Violated);
        assert_eq!(one(1.04e-6, 1e-6).verdict, Outcome::Holds);
        assert_eq!(one(1e-6, 1e-6).verdict, Outcome::Holds);
        assert_eq!(one(0.5e-6, 1e-6).verdict, Outcome::Holds);
        // However many cells there are: nothing is left to chance that would have to be corrected for.
        let many = vec![pair(&[1.2], &[1.0]); 2000];
        assert!(judge(&many, &rule).iter().all(|c| c.verdict == Outcome::Violated));
    }

    #[test]
    fn a_level_that_is_no_number_finds_no_violation() {
        let rule = Rule {
            alpha: f64::NAN,
            ..Rule::default()
        };
        assert_eq!(verdict(&around(2.0), &around(1.0), &rule), Outcome::Undecided);
    }
}
