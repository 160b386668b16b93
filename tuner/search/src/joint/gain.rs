//! Launches that show that a way is faster than the default.

use kilter_stats::sample::Sample;
use kilter_stats::signed_rank;
use kilter_stats::verdict::{Rule, improves, is_beyond};

/// Margin between the medians where launches are too few for the test. A slow mode of a machine makes a launch 30 % longer.
const MARGIN_OF_FEW: f64 = 0.5;

/// Part by which a candidate has to be faster within each launch where the machine's modes hide it from the test.
const MARGIN_IN_EACH: f64 = 0.1;

/// Fewest launches that say anything: the order of one pair is chance.
const FEWEST: usize = 2;

/// True if the launches show that a candidate is faster than the default.
///
/// The rule's test decides, with the effect floor, if launches are enough for it: a candidate that gains nothing passes with a probability of
/// alpha at most. A test of pairs gives half of alpha to sides that vary independently; where launches fall into modes of the machine that differ by a
/// factor of two, five show nothing by the other half. So a candidate that is faster by a tenth within every launch gains as well, if their signs alone
/// are as unlikely as alpha. With fewer, each launch of the candidate has to be faster than each of the default, and the default's median has to exceed the
/// candidate's by half, which a slow mode of the machine does not. These probabilities are of one candidate, and of several one is lucky more often.
/// The proof has to show the gain once more.
#[must_use]
pub(super) fn gains(default: &Sample, candidate: &Sample, rule: &Rule) -> bool {
    let launches = default.len().min(candidate.len());
    if rule.test.smallest_p(launches) <= rule.alpha {
        return improves(default, candidate, rule) || is_faster_in_each(default, candidate, rule);
    }
    launches >= FEWEST
        && rule.is_relevant(default.median(), candidate.median())
        && is_beyond(default, candidate, MARGIN_OF_FEW)
}

/// True if the candidate is faster within every launch, and these are enough.
fn is_faster_in_each(default: &Sample, candidate: &Sample, rule: &Rule) -> bool {
    let mut pairs = default.values().iter().zip(candidate.values());
    rule.test.is_paired()
        && default.len() == candidate.len()
        && signed_rank::smallest_p(default.len()) <= rule.alpha
        && rule.is_relevant(default.median(), candidate.median())
        && pairs.all(|(default, candidate)| *default > (1.0 + MARGIN_IN_EACH) * candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(seconds: &[f64]) -> Sample {
        Sample::new(seconds.to_vec()).unwrap()
    }

    #[test]
    fn few_launches_show_a_gain_only_where_all_are_far_apart() {
        let rule = Rule::default();
        let default = sample(&[3.0, 3.1]);
        assert!(gains(&default, &sample(&[1.0, 1.1]), &rule));
        assert!(
            !gains(&default, &sample(&[2.5, 2.4]), &rule),
            "a slow mode does as much"
        );
        assert!(!gains(&sample(&[3.0]), &sample(&[1.0]), &rule), "one pair is chance");
        let many = sample(&[1.0; 8]);
        assert!(gains(&many, &sample(&[0.9; 8]), &rule));
        assert!(!gains(&many, &sample(&[0.97; 8]), &rule), "within the floor");
    }

    #[test]
    fn launches_in_modes_of_the_machine_show_by_their_pairs_what_is_faster_in_each() {
        // Two modes that differ by more than the candidate gains.
        let default = sample(&[6.67, 3.69, 4.96, 4.80, 5.40]);
        let candidate = |seconds: [f64; 5]| gains(&default, &sample(&seconds), &Rule::default());
        assert!(candidate([2.36, 0.93, 2.38, 0.95, 2.35]));
        assert!(candidate([5.9, 3.3, 4.4, 4.3, 4.8]), "a tenth in each");
        assert!(!candidate([5.9, 3.3, 4.4, 4.3, 5.3]), "in one no tenth");
        let four = sample(&[6.67, 3.69, 4.96, 4.80]);
        assert!(
            !is_faster_in_each(&four, &sample(&[2.36, 0.93, 2.38, 0.95]), &Rule::default()),
            "by chance 1 in 16"
        );
    }
}
