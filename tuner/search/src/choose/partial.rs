//! A partial fix: a candidate that misses the cell's bound and is significantly faster than the library's own choice, where no candidate meets
//! the bound. A scan that takes 0.27 of the library's time is worth its deployment, though its guideline's right side is faster still.
//!
//! It is credited with no target. So a fix is still looked for behind it (by other components and gates) and takes its place. The report names it beside the reason why the cell is not fixed.

use kilter_stats::sample::Sample;
use kilter_stats::signed_rank;
use kilter_stats::verdict::{Rule, improves, is_beyond};

use super::{Measured, simplest_of_best};

/// Margin between the medians where launches are too few for the test. A slow mode of a machine makes a launch 30 % longer.
const MARGIN_OF_FEW: f64 = 0.5;

/// Part by which a candidate has to be faster within each launch where the machine's modes hide it from the test.
const MARGIN_IN_EACH: f64 = 0.1;

/// Fewest launches that say anything: the order of one pair is chance.
const FEWEST: usize = 2;

/// The simplest of those that are as good as the fastest of the partial fixes.
pub(super) fn best<'m>(candidates: &[&'m Measured], rule: &Rule) -> Option<&'m Measured> {
    let default = candidates.iter().find(|one| one.selection.is_none())?;
    let gains = |one: &&&'m Measured| one.selection.is_some() && gains(&default.medians, &one.medians, rule);
    simplest_of_best(candidates.iter().filter(gains).copied(), rule)
}

/// True if the launches show that a candidate is faster than the default.
///
/// The rule's test decides, with the effect floor, if launches are enough for it: a candidate that gains nothing passes with a probability of
/// alpha at most. A test of pairs gives half of alpha to sides that vary independently; where launches fall into modes of the machine that differ by a
/// factor of two, five show nothing by the other half. So a candidate that is faster by a tenth within every launch gains as well, if their signs alone
/// are as unlikely as alpha. With fewer, each launch of the candidate has to be faster than each of the default, and the default's median has to exceed the
/// candidate's by half, which a slow mode of the machine does not. These probabilities are of one candidate, and of several one is lucky more often.
/// The proof has to show the gain once more.
#[must_use]
pub(crate) fn gains(default: &Sample, candidate: &Sample, rule: &Rule) -> bool {
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
    use kilter_algorithms::Collective;
    use kilter_model::deployment::Selection;
    use kilter_model::not_deployed::NotDeployed;

    use super::super::{Choice, Otherwise, choose_among};
    use super::*;
    use crate::target::Target;

    const CHAIN: &str = "scan.pipelined_chain";

    fn sample(microseconds: &[f64]) -> Sample {
        Sample::new(microseconds.iter().map(|us| us * 1e-6).collect()).unwrap()
    }

    /// So many launches around a time.
    fn launches(microseconds: f64, number: usize) -> Sample {
        let factors = [1.0, 0.99, 1.01, 0.995, 1.005];
        sample(
            &factors[..number]
                .iter()
                .map(|one| one * microseconds)
                .collect::<Vec<_>>(),
        )
    }

    fn measured(id: Option<&str>, medians: Sample) -> Measured {
        Measured {
            selection: id.map(|id| Selection::Algorithm(id.to_owned(), Vec::new())),
            medians,
        }
    }

    fn setting() -> Selection {
        Selection::Settings(vec![("coll_tuned_scan_algorithm".to_owned(), "2".to_owned())])
    }

    fn chosen(candidates: &[Measured], objection: Option<&NotDeployed>, otherwise: Otherwise) -> Choice {
        let target = Target::unbounded(Collective::Scan, 65536);
        let against = |one: &Selection| objection.filter(|_| one.id() == CHAIN).cloned();
        let bounds = [launches(1000.0, candidates[0].medians.len())];
        choose_among(&target, candidates, &bounds, &Rule::default(), &against, otherwise)
    }

    fn partial(candidates: &[Measured]) -> Choice {
        chosen(candidates, None, Otherwise::PartialFix)
    }

    /// The default takes 4 times the bound, the chain 1.09 times.
    fn slow_scan(number: usize) -> [Measured; 2] {
        [
            measured(None, launches(4000.0, number)),
            measured(Some(CHAIN), launches(1090.0, number)),
        ]
    }

    #[test]
    fn what_is_much_faster_and_misses_the_bound_is_chosen_and_leaves_the_cell_unfixed() {
        let choice = partial(&slow_scan(5));
        assert_eq!(choice.chosen.as_ref().map(Selection::id).as_deref(), Some(CHAIN));
        assert!(choice.is_partial() && !choice.fixes());
        assert_eq!(
            choice.unfixed_because.as_deref(),
            Some("the best of 2 candidates, scan.pipelined_chain, still takes 1.09 times the bound")
        );
        let best = &choice.contest.candidates[0];
        assert!(best.chosen && best.not_deployed.is_none());
        assert_eq!(chosen(&slow_scan(5), None, Otherwise::Nothing).chosen, None);
    }

    #[test]
    fn a_fix_comes_before_a_faster_partial_one_with_an_objection_and_the_simplest_is_preferred() {
        let mut three = slow_scan(5).to_vec();
        three.push(Measured {
            selection: Some(setting()),
            medians: launches(1100.0, 5),
        });
        assert_eq!(partial(&three).chosen, Some(setting()), "as fast, and simpler");
        three[2].medians = launches(1400.0, 5);
        assert_eq!(partial(&three).chosen.map(|one| one.id()).as_deref(), Some(CHAIN));
        let away = NotDeployed::CannotBeDeployed;
        let choice = chosen(&three, Some(&away), Otherwise::PartialFix);
        assert_eq!(choice.chosen, Some(setting()), "the next one without an objection");
        assert_eq!(chosen(&slow_scan(5), Some(&away), Otherwise::PartialFix).chosen, None);
        three[2].medians = launches(1000.0, 5);
        let choice = partial(&three);
        assert_eq!(choice.chosen, Some(setting()));
        assert!(choice.fixes());
    }

    #[test]
    fn what_launches_do_not_show_to_be_faster_is_not_chosen() {
        let default = || measured(None, sample(&[1200.0, 1900.0, 1300.0, 2100.0, 1250.0]));
        let unclear = sample(&[1290.0, 1150.0, 1180.0, 1210.0, 1300.0]);
        let choice = partial(&[default(), measured(Some(CHAIN), unclear)]);
        assert_eq!(choice.chosen, None);
        let within_the_floor = [
            measured(None, launches(1200.0, 5)),
            measured(Some(CHAIN), launches(1160.0, 5)),
        ];
        assert_eq!(partial(&within_the_floor).chosen, None);
    }

    #[test]
    fn of_few_launches_all_are_faster_by_far() {
        let one = |default: &[f64], chain: &[f64]| {
            let both = [measured(None, sample(default)), measured(Some(CHAIN), sample(chain))];
            partial(&both).chosen.is_some()
        };
        assert!(partial(&slow_scan(2)).is_partial() && partial(&slow_scan(3)).is_partial());
        assert!(!partial(&slow_scan(1)).is_partial(), "one launch");
        assert!(!one(&[1500.0, 1510.0], &[1090.0, 1100.0]), "1.4 times as fast");
        assert!(one(&[1700.0, 1710.0], &[1090.0, 1100.0]));
        assert!(!one(&[1400.0, 4000.0], &[1090.0, 1450.0]), "the launches overlap");
        // With enough launches the test and the floor decide, and no margin.
        assert!(one(
            &[1500.0, 1510.0, 1505.0, 1502.0],
            &[1090.0, 1100.0, 1095.0, 1092.0]
        ));
    }

    #[test]
    fn a_partial_fix_is_dropped_with_its_reason_and_a_fix_is_not_dropped() {
        let mut dropped = partial(&slow_scan(5));
        dropped.drop_partial();
        assert_eq!(dropped.chosen, None);
        let why = dropped.contest.candidates[0].not_deployed.as_ref();
        assert_eq!(
            why.map(ToString::to_string).as_deref(),
            Some("still takes 1.09 times the bound")
        );
        let mut fix = partial(&[
            measured(None, launches(4000.0, 5)),
            measured(Some(CHAIN), launches(990.0, 5)),
        ]);
        fix.drop_partial();
        assert!(fix.fixes());
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
