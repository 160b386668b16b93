//! Predictions on scripted times, whose optimum is known everywhere.

#![allow(clippy::unwrap_used, reason = "tests panic as tests do")]

use kilter_algorithms::Collective;
use kilter_model::deployment::Selection;
use kilter_model::layout::{Layout, parse_list};
use kilter_predict::{
    BadObservation, Call, Cell, Implementation, Kind, Map, Observation, Rules, Status, Why, next_layout, predict,
};

/// Seconds of an implementation on a layout at a volume; `None` where it does not run.
type Script = fn(&str, Layout, u64) -> Option<f64>;

const VOLUMES: [u64; 3] = [1024, 65_536, 1 << 20];

fn layouts(text: &str) -> Vec<Layout> {
    parse_list(text).unwrap()
}

fn implementation(name: &str) -> Implementation {
    match name {
        "default" => Implementation::Default,
        row if row.contains('.') => Implementation::Selected(Selection::Algorithm(row.to_owned(), Vec::new())),
        name => Implementation::Selected(Selection::Settings(vec![("bcast".to_owned(), name.to_owned())])),
    }
}

fn call(bytes: u64) -> Call {
    Call {
        collective: Collective::Bcast,
        bytes,
    }
}

fn observe(script: Script, names: &[&str], measured: &str) -> Vec<Observation> {
    let mut observations = Vec::new();
    for layout in layouts(measured) {
        for name in names {
            for bytes in VOLUMES {
                if let Some(seconds) = script(name, layout, bytes) {
                    observations.push(Observation {
                        layout,
                        call: call(bytes),
                        implementation: implementation(name),
                        seconds,
                        noise: 0.01,
                    });
                }
            }
        }
    }
    observations
}

fn predicted(script: Script, names: &[&str], measured: &str, asked: &str) -> Map {
    predict(&observe(script, names, measured), &layouts(asked), &Rules::default()).unwrap()
}

fn cell(map: &Map, layout: &str, bytes: u64) -> Cell {
    map.get(layouts(layout)[0], call(bytes)).unwrap().clone()
}

fn is_confirmed(cell: &Cell) -> bool {
    matches!(cell.status, Status::Confirmed { .. })
}

/// Rounds of a tree against steps of a pipeline: the tree is faster for short messages, the pipeline for long ones. The library has a linear one.
fn tree_or_pipeline(name: &str, layout: Layout, bytes: u64) -> Option<f64> {
    let (ranks, n) = (layout.ranks() as f64, bytes as f64);
    Some(match name {
        "tree" => ranks.log2().ceil() * (2e-6 + 1e-9 * n),
        "pipeline" => 2e-6 * ranks + 1e-9 * n,
        _ => 2e-6 + (ranks - 1.0) * (1e-6 + 1e-9 * n),
    })
}

const TREE_OR_PIPELINE: [&str; 3] = ["default", "tree", "pipeline"];

/// Seconds at which messages have left a link that they share evenly: so many of them, each `apart` after the one before, that take `alone` each.
fn shared(count: usize, apart: f64, alone: f64) -> Vec<f64> {
    let (mut left, mut ended, mut now) = (vec![alone; count], vec![0.0; count], 0.0);
    loop {
        let on: Vec<usize> = (0..count)
            .filter(|at| left[*at] > 0.0 && *at as f64 * apart <= now)
            .collect();
        let comes = (0..count).map(|at| at as f64 * apart).find(|begin| *begin > now);
        let least = on.iter().map(|at| left[*at]).fold(f64::INFINITY, f64::min);
        let until = comes.unwrap_or(f64::INFINITY).min(now + least * on.len() as f64);
        if until.is_infinite() {
            return ended;
        }
        for at in &on {
            left[*at] -= (until - now) / on.len() as f64;
            if left[*at] < 1e-15 {
                (left[*at], ended[*at]) = (0.0, until);
            }
        }
        now = until;
    }
}

const OVERHEAD: f64 = 3e-7;
const LATENCY: f64 = 1.7e-6;

/// The tree that halves its ranks: the leader sends to the other half first, then within its own.
fn halving(ranks: usize, byte: f64) -> f64 {
    let halves = std::iter::successors(Some(ranks), |own| Some(own.div_ceil(2))).take_while(|own| *own > 1);
    let others: Vec<usize> = halves.map(|own| own / 2).collect();
    let left = shared(others.len(), OVERHEAD, byte);
    let through = others.iter().zip(left);
    let through = through.map(|(other, left)| 2.0 * OVERHEAD + LATENCY + left + halving(*other, byte));
    through.fold(0.0, f64::max)
}

/// LogGP times of two rows of the registry on links that messages share, of a library's algorithm that is one of them, and of a default that is
/// neither.
fn rows_on_a_network(name: &str, layout: Layout, bytes: u64) -> Option<f64> {
    let (ranks, byte) = (layout.ranks(), 2.5e-10 * bytes as f64);
    Some(match name {
        "bcast.binomial" => halving(ranks, byte),
        "bcast.linear" | "flat" => {
            let left = shared(ranks - 1, OVERHEAD, byte);
            2.0 * OVERHEAD + LATENCY + left.into_iter().fold(0.0, f64::max)
        }
        _ => 5e-6 * (ranks as f64).sqrt() + 3.0 * byte,
    })
}

#[test]
fn schedules_of_rows_are_timed_on_layouts_that_were_not_measured_and_stand_for_those_of_a_library() {
    let names = ["default", "bcast.binomial", "bcast.linear", "flat"];
    let observations = observe(rows_on_a_network, &names, "4x1,12x1,64x1");
    let rules = Rules {
        model: Some(Kind::Simulated),
        unproven: true,
        ..Rules::default()
    };
    let map = predict(&observations, &layouts("8x1,24x1,40x1,56x1"), &rules).unwrap();
    for cell in &map.cells {
        for estimate in cell
            .candidates
            .iter()
            .filter(|estimate| estimate.implementation != Implementation::Default)
        {
            let name = names
                .iter()
                .find(|name| implementation(name) == estimate.implementation)
                .unwrap();
            let truth = rows_on_a_network(name, cell.layout, cell.call.bytes).unwrap();
            let error = (estimate.seconds / truth).ln().abs();
            assert!(error < 0.05, "{name} on {}: {error}", cell.layout);
        }
        assert_eq!(cell.candidates.len(), names.len());
    }
    // Small messages: linear on few ranks, in rounds on many, though nothing was measured near the crossing.
    let is_linear = |layout| cell(&map, layout, 1024).choice != implementation("bcast.binomial");
    let asked = ["8x1", "24x1", "40x1", "56x1"];
    let seconds = |name, at| rows_on_a_network(name, layouts(at)[0], 1024).unwrap();
    let is_best = |at| seconds("bcast.linear", at) < seconds("bcast.binomial", at);
    assert_eq!(asked.map(is_linear), asked.map(is_best));
    assert_eq!(asked.map(is_best), [true, true, false, false]);
}

/// The fastest on a layout, by the script.
fn optimum(script: Script, names: &[&str], layout: Layout, bytes: u64) -> f64 {
    let times = names.iter().filter_map(|name| script(name, layout, bytes));
    times.fold(f64::INFINITY, f64::min)
}

#[test]
fn choices_between_measured_layouts_are_within_the_floor_of_the_optimum_and_say_why() {
    let measured = "4x1,8x1,16x1,12x1,4x4,16x4,12x4";
    let map = predicted(tree_or_pipeline, &TREE_OR_PIPELINE, measured, "8x2,8x4,6x1,12x2,10x3");
    assert_eq!(map.cells.len(), 15);
    let mut confirmed = 0;
    for cell in &map.cells {
        let best = optimum(tree_or_pipeline, &TREE_OR_PIPELINE, cell.layout, cell.call.bytes);
        let chosen = TREE_OR_PIPELINE
            .iter()
            .find(|name| implementation(name) == cell.choice)
            .unwrap();
        let took = tree_or_pipeline(chosen, cell.layout, cell.call.bytes).unwrap();
        if is_confirmed(cell) {
            confirmed += 1;
            assert!(took <= 1.05 * best, "{cell:?}");
        }
    }
    assert!(confirmed >= 12, "{confirmed} of 15: {:#?}", map.cells);
    // The crossing in bytes.
    assert_eq!(cell(&map, "8x4", 1024).choice, implementation("tree"));
    assert_eq!(cell(&map, "8x4", 1 << 20).choice, implementation("pipeline"));
    let Status::Confirmed { from, confirmed_by } = cell(&map, "8x4", 1 << 20).status else {
        panic!("{map:?}");
    };
    // Both neighbours lie between other measured layouts, and were held out.
    assert_eq!((from, confirmed_by), (layouts("4x4,12x4"), layouts("4x4,12x4")));
}

#[test]
fn times_are_predicted_with_intervals_that_widen_away_from_what_was_measured() {
    let observations = observe(tree_or_pipeline, &TREE_OR_PIPELINE, "4x1,8x1,16x1,4x4,16x4");
    let rules = Rules {
        model: Some(Kind::Cost),
        ..Rules::default()
    };
    let map = predict(&observations, &layouts("8x4,8x1"), &rules).unwrap();
    let near = cell(&map, "8x4", 65_536);
    for estimate in &near.candidates {
        let name = TREE_OR_PIPELINE
            .iter()
            .find(|name| implementation(name) == estimate.implementation)
            .unwrap();
        let truth = tree_or_pipeline(name, near.layout, 65_536).unwrap();
        let error = (estimate.seconds / truth).ln().abs();
        assert!(
            error < 0.25 && estimate.low < estimate.seconds && estimate.seconds < estimate.high,
            "{name}: {error}"
        );
    }
    let width = |cell: &Cell| (cell.candidates[0].high / cell.candidates[0].low).ln();
    let measured = cell(&map, "8x1", 65_536);
    assert_eq!(measured.status, Status::Measured);
    assert!(width(&measured) < width(&near), "{} {}", width(&measured), width(&near));
}

/// An algorithm that wins on 4 and 16 nodes and loses on 8.
fn trap(name: &str, layout: Layout, bytes: u64) -> Option<f64> {
    let library = 1e-6 * (layout.ranks() as f64).log2() + 1e-9 * bytes as f64;
    let factor = if layout.nodes == 8 { 2.0 } else { 0.5 };
    Some(if name == "trap" { factor * library } else { library })
}

#[test]
fn a_winner_that_does_not_hold_between_is_not_deployed_around_there() {
    let map = predicted(trap, &["default", "trap"], "4x1,8x1,16x1", "4x1,8x1,6x1,12x1");
    for bytes in VOLUMES {
        assert_eq!(cell(&map, "4x1", bytes).choice, implementation("trap"));
        assert_eq!(cell(&map, "8x1", bytes).choice, Implementation::Default);
        for asked in ["6x1", "12x1"] {
            let cell = cell(&map, asked, bytes);
            assert_eq!(cell.choice, Implementation::Default, "{cell:?}");
            assert!(matches!(cell.status, Status::Default(_)), "{cell:?}");
        }
    }
    // Ranks of the same kind as those on 8 nodes: refuted there.
    let map = predicted(trap, &["default", "trap"], "4x1,8x1,8x4,16x4", "8x2");
    let cell = cell(&map, "8x2", 1024);
    assert_eq!(cell.choice, Implementation::Default, "{cell:?}");
}

/// An algorithm that gains with ranks, one that always gains a little, and a library that takes the first one itself on 8 nodes.
fn switching(name: &str, layout: Layout, bytes: u64) -> Option<f64> {
    let library = 1e-6 * (layout.ranks() as f64).log2() + 1e-9 * bytes as f64;
    let gaining = match layout.nodes {
        2 => 1.05,
        4 => 0.97,
        8 => 0.86,
        12 => 0.80,
        _ => 0.75,
    };
    Some(match name {
        "gaining" => gaining * library,
        "steady" => 0.92 * library,
        _ if layout.nodes == 8 => gaining * library,
        _ => library,
    })
}

#[test]
fn a_library_that_has_switched_to_the_fastest_algorithm_is_not_replaced_by_another() {
    let names = ["default", "gaining", "steady"];
    let map = predicted(switching, &names, "2x1,4x1,12x1,16x1", "8x1");
    for bytes in VOLUMES {
        let cell = cell(&map, "8x1", bytes);
        let fastest = &cell.candidates[0].implementation;
        assert_eq!(*fastest, implementation("gaining"), "{cell:?}");
        // The fastest gained nothing on 4 ranks, the other one did.
        assert_eq!(cell.choice, Implementation::Default, "{cell:?}");
        assert!(
            matches!(cell.status, Status::Default(Why::NoGainNearby { .. })),
            "{cell:?}"
        );
    }
}

#[test]
fn neighbours_that_agree_prove_nothing_where_nothing_between_was_held_out() {
    let map = predicted(trap, &["default", "trap"], "4x1,16x1", "8x1");
    let cell = cell(&map, "8x1", 65_536);
    assert_eq!(cell.choice, Implementation::Default);
    let Status::Default(why) = cell.status else {
        panic!("{map:?}");
    };
    assert_eq!(
        why.to_string(),
        "no measured layout between 4x1 and 16x1 could confirm a prediction"
    );
    assert!(
        cell.regret > 0.3,
        "what the default is expected to lose: {}",
        cell.regret
    );
}

/// Fast on powers of two, slow elsewhere, and twice as slow on three ranks a node.
fn powers_of_two(name: &str, layout: Layout, bytes: u64) -> Option<f64> {
    let library = 1e-6 * (layout.ranks() as f64).log2() + 1e-9 * bytes as f64;
    let power = layout.ranks().is_power_of_two();
    match name {
        "doubling" => Some(if power { 0.5 } else { 3.0 } * library),
        "any" => Some(0.8 * library),
        "only powers" => power.then_some(0.4 * library),
        _ => Some(library),
    }
}

const KINDS: [&str; 4] = ["default", "doubling", "any", "only powers"];

#[test]
fn powers_of_two_say_nothing_about_other_numbers_of_ranks() {
    let map = predicted(powers_of_two, &KINDS, "2x1,4x1,8x1,16x1,32x1", "12x1,24x1");
    for cell in &map.cells {
        assert_eq!(cell.choice, Implementation::Default, "{cell:?}");
        assert!(
            matches!(cell.status, Status::Default(Why::NoWitness { odd: true, .. })),
            "{cell:?}"
        );
    }
}

#[test]
fn other_numbers_of_ranks_are_predicted_from_their_own_kind() {
    let map = predicted(
        powers_of_two,
        &KINDS,
        "2x1,3x1,4x1,6x1,8x1,12x1,16x1,24x1,32x1",
        "10x1,20x1,28x1",
    );
    for cell in &map.cells {
        assert_eq!(cell.choice, implementation("any"), "{cell:?}");
        assert!(is_confirmed(cell), "{cell:?}");
        assert!(
            cell.candidates
                .iter()
                .all(|estimate| estimate.implementation != implementation("only powers"))
        );
    }
}

#[test]
fn nothing_is_deployed_beyond_what_was_measured() {
    let map = predicted(tree_or_pipeline, &TREE_OR_PIPELINE, "4x1,8x1,16x1", "64x1,8x2,2x1");
    for cell in &map.cells {
        assert_eq!(cell.choice, Implementation::Default);
        let Status::Default(why) = &cell.status else {
            panic!("{cell:?}");
        };
        assert!(matches!(why, Why::NotBetween | Why::NothingFaster), "{why}");
    }
    assert_eq!(cell(&map, "64x1", 1 << 20).status, Status::Default(Why::NotBetween));
}

#[test]
fn a_difference_below_the_floor_changes_nothing() {
    fn close(name: &str, layout: Layout, bytes: u64) -> Option<f64> {
        let library = 1e-6 * (layout.ranks() as f64).log2() + 1e-9 * bytes as f64;
        Some(if name == "close" { 0.98 * library } else { library })
    }
    let map = predicted(close, &["default", "close"], "4x1,8x1,16x1,32x1", "4x1,64x1,8x1");
    assert!(
        map.cells.iter().all(|cell| cell.choice == Implementation::Default),
        "{map:?}"
    );
    assert_eq!(cell(&map, "64x1", 1024).status, Status::Default(Why::NothingFaster));
}

#[test]
fn the_order_of_observations_does_not_matter() {
    let mut observations = observe(tree_or_pipeline, &TREE_OR_PIPELINE, "4x1,8x1,16x1,4x4,16x4");
    let asked = layouts("8x4,6x1");
    let before = predict(&observations, &asked, &Rules::default()).unwrap();
    observations.reverse();
    observations.rotate_left(7);
    assert_eq!(predict(&observations, &asked, &Rules::default()).unwrap(), before);
}

#[test]
fn no_model_loses_much_less_than_the_one_that_is_taken() {
    let map = predicted(tree_or_pipeline, &TREE_OR_PIPELINE, "4x1,8x1,16x1,32x1,64x1", "24x1");
    let chosen = &map.models[0];
    let of = |kind| {
        chosen
            .regrets
            .iter()
            .find(|(other, _)| *other == kind)
            .unwrap()
            .1
            .unwrap()
    };
    // All but the simulation: no row of the registry was measured.
    assert_eq!(chosen.regrets.len(), Kind::ALL.len() - 1);
    assert!(
        chosen
            .regrets
            .iter()
            .all(|(kind, _)| of(chosen.model) <= of(*kind) + 0.05),
        "{chosen:?}"
    );
    // Without a layout between others there is nothing to compare by.
    let map = predicted(tree_or_pipeline, &TREE_OR_PIPELINE, "4x1,8x1", "6x1");
    assert!(map.models[0].regrets.iter().all(|(_, regret)| regret.is_none()));
}

#[test]
fn the_naive_rule_takes_the_next_smaller_number_of_ranks() {
    let observations = observe(trap, &["default", "trap"], "4x1,8x1,16x1");
    let map = predict(&observations, &layouts("6x1,12x1,2x1,64x2"), &Rules::naive(0.05)).unwrap();
    let choice = |layout| cell(&map, layout, 1024).choice;
    assert_eq!(choice("6x1"), implementation("trap"));
    assert_eq!(choice("12x1"), Implementation::Default);
    assert_eq!(choice("2x1"), implementation("trap"));
    assert_eq!(choice("64x2"), implementation("trap"));
}

#[test]
fn the_next_layout_is_the_largest_then_the_smallest_then_the_least_certain() {
    let allowed = layouts("2x1,3x1,4x1,6x1,8x1,12x1,16x1");
    let next = |measured: &str| {
        let observations = if measured.is_empty() {
            Vec::new()
        } else {
            observe(powers_of_two, &KINDS, measured)
        };
        next_layout(&observations, &allowed, &Rules::default()).unwrap()
    };
    let name = |measured: &str| next(measured).unwrap().layout.to_string();
    assert_eq!(name(""), "16x1");
    assert_eq!(name("16x1"), "2x1");
    assert!(next("16x1").unwrap().regret.is_infinite());
    // Powers of two are certain then, other numbers keep the default.
    let least = next("2x1,4x1,16x1").unwrap();
    assert!(!least.layout.ranks().is_power_of_two(), "{least:?}");
    assert!(least.regret > 0.1 && least.regret.is_finite(), "{least:?}");
    assert_eq!(next("2x1,3x1,4x1,6x1,8x1,12x1,16x1"), None);
    assert_eq!(next_layout(&[], &[], &Rules::default()).unwrap(), None);
}

#[test]
fn what_is_no_observation_is_named() {
    let good = observe(trap, &["default"], "4x1");
    let with = |change: fn(&mut Observation)| {
        let mut observations = good.clone();
        change(&mut observations[0]);
        predict(&observations, &[], &Rules::default()).unwrap_err().to_string()
    };
    assert_eq!(
        with(|seen| seen.seconds = 0.0),
        "bcast@1024 by default on 4x1: 0 s is no time; allowed: more than 0 s; measure it again"
    );
    assert!(with(|seen| seen.seconds = f64::NAN).contains("NaN s is no time"));
    assert!(with(|seen| seen.noise = -0.1).contains("-0.1 is no noise; allowed: 0 and more"));
    let twice = [good.clone(), good].concat();
    assert!(matches!(
        predict(&twice, &[], &Rules::default()),
        Err(BadObservation::Twice { .. })
    ));
}

#[test]
fn calls_whose_default_was_not_measured_are_left_out() {
    let map = predicted(trap, &["trap"], "4x1,8x1,16x1", "6x1,8x1");
    assert!(map.cells.is_empty() && map.models.is_empty(), "{map:?}");
    let nothing = predict(&[], &layouts("8x1"), &Rules::default()).unwrap();
    assert_eq!(nothing, Map::default());
}
