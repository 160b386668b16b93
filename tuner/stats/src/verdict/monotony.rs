//! Monotony: a function must not get slower when it is asked for less, A(n) <= A(n + k) for every k.
//!
//! Testing each of s sizes against every larger one is s (s - 1) / 2 tests, 55 for eleven sizes and 210 for 21. In one
//! flat correction they drown each other and every other guideline of the run. Here **each smaller size is two
//! hypotheses**, so that the correction grows with s and not with its square:
//!
//! * *neighbour*: "not slower than the next size". Protocols switch between neighbours, so this is where most
//!   violations are, and it is tested at full strength.
//! * *beyond*: "not slower than any larger size". Its p-value is the smaller of two, by Bonferroni weighted with a quarter
//!   and three quarters:
//!   * *windows*: the size against the next 2, 4, 8, ... sizes (and all) **together**: paired with their geometric mean in each
//!     launch, and, for the half that takes sides as independent, against their pooled values. Small messages
//!     take nearly equal times, so that a window holds many times the launches of one size: it finds differences, and
//!     reaches significance levels, that no pair of R launches can.
//!   * *pairs*: the size against each single size beyond its neighbour, combined by Simes with weights 1/2, 1/3, ... by
//!     distance: finds one fast size among slow ones, and steps too small to be relevant one by one that add up.
//!
//!   Windows and pairs whose difference is not relevant are left out of the minimum, which can only raise it.
//!
//! *Why the pooled test is valid*: if monotony holds, the times at ascending sizes are stochastically ascending. Write
//! each as its quantile function of a uniform number: a smaller size's time can exceed a larger one's only where its
//! uniform number does. So the rank sum of the smaller size (and the Kolmogorov-Smirnov statistic) is at most that of
//! independent uniform numbers, whose distribution is the one that the test uses: equal times are the least favourable
//! case. The argument takes sizes as independent; what shifts a whole launch shifts both sides and cancels (shown by
//! simulation in `kilter validate-statistics`).
//!
//! *Why the mean in each launch is*: the log ratio of a size and a mean of others is symmetric where the noise of logarithms is. Where
//! it is skewed towards long times, as spikes and heavy tails are, the mean exceeds the middle of a single size, which errs on the side of fewer
//! alarms. (A median of the sizes would err on the other one.)
//!
//! Simes' combination holds the level for tests against a common side, which are positively dependent.
//!
//! Sources: Simes, Biometrika 73(3):751-754, 1986, doi:10.1093/biomet/73.3.751; positive dependence: Sarkar, Annals of
//! Statistics 26(2):494-504, 1998, doi:10.1214/aos/1028144846; weights: Benjamini and Hochberg, Scandinavian Journal of
//! Statistics 24(3):407-418, 1997, doi:10.1111/1467-9469.00072; union-intersection tests against several alternatives, with the same bound by the least favourable case, as
//! in Steel, A multiple comparison rank sum test: treatments versus control, Biometrics 15(4):560-572, 1959,
//! doi:10.2307/2527654; stochastic order by coupling: Lehmann, Annals of Mathematical Statistics
//! 26(3):399-419, 1955, doi:10.1214/aoms/1177728487.

use super::{Rule, Test};
use crate::hodges_lehmann::SHORTEST_SECONDS;
use crate::pairs;
use crate::sample::Sample;

/// Share of the *beyond* hypothesis that the windows get; the pairs get the rest.
const WINDOWS_SHARE: f64 = 0.25;

/// The p-values of one cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SizeTests {
    /// p-values of the hypotheses: the first right side and, if there are more, all of them together.
    pub(super) hypotheses: Vec<f64>,
    /// p-values of the left side against each right side alone, uncorrected.
    pub(super) pairs: Vec<f64>,
}

/// Tests a size against all larger ones, ascending. A pattern is the case of one right side.
pub(super) fn tests(left: &Sample, rights: &[(u64, &Sample)], rule: &Rule) -> SizeTests {
    let pairs: Vec<f64> = rights
        .iter()
        .map(|(_, right)| rule.test.p_left_greater(left, right))
        .collect();
    let mut hypotheses = vec![pairs[0]];
    if rights.len() > 1 {
        hypotheses.push(beyond(left, rights, &pairs, rule));
    }
    SizeTests { hypotheses, pairs }
}

/// The same from the p-values of each right side alone, without windows: for tests that know no pooled values.
pub(super) fn tests_of_pairs(left: &Sample, rights: &[(u64, &Sample)], pairs: Vec<f64>, rule: &Rule) -> SizeTests {
    let mut hypotheses = vec![pairs[0]];
    if rights.len() > 1 {
        hypotheses.push(simes(relevant_beyond(left, rights, &pairs, rule)));
    }
    SizeTests { hypotheses, pairs }
}

/// p-values and weights of the sizes beyond the neighbour that differ by something that matters.
fn relevant_beyond(left: &Sample, rights: &[(u64, &Sample)], pairs: &[f64], rule: &Rule) -> Vec<(f64, f64)> {
    let weights: Vec<f64> = (1..rights.len()).map(|index| 1.0 / (index + 1) as f64).collect();
    let whole: f64 = weights.iter().sum();
    (1..rights.len())
        .filter(|&index| rule.finds_relevant(left, rights[index].1))
        .map(|index| (pairs[index], weights[index - 1] / whole))
        .collect()
}

fn beyond(left: &Sample, rights: &[(u64, &Sample)], pairs: &[f64], rule: &Rule) -> f64 {
    let pair = simes(relevant_beyond(left, rights, pairs, rule));
    let widths = window_widths(rights.len());
    let window = widths
        .iter()
        .filter_map(|&width| p_of_window(left, &rights[..width], rule))
        .fold(1.0, f64::min)
        * widths.len() as f64;
    (window / WINDOWS_SHARE).min(pair / (1.0 - WINDOWS_SHARE)).min(1.0)
}

/// p-value of a size against several larger ones at once; `None` if the difference is not relevant.
fn p_of_window(left: &Sample, rights: &[(u64, &Sample)], rule: &Rule) -> Option<f64> {
    let values = rights.iter().flat_map(|(_, right)| right.values().iter().copied());
    let pooled = Sample::new(values.collect()).ok()?;
    let by_launch = rule
        .test
        .is_paired()
        .then(|| mean_in_each_launch(left, rights))
        .flatten();
    let compared = by_launch.as_ref().unwrap_or(&pooled);
    if !rule.finds_relevant(left, compared) {
        return None;
    }
    Some(match (rule.test, &by_launch) {
        (Test::Pairs, Some(by_launch)) => pairs::p_of_halves(left, by_launch, &pooled),
        _ => rule.test.p_left_greater(left, compared),
    })
}

/// The geometric mean of the sizes in each launch, where all of them have the launches of the left side.
fn mean_in_each_launch(left: &Sample, rights: &[(u64, &Sample)]) -> Option<Sample> {
    let share_launches = rights.iter().all(|(_, right)| right.len() == left.len());
    let mean = |launch: usize| {
        let logarithms = rights
            .iter()
            .map(|(_, right)| right.values()[launch].max(SHORTEST_SECONDS).ln());
        (logarithms.sum::<f64>() / rights.len() as f64).exp()
    };
    share_launches
        .then(|| Sample::new((0..left.len()).map(mean).collect()).ok())
        .flatten()
}

/// Simes' combination of p-values with their shares of the whole weight; what is missing to 1 belongs to p-values of 1.
fn simes(mut tests: Vec<(f64, f64)>) -> f64 {
    tests.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut combined, mut weight) = (1.0_f64, 0.0);
    for (p, share) in tests {
        weight += share;
        combined = combined.min(p / weight);
    }
    combined
}

/// 2, 4, 8, ... and all, of at least two sizes.
fn window_widths(sizes: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = std::iter::successors(Some(2_usize), |width| width.checked_mul(2))
        .take_while(|&width| width < sizes)
        .collect();
    widths.push(sizes);
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simes_weighs_and_adds_up() {
        approx::assert_relative_eq!(simes(vec![(0.01, 0.25)]), 0.04);
        approx::assert_relative_eq!(simes(vec![(0.02, 0.5), (0.01, 0.25)]), 0.02 / 0.75);
        assert_eq!(simes(Vec::new()), 1.0);
    }

    #[test]
    fn windows_double_and_end_with_all() {
        assert_eq!(window_widths(2), [2]);
        assert_eq!(window_widths(4), [2, 4]);
        assert_eq!(window_widths(11), [2, 4, 8, 11]);
    }

    #[test]
    fn a_plateau_proves_more_than_its_pairs() {
        let sample = |center: f64| Sample::new((0..10).map(|i| center + 0.001 * f64::from(i)).collect()).unwrap();
        let (slow, plateau) = (sample(1.2), sample(1.0));
        let rights: Vec<(u64, &Sample)> = (0..8).map(|bytes| (bytes, &plateau)).collect();
        let tests = super::tests(&slow, &rights, &Rule::default());
        assert_eq!(tests.hypotheses.len(), 2);
        // No pair of ten launches goes below 1 / C(20, 10).
        assert!(tests.pairs.iter().all(|&p| p > 5e-6));
        assert!(tests.hypotheses[1] < 1e-9, "{}", tests.hypotheses[1]);
    }
}
