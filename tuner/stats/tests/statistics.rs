//! The statistics against other people's: SciPy's golden values, published examples, full enumeration, and properties.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use approx::assert_relative_eq;
use kilter_stats::sample::Sample;
use kilter_stats::{
    benjamini_hochberg, brunner_munzel, describe, hodges_lehmann, holm, kendall, kolmogorov_smirnov, pairs, rank_sum,
    signed_rank, unpaired, yuen,
};
use proptest::prelude::*;
use serde::Deserialize;

fn sample(values: &[f64]) -> Sample {
    Sample::new(values.to_vec()).unwrap()
}

/// Written by `scripts/golden-statistics.py`.
#[derive(Deserialize)]
struct Golden {
    rank_sum: Vec<TwoSamples>,
    ratio: Vec<Ratio>,
    holm: Vec<Adjusted>,
    describe: Vec<Describe>,
    benjamini_hochberg: Vec<Adjusted>,
    kolmogorov_smirnov: Vec<TwoSamples>,
    trend: Vec<Trend>,
    signed_rank: Vec<TwoSamples>,
    brunner_munzel: Vec<Studentised>,
    brunner_munzel_permuted: Vec<TwoSamples>,
    yuen: Vec<TwoSamples>,
}

#[derive(Deserialize)]
struct Studentised {
    name: String,
    left: Vec<f64>,
    right: Vec<f64>,
    statistic: f64,
    p: f64,
}

#[derive(Deserialize)]
struct TwoSamples {
    name: String,
    left: Vec<f64>,
    right: Vec<f64>,
    p: f64,
}

#[derive(Deserialize)]
struct Ratio {
    name: String,
    left: Vec<f64>,
    right: Vec<f64>,
    confidence: f64,
    ratio: f64,
    low: f64,
    high: f64,
}

#[derive(Deserialize)]
struct Adjusted {
    p: Vec<f64>,
    adjusted: Vec<f64>,
}

#[derive(Deserialize)]
struct Describe {
    values: Vec<f64>,
    quantiles: Vec<(f64, f64)>,
    relative_standard_error: f64,
    interquartile_range: f64,
}

#[derive(Deserialize)]
struct Trend {
    values: Vec<f64>,
    p: f64,
    slope: f64,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/statistics.json")).unwrap()
}

#[test]
fn rank_sums_agree_with_scipy() {
    let cases = golden().rank_sum;
    assert!(cases.len() > 50);
    for case in cases {
        let (left, right) = (sample(&case.left), sample(&case.right));
        let p = rank_sum::p_left_greater(&left, &right);
        assert!(
            (p - case.p).abs() <= 1e-10 * case.p,
            "{}: {p} instead of {}",
            case.name,
            case.p
        );
        let exact = !case.name.starts_with("asymptotic");
        assert_eq!(rank_sum::is_exact(left.len(), right.len()), exact, "{}", case.name);
    }
}

#[test]
fn ratios_and_intervals_agree_with_scipys_test_turned_round() {
    for case in golden().ratio {
        let estimate = hodges_lehmann::ratio(&sample(&case.left), &sample(&case.right), case.confidence);
        for (what, ours, theirs) in [
            ("ratio", estimate.ratio, case.ratio),
            ("low", estimate.low, case.low),
            ("high", estimate.high, case.high),
        ] {
            assert!(
                (ours - theirs).abs() <= 1e-12 * theirs,
                "{}: {what} is {ours} instead of {theirs}",
                case.name
            );
        }
    }
}

#[test]
fn holm_agrees_with_statsmodels() {
    for case in golden().holm {
        for (ours, theirs) in holm::adjust(&case.p).iter().zip(&case.adjusted) {
            assert_relative_eq!(ours, theirs, max_relative = 1e-12);
        }
    }
}

#[test]
fn benjamini_hochberg_agrees_with_statsmodels() {
    for case in golden().benjamini_hochberg {
        for (ours, theirs) in benjamini_hochberg::adjust(&case.p).iter().zip(&case.adjusted) {
            assert_relative_eq!(ours, theirs, max_relative = 1e-12);
        }
    }
}

#[test]
fn kolmogorov_smirnov_agrees_with_scipy() {
    let cases = golden().kolmogorov_smirnov;
    assert!(cases.len() > 40);
    for case in cases {
        let (left, right) = (sample(&case.left), sample(&case.right));
        let p = kolmogorov_smirnov::p_left_greater(&left, &right);
        assert!(
            (p - case.p).abs() <= 1e-10 * case.p,
            "{}: {p} instead of {}",
            case.name,
            case.p
        );
        let exact = !case.name.starts_with("asymptotic");
        assert_eq!(
            kolmogorov_smirnov::is_exact(left.len(), right.len()),
            exact,
            "{}",
            case.name
        );
    }
}

#[test]
fn signed_ranks_agree_with_scipy() {
    for case in golden().signed_rank {
        let p = signed_rank::p_left_greater(&sample(&case.left), &sample(&case.right)).unwrap();
        assert!(
            (p - case.p).abs() <= 1e-10 * case.p,
            "{}: {p} instead of {}",
            case.name,
            case.p
        );
    }
}

#[test]
fn brunner_and_munzel_agree_with_scipy() {
    for case in golden().brunner_munzel {
        let (statistic, p) = brunner_munzel::by_students_t(&sample(&case.left), &sample(&case.right));
        assert!((statistic - case.statistic).abs() < 1e-9, "{}: {statistic}", case.name);
        assert!((p - case.p).abs() < 1e-9, "{}: {p}", case.name);
    }
    for case in golden().brunner_munzel_permuted {
        let p = brunner_munzel::p_left_greater(&sample(&case.left), &sample(&case.right));
        assert!((p - case.p).abs() < 1e-12, "{}: {p} instead of {}", case.name, case.p);
    }
}

#[test]
fn trimmed_means_agree_with_scipy() {
    for case in golden().yuen {
        let p = yuen::p_left_greater(&sample(&case.left), &sample(&case.right));
        assert!(
            (p - case.p).abs() <= 1e-8 * case.p,
            "{}: {p} instead of {}",
            case.name,
            case.p
        );
    }
}

/// Both halves are in the cases of SciPy above; what is new is how they are put together.
#[test]
fn pairs_are_twice_the_smaller_half_and_the_unpaired_half_is_the_larger_of_two() {
    for case in golden().signed_rank {
        let (left, right) = (sample(&case.left), sample(&case.right));
        let independent = rank_sum::p_left_greater(&left, &right).max(yuen::p_left_greater(&left, &right));
        assert_eq!(unpaired::p_left_greater(&left, &right), independent);
        let expected = (2.0 * independent.min(case.p)).min(1.0);
        assert_relative_eq!(pairs::p_left_greater(&left, &right), expected, max_relative = 1e-9);
    }
}

/// Compared with all 2^n ways to put the signs, with ties and zeros.
#[test]
fn signed_ranks_agree_with_enumeration() {
    // Powers of two: their ratios tie exactly.
    let (left, right) = (
        [4.0, 2.0, 8.0, 1.0, 2.0, 16.0, 1.0],
        [2.0, 2.0, 2.0, 2.0, 1.0, 2.0, 4.0],
    );
    let steps: Vec<f64> = left
        .iter()
        .zip(right)
        .map(|(l, r): (&f64, f64)| (l / r).log2())
        .filter(|s| *s != 0.0)
        .collect();
    let rank = |step: f64| {
        let smaller = steps.iter().filter(|other| other.abs() < step.abs()).count();
        let equal = steps.iter().filter(|other| other.abs() == step.abs()).count();
        2 * smaller + equal + 1
    };
    let sum = |mask: u32| -> usize {
        (0..steps.len())
            .filter(|i| mask >> i & 1 == 1)
            .map(|i| rank(steps[i]))
            .sum()
    };
    let observed: usize = steps.iter().filter(|step| **step > 0.0).map(|step| rank(*step)).sum();
    let all = 1_u32 << steps.len();
    let beyond = (0..all).filter(|&mask| sum(mask) >= observed).count();
    let p = signed_rank::p_left_greater(&sample(&left), &sample(&right)).unwrap();
    assert_relative_eq!(p, beyond as f64 / f64::from(all), max_relative = 1e-12);
}

#[test]
fn trends_agree_with_scipy() {
    for case in golden().trend {
        assert_relative_eq!(kendall::p_of_trend([&case.values[..]]), case.p, max_relative = 1e-9);
        assert_relative_eq!(kendall::slope(&case.values).unwrap(), case.slope, max_relative = 1e-9);
    }
}

#[test]
fn descriptions_agree_with_numpy_and_scipy() {
    for case in golden().describe {
        let values = sample(&case.values);
        for (q, value) in case.quantiles {
            assert_relative_eq!(values.quantile(q), value, max_relative = 1e-12);
        }
        let error = describe::relative_standard_error(&values).unwrap();
        assert_relative_eq!(error, case.relative_standard_error, max_relative = 1e-12);
        assert_relative_eq!(
            describe::interquartile_range(&values),
            case.interquartile_range,
            max_relative = 1e-12
        );
    }
}

/// Permeability constants of placental membranes at term and at 12 to 26 weeks: Hollander and Wolfe, Nonparametric
/// Statistical Methods, table 4.1; the example of R's `wilcox.test`: W = 35, p = 0.1272, shift 0.305.
#[test]
fn the_textbook_example() {
    let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    let early = [1.15, 0.88, 0.90, 0.74, 1.21];
    assert_relative_eq!(
        rank_sum::p_left_greater(&sample(&term), &sample(&early)),
        0.1272,
        max_relative = 4e-4
    );
    // A shift is the logarithm of the ratio of exponentials.
    let estimate = hodges_lehmann::ratio(&sample(&term.map(f64::exp)), &sample(&early.map(f64::exp)), 0.95);
    assert_relative_eq!(estimate.ratio.ln(), 0.305, max_relative = 1e-9);
    assert_relative_eq!(estimate.low.ln(), -0.15, max_relative = 1e-9);
    assert_relative_eq!(estimate.high.ln(), 0.76, max_relative = 1e-9);
}

/// A well-known crate gives 1.0 for the first and for equal sizes of five: it is wrong where the first sample is not
/// the longer one.
#[test]
fn the_shorter_sample_may_come_first() {
    let x = sample(&[0.1, 0.4, 0.7, 1.1, 1.9, 2.2]);
    let y = sample(&[0.9, 1.2, 1.5, 2.5, 2.9, 3.3, 4.0]);
    let two_sided = |a: &Sample, b: &Sample| 2.0 * rank_sum::p_left_greater(a, b).min(rank_sum::p_left_greater(b, a));
    assert_relative_eq!(two_sided(&x, &y), 0.0513, max_relative = 1e-3);
    assert_relative_eq!(two_sided(&y, &x), 0.0513, max_relative = 1e-3);
    assert_relative_eq!(two_sided(&x, &y), 88.0 / 1716.0, max_relative = 1e-12);
    let (a, b) = (sample(&[1.0, 2.0, 4.0, 5.0, 7.0]), sample(&[3.0, 6.0, 8.0, 9.0, 10.0]));
    assert_relative_eq!(two_sided(&a, &b), 24.0 / 252.0, max_relative = 1e-12);
}

/// Twice U of the chosen values, pair by pair, and not a sum of ranks as in the library.
fn doubled_u(pooled: &[f64], mask: u32) -> i64 {
    let chosen = |index: usize| mask >> index & 1 == 1;
    let mut u = 0;
    for (i, a) in pooled.iter().enumerate().filter(|(i, _)| chosen(*i)) {
        for (j, b) in pooled.iter().enumerate().filter(|(j, _)| !chosen(*j)) {
            assert_ne!(i, j);
            u += if a > b { 2 } else { i64::from(a == b) };
        }
    }
    u
}

/// The excess of the other values' distribution function over that of the chosen ones, by counting at every value.
fn excess(pooled: &[f64], mask: u32) -> i64 {
    let n = i64::from(mask.count_ones());
    let m = pooled.len() as i64 - n;
    let count = |value: f64, side: u32| {
        let below = pooled
            .iter()
            .enumerate()
            .filter(|(i, other)| mask >> i & 1 == side && **other <= value);
        below.count() as i64
    };
    let at = pooled.iter().map(|&value| n * count(value, 0) - m * count(value, 1));
    at.max().unwrap().max(0)
}

/// The share of all splits of the pooled values whose statistic is at least the one seen.
fn enumerated(left: &[f64], right: &[f64], statistic: fn(&[f64], u32) -> i64) -> f64 {
    let pooled: Vec<f64> = left.iter().chain(right).copied().collect();
    let observed = statistic(&pooled, (1 << left.len()) - 1);
    let splits = (0..1_u32 << pooled.len()).filter(|mask| mask.count_ones() as usize == left.len());
    let (mut all, mut beyond) = (0_u32, 0_u32);
    for mask in splits {
        all += 1;
        beyond += u32::from(statistic(&pooled, mask) >= observed);
    }
    f64::from(beyond) / f64::from(all)
}

fn check_against_enumeration(left: &[f64], right: &[f64]) {
    type Test = (fn(&Sample, &Sample) -> f64, fn(&[f64], u32) -> i64);
    let tests: [Test; 2] = [
        (rank_sum::p_left_greater, doubled_u),
        (kolmogorov_smirnov::p_left_greater, excess),
    ];
    for (test, statistic) in tests {
        let p = test(&sample(left), &sample(right));
        let expected = enumerated(left, right, statistic);
        assert!(
            (p - expected).abs() <= 1e-12,
            "{left:?} against {right:?}: {p} instead of {expected}"
        );
    }
}

#[test]
fn every_outcome_of_small_untied_samples_agrees_with_enumeration() {
    for (n, m) in [
        (1, 1),
        (1, 4),
        (4, 1),
        (2, 2),
        (2, 5),
        (5, 2),
        (3, 3),
        (3, 4),
        (4, 3),
        (4, 4),
    ] {
        for mask in (0..1_u32 << (n + m)).filter(|mask| mask.count_ones() == n) {
            let (left, right): (Vec<u32>, Vec<u32>) = (0..n + m).partition(|value| mask >> value & 1 == 1);
            let numbers = |values: Vec<u32>| -> Vec<f64> { values.into_iter().map(f64::from).collect() };
            check_against_enumeration(&numbers(left), &numbers(right));
        }
    }
}

#[test]
fn every_outcome_of_three_clock_ticks_agrees_with_enumeration() {
    // Every sample of n and m values out of {1, 2, 3} gives every pattern of ties, all equal among them.
    for (n, m) in [(1, 1), (1, 3), (3, 1), (2, 3), (3, 2), (3, 3)] {
        for code in 0..3_u32.pow(n + m) {
            let values: Vec<f64> = (0..n + m)
                .map(|digit| f64::from(code / 3_u32.pow(digit) % 3 + 1))
                .collect();
            let (left, right) = values.split_at(n as usize);
            check_against_enumeration(left, right);
        }
    }
}

proptest! {
    #[test]
    fn random_samples_agree_with_enumeration(
        left in prop::collection::vec(0_u8..6, 1..6),
        right in prop::collection::vec(0_u8..6, 1..6),
    ) {
        let left: Vec<f64> = left.into_iter().map(f64::from).collect();
        let right: Vec<f64> = right.into_iter().map(f64::from).collect();
        check_against_enumeration(&left, &right);
    }

    /// P(S >= s) + P(S <= s) is 1 plus the probability of s itself: at least 1, and p is never 0.
    #[test]
    fn swapped_samples_complement_each_other(left in times(1..40), right in times(1..40)) {
        let forward = rank_sum::p_left_greater(&left, &right);
        let backward = rank_sum::p_left_greater(&right, &left);
        prop_assert!(0.0 < forward && forward <= 1.0);
        prop_assert!(forward + backward >= 1.0 - 1e-12);
    }

    /// Negating all values turns the order round, which is the same as swapping the samples.
    #[test]
    fn mirrored_values_swap_the_sides(left in times(1..25), right in times(1..25)) {
        let mirrored = |values: &Sample| Sample::new(values.values().iter().map(|value| -value).collect()).unwrap();
        for test in [rank_sum::p_left_greater, kolmogorov_smirnov::p_left_greater] {
            let swapped = test(&mirrored(&right), &mirrored(&left));
            assert_relative_eq!(test(&left, &right), swapped, max_relative = 1e-11);
        }
    }

    /// Only the order of the values matters: not the unit, not how far a spike reaches, not the order of measurement.
    #[test]
    fn rank_sums_depend_on_ranks_only(left in times(1..30), right in times(1..30)) {
        let changed = |values: &Sample| {
            let mut values: Vec<f64> = values.values().iter().map(|value| (value * 1e6).powi(3) + 7.0).collect();
            values.reverse();
            Sample::new(values).unwrap()
        };
        for test in [rank_sum::p_left_greater, kolmogorov_smirnov::p_left_greater] {
            prop_assert_eq!(test(&left, &right), test(&changed(&left), &changed(&right)));
        }
    }

    /// Making the left side slower never weakens the evidence.
    #[test]
    fn slower_is_never_less_significant(left in times(1..20), right in times(1..20), extra in 0.0..1e-4_f64) {
        let slower = Sample::new(left.values().iter().map(|value| value + extra).collect()).unwrap();
        let (before, after) = (rank_sum::p_left_greater(&left, &right), rank_sum::p_left_greater(&slower, &right));
        // Moving values onto or off others changes the ties, and with them the distribution; only without ties is this
        // strict.
        let untied = |a: &Sample| {
            let mut all: Vec<f64> = a.values().iter().chain(right.values()).copied().collect();
            all.sort_by(f64::total_cmp);
            all.windows(2).all(|two| two[0] != two[1])
        };
        prop_assume!(untied(&left) && untied(&slower));
        prop_assert!(after <= before + 1e-12);
    }

    #[test]
    fn swapped_sides_give_the_reciprocal_ratio(left in times(1..20), right in times(1..20)) {
        let forward = hodges_lehmann::ratio(&left, &right, 0.95);
        let backward = hodges_lehmann::ratio(&right, &left, 0.95);
        assert_relative_eq!(forward.ratio, 1.0 / backward.ratio, max_relative = 1e-12);
        assert_relative_eq!(forward.low, 1.0 / backward.high, max_relative = 1e-12);
        assert_relative_eq!(forward.high, 1.0 / backward.low, max_relative = 1e-12);
        prop_assert_eq!(forward.confidence, backward.confidence);
        prop_assert!(forward.low <= forward.ratio && forward.ratio <= forward.high);
    }

    #[test]
    fn a_common_factor_of_the_left_side_is_a_factor_of_the_ratio(
        left in times(1..20), right in times(1..20), factor in 1.0..100.0_f64,
    ) {
        let scaled = Sample::new(left.values().iter().map(|value| value * factor).collect()).unwrap();
        let (plain, times_factor) = (hodges_lehmann::ratio(&left, &right, 0.9), hodges_lehmann::ratio(&scaled, &right, 0.9));
        assert_relative_eq!(times_factor.ratio, plain.ratio * factor, max_relative = 1e-12);
        assert_relative_eq!(times_factor.low, plain.low * factor, max_relative = 1e-12);
        assert_relative_eq!(times_factor.high, plain.high * factor, max_relative = 1e-12);
    }

    /// The interval is the test turned round: it lies above 1 exactly where the two-sided test rejects.
    #[test]
    fn interval_and_test_say_the_same(left in times(4..12), right in times(4..12)) {
        let pooled: std::collections::BTreeSet<u64> =
            left.values().iter().chain(right.values()).map(|value| value.to_bits()).collect();
        prop_assume!(pooled.len() == left.len() + right.len());
        let estimate = hodges_lehmann::ratio(&left, &right, 0.95);
        prop_assume!(estimate.confidence >= 0.95);
        prop_assert_eq!(estimate.low > 1.0, rank_sum::p_left_greater(&left, &right) <= 0.025 * (1.0 + 1e-9));
    }

    #[test]
    fn holm_is_monotone_and_between_the_raw_value_and_bonferroni(p in prop::collection::vec(0.0..=1.0_f64, 0..60)) {
        let adjusted = holm::adjust(&p);
        prop_assert_eq!(adjusted.len(), p.len());
        for (i, (&raw, &value)) in p.iter().zip(&adjusted).enumerate() {
            prop_assert!(raw <= value && value <= (raw * p.len() as f64).min(1.0));
            for (other_raw, other) in p.iter().zip(&adjusted).skip(i) {
                prop_assert!(raw.total_cmp(other_raw) == value.total_cmp(other) || value == *other);
            }
        }
        let backwards: Vec<f64> = p.iter().rev().copied().collect();
        let mut again = holm::adjust(&backwards);
        again.reverse();
        prop_assert_eq!(again, adjusted);
    }

    #[test]
    fn the_false_discovery_rate_corrects_less_than_the_family_wise_error(p in prop::collection::vec(0.0..=1.0_f64, 0..60)) {
        for ((raw, fdr), fwer) in p.iter().zip(benjamini_hochberg::adjust(&p)).zip(holm::adjust(&p)) {
            prop_assert!(*raw <= fdr * (1.0 + 1e-12) && fdr <= fwer * (1.0 + 1e-12));
        }
    }

    #[test]
    fn quantiles_rise_within_the_range(values in times(1..50), a in 0.0..=1.0_f64, b in 0.0..=1.0_f64) {
        let (low, high) = (values.quantile(a.min(b)), values.quantile(a.max(b)));
        prop_assert!(values.min() <= low && low <= high * (1.0 + 1e-12) && high <= values.max());
        assert_relative_eq!(values.quantile(0.5), values.median(), max_relative = 1e-12);
    }
}

/// Times in seconds on a clock with ticks of 0.1 us: ties are frequent.
fn times(count: std::ops::Range<usize>) -> impl Strategy<Value = Sample> {
    prop::collection::vec(1_u32..300, count)
        .prop_map(|ticks| Sample::new(ticks.into_iter().map(|ticks| f64::from(ticks) * 1e-7).collect()).unwrap())
}
