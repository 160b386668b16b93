//! The validation of the statistics, reduced: the same scripted times, fewer of them, and what other checkers get wrong.

use kilter_stats::sample::Sample;
use kilter_stats::verdict::Outcome;
use kilter_stats::verdict::{Family, Pair, Rule, Sequential, Stability, Test, judge_families};
use kilter_validation::machine::{Machine, Noise};
use kilter_validation::{Options, Validation, cost, hard, monotony, power, runs, single, table, targets};

const OPTIONS: Options = Options { trials: 100, seed: 7 };

fn assert_promises(promises: impl IntoIterator<Item = (String, bool)>) {
    let broken: Vec<String> = promises
        .into_iter()
        .filter(|(_, kept)| !kept)
        .map(|(what, _)| what)
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_single_test_raises_false_alarms_at_most_at_its_level() {
    let rows = single::validate(&OPTIONS);
    assert_eq!(rows.len(), 5 * (4 * 6 + 2 * 2));
    assert_promises(
        rows.iter()
            .map(|row| (format!("{row:?}"), row.false_violations.at_most(row.nominal))),
    );
    // And is not blunt: a checker that never finds anything has no false alarms either.
    for row in rows
        .iter()
        .filter(|row| row.noise == Noise::Plain && row.test == "rank-sum")
    {
        assert!(row.false_violations.share() > 0.01, "{row:?}");
    }
}

#[test]
fn whole_runs_keep_their_promises() {
    let rows = runs::validate(&Options { trials: 25, ..OPTIONS });
    assert_promises(
        rows.iter()
            .map(|row| (format!("{row:?}"), row.false_decisions.at_most(row.nominal))),
    );
}

#[test]
fn launches_that_are_not_independent_prove_nothing_false() {
    let rows = hard::validate(&Options { trials: 30, ..OPTIONS });
    assert_promises(rows.iter().map(|row| (format!("{row:?}"), row.is_kept())));
    for row in rows.iter().filter(|row| !row.condition.is_independent()) {
        assert_eq!(row.dependent.share(), 1.0, "{row:?}");
        // Taken for themselves, four launches that share their luck prove something false in every run.
        assert!(row.false_violations.share() < 0.7, "{row:?}");
    }
    let steady = rows.iter().find(|row| row.promised.is_some()).unwrap();
    assert!(
        steady.found.share() > 0.9 && steady.unstable.share() < 0.1,
        "{steady:?}"
    );
}

#[test]
fn a_fifth_is_found_in_runs_of_300_cells() {
    let rows = power::validate(&Options { trials: 40, ..OPTIONS });
    let promised: Vec<_> = rows.iter().filter(|row| row.promised.is_some()).collect();
    // Two designs on quiet days, the confirming one on a noisy day, one cell alone on all.
    assert_eq!(promised.len(), 2 * 7 * 3 + 2 + 8 * 2);
    assert_promises(
        promised
            .iter()
            .map(|row| (format!("{row:?}"), row.found.at_least(0.95))),
    );
}

#[test]
fn monotony_over_all_sizes_leaves_the_other_cells_their_power() {
    for row in monotony::validate(&Options { trials: 80, ..OPTIONS }) {
        let (ours, flat) = (row.two_per_size, row.all_pairs);
        if row.violation.starts_with("another") {
            assert!(
                ours.sizes.share() >= flat.sizes.share() && ours.sizes.share() > 0.5,
                "{row:?}"
            );
        } else {
            assert!(ours.defects.cases > 0.0, "{row:?}");
        }
    }
}

#[test]
fn the_sequential_design_costs_less_and_says_the_same() {
    let cost = cost::validate(&Options { trials: 200, ..OPTIONS });
    assert!(cost.passed(), "{cost:?}");
}

#[test]
fn targets_are_missed_and_held_as_promised_and_a_second_look_decides_more() {
    let rows = targets::validate(&Options { trials: 100, ..OPTIONS });
    assert_eq!(rows.len(), 2 * 4 * targets::RATIOS.len());
    assert_promises(rows.iter().map(|row| (format!("{row:?}"), row.is_kept())));
    let at_the_bound = |design| {
        let row = rows.iter().find(|row| row.design == design && row.ratio == 0.2);
        row.unwrap().holds.share()
    };
    let (one, two) = (
        at_the_bound(targets::Design::OneLook),
        at_the_bound(targets::Design::TwoLooks),
    );
    assert!(two > 1.5 * one, "{one} {two}");
}

#[test]
fn tables_name_what_is_broken() {
    let tiny = Options { trials: 1, seed: 1 };
    let mut found = Validation {
        trials: 1,
        seed: 1,
        single: single::validate(&tiny),
        runs: Vec::new(),
        hard: Vec::new(),
        power: Vec::new(),
        monotony: Vec::new(),
        targets: Vec::new(),
        cost: cost::validate(&tiny),
    };
    assert!(found.passed(), "{found:?}");
    assert!(table::text(&found).ends_with("Every rate is within what is promised.\n"));
    found.single[0].false_violations.cases = 500.0;
    found.single[0].false_violations.trials = 1000;
    let text = table::text(&found);
    assert!(
        !found.passed() && text.contains(" 50.0 % !") && text.contains("exclamation marks.\n"),
        "{text}"
    );
    assert!(text.lines().all(|line| line == line.trim_end()));
}

/// PGChecker returns a stale z-value: a comparison must not remember the one before it.
#[test]
fn a_verdict_does_not_depend_on_what_was_judged_before() {
    let mut machine = Machine::new(1, "stale", Noise::Plain, 0.05, 10);
    let pairs: Vec<Pair> = [2.0, 1.0, 0.5].map(|ratio| machine.pair(ratio, 10)).to_vec();
    let alone =
        |pair: &Pair| judge_families(&[Family::Independent(vec![pair.clone()])], &Rule::default())[0][0].clone();
    let first: Vec<_> = pairs.iter().map(alone).collect();
    let again: Vec<_> = pairs.iter().rev().map(alone).collect();
    assert!(first.iter().eq(again.iter().rev()));
    assert_eq!(first[0].comparison.verdict, Outcome::Violated);
    assert_eq!(first[2].comparison.verdict, Outcome::Holds);
}

/// Its summary prints no violation where the details list one of 2.3; its t-test flags ratios below 1.
#[test]
fn a_clear_violation_is_one_and_a_faster_side_never_is() {
    let mut machine = Machine::new(2, "summary", Noise::Spikes, 0.05, 10);
    let mut pairs: Vec<Pair> = (0..200).map(|_| machine.pair(0.95, 10)).collect();
    pairs.push(machine.pair(2.3, 10));
    for test in [Test::Pairs, Test::Unpaired, Test::RankSum, Test::KolmogorovSmirnov] {
        let rule = Rule {
            test,
            ..Rule::default()
        };
        let judged = judge_families(&[Family::Independent(pairs.clone())], &rule);
        let violated: Vec<usize> = (0..pairs.len())
            .filter(|&cell| judged[0][cell].comparison.verdict == Outcome::Violated)
            .collect();
        assert_eq!(violated, [200], "{test:?}");
    }
}

/// One launch of a bimodal machine gave slowdowns of 1.79, 1.07 and 1.56 for one cell: the reference cell tells modes, and
/// the test of pairs decides where the rank sum cannot.
#[test]
fn a_bimodal_machine_is_named_and_judged_within_its_launches() {
    let mut machine = Machine::new(3, "bimodal", Noise::Bimodal, 0.03, 20);
    let reference: Vec<Vec<f64>> = machine
        .medians(1e-6, 20)
        .into_iter()
        .map(|seconds| vec![seconds; 3])
        .collect();
    let stability = Stability::of(&reference, &Rule::default()).unwrap();
    assert!(stability.modes_factor.is_some() && !stability.is_stable());
    let pairs: Vec<Pair> = (0..100)
        .map(|cell| machine.pair(if cell < 5 { 1.2 } else { 0.9 }, 20))
        .collect();
    let verdicts = |test: Test| {
        let rule = Rule {
            test,
            ..Rule::default()
        };
        let mut design = Sequential::new(rule, 20);
        let judged = design.look(&[Family::Independent(pairs.clone())], true).remove(0);
        let count = |outcome| {
            judged
                .iter()
                .filter(|judged| judged.comparison.verdict == outcome)
                .count()
        };
        (count(Outcome::Violated), count(Outcome::Holds))
    };
    assert_eq!(verdicts(Test::RankSum).0, 0);
    assert_eq!(verdicts(Test::SignedRank), (5, 95));
    assert_eq!(verdicts(Test::default()), (5, 95));
    // None of these verdicts depends on the mode.
    let rule = Rule::default();
    let launches: Vec<usize> = (0..20).collect();
    for judged in judge_families(&[Family::Independent(pairs)], &rule).concat() {
        assert_eq!(stability.affects(&judged.comparison, &launches, &rule), None);
    }
}

#[test]
fn samples_of_no_or_bad_values_never_reach_a_test() {
    assert!(Sample::new(Vec::new()).is_err() && Sample::new(vec![1.0, f64::NAN]).is_err());
}
