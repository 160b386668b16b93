//! Results under a gate, entered into choices without it.

use kilter_algorithms::Collective;
use kilter_model::config::library::find_for;
use kilter_model::plan::Subject;

use super::*;
use crate::choose::{choose, choose_among};
use crate::heard::Heard;

const ACTS: Finding = Finding::Acts { forced: 9, kinds: 6 };
const NO_EFFECT: Finding = Finding::NoEffect { forced: 9 };

fn rule() -> Rule {
    Rule {
        noise_seconds: 1e-6,
        ..Rule::default()
    }
}

fn gate() -> Vec<Assignment> {
    vec![Assignment {
        name: "coll_han_priority".to_owned(),
        value: "0".to_owned(),
        environment: false,
    }]
}

/// Five launches around so many microseconds.
fn launches(microseconds: f64) -> Sample {
    let times = [0.99, 0.995, 1.0, 1.005, 1.01].map(|factor| factor * microseconds * 1e-6);
    Sample::new(times.to_vec()).unwrap()
}

fn algorithm(number: u64) -> Selection {
    Selection::Settings(vec![("coll_tuned_bcast_algorithm".to_owned(), number.to_string())])
}

fn own() -> Selection {
    Selection::Algorithm("bcast.binomial".to_owned(), Vec::new())
}

fn target() -> Target {
    Target {
        bounds: vec![Subject::library(Collective::Scatter, 262_144)],
        ..Target::unbounded(Collective::Bcast, 262_144)
    }
}

fn held(default: f64, others: &[(Selection, f64)], bound: f64) -> Held {
    let one = |selection, microseconds| Measured {
        selection,
        medians: launches(microseconds),
    };
    let others = others
        .iter()
        .map(|(selection, time)| one(Some(selection.clone()), *time));
    Held {
        target: target(),
        candidates: std::iter::once(one(None, default)).chain(others).collect(),
        bounds: vec![launches(bound)],
        apart: Vec::new(),
    }
}

/// Without the gate, the library's own choice takes 10 ms, the hidden algorithm is not credited, and the bound is 4 ms.
fn unfixed() -> Choice {
    let without = held(10_000.0, &[(own(), 9000.0)], 4000.0);
    Choice {
        hidden: true,
        ..choose(&without.target, &without.candidates, &without.bounds, &rule())
    }
}

/// The choice that `under` leads to, beside the library without the gate.
fn settled(under: &Held, finding: &Finding) -> Choice {
    let without = held(10_000.0, &[], 4000.0);
    let (candidates, bounds) = field(under, &without, Some(finding));
    let judged = choose(&under.target, &candidates, &bounds, &rule());
    let mut choice = unfixed();
    let contest = Judged {
        judged,
        candidates,
        default_without: default_of(&without),
        finding: Some(finding),
    };
    let chosen = settle(&mut choice, &gate(), contest, &rule());
    assert_eq!(chosen, choice.chosen.is_some());
    choice
}

/// The same where Kilter's own code takes half of the library's time without the gate, and still misses the bound.
fn partly_fixed() -> Choice {
    let without = held(10_000.0, &[(own(), 5000.0)], 4000.0);
    let (rule, none) = (rule(), |_: &Selection| None);
    let choice = choose_among(
        &without.target,
        &without.candidates,
        &without.bounds,
        &rule,
        &none,
        Otherwise::PartialFix,
    );
    Choice { hidden: true, ..choice }
}

#[test]
fn a_pair_takes_the_place_of_a_partial_fix_which_stays_where_no_pair_fixes() {
    let settled = |milliseconds: f64| {
        let (under, without) = (
            held(8000.0, &[(algorithm(7), 1e3 * milliseconds)], 4000.0),
            held(10_000.0, &[], 4000.0),
        );
        let (candidates, bounds) = field(&under, &without, Some(&ACTS));
        let contest = Judged {
            judged: choose(&under.target, &candidates, &bounds, &rule()),
            candidates,
            default_without: default_of(&without),
            finding: Some(&ACTS),
        };
        let mut choice = partly_fixed();
        let is_chosen = settle(&mut choice, &gate(), contest, &rule());
        let chosen = choice.contest.candidates.iter().filter(|one| one.chosen);
        let chosen: Vec<String> = chosen.map(|one| one.id.clone()).collect();
        (is_chosen, chosen, choice)
    };
    let (is_chosen, chosen, choice) = settled(3.9);
    assert!(is_chosen && choice.fixes());
    assert_eq!(chosen, ["coll_han_priority=0 coll_tuned_bcast_algorithm=7"]);
    let (is_chosen, chosen, choice) = settled(4.5);
    assert!(!is_chosen && choice.is_partial());
    assert_eq!((chosen, choice.chosen), (vec![own().id()], Some(own())));
}

#[test]
fn the_pair_fixes_what_neither_half_does() {
    let under = held(8000.0, &[(algorithm(7), 3900.0), (algorithm(3), 6000.0)], 4000.0);
    let choice = settled(&under, &ACTS);
    assert_eq!((choice.chosen, choice.unfixed_because), (Some(algorithm(7)), None));
    let text = choice.contest.candidates.iter().map(|one| {
        let chosen = if one.chosen { " chosen" } else { "" };
        format!("{} {:.2}{chosen}", one.id, one.ratio_to_default)
    });
    let text: Vec<String> = text.collect();
    assert_eq!(
        text,
        [
            "bcast.binomial 0.90",
            "default 1.00",
            "coll_han_priority=0 coll_tuned_bcast_algorithm=7 0.39 chosen",
            "coll_han_priority=0 coll_tuned_bcast_algorithm=3 0.60",
            "coll_han_priority=0 0.80",
        ]
    );
    let proof = choice.contest.proof.unwrap();
    assert!(
        proof.starts_with("with `coll_han_priority=0`: proven by messages"),
        "{proof}"
    );
}

#[test]
fn what_is_not_shown_to_act_under_the_gate_is_not_credited() {
    let under = held(8000.0, &[(algorithm(7), 3900.0)], 4000.0);
    for finding in [NO_EFFECT, Finding::Unknown("not counted".to_owned())] {
        let choice = settled(&under, &finding);
        assert_eq!(choice.chosen, None, "{finding:?}");
        let why = choice.unfixed_because.unwrap();
        assert!(
            why.ends_with(
                "with `coll_han_priority=0`: the best of 1 candidates, default, still takes 2.00 times the bound"
            ),
            "{why}"
        );
    }
}

#[test]
fn a_bound_that_became_slower_mends_nothing() {
    let under = held(8000.0, &[(algorithm(7), 5000.0)], 6000.0);
    let choice = settled(&under, &ACTS);
    assert_eq!(choice.chosen, None);
    assert!(
        choice
            .unfixed_because
            .unwrap()
            .contains("still takes 1.25 times the bound")
    );
    // And one that became faster has to be met as it is then.
    let under = held(8000.0, &[(algorithm(7), 3900.0)], 2000.0);
    assert_eq!(settled(&under, &ACTS).chosen, None);
}

#[test]
fn a_pair_has_to_be_faster_than_the_library_without() {
    let under = held(12_000.0, &[(algorithm(7), 4100.0)], 4000.0);
    let (candidates, bounds) = field(&under, &held(4200.0, &[], 4000.0), Some(&ACTS));
    let without = launches(4200.0);
    let contest = Judged {
        judged: choose(&under.target, &candidates, &bounds, &rule()),
        candidates,
        default_without: Some(&without),
        finding: Some(&ACTS),
    };
    let mut choice = unfixed();
    assert!(!settle(&mut choice, &gate(), contest, &rule()));
    let why = choice.unfixed_because.unwrap();
    assert!(why.ends_with("is not faster than the library without it"), "{why}");
    assert!(choice.contest.candidates.iter().all(|one| !one.chosen));
}

#[test]
fn a_gate_that_is_enough_by_itself_was_for_the_search_of_settings_to_accept() {
    let under = held(3900.0, &[(algorithm(7), 3800.0)], 4000.0);
    let choice = settled(&under, &ACTS);
    assert_eq!(choice.chosen, None);
    assert!(
        choice
            .unfixed_because
            .unwrap()
            .contains("the setting by itself was not accepted")
    );
}

#[test]
fn kilters_own_compete_under_the_gate_too() {
    let under = held(8000.0, &[(algorithm(7), 3900.0), (own(), 2000.0)], 4000.0);
    assert_eq!(settled(&under, &ACTS).chosen, Some(own()));
}

#[test]
fn gates_are_tried_where_algorithms_are_hidden_and_nothing_fixes() {
    let with = |hidden, choice: Choice| (target(), Choice { hidden, ..choice });
    let fixed = Choice {
        chosen: Some(own()),
        unfixed_because: None,
        ..unfixed()
    };
    let holds = Choice {
        unfixed_because: None,
        ..unfixed()
    };
    let is_open = |one: (Target, Choice)| !open(&[one], &|_| true).is_empty();
    assert!(is_open(with(true, unfixed())));
    assert!(is_open(with(true, partly_fixed())));
    assert!(!is_open(with(false, unfixed())));
    assert!(!is_open(with(true, fixed)));
    assert!(!is_open(with(true, holds.clone())));
    // Asked for.
    let unbounded = Target::unbounded(Collective::Bcast, 262_144);
    assert!(is_open((unbounded, Choice { hidden: true, ..holds })));
    assert!(open(&[with(true, unfixed())], &|_| false).is_empty());
}

#[test]
fn the_description_says_what_is_a_gate_and_for_which_collectives() {
    let library = find_for("mpirun (Open MPI) 5.0.11").unwrap();
    let several_hosts = &library.transports.several_hosts;
    let gates_in = |heard: &Heard, transports: &[String], collective| -> Vec<String> {
        let target = Target::unbounded(collective, 65536);
        let all = space::admitting_candidates(&library, transports, heard, &[target]);
        all.iter().map(|one| id(&one.assignments)).collect()
    };
    let gates = |transports: &[String], collective| gates_in(&Heard::default(), transports, collective);
    // A build with HCOLL has one more.
    let with_hcoll = Heard {
        parameters: ["coll_hcoll_enable".to_owned()].into(),
        ..Heard::default()
    };
    assert_eq!(
        gates_in(&with_hcoll, several_hosts, Collective::Bcast),
        ["coll_hcoll_enable=0", "coll_han_priority=0"]
    );
    assert_eq!(gates(several_hosts, Collective::Bcast), ["coll_han_priority=0"]);
    assert_eq!(gates(several_hosts, Collective::Scan), [""; 0]);
    assert_eq!(gates(&library.transports.one_host, Collective::Bcast), [""; 0]);
    let acts = |collective| acts_on(&library, "coll_han_priority", &Target::unbounded(collective, 8));
    assert!(acts(Collective::Bcast) && !acts(Collective::Scan));
    assert!(acts_on(&library, "btl_tcp_eager_limit", &target()));
    assert!(!acts_on(&library, "nothing", &target()));
}
