use kilter_algorithms::Collective;
use kilter_bench::store::ItemSamples;
use kilter_protocol::plan::Repetitions;

use super::*;

fn block(subjects: &[Subject]) -> Block {
    Block {
        id: "bcast@8".to_owned(),
        seed: 1,
        items: subjects.iter().map(Subject::item).collect(),
        repetitions: Repetitions::fixed(5, 1.0),
    }
}

fn subjects() -> [Subject; 2] {
    let left = Subject::library(Collective::Bcast, 8);
    let right = Subject {
        text: "scatter(n) + allgather(n)".to_owned(),
        ..left.clone()
    };
    [left, right]
}

/// A block whose items take these times; each repetition costs `overhead` beside its own time, and making an item ready as much as one repetition.
fn outcome(subjects: &[Subject], times: &[Vec<f64>], overhead: f64) -> BlockOutcome {
    let mut outcome = BlockOutcome::default();
    let mut repeating = Repeating {
        seconds: 0.0,
        runs: 0.0,
    };
    for (subject, seconds) in subjects.iter().zip(times) {
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        let runs = runs(seconds.len() as f64, mean);
        repeating.runs += runs;
        repeating.seconds += runs * (overhead + mean);
        outcome.seconds += (runs + 1.0) * (overhead + mean);
        let samples = ItemSamples {
            seconds: seconds.clone(),
            void: 0,
        };
        outcome.samples.insert(subject.item_id(), samples);
    }
    outcome.repeating = Some(repeating);
    outcome
}

fn learnt(within: f64, between: f64) -> Learnt {
    learnt_and_made_ready(within, between, 0.0)
}

/// The same where making each item ready takes so many seconds more.
fn learnt_and_made_ready(within: f64, between: f64, ready_seconds: f64) -> Learnt {
    let subjects = subjects();
    let mut learnt = Learnt::default();
    for launch in [1.0, -1.0] {
        let times = |sign: f64| -> Vec<f64> {
            let level = 5e-4 * (1.0 + sign * launch * between);
            (-2..=2).map(|i| level * (1.0 + within * f64::from(i))).collect()
        };
        let mut outcome = outcome(&subjects, &[times(1.0), times(-1.0)], 1e-3);
        outcome.seconds += subjects.len() as f64 * ready_seconds;
        learnt.add(&block(&subjects), &outcome);
    }
    learnt
}

#[test]
fn repetitions_go_where_the_variance_is() {
    let nowhere = BTreeMap::new();
    let aim = |launch_seconds, margin| Aim {
        launch_seconds,
        launches: 10,
        margin,
        distances: &nowhere,
        max: 60,
    };
    let count = |within, between, start| learnt(within, between).repetitions(&aim(start, 0.0))["bcast@8"];
    assert_eq!(count(0.001, 0.2, 0.01), FEWEST, "launches differ, repetitions do not");
    assert!(count(0.2, 0.001, 0.01) > 20, "{}", count(0.2, 0.001, 0.01));
    let (cheap, dear) = (count(0.1, 0.1, 0.001), count(0.1, 0.1, 1.0));
    assert!(
        cheap < dear,
        "where starting is dear, a launch repeats more: {cheap} {dear}"
    );
    let enough = learnt(0.2, 0.001).repetitions(&aim(0.01, 0.2))["bcast@8"];
    assert!(enough < 10, "more than tell 1 from 1.2 are not needed: {enough}");
    let [left, right] = subjects();
    let at = |left_distance: f64, right_distance: f64| {
        let distances = BTreeMap::from([(left.clone(), left_distance), (right.clone(), right_distance)]);
        let aim = Aim {
            distances: &distances,
            ..aim(0.01, 0.05)
        };
        learnt(0.2, 0.001).repetitions(&aim)["bcast@8"]
    };
    assert_eq!(at(0.4, 0.9), enough, "half of the nearest distance");
    assert!(
        at(0.0, 0.9) > 2 * enough,
        "one that lies at the floor needs all: {}",
        at(0.0, 0.9)
    );
}

#[test]
fn what_was_in_one_launch_alone_leaves_the_variance_of_the_others() {
    let mut both = learnt(0.1, 0.05);
    let before = both.blocks["bcast@8"].components();
    assert!(before.freedom > 0.0 && before.between > 0.0, "{before:?}");
    let far = Subject {
        text: "far below".to_owned(),
        ..subjects()[0].clone()
    };
    let seen = both.blocks.get_mut("bcast@8").unwrap();
    seen.items.entry(far.item_id()).or_default().medians.push(1.0);
    let after = seen.components();
    assert_eq!((after.freedom, after.between), (before.freedom, before.between));
}

#[test]
fn a_launch_is_priced_by_its_own_time_and_what_stands_beside_it() {
    let learnt = learnt(0.0, 0.0);
    let mut counts = BTreeMap::from([("bcast@8".to_owned(), 10)]);
    let [left, _] = subjects();
    approx::assert_relative_eq!(
        learnt.seconds(&left, &counts),
        (1.0 + runs(10.0, 5e-4)) * 1.5e-3,
        max_relative = 1e-9
    );
    let split = Subject {
        text: "8 * bcast(n)".to_owned(),
        ..left.clone()
    };
    // Its parts take 4 ms together, so that it is not warmed up. Making it ready calls all of them once.
    let few = f64::from(FEWEST) + 1.0;
    approx::assert_relative_eq!(learnt.seconds(&split, &counts), few * 5e-3, max_relative = 1e-9);
    counts.insert("bcast@8 in parts".to_owned(), 6);
    approx::assert_relative_eq!(learnt.seconds(&split, &counts), 7.0 * 5e-3, max_relative = 1e-9);
    assert!(learnt.has_seen(&left) && !learnt.has_seen(&split));
    // The screening repeated five times.
    let cost = learnt.costs(&counts)[&left];
    approx::assert_relative_eq!(
        cost.screening_seconds,
        (1.0 + runs(5.0, 5e-4)) * 1.5e-3,
        max_relative = 1e-9
    );
    approx::assert_relative_eq!(
        cost.launch_seconds,
        (1.0 + runs(10.0, 5e-4)) * 1.5e-3,
        max_relative = 1e-9
    );
    let unseen = Subject::library(Collective::Bcast, 16);
    assert_eq!(learnt.seconds(&unseen, &counts), 0.0);
}

#[test]
fn calls_that_sometimes_wait_are_priced_with_their_waits() {
    let subjects = subjects();
    let waits = vec![1e-3, 1e-3, 1e-3, 1e-3, 46e-3];
    let mut learnt = Learnt::default();
    learnt.add(&block(&subjects), &outcome(&subjects, &[waits, vec![1e-3; 5]], 0.0));
    let counts = BTreeMap::from([("bcast@8".to_owned(), 7)]);
    // Both were made ready, which took 11 ms.
    approx::assert_relative_eq!(
        learnt.seconds(&subjects[0], &counts),
        7.0 * 1e-2 + 5.5e-3,
        max_relative = 1e-9
    );
}

#[test]
fn where_making_ready_is_dear_a_launch_repeats_more() {
    let distances = BTreeMap::new();
    let aim = Aim {
        launch_seconds: 0.01,
        launches: 5,
        margin: 0.0,
        distances: &distances,
        max: 60,
    };
    let count = |ready| learnt_and_made_ready(0.1, 0.1, ready).repetitions(&aim)["bcast@8"];
    assert!(count(0.0) < count(0.05), "{} {}", count(0.0), count(0.05));
}

#[test]
fn where_no_worker_says_how_long_items_take_to_be_made_ready_it_is_a_repetition() {
    let subjects = subjects();
    let mut learnt = Learnt::default();
    let mut outcome = outcome(&subjects, &[vec![5e-4; 5], vec![5e-4; 5]], 1e-3);
    outcome.repeating = None;
    learnt.add(&block(&subjects), &outcome);
    let counts = BTreeMap::from([("bcast@8".to_owned(), 10)]);
    approx::assert_relative_eq!(
        learnt.seconds(&subjects[0], &counts),
        (1.0 + runs(10.0, 5e-4)) * 1.5e-3,
        max_relative = 1e-9
    );
}

#[test]
fn the_fewer_blocks_a_launch_has_the_more_it_repeats() {
    let all = subjects();
    let other = Subject {
        bytes: 16,
        ..all[0].clone()
    };
    let mut learnt = learnt(0.1, 0.05);
    let mut second = block(std::slice::from_ref(&other));
    "bcast@16".clone_into(&mut second.id);
    let times = vec![vec![4e-4, 5e-4, 6e-4]];
    for _ in 0..2 {
        learnt.add(&second, &outcome(std::slice::from_ref(&other), &times, 1e-3));
    }
    let count = |measured: &[&Subject]| {
        let distances = measured.iter().map(|one| ((*one).clone(), 0.0)).collect();
        let aim = Aim {
            launch_seconds: 1.0,
            launches: 5,
            margin: 0.0,
            distances: &distances,
            max: 1000,
        };
        learnt.repetitions(&aim)["bcast@8"]
    };
    let (both, alone) = (count(&[&all[0], &all[1], &other]), count(&[&all[0], &all[1]]));
    assert!(both < alone, "{both} {alone}");
}

#[test]
fn long_calls_are_repeated_less_often_where_launches_differ() {
    let subjects = subjects();
    let distances = BTreeMap::new();
    let aim = Aim {
        launch_seconds: 0.01,
        launches: 10,
        margin: 0.05,
        distances: &distances,
        max: 60,
    };
    let fewest = |level: f64| {
        let mut learnt = Learnt::default();
        for launch in [1.0, -1.0] {
            let times = |sign: f64| vec![level * (1.0 + 0.2 * sign * launch); 5];
            learnt.add(&block(&subjects), &outcome(&subjects, &[times(1.0), times(-1.0)], 1e-3));
        }
        learnt.repetitions(&aim)["bcast@8"]
    };
    assert_eq!([1e-5, 5e-3, 7e-3, 0.02, 2.0].map(fewest), [FEWEST, FEWEST, 2, 1, 1]);
}

#[test]
fn what_slows_a_whole_launch_is_no_variance_between() {
    let subjects = subjects();
    let mut common = Learnt::default();
    for level in [1e-3, 3e-3] {
        let times = vec![level, level * 1.1, level * 0.9, level, level];
        common.add(&block(&subjects), &outcome(&subjects, &[times.clone(), times], 0.0));
    }
    assert_eq!(common.blocks["bcast@8"].components().between, 0.0);
}
