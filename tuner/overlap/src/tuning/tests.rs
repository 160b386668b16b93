//! Goals whose settings were proven or not.

use super::gain::tests::judgement;
use super::*;

fn proposing(names: &[&str], chosen: &[&str]) -> Goals {
    let settings = |names: &[&str]| names.iter().copied().map(setting).collect();
    Goals {
        proposed: settings(names),
        chosen: chosen.iter().map(|name| vec![setting(name)]).collect(),
        ..Goals::of(&[], Model::FixedWork)
    }
}

fn setting(name: &str) -> Assignment {
    Assignment {
        name: name.to_owned(),
        value: "1".to_owned(),
        environment: true,
    }
}

#[test]
fn what_the_proof_confirms_is_a_fix_and_what_it_does_not_is_taken_back() {
    let untouched = || vec![judgement("A", &[1.0, 0.9])];
    let mut confirmed = proposing(&["B"], &["A"]);
    assert_eq!(
        confirmed.settle(untouched(), vec![judgement("A", &[0.1, 0.9])], Told::ByIntervals),
        None
    );
    assert_eq!(confirmed.chosen, [[setting("A")], [setting("B")]]);
    let mut by_chance = proposing(&["B"], &["A"]);
    let taken = by_chance.settle(untouched(), vec![judgement("A", &[0.95, 0.9])], Told::ByIntervals);
    let because = "`B=1` brings no target nearer for certain in the launches under the deployed files";
    let taken_back = Disproved {
        assignments: vec![setting("B")],
        because: because.to_owned(),
    };
    assert_eq!(taken, Some(taken_back));
    assert_eq!(by_chance.chosen, [[setting("A")]]);
    assert_eq!(by_chance.refused, [because]);
    // No other setting came near.
    assert!(by_chance.searched);
    // The rest is judged and stays; no further setting is proposed.
    assert_eq!(by_chance.settle(untouched(), untouched(), Told::ByIntervals), None);
}

#[test]
fn what_comes_second_has_to_come_nearer_than_the_first() {
    let untouched = || vec![judgement("A", &[1.0, 0.9])];
    let mut goals = proposing(&["A"], &[]);
    assert_eq!(
        goals.settle(untouched(), vec![judgement("A", &[0.1, 0.9])], Told::ByIntervals),
        None
    );
    goals.proposed = vec![setting("B")];
    let taken = goals.settle(untouched(), vec![judgement("A", &[0.1, 0.8])], Told::ByIntervals);
    assert_eq!(taken.unwrap().assignments, [setting("B")]);
    assert_eq!(goals.chosen, [[setting("A")]]);
}

#[test]
fn what_is_not_deployed_after_all_is_no_fix_and_says_why() {
    let because = || [("A=1", "A is left out".to_owned()), ("C=1", "C is left out".to_owned())].into_iter();
    let goals = || Goals {
        chosen: vec![vec![setting("A"), setting("B")], vec![setting("D")]],
        ..Goals::of(&[], Model::FixedWork)
    };
    let mut kept = goals();
    kept.keep_only(&[setting("B"), setting("A"), setting("D")], because());
    assert!(kept.chosen.len() == 2 && kept.refused.is_empty());
    let mut taken_back = goals();
    // A setting that was proposed by itself stays.
    taken_back.keep_only(&[setting("B"), setting("D")], because());
    assert_eq!(taken_back.chosen, [[setting("D")]]);
    assert_eq!(taken_back.refused, ["A is left out"]);
    let mut slowed = proposing(&["C"], &["B"]);
    slowed.keep_only(&[setting("B")], because());
    assert!(slowed.proposed.is_empty() && slowed.chosen.len() == 1);
    assert_eq!(slowed.refused, ["C is left out"]);
    let other_value = Assignment {
        value: "2".to_owned(),
        ..setting("A")
    };
    let mut on_trial = proposing(&[], &["A"]);
    on_trial.proposed = vec![other_value.clone()];
    on_trial.keep_only(&[other_value], because());
    assert!(on_trial.chosen.len() == 1 && on_trial.proposed.len() == 1);
}
