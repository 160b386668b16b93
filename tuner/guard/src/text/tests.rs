use std::collections::BTreeMap;

use kilter_stats::verdict::Comparison;

use super::*;
use crate::night::{Accepted, SCHEMA};
use crate::nodes::{self, Kind};
use crate::{json, junit};

/// A night on which something of everything happened.
fn night() -> Night {
    let hosts: Vec<String> = ["n1", "n2", "n3", "n4"].map(str::to_owned).to_vec();
    let time = |a: usize, b: usize| if a == 1 || b == 1 { 4e-6 } else { 2e-6 };
    let pairs = crate::pairs::pairs(4).into_iter();
    let latency = pairs.map(|(a, b)| ((a, b), vec![time(a, b); 3])).collect();
    let rule = nodes::Rule {
        alpha: 0.005,
        tolerance: 0.1,
    };
    Night {
        schema: SCHEMA,
        library: "Open MPI 4.1.4".to_owned(),
        ranks: 4,
        nodes: Some(nodes::judge(&hosts, &BTreeMap::from([(Kind::Latency, latency)]), &rule)),
        hosts,
        started: "2026-11-26T02:00:00Z".to_owned(),
        run: 7,
        accepted: Some(Accepted {
            run: 3,
            started: "2026-11-20T02:00:00Z".to_owned(),
            silent_nights: 4,
        }),
        accepts: false,
        changes: vec![Change {
            subject: "kernel".to_owned(),
            from: "6.1.0-13".to_owned(),
            to: "6.1.0-18".to_owned(),
            hosts: vec!["n2".to_owned(), "n3".to_owned()],
        }],
        facts: 40,
        deployed: vec![
            deployed::Change {
                id: "btl_vader_eager_limit=32768".to_owned(),
                acts: Acts::No("the library reports 4096".to_owned()),
                acted: true,
            },
            deployed::Change {
                id: "coll_tuned_bcast_algorithm=6".to_owned(),
                acts: Acts::Yes("it sends what it sends when it is switched in the job".to_owned()),
                acted: true,
            },
        ],
        guidelines: vec![Guideline {
            cell: "GL8 reduce 4096".to_owned(),
            expression: "reduce(n) <= allreduce(n)".to_owned(),
            fix: "btl_vader_eager_limit=32768".to_owned(),
            is_expected: true,
            comparison: Some(Comparison {
                verdict: Outcome::Violated,
                ratio: 2.1,
                ratio_ci: (2.0, 2.2),
                p: 1e-5,
                p_adjusted: 1e-5,
                seconds: 8.4e-6,
                right_seconds: 4e-6,
                left_medians: Vec::new(),
                right_medians: Vec::new(),
            }),
        }],
        times: vec![
            Timed {
                cell: "allreduce(n) 8".to_owned(),
                accepted_seconds: 1.5e-6,
                seconds: Some(1.52e-6),
                ratio: Some(1.01),
                interval: Some((0.97, 1.05)),
                p_adjusted: 1.0,
                tolerance: 0.1,
                launches: 5,
                pace: Pace::Same,
            },
            Timed {
                cell: "reduce(n) 4096".to_owned(),
                accepted_seconds: 4e-6,
                seconds: Some(8.4e-6),
                ratio: Some(2.1),
                interval: Some((2.0, 2.2)),
                p_adjusted: 1e-5,
                tolerance: 0.12,
                launches: 10,
                pace: Pace::Slower,
            },
        ],
        watched: 2,
        alpha: 0.05,
        unchecked: Vec::new(),
        warnings: Vec::new(),
    }
}

/// A night without anything.
fn silent() -> Night {
    let mut night = night();
    night.changes.clear();
    night.deployed.remove(0);
    night.guidelines.clear();
    night.times.remove(1);
    night.nodes = None;
    night
}

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
