use super::*;
use crate::fixture::{night, silent};
use crate::{json, junit};

#[test]
fn a_night_with_something_of_everything() {
    assert_eq!(night().standing(), Standing::Differs);
    insta::assert_snapshot!(render(&night()));
    insta::assert_snapshot!("junit", junit::render(&night()));
}

#[test]
fn a_silent_night_and_one_that_could_not_be_checked() {
    assert_eq!(silent().standing(), Standing::Silent);
    insta::assert_snapshot!("silent", render(&silent()));
    let mut dark = silent();
    dark.unchecked = vec!["one host has no pairs".to_owned()];
    assert_eq!(dark.standing(), Standing::Unchecked);
    assert!(junit::render(&dark).contains("errors=\"1\""));
    let mut unmeasured = silent();
    unmeasured.times[0].pace = Pace::NotMeasured;
    assert_eq!(unmeasured.standing(), Standing::Unchecked);
}

#[test]
fn each_finding_alone_is_a_difference() {
    let full = night();
    let with = |change: &dyn Fn(&mut Night)| {
        let mut night = silent();
        change(&mut night);
        night.standing()
    };
    assert_eq!(with(&|night| night.changes = full.changes.clone()), Standing::Differs);
    assert_eq!(with(&|night| night.deployed = full.deployed.clone()), Standing::Differs);
    assert_eq!(
        with(&|night| night.guidelines = full.guidelines.clone()),
        Standing::Differs
    );
    assert_eq!(with(&|night| night.times = full.times.clone()), Standing::Differs);
    assert_eq!(with(&|night| night.nodes = full.nodes.clone()), Standing::Differs);
    // A change that was never installed is told, and is no difference.
    let never = |night: &mut Night| {
        night.deployed = full.deployed.clone();
        night.deployed[0].acted = false;
    };
    assert_eq!(with(&never), Standing::Silent);
}

#[test]
fn the_first_night_is_accepted_and_the_json_says_its_standing() {
    let mut first = silent();
    (first.accepted, first.accepts) = (None, true);
    first.times.clear();
    let said = render(&first);
    assert!(said.contains("Accepted: 40 facts and the times of 2 cells"), "{said}");
    assert!(json::render(&first).unwrap().contains("\"standing\": \"silent\""));
    assert!(json::render(&night()).unwrap().contains("\"standing\": \"differs\""));
}
