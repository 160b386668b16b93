//! Contests on networks whose prices are known.

use kilter_algorithms::Collective;
use kilter_model::config::library::find_for;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::Rule;

use super::*;
use crate::choose::Held;
use crate::cost_model::tests_of_prices::{SLOW, prices};
use crate::joint::{self, Table};
use crate::space;

const RANKS: usize = 32;

fn nodes() -> Nodes {
    Nodes::each_alone(RANKS)
}

fn openmpi() -> Library {
    find_for("mpirun (Open MPI) 4.1.4").unwrap()
}

/// 50 us a round, 1 ns a byte, 0.1 ns a byte combined.
fn seconds(target: &Target, selection: &Selection) -> f64 {
    let (row, parameters) = own_row(selection).unwrap();
    cost(row, RANKS, target.bytes(), &parameters, &nodes()).seconds(50e-6, 1e-9, 1e-10)
}

fn candidates(target: &Target) -> Vec<Selection> {
    space::selections(&openmpi(), target, RANKS, false)
}

fn contest(target: &Target, measured: &[Measured]) -> Contest {
    let column = Held {
        target: target.clone(),
        candidates: measured.to_vec(),
        apart: Vec::new(),
    };
    let rule = Rule::default();
    let call = Table::call(column, &rule).unwrap();
    joint::contest(&call, 0, None, rule.effect_floor, false).contest
}

/// Has measured all algorithms for these.
fn taught(prunes: bool, known: &[(Collective, u64)]) -> Guide {
    let guide = Guide::new(Some(nodes()), prunes);
    for (collective, bytes) in known {
        let target = Target::unbounded(*collective, *bytes);
        for selection in candidates(&target)
            .iter()
            .filter(|selection| own_row(selection).is_some())
        {
            guide.learn(&target, selection, seconds(&target, selection));
        }
    }
    guide
}

const KNOWN: [(Collective, u64); 2] = [(Collective::Allreduce, 1024), (Collective::Gather, 2048)];

#[test]
fn what_is_far_above_the_best_is_not_measured_and_everything_else_is() {
    let guide = taught(true, &KNOWN);
    let target = Target::unbounded(Collective::Bcast, 1024);
    let all = candidates(&target);
    let (kept, note) = guide.field(&target, all.clone());
    let gone: Vec<String> = all
        .iter()
        .filter(|one| !kept.contains(one))
        .map(Selection::id)
        .collect();
    // 31 messages one after the other, against 5 rounds.
    assert!(gone.iter().any(|id| id == "bcast.linear"), "{gone:?}");
    assert!(kept.iter().any(|one| one.id().starts_with("bcast.binomial")));
    assert!(
        gone.iter().all(|id| id.starts_with("bcast.")),
        "settings and mock-ups stay: {gone:?}"
    );
    assert!(note.is_some_and(|note| note.starts_with("bcast 1024: not measured") && note.contains("bcast.linear")));
}

#[test]
fn nothing_is_left_out_where_nothing_is_known_or_it_must_not() {
    let target = Target::unbounded(Collective::Bcast, 1024);
    let all = candidates(&target);
    let far = [(Collective::Allreduce, 1 << 20)];
    for guide in [
        taught(true, &[]),
        taught(true, &far),
        taught(false, &KNOWN),
        Guide::new(None, true),
    ] {
        assert_eq!(guide.field(&target, all.clone()), (all.clone(), None));
    }
}

#[test]
fn a_model_that_does_not_fit_says_so() {
    let guide = taught(true, &KNOWN);
    // As many times again, of which every other one is four times as long, and the rest a fourth.
    for (collective, bytes) in [
        (Collective::Reduce, 1024),
        (Collective::Scatter, 2048),
        (Collective::Allgather, 1024),
    ] {
        let odd = Target::unbounded(collective, bytes);
        let rows = candidates(&odd).into_iter().filter(|one| own_row(one).is_some());
        for (index, selection) in rows.enumerate() {
            let factor = if index % 2 == 0 { 4.0 } else { 0.25 };
            guide.learn(&odd, &selection, factor * seconds(&odd, &selection));
        }
    }
    let target = Target::unbounded(Collective::Bcast, 1024);
    let all = candidates(&target);
    let (kept, note) = guide.field(&target, all.clone());
    assert_eq!(kept, all);
    assert!(note.is_some_and(|note| note.ends_with("so every candidate is measured")));
}

#[test]
fn a_contest_is_explained_by_the_times_of_the_others() {
    let guide = taught(true, &KNOWN);
    let target = Target::unbounded(Collective::Bcast, 1024);
    let algorithm = Selection::Algorithm("bcast.binomial".to_owned(), Vec::new());
    guide.field(&target, candidates(&target));
    // The measured time is twice the one that the others let expect: the prediction does not follow.
    let slow = 2.0 * seconds(&target, &algorithm);
    guide.learn(&target, &algorithm, slow);
    // The library's own linear broadcast.
    let linear = Selection::Settings(vec![("coll_tuned_bcast_algorithm".to_owned(), "1".to_owned())]);
    let measured = |selection, seconds| Measured {
        selection,
        medians: Sample::new(vec![seconds; 3]).unwrap(),
    };
    let measured = [
        measured(None, 1e-3),
        measured(Some(algorithm.clone()), slow),
        measured(Some(linear.clone()), 1.6e-3),
    ];
    let mut contest = contest(&target, &measured);
    guide.explain(&openmpi(), &target, &measured, &mut contest);
    let of = |id: &str| {
        contest
            .candidates
            .iter()
            .find(|one| one.id == id)
            .unwrap()
            .predicted
            .clone()
    };
    let predicted = of(&algorithm.id()).unwrap();
    approx::assert_relative_eq!(predicted.seconds, slow / 2.0, max_relative = 1e-3);
    assert!(
        predicted
            .because
            .starts_with("5 rounds x 50.0 us + 5 KiB sent x 1.00 ns/B"),
        "{predicted:?}"
    );
    let linear = of(&linear.id()).unwrap();
    assert!(linear.because.starts_with("31 rounds x "), "{linear:?}");
    assert_eq!(of("default"), None);
    assert!(
        contest
            .models
            .iter()
            .any(|model| model.medium == "messages" && model.points > 5)
    );
    assert!(contest.left_out.iter().any(|one| one.id == "bcast.linear"));
}

#[test]
fn measured_prices_explain_a_chain_by_latencies_and_say_what_they_do_not_explain() {
    let prices = prices(&SLOW, Distance::Between, 1.0, 0);
    let guide = Guide::new(Some(Nodes::each_alone(8)), true).with_prices(prices);
    let target = Target::unbounded(Collective::Bcast, 262_144);
    let chain = Selection::Algorithm("bcast.pipelined_chain".to_owned(), vec![32_768]);
    // Seven latencies, fourteen messages: 1.4 ms + 14 * (4 us + 32 KiB * 8.5 ns/B).
    let seconds = 7.0 * 196e-6 + 14.0 * (4e-6 + 32_768.0 * 8.5e-9);
    let measured = |factor: f64| {
        let medians = |seconds| Sample::new(vec![seconds; 3]).unwrap();
        let selection = Some(chain.clone());
        [
            Measured {
                selection: None,
                medians: medians(1.0),
            },
            Measured {
                selection,
                medians: medians(factor * seconds),
            },
        ]
    };
    let explained = |factor: f64| {
        let measured = measured(factor);
        let mut contest = contest(&target, &measured);
        guide.explain(&openmpi(), &target, &measured, &mut contest);
        let found = contest.candidates.iter().find(|one| one.id == chain.id()).unwrap();
        (found.predicted.clone().unwrap(), contest.models)
    };
    let (predicted, models) = explained(1.0);
    approx::assert_relative_eq!(predicted.seconds, seconds, max_relative = 0.02);
    assert!(
        predicted.because.starts_with("7 hops x 196 us + 14 messages x 4.0"),
        "{predicted:?}"
    );
    assert_eq!(predicted.unexplained, None);
    // Prices need no measured collective, and exclude no candidate.
    let latency = models[0]
        .prices
        .iter()
        .find(|price| price.what == "latency between nodes")
        .unwrap();
    approx::assert_relative_eq!(latency.seconds, 200e-6, max_relative = 0.01);
    assert!(!models[0].trusted && models[0].points == 0);
    let all = candidates(&target);
    assert_eq!(guide.field(&target, all.clone()), (all, None));
    for factor in [0.7, 1.5] {
        let (predicted, _) = explained(factor);
        let text = predicted.unexplained.unwrap();
        assert!(text.starts_with("the model does not explain it"), "{factor}: {text}");
    }
}

#[test]
fn measured_prices_leave_out_what_is_far_above_the_best() {
    let prices = prices(&SLOW, Distance::Between, 1.0, 0);
    let guide = Guide::new(Some(nodes()), true).with_prices(prices.clone());
    let time = |target: &Target, selection: &Selection| {
        let (row, parameters) = own_row(selection)?;
        let counts = counts(row, RANKS, target.bytes(), &parameters, &nodes());
        Some(by_prices(&counts, &prices, Distance::Between)?.total.seconds)
    };
    let learn = |factor: fn(usize) -> f64| {
        for (collective, bytes) in KNOWN {
            let target = Target::unbounded(collective, bytes);
            for (index, selection) in candidates(&target).iter().enumerate() {
                if let Some(seconds) = time(&target, selection) {
                    guide.learn(&target, selection, factor(index) * seconds);
                }
            }
        }
    };
    learn(|_| 1.1);
    // A chain of 31 hops, or one of few segments, against five.
    let target = Target::unbounded(Collective::Bcast, 1024);
    let all = candidates(&target);
    let (kept, _) = guide.field(&target, all.clone());
    let gone: Vec<String> = all
        .iter()
        .filter(|one| !kept.contains(one))
        .map(Selection::id)
        .collect();
    assert!(
        gone.iter().any(|id| id.starts_with("bcast.pipelined_chain")),
        "{gone:?}"
    );
    // The root sends 31 messages behind each other, which the latency hides.
    assert!(kept.iter().any(|one| one.id() == "bcast.linear"), "{gone:?}");
    // As many times that are off by four either way: nothing is left out any more.
    learn(|index| if index % 2 == 0 { 4.0 } else { 0.25 });
    let (kept, note) = guide.field(&target, all.clone());
    assert_eq!(kept, all);
    assert!(note.is_some_and(|note| note.ends_with("so every candidate is measured")));
}
