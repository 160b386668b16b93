use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::pairs::pairs;

const RULE: Rule = Rule {
    alpha: 0.005,
    tolerance: 0.10,
};

/// Scripted times: usual ones, those that `factor` multiplies by pair, and a spread of 3 % with a spike now and then.
fn measured(seed: u64, hosts: usize, factor: impl Fn(usize, usize) -> f64) -> BTreeMap<Kind, Measured> {
    spread_by(0.03, 4, seed, hosts, factor)
}

/// Likewise with another spread and the first of [`LOOKS`]' launches.
fn spread_by(
    spread: f64,
    launches: usize,
    seed: u64,
    hosts: usize,
    factor: impl Fn(usize, usize) -> f64,
) -> BTreeMap<Kind, Measured> {
    let mut source = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut noise = || {
        let radius = (-2.0 * (1.0 - source.random::<f64>()).ln()).sqrt();
        let angle: f64 = std::f64::consts::TAU * source.random::<f64>();
        let spike = if source.random::<f64>() < 0.05 { 1.5 } else { 1.0 };
        (spread * radius * angle.cos()).exp() * spike
    };
    let mut all = BTreeMap::new();
    for (kind, usual) in [(Kind::Latency, 2e-6), (Kind::Bandwidth, 2e-4)] {
        let times = |(a, b): (usize, usize)| {
            let mut times: Vec<f64> = (0..LOOKS[1]).map(|_| usual * factor(a, b) * noise()).collect();
            times.truncate(launches);
            ((a, b), times)
        };
        all.insert(kind, pairs(hosts).into_iter().map(times).collect());
    }
    all
}

fn names(hosts: usize) -> Vec<String> {
    (0..hosts).map(|host| format!("n{host}")).collect()
}

fn slow(seed: u64, hosts: usize, factor: impl Fn(usize, usize) -> f64) -> Vec<Vec<String>> {
    let map = judge(&names(hosts), &measured(seed, hosts, factor), &RULE);
    map.slow.into_iter().map(|slow| slow.hosts).collect()
}

#[test]
fn a_slow_host_is_named_alone_among_few_and_among_many() {
    for hosts in [4, 8, 12, 40] {
        for seed in 0..20 {
            let found = slow(seed, hosts, |a, b| if a == 1 || b == 1 { 1.6 } else { 1.0 });
            assert!(!found.is_empty(), "{hosts} hosts, seed {seed}");
            assert!(
                found.iter().all(|hosts| *hosts == ["n1"]),
                "{hosts} hosts, seed {seed}: {found:?}"
            );
        }
    }
}

/// Slow hosts where whole launches take longer, by these factors.
fn slow_in_moods(seed: u64, hosts: usize, moods: [f64; 4], factor: impl Fn(usize, usize) -> f64) -> Vec<Vec<String>> {
    let mut measured = measured(seed, hosts, factor);
    for times in measured.values_mut().flat_map(BTreeMap::values_mut) {
        times.iter_mut().zip(moods).for_each(|(time, mood)| *time *= mood);
    }
    let map = judge(&names(hosts), &measured, &RULE);
    map.slow.into_iter().map(|slow| slow.hosts).collect()
}

#[test]
fn launches_that_are_slow_for_all_pairs_hide_no_slow_host_and_make_none() {
    let moods = [1.0, 1.5, 1.1, 1.8];
    for seed in 0..20 {
        let found = slow_in_moods(seed, 4, moods, |a, b| if a == 2 || b == 2 { 1.76 } else { 1.0 });
        assert!(!found.is_empty(), "seed {seed}");
        assert!(found.iter().all(|hosts| *hosts == ["n2"]), "seed {seed}: {found:?}");
    }
    let alike = |seed: &u64| !slow_in_moods(*seed, 4 + *seed as usize % 20, moods, |_, _| 1.0).is_empty();
    let count = (0..300).filter(alike).count();
    assert!(count <= 1, "{count} of 300");
}

#[test]
fn single_launches_that_vary_by_a_tenth_hide_no_slow_host_and_make_none() {
    let alarms = |factor: f64| {
        let of = |a: usize, b: usize| if a == 2 || b == 2 { factor } else { 1.0 };
        let is_alarm = |seed: &u64| {
            let measure = |launches| Ok::<_, std::convert::Infallible>(spread_by(0.10, launches, *seed, 4, of));
            let Ok(map) = judge_in_looks(&names(4), &RULE, measure);
            map.slow.iter().any(|slow| factor == 1.0 || slow.hosts == ["n2"])
        };
        (0..300).filter(is_alarm).count()
    };
    let (found, false_alarms) = (alarms(1.76), alarms(1.0));
    assert!(found >= 240, "{found} of 300");
    assert!(false_alarms <= 1, "{false_alarms} of 300");
}

#[test]
fn hosts_that_are_alike_are_left_alone() {
    let alarms = (0..300).filter(|seed| !slow(*seed, 4 + *seed as usize % 20, |_, _| 1.0).is_empty());
    let count = alarms.count();
    assert!(count <= 1, "{count} of 300");
}

#[test]
fn almost_no_tolerance_leaves_chance_alone_to_decide() {
    let rule = Rule {
        alpha: 0.05,
        tolerance: 1e-6,
    };
    for hosts in [4, 8, 16] {
        let is_alarm = |seed: &u64| {
            let measured = measured(*seed, hosts, |_, _| 1.0);
            !judge(&names(hosts), &measured, &rule).slow.is_empty()
        };
        let count = (0..200).filter(is_alarm).count();
        assert!(count <= 10, "{hosts} hosts: {count} of 200");
    }
}

#[test]
fn a_slow_link_is_a_pair_and_neither_host() {
    for seed in 0..20 {
        let found = slow(seed, 8, |a, b| if (a, b) == (2, 5) { 3.0 } else { 1.0 });
        assert!(!found.is_empty(), "seed {seed}");
        assert!(found.iter().all(|hosts| *hosts == ["n2", "n5"]), "{found:?}");
    }
}

#[test]
fn two_switches_are_no_slow_hosts() {
    for seed in 0..20 {
        let found = slow(seed, 8, |a, b| if (a < 4) == (b < 4) { 1.0 } else { 1.5 });
        assert_eq!(found, Vec::<Vec<String>>::new(), "seed {seed}");
    }
}

#[test]
fn three_hosts_and_nothing_measured_are_not_judged() {
    let three = slow(1, 3, |a, b| if a == 1 || b == 1 { 9.0 } else { 1.0 });
    assert!(three.is_empty(), "{three:?}");
    let map = judge(&names(5), &BTreeMap::new(), &RULE);
    assert_eq!((map.kinds.len(), map.slow.len()), (0, 0));
}
