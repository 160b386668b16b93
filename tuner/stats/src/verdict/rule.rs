//! The rule by which a cell is violated: level, floors, test and correction.

use serde::Serialize;
use thiserror::Error;

use super::Test;
use crate::hodges_lehmann::SHORTEST_SECONDS;
use crate::sample::Sample;
use crate::{benjamini_hochberg, holm, signed_rank};

/// The correction for multiple tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// [`holm`]: bounds the probability of even one false violation in the run.
    #[default]
    Holm,
    /// [`benjamini_hochberg`]: bounds the expected share of false ones among the reported violations.
    BenjaminiHochberg,
}

impl Correction {
    /// The adjusted p-values, in the order given.
    #[must_use]
    pub fn adjust(self, p: &[f64]) -> Vec<f64> {
        match self {
            Correction::Holm => holm::adjust(p),
            Correction::BenjaminiHochberg => benjamini_hochberg::adjust(p),
        }
    }

    /// The same where tests have weights above 0 that do not depend on their data.
    #[must_use]
    pub fn adjust_weighted(self, p: &[f64], weights: &[f64]) -> Vec<f64> {
        match self {
            Correction::Holm => holm::adjust_weighted(p, weights),
            Correction::BenjaminiHochberg => {
                // Genovese, Roeder and Wasserman 2006: weights of mean 1 divide the p-values.
                let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
                let shares: Vec<f64> = p.iter().zip(weights).map(|(p, weight)| p * mean / weight).collect();
                benjamini_hochberg::adjust(&shares)
            }
        }
    }
}

/// The rule by which a cell is violated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Probability of one or more false violations among all cells of a run (with [`Correction::BenjaminiHochberg`] the
    /// expected share of false ones among the violations), in (0, 1). Default 0.05.
    pub alpha: f64,
    /// Smallest difference that counts, as a fraction of the right side's median, at least 0. Default 0.05.
    pub effect_floor: f64,
    /// Variation of an empty operation in seconds, at least 0; twice this is the other floor. Default 0.
    pub noise_seconds: f64,
    /// Confidence of the interval of the ratio, in (0, 1). Default 0.95.
    pub confidence: f64,
    /// The test. Default [`Test::Pairs`].
    pub test: Test,
    /// The correction for multiple tests. Default [`Correction::Holm`].
    pub correction: Correction,
}

impl Default for Rule {
    fn default() -> Rule {
        Rule {
            alpha: 0.05,
            effect_floor: 0.05,
            noise_seconds: 0.0,
            confidence: 0.95,
            test: Test::Pairs,
            correction: Correction::Holm,
        }
    }
}

/// A field of a [`Rule`] that is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("`{field}` is {value}, allowed is a number {allowed}")]
pub struct RuleError {
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub value: f64,
    /// The range, in words.
    pub allowed: &'static str,
}

impl Rule {
    /// Checks every field, for rules that come from options or files. The error names the first field that is out of
    /// range.
    pub fn check(&self) -> Result<(), RuleError> {
        let fraction = |field, value: f64| {
            let error = RuleError {
                field,
                value,
                allowed: "above 0 and below 1",
            };
            if value > 0.0 && value < 1.0 { Ok(()) } else { Err(error) }
        };
        let size = |field, value: f64| {
            let error = RuleError {
                field,
                value,
                allowed: "of at least 0",
            };
            if value >= 0.0 && value.is_finite() {
                Ok(())
            } else {
                Err(error)
            }
        };
        fraction("alpha", self.alpha)?;
        size("effect_floor", self.effect_floor)?;
        size("noise_seconds", self.noise_seconds)?;
        fraction("confidence", self.confidence)
    }

    /// The rule for each of up to `looks` judgements of one run, with launches added in between: alpha / `looks`
    /// (Bonferroni), so that the probability of one or more false violations in all of them together stays at alpha. 0
    /// counts as 1.
    #[must_use]
    pub fn for_looks(&self, looks: usize) -> Rule {
        Rule {
            alpha: self.alpha / looks.max(1) as f64,
            ..*self
        }
    }

    /// The smallest relevant difference, in seconds, on top of a right side that takes `right_seconds`.
    #[must_use]
    pub fn floor_seconds(&self, right_seconds: f64) -> f64 {
        (self.effect_floor * right_seconds).max(2.0 * self.noise_seconds)
    }

    /// The same as a fraction of `right_seconds`: infinite where the right side takes no time but there is noise.
    #[must_use]
    pub fn floor_fraction(&self, right_seconds: f64) -> f64 {
        // Zero over zero is no noise on no time: the fraction is then the effect floor alone, and f64::max ignores NaN.
        self.effect_floor.max(2.0 * self.noise_seconds / right_seconds)
    }

    /// The rule for sides that do not share their launches.
    #[must_use]
    pub fn unpaired(&self) -> Rule {
        Rule {
            test: self.test.unpaired(),
            ..*self
        }
    }

    /// True if the left side exceeds the right one by more than the floor. A test of pairs compares by the ratio within
    /// the launches, the others by the medians.
    #[must_use]
    pub fn finds_relevant(&self, left: &Sample, right: &Sample) -> bool {
        let paired = self
            .test
            .is_paired()
            .then(|| signed_rank::estimate(left, right))
            .flatten();
        match paired {
            Some(ratio) => self.is_relevant_ratio(ratio, right.median()),
            None => self.is_relevant(left.median(), right.median()),
        }
    }

    /// True if `ratio` times `right_seconds` exceeds `right_seconds` by more than the floor.
    #[must_use]
    pub fn is_relevant_ratio(&self, ratio: f64, right_seconds: f64) -> bool {
        self.is_relevant(ratio * right_seconds.max(SHORTEST_SECONDS), right_seconds)
    }

    /// True if `left_seconds` exceeds `right_seconds` by more than the floor.
    #[must_use]
    pub fn is_relevant(&self, left_seconds: f64, right_seconds: f64) -> bool {
        left_seconds - right_seconds > self.floor_seconds(right_seconds)
    }
}

/// True if the times `after` a change are shorter than those `before` it by more than the rule's floors, and
/// significantly so. Times are in seconds, one per launch. The test is there because a cell at the edge of its bound
/// passes it by chance now and then.
#[must_use]
pub fn improves(before: &Sample, after: &Sample, rule: &Rule) -> bool {
    rule.is_relevant(before.median(), after.median()) && rule.test.p_left_greater(before, after) <= rule.alpha
}

/// True if every launch of the `slower` times takes longer than every launch of the `faster` ones, and the medians differ by more than the
/// fraction `margin` of the faster one. Chance alone brings the launches of equal times into this order in 1 of C(2n, n) cases: in 1 of 6 with
/// two launches each, in 1 of 20 with three, in 1 of 252 with five.
#[must_use]
pub fn is_beyond(slower: &Sample, faster: &Sample, margin: f64) -> bool {
    slower.min() > faster.max() && slower.median() > (1.0 + margin) * faster.median()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_floor_counts() {
        let rule = Rule {
            noise_seconds: 1e-7,
            ..Rule::default()
        };
        assert!(
            !rule.is_relevant(1.15e-6, 1e-6),
            "150 ns are within twice 100 ns of noise"
        );
        assert!(rule.is_relevant(1.25e-6, 1e-6));
        assert!(!rule.is_relevant(1.04e-3, 1e-3), "4 % are below the effect floor");
        assert!(rule.is_relevant(1.06e-3, 1e-3));
        approx::assert_relative_eq!(rule.floor_fraction(1e-6), 0.2);
        approx::assert_relative_eq!(rule.floor_fraction(1e-3), 0.05);
    }

    #[test]
    fn a_right_side_that_takes_no_time() {
        assert_eq!(Rule::default().floor_fraction(0.0), 0.05);
        assert_eq!(
            Rule {
                noise_seconds: 1e-9,
                ..Rule::default()
            }
            .floor_fraction(0.0),
            f64::INFINITY
        );
    }

    #[test]
    fn fields_out_of_range_are_named() {
        assert_eq!(Rule::default().check(), Ok(()));
        let wrong = [
            (
                "alpha",
                Rule {
                    alpha: 0.0,
                    ..Rule::default()
                },
            ),
            (
                "alpha",
                Rule {
                    alpha: f64::NAN,
                    ..Rule::default()
                },
            ),
            (
                "effect_floor",
                Rule {
                    effect_floor: -0.1,
                    ..Rule::default()
                },
            ),
            (
                "noise_seconds",
                Rule {
                    noise_seconds: f64::INFINITY,
                    ..Rule::default()
                },
            ),
            (
                "confidence",
                Rule {
                    confidence: 95.0,
                    ..Rule::default()
                },
            ),
        ];
        for (field, rule) in wrong {
            assert_eq!(rule.check().unwrap_err().field, field);
        }
        let text = Rule {
            confidence: 95.0,
            ..Rule::default()
        }
        .check()
        .unwrap_err()
        .to_string();
        assert_eq!(text, "`confidence` is 95, allowed is a number above 0 and below 1");
    }

    #[test]
    fn looks_share_alpha() {
        approx::assert_relative_eq!(Rule::default().for_looks(5).alpha, 0.01);
        assert_eq!(Rule::default().for_looks(0), Rule::default());
    }

    const RULE: Rule = Rule {
        alpha: 0.05,
        effect_floor: 0.05,
        noise_seconds: 1e-7,
        confidence: 0.95,
        test: Test::RankSum,
        correction: Correction::Holm,
    };

    /// Five launches that differ by 1 % around so many microseconds.
    fn launches(microseconds: f64) -> Sample {
        let times = [0.99, 0.995, 1.0, 1.005, 1.01].map(|factor| factor * microseconds * 1e-6);
        Sample::new(times.to_vec()).unwrap()
    }

    #[test]
    fn a_cell_at_the_edge_that_passes_by_chance_is_not_improved() {
        // Bound 100 us, floor 5 %: 106 us are violated, 104 us are not, and nothing happened.
        assert!(!improves(&launches(106.0), &launches(104.0), &RULE));
        assert!(improves(&launches(106.0), &launches(90.0), &RULE));
        assert!(!improves(&launches(90.0), &launches(106.0), &RULE));
    }

    #[test]
    fn a_faster_median_among_launches_that_overlap_is_not_improved() {
        let before = Sample::new(vec![100e-6, 101e-6, 150e-6, 151e-6, 152e-6]).unwrap();
        let after = Sample::new(vec![99e-6, 100e-6, 102e-6, 150e-6, 151e-6]).unwrap();
        assert!(!improves(&before, &after, &RULE));
    }

    #[test]
    fn less_than_the_clock_tells_is_not_improved() {
        assert!(!improves(&launches(1.10), &launches(1.0), &RULE));
        assert!(improves(&launches(1.30), &launches(1.0), &RULE));
    }
}
