//! The candidates that are statistically as good as the fastest.

use super::Rule;
use crate::sample::Sample;
use crate::{holm, signed_rank, unpaired};

/// Tells for each candidate if it is as good as the fastest. The search takes the simplest of these.
///
/// `times` are seconds, one sample per candidate (medians of launches, or of batches in one job). The fastest is the
/// one with the smallest median, the first of several. A candidate is as good if its median exceeds the fastest by no
/// more than the floors of the rule (effect floor, twice the noise), or if it is not significantly slower: one-sided
/// test of unpaired samples ([`unpaired`]) against the fastest, Holm's correction over all candidates but the fastest, level [`Rule::alpha`].
///
/// With few values the test can reject nothing, and "not significantly slower" would say nothing: three against three
/// never go below p = 0.05. The test therefore excuses only those candidates that it could have rejected; the others
/// are as good only within the floors.
///
/// The test compares launches as wholes. It cannot see a difference that holds within each launch while the launches
/// drift. A candidate that is slower than the fastest by more than the floors in every launch is therefore not as good,
/// whatever the test says, if there are enough launches (2^-n no more than [`Rule::alpha`]: five). The i-th values of
/// samples of one length belong to one launch.
#[must_use]
pub fn equivalent_to_best(times: &[Sample], rule: &Rule) -> Vec<bool> {
    let medians: Vec<f64> = times.iter().map(Sample::median).collect();
    let Some(best) = (0..times.len()).min_by(|&i, &j| medians[i].total_cmp(&medians[j])) else {
        return Vec::new();
    };
    let others: Vec<usize> = (0..times.len()).filter(|&index| index != best).collect();
    let p: Vec<f64> = others
        .iter()
        .map(|&index| unpaired::p_left_greater(&times[index], &times[best]))
        .collect();
    let adjusted = holm::adjust(&p);
    // The smallest adjusted values that are possible: every candidate is slower in every single value.
    let smallest: Vec<f64> = others
        .iter()
        .map(|&index| unpaired::smallest_p(times[index].len(), times[best].len()))
        .collect();
    let reachable = holm::adjust(&smallest);
    let mut equivalent = vec![true; times.len()];
    for (position, &index) in others.iter().enumerate() {
        let within_floor = !rule.is_relevant(medians[index], medians[best]);
        let decidable = reachable[position] <= rule.alpha;
        let by_chance = decidable && adjusted[position] > rule.alpha;
        equivalent[index] = within_floor || (by_chance && !is_slower_in_each(&times[index], &times[best], rule));
    }
    equivalent
}

/// True if `left` is slower than `right` by more than the floors in every launch, and there are enough launches.
fn is_slower_in_each(left: &Sample, right: &Sample, rule: &Rule) -> bool {
    left.len() == right.len()
        && signed_rank::smallest_p(left.len()) <= rule.alpha
        && left
            .values()
            .iter()
            .zip(right.values())
            .all(|(left, right)| rule.is_relevant(*left, *right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(candidates: &[&[f64]]) -> Vec<Sample> {
        candidates
            .iter()
            .map(|values| Sample::new(values.to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn none_and_one() {
        assert!(equivalent_to_best(&[], &Rule::default()).is_empty());
        assert_eq!(equivalent_to_best(&samples(&[&[1.0]]), &Rule::default()), [true]);
    }

    #[test]
    fn with_three_values_only_the_floor_counts() {
        // 4 % slower, 6 % slower, twice as slow with an overlap: the test can reject none of them.
        let times = samples(&[
            &[1.0, 1.01, 0.99],
            &[1.04, 1.03, 1.05],
            &[1.06, 1.05, 1.07],
            &[2.0, 0.9, 3.0],
        ]);
        assert_eq!(equivalent_to_best(&times, &Rule::default()), [true, true, false, false]);
    }

    #[test]
    fn with_one_value_only_the_floor_counts() {
        assert_eq!(
            equivalent_to_best(&samples(&[&[1.1], &[1.0], &[1.02]]), &Rule::default()),
            [false, true, true]
        );
    }

    #[test]
    fn the_noise_widens_the_floor() {
        let times = samples(&[&[1.0e-6; 3], &[1.15e-6; 3], &[1.25e-6; 3]]);
        let rule = Rule {
            noise_seconds: 1e-7,
            ..Rule::default()
        };
        assert_eq!(equivalent_to_best(&times, &rule), [true, true, false]);
        assert_eq!(equivalent_to_best(&times, &Rule::default()), [true, false, false]);
    }

    #[test]
    fn with_enough_values_chance_is_told_from_slowness() {
        let best: Vec<f64> = (0..10).map(|i| 1.0 + 0.05 * f64::from(i)).collect();
        // Slower in some launches, faster in others.
        let noisy: Vec<f64> = best.iter().rev().map(|seconds| seconds + 0.08).collect();
        let slow: Vec<f64> = best.iter().map(|seconds| seconds + 0.4).collect();
        let times = samples(&[&slow, &noisy, &best]);
        assert_eq!(equivalent_to_best(&times, &Rule::default()), [false, true, true]);
    }

    #[test]
    fn many_candidates_raise_what_the_test_needs() {
        // Five values decide among up to 12 others; with 13 others nothing is decidable, and only the floor is left.
        let best = [1.0, 1.2, 1.4, 1.6, 1.8];
        let overlapping = best.map(|seconds| seconds + 0.08);
        let family = |others: usize| {
            let mut candidates: Vec<&[f64]> = vec![&best];
            candidates.extend(std::iter::repeat_n(&overlapping[..], others));
            equivalent_to_best(&samples(&candidates), &Rule::default())[1]
        };
        assert!(family(12));
        assert!(!family(13));
    }

    #[test]
    fn who_is_slower_in_every_launch_is_not_excused_by_their_drift() {
        // Milliseconds of an allgather: the default and a composition of other calls, in five launches that got faster.
        let default: &[f64] = &[4.55, 4.00, 3.59, 3.50, 3.47];
        let composed: &[f64] = &[3.54, 3.65, 3.28, 3.20, 3.15];
        let others = [4.52, 4.00, 3.65, 3.63, 3.55];
        let equal = |default: &[f64]| equivalent_to_best(&samples(&[default, composed, &others]), &Rule::default())[0];
        assert!(unpaired::p_left_greater(&samples(&[default])[0], &samples(&[composed])[0]) > 0.025);
        assert!(!equal(default));
        // As slow in the end, but faster once.
        assert!(equal(&[3.40, 4.00, 3.59, 3.50, 3.47]));
        // Four launches are too few.
        assert!(equivalent_to_best(&samples(&[&default[1..], &composed[1..]]), &Rule::default())[0]);
    }

    #[test]
    fn the_first_of_several_equal_medians_is_the_best_and_all_are_equivalent() {
        assert_eq!(
            equivalent_to_best(&samples(&[&[2.0; 5], &[1.0; 5], &[1.0; 5]]), &Rule::default()),
            [false, true, true]
        );
    }
}
