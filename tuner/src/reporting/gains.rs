//! Gains of calls: medians of launches with the deployed files beside those of the untouched library, which were made in turn.

use kilter_model::plan::Subject;
use kilter_model::report::{CallGain, GainVerdict};
use kilter_search::verification::Medians;
use kilter_stats::benjamini_hochberg;
use kilter_stats::hodges_lehmann::{self, RatioEstimate};
use kilter_stats::sample::Sample;
use kilter_stats::signed_rank;
use kilter_stats::verdict::{Rule, Test};

/// The gain of every plain call that both sides have and that is `touched`. What one side lacks is not compared: other times of it are those of
/// other minutes. Of many calls some differ by chance: their tests share the error (Benjamini and Hochberg).
pub(super) fn of(
    (untouched, deployed): (&Medians, &Medians),
    touched: &dyn Fn(&Subject) -> bool,
    rule: &Rule,
) -> Vec<CallGain> {
    let touched = untouched.iter().filter(|(subject, _)| touched(subject));
    let gain = |(subject, untouched): (&Subject, &Vec<f64>)| {
        let collective = subject.collective()?;
        let sample = |medians: &Vec<f64>| Sample::new(medians.clone()).ok();
        let (default, now) = (sample(untouched)?, sample(deployed.get(subject)?)?);
        let estimate = factor(&default, &now, rule);
        let p = [(&default, &now), (&now, &default)].map(|(left, right)| rule.test.p_left_greater(left, right));
        let gain = CallGain {
            function: collective.name().to_owned(),
            bytes: subject.bytes,
            default_seconds: default.median(),
            deployed_seconds: now.median(),
            factor: estimate.ratio,
            factor_ci: (estimate.low, estimate.high),
            launches: now.len(),
            verdict: verdict(&estimate, (&default, &now), rule),
        };
        Some((gain, p[0].min(p[1])))
    };
    let (mut gains, p): (Vec<CallGain>, Vec<f64>) = touched.filter_map(gain).unzip();
    for (gain, p) in gains.iter_mut().zip(benjamini_hochberg::adjust(&p)) {
        if p > rule.alpha {
            gain.verdict = GainVerdict::Same;
        }
    }
    gains
}

/// Default over deployed, in pairs of launches where both sides have equally many. Few pairs have no interval of the confidence that is asked for:
/// then both sides are compared as a whole, which takes fewer launches.
fn factor(default: &Sample, deployed: &Sample, rule: &Rule) -> RatioEstimate {
    let whole = || hodges_lehmann::ratio(default, deployed, rule.confidence);
    match signed_rank::ratio(default, deployed, rule.confidence) {
        Some(paired) if reaches(&paired, rule) => paired,
        Some(paired) => Some(whole()).filter(|whole| reaches(whole, rule)).unwrap_or(paired),
        None => whole(),
    }
}

/// True if an interval has the confidence that is asked for.
fn reaches(estimate: &RatioEstimate, rule: &Rule) -> bool {
    rule.test == Test::Exact || estimate.confidence >= rule.confidence * (1.0 - 1e-9)
}

fn verdict(estimate: &RatioEstimate, (default, deployed): (&Sample, &Sample), rule: &Rule) -> GainVerdict {
    let is_faster = estimate.low > 1.0 && rule.is_relevant_ratio(estimate.ratio, deployed.median());
    let is_slower = estimate.high < 1.0 && rule.is_relevant_ratio(1.0 / estimate.ratio, default.median());
    match reaches(estimate, rule) {
        true if is_faster => GainVerdict::Faster,
        true if is_slower => GainVerdict::Slower,
        _ => GainVerdict::Same,
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;

    const REDUCE: (Collective, u64) = (Collective::Reduce, 4096);

    fn medians(of: &[((Collective, u64), &[f64])]) -> Medians {
        let row = |((collective, bytes), times): &((Collective, u64), &[f64])| {
            (Subject::library(*collective, *bytes), times.to_vec())
        };
        of.iter().map(row).collect()
    }

    fn compared(default: &[f64], deployed: &[f64]) -> CallGain {
        let (default, deployed) = (medians(&[(REDUCE, default)]), medians(&[(REDUCE, deployed)]));
        let gains = of((&default, &deployed), &|_| true, &Rule::default());
        gains.into_iter().next().unwrap()
    }

    /// Launches of a machine with two modes: each pair says the same, and the sides as a whole overlap.
    const MODES: [f64; 8] = [1e-6, 2e-6, 1.01e-6, 2.02e-6, 0.99e-6, 1.98e-6, 1.02e-6, 2.01e-6];

    #[test]
    fn launches_in_turn_are_compared_in_pairs() {
        let slower = MODES.map(|seconds| 1.2 * seconds);
        let gain = compared(&slower, &MODES);
        assert!((gain.factor - 1.2).abs() < 1e-9, "{gain:?}");
        assert_eq!((gain.verdict, gain.launches), (GainVerdict::Faster, 8));
        assert_eq!(compared(&MODES, &slower).verdict, GainVerdict::Slower);
        assert_eq!(
            compared(&slower[..7], &MODES).verdict,
            GainVerdict::Same,
            "nothing to pair, and the sides overlap"
        );
    }

    #[test]
    fn what_the_floor_covers_or_few_launches_show_is_no_gain() {
        let little = MODES.map(|seconds| 1.03 * seconds);
        let gain = compared(&little, &MODES);
        assert!(gain.factor_ci.0 > 1.0 && gain.verdict == GainVerdict::Same, "{gain:?}");
        assert_eq!(compared(&[4e-6; 3], &[1e-6; 3]).verdict, GainVerdict::Same);
        // Four launches have no pairs enough, and are enough as a whole.
        let four = compared(&[4.0e-6, 4.1e-6, 4.2e-6, 4.3e-6], &[1.0e-6, 1.1e-6, 1.2e-6, 1.3e-6]);
        assert_eq!(four.verdict, GainVerdict::Faster, "{four:?}");
    }

    #[test]
    fn what_one_side_lacks_or_nothing_acts_on_is_not_compared() {
        let scan = (Collective::Scan, 8);
        let both = medians(&[(REDUCE, &MODES), (scan, &MODES)]);
        let one = medians(&[(REDUCE, &MODES)]);
        let names = |gains: Vec<CallGain>| -> Vec<String> { gains.into_iter().map(|gain| gain.function).collect() };
        let rule = Rule::default();
        assert_eq!(names(of((&both, &one), &|_| true, &rule)), ["reduce"]);
        assert_eq!(names(of((&one, &both), &|_| true, &rule)), ["reduce"]);
        let touched = |subject: &Subject| subject.bytes == 8;
        assert_eq!(names(of((&both, &both), &touched, &rule)), ["scan"]);
        let form = Subject {
            text: "reduce(n){permuted}".to_owned(),
            ..Subject::library(REDUCE.0, REDUCE.1)
        };
        let permuted = Medians::from([(form, MODES.to_vec())]);
        assert_eq!(names(of((&permuted, &permuted), &|_| true, &rule)), [""; 0]);
    }

    #[test]
    fn exact_times_need_one_launch() {
        let rule = Rule {
            test: Test::Exact,
            ..Rule::default()
        };
        let (slow, fast) = (medians(&[(REDUCE, &[2e-6])]), medians(&[(REDUCE, &[1e-6])]));
        assert_eq!(of((&slow, &fast), &|_| true, &rule)[0].verdict, GainVerdict::Faster);
    }

    #[test]
    fn of_many_calls_that_stay_as_they_are_one_differs_by_chance() {
        let now = [1.0e-6, 1.1e-6, 1.2e-6, 1.3e-6, 1.4e-6];
        let sizes: Vec<u64> = (0..20).collect();
        let rows = |times: &[f64; 5], changed: u64| -> Medians {
            let of = |bytes: &u64| {
                let factor = if *bytes < changed { 2.0 } else { 1.0 };
                let own = times.map(|seconds| factor * seconds);
                (Subject::library(Collective::Reduce, *bytes), own.to_vec())
            };
            sizes.iter().map(of).collect()
        };
        let slower = |changed| {
            let gains = of((&rows(&now, 0), &rows(&now, changed)), &|_| true, &Rule::default());
            let of_verdict = |gain: &&CallGain| gain.verdict == GainVerdict::Slower;
            gains.iter().filter(of_verdict).count()
        };
        assert_eq!((slower(1), slower(20)), (0, 20));
    }
}
