//! The tests of "the left side is slower", one row each.

use serde::Serialize;

use crate::hodges_lehmann::Interval;
use crate::sample::Sample;
use crate::{brunner_munzel, kolmogorov_smirnov, pairs, rank_sum, signed_rank, unpaired};

/// The test of "the left side is slower".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Signed ranks of the ratios within the launches, or the test of unpaired sides, at half of the level each
    /// ([`pairs`]). Use it if both sides share their launches: the i-th values of both must come from one launch. Sides
    /// of unequal length are not paired.
    #[default]
    Pairs,
    /// Rank sum and trimmed Welch test, both of which must reject ([`unpaired`]). Use it if the sides do not share
    /// their launches.
    Unpaired,
    /// The signed-rank test of the ratios within each launch ([`signed_rank`]) alone. Reaches 2^-n where the others
    /// reach 1 / C(2n, n): needs 14 launches for 800 hypotheses. Sides of unequal length get [`Test::Unpaired`].
    SignedRank,
    /// Wilcoxon's rank-sum test ([`rank_sum`]) alone: takes the sides as independent and their spreads as equal.
    RankSum,
    /// Brunner's and Munzel's test, permuted ([`brunner_munzel`]): takes the sides as independent.
    BrunnerMunzel,
    /// The Kolmogorov-Smirnov test ([`kolmogorov_smirnov`]): independent sides; sees differences of shape too.
    KolmogorovSmirnov,
    /// No test: the times are exact, as a simulated clock's are. The left side is slower or it is not, and p is 0 or 1; whether that
    /// matters is for the effect floor alone.
    Exact,
}

impl Test {
    /// Every test that a user may choose on a machine whose times vary.
    pub const ALL: [Test; 6] = [
        Test::Pairs,
        Test::Unpaired,
        Test::SignedRank,
        Test::RankSum,
        Test::BrunnerMunzel,
        Test::KolmogorovSmirnov,
    ];

    /// Name in tables and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Test::Pairs => "pairs",
            Test::Unpaired => "unpaired",
            Test::SignedRank => "signed-rank",
            Test::RankSum => "rank-sum",
            Test::BrunnerMunzel => "brunner-munzel",
            Test::KolmogorovSmirnov => "kolmogorov-smirnov",
            Test::Exact => "exact",
        }
    }

    /// The one-sided p-value. In (0, 1] wherever a test is exact; 0 or 1 where the times are.
    #[must_use]
    pub fn p_left_greater(self, left: &Sample, right: &Sample) -> f64 {
        match self {
            Test::Pairs => pairs::p_left_greater(left, right),
            Test::Unpaired => unpaired::p_left_greater(left, right),
            Test::SignedRank => {
                signed_rank::p_left_greater(left, right).unwrap_or_else(|| unpaired::p_left_greater(left, right))
            }
            Test::RankSum => rank_sum::p_left_greater(left, right),
            Test::BrunnerMunzel => brunner_munzel::p_left_greater(left, right),
            Test::KolmogorovSmirnov => kolmogorov_smirnov::p_left_greater(left, right),
            Test::Exact => f64::from(left.median() <= right.median()),
        }
    }

    /// The smallest p-value that this many launches on each side can give.
    #[must_use]
    pub fn smallest_p(self, launches: usize) -> f64 {
        match self {
            Test::Pairs => pairs::smallest_p(launches),
            Test::Unpaired => unpaired::smallest_p(launches, launches),
            Test::RankSum | Test::KolmogorovSmirnov => rank_sum::smallest_p(launches, launches),
            Test::BrunnerMunzel => brunner_munzel::smallest_p(launches, launches),
            Test::SignedRank => signed_rank::smallest_p(launches),
            Test::Exact => 0.0,
        }
    }

    /// The confidence that an interval of this many launches on each side reaches where `confidence` is asked for: the next one that their ranks have.
    #[must_use]
    pub fn reached_confidence(self, launches: usize, confidence: f64) -> f64 {
        match self {
            Test::Pairs => pairs::reached(launches, confidence),
            Test::SignedRank => signed_rank::reached(launches, confidence),
            Test::Unpaired | Test::RankSum | Test::BrunnerMunzel | Test::KolmogorovSmirnov => {
                Interval::of_sizes(launches, launches, confidence).confidence()
            }
            Test::Exact => 1.0,
        }
    }

    /// True if the test, and the reported ratio, compare sides of one length launch by launch.
    #[must_use]
    pub fn is_paired(self) -> bool {
        matches!(self, Test::Pairs | Test::SignedRank)
    }

    /// The test for sides that do not share their launches: this one, or, of one that pairs, [`Test::Unpaired`].
    #[must_use]
    pub fn unpaired(self) -> Test {
        if self.is_paired() { Test::Unpaired } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_launches_reach_the_smallest_p() {
        let sample = |center: f64, n: usize| Sample::new((0..n).map(|i| center + 1e-3 * i as f64).collect()).unwrap();
        for test in Test::ALL {
            for launches in [1, 2, 5, 10, 20] {
                let p = test.p_left_greater(&sample(2.0, launches), &sample(1.0, launches));
                approx::assert_relative_eq!(p, test.smallest_p(launches), max_relative = 1e-6);
            }
        }
    }

    #[test]
    fn only_tests_of_pairs_have_another_one_for_what_is_not_paired() {
        for test in Test::ALL {
            assert_eq!(test.unpaired() == test, !test.is_paired());
            assert!(!test.unpaired().is_paired());
        }
    }
}
