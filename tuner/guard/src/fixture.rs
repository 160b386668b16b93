//! Invented nights for tests.

use std::collections::BTreeMap;

use kilter_stats::verdict::{Comparison, Outcome};

use crate::changes::Change;
use crate::deployed::{self, Acts, Guideline};
use crate::night::{Accepted, Night, SCHEMA};
use crate::nodes::{self, Kind};
use crate::times::{Pace, Timed};

/// A night on which something of everything happened.
pub(crate) fn night() -> Night {
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
                accepted_interval: (1.46e-6, 1.55e-6),
                seconds: Some(1.52e-6),
                seconds_interval: Some((1.45e-6, 1.58e-6)),
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
                accepted_interval: (3.95e-6, 4.05e-6),
                seconds: Some(8.4e-6),
                seconds_interval: Some((8.1e-6, 8.7e-6)),
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
pub(crate) fn silent() -> Night {
    let mut night = night();
    night.changes.clear();
    night.deployed.remove(0);
    night.guidelines.clear();
    night.times.remove(1);
    night.nodes = None;
    night
}
