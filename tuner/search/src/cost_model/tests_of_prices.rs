//! Networks whose prices are known: prices measured on them, and times explained by these.

use std::collections::BTreeMap;

use kilter_algorithms::threads::{Config, Network, run};
use kilter_algorithms::{Arguments, Nodes, Transport as _, registry};
use kilter_bench::store::{BlockOutcome, ItemSamples};
use rand::{RngExt as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::calibrated::Calibrated;
use super::counts::{Counts, counts};
use super::explain::{by_prices, unexplained};
use super::measure::{
    COMBINE, COPY, LOCAL, MESSAGES, MORE_LOCAL, MORE_MESSAGES, MORE_ROUND_TRIPS, ROUND_TRIPS, STREAM, item_id,
    local_id, messages_id, more, read,
};
use super::prices::{Distance, LEAST_TIMES, Prices};
use super::prune::Model as _;

/// 200 us, 1 Gbit/s.
pub(crate) const SLOW: Network = Network {
    latency: 196e-6,
    alpha: 4e-6,
    beta: 8.5e-9,
    gamma: 0.3e-9,
};

/// Copying a byte.
const COPIED: f64 = 0.1e-9;

/// Until ranks that sleep are awake.
const START: f64 = 120e-6;

/// Report of a launch on this network, each time wrong by at most a factor `noise` either way.
fn outcomes(network: &Network, distance: Distance, noise: f64, seed: u64) -> BTreeMap<String, BlockOutcome> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut block = |times: &[(String, f64)]| {
        let mut outcome = BlockOutcome::default();
        for (item, seconds) in times {
            let mut one = || seconds * f64::powf(noise, random.random_range(-1.0..=1.0));
            let seconds = (0..12).map(|_| one()).collect();
            outcome.samples.insert(item.clone(), ItemSamples { seconds, void: 0 });
        }
        outcome
    };
    let busy = |bytes: u64| network.alpha + bytes as f64 * network.beta;
    let one_way = |bytes: u64| network.latency + busy(bytes);
    let mut all = BTreeMap::new();
    for bytes in MESSAGES {
        let mut times = Vec::new();
        for count in [1, more(bytes, MORE_MESSAGES), more(bytes, MORE_ROUND_TRIPS)] {
            let round_trips = count as f64 * 2.0 * one_way(bytes);
            let stream = count as f64 * busy(bytes) + 2.0 * one_way(1);
            times.push((item_id(ROUND_TRIPS, count), START + round_trips));
            times.push((item_id(STREAM, count), START + stream));
        }
        all.insert(messages_id(distance, bytes), block(&times));
    }
    for bytes in LOCAL {
        let mut times = Vec::new();
        for count in [1, more(bytes, MORE_LOCAL)] {
            let copy = count as f64 * bytes as f64 * COPIED;
            let combine = count as f64 * bytes as f64 * network.gamma;
            times.push((item_id(COPY, count), START + copy));
            times.push((item_id(COMBINE, count), START + copy + combine));
        }
        all.insert(local_id(bytes), block(&times));
    }
    all
}

pub(crate) fn prices(network: &Network, distance: Distance, noise: f64, seed: u64) -> Prices {
    let outcomes = outcomes(network, distance, noise, seed);
    read(outcomes.iter().map(|(id, outcome)| (id.as_str(), outcome)), LEAST_TIMES)
}

/// The counts of a broadcast's call, and its time on the network, message by message.
fn broadcast(id: &str, p: usize, n: usize, parameters: &[u64], network: &Network) -> (Counts, f64) {
    let row = registry::find(id).unwrap();
    let config = Config {
        network: *network,
        ..Config::new(1, |_, _| {})
    };
    let outcome = run(p, &config, |transport| {
        let _ = transport.rank();
        let arguments = Arguments {
            input: &[],
            output: &mut vec![0; n],
            input_blocks: &[],
            output_blocks: &[],
            root: 0,
            parameters,
        };
        registry::run(row, transport, arguments)
    });
    let counts = counts(row, p, n as u64, parameters, &Nodes::each_alone(p));
    (counts, outcome.seconds())
}

#[test]
fn a_latency_of_200_us_is_found_within_ten_per_cent() {
    for seed in 0..20 {
        let prices = prices(&SLOW, Distance::Between, 1.05, seed);
        let level = prices.level(Distance::Between).unwrap();
        let near =
            |price: f64, truth: f64, off: f64| assert!((price / truth - 1.0).abs() < off, "{seed}: {price} {truth}");
        near(level.latency().seconds, 200e-6, 0.1);
        let (low, high) = level.latency().interval;
        assert!(low <= level.latency().seconds && level.latency().seconds <= high && high - low < 30e-6);
        // The gap's share of a byte shows where it is more than the noise of the two round trips around it.
        near(level.byte(65_536.0).seconds, SLOW.beta, 0.1);
        near(level.byte(1e6).seconds, SLOW.beta, 0.1);
        near(prices.combine(262_144.0).unwrap().seconds, SLOW.gamma, 0.15);
        near(prices.copy(262_144.0).unwrap().seconds, COPIED, 0.1);
        assert_eq!(prices.level(Distance::Within), None);
    }
    let exact = prices(&SLOW, Distance::Within, 1.0, 0);
    let level = exact.level(Distance::Within).unwrap();
    approx::assert_relative_eq!(level.gap().seconds, SLOW.alpha, max_relative = 1e-2);
    approx::assert_relative_eq!(level.under_way(5000.0).seconds, SLOW.latency, max_relative = 1e-6);
    approx::assert_relative_eq!(level.byte(3e6).seconds, SLOW.beta, max_relative = 1e-2);
}

#[test]
fn chains_and_trees_are_explained_by_latencies_and_gaps() {
    let prices = prices(&SLOW, Distance::Between, 1.03, 1);
    for (id, p, n, parameters, hops) in [
        ("bcast.pipelined_chain", 8, 262_144, vec![32_768], "7 hops x 196 us"),
        ("bcast.pipelined_chain", 8, 262_144, vec![4096], "7 hops x "),
        ("bcast.pipelined_chain", 8, 64, vec![65_536], "7 hops x "),
        ("bcast.linear", 8, 1024, vec![], "1 hop x "),
        ("bcast.binomial", 8, 1024, vec![], "3 hops x "),
        // 200 us are less than the noise of 9 ms.
        ("bcast.binomial", 8, 1 << 20, vec![], "3 messages x "),
        ("bcast.scatter_allgather", 8, 262_144, vec![], "hops x "),
    ] {
        let (counts, seconds) = broadcast(id, p, n, &parameters, &SLOW);
        let explained = by_prices(&counts, &prices, Distance::Between).unwrap();
        assert!(
            explained.because.contains(hops.split(" x ").next().unwrap()),
            "{id} {n}: {explained:?}"
        );
        let off = explained.total.seconds / seconds;
        assert!((0.9..1.1).contains(&off), "{id} {n}: {off} of {seconds}, {explained:?}");
        assert_eq!(unexplained(explained.total.seconds, seconds), None);
    }
}

#[test]
fn what_is_off_by_more_than_30_per_cent_is_not_explained() {
    for (model, measured, ratio) in [
        (1e-3, 1.6e-3, "1.60 times as long as it says"),
        (1e-3, 0.6e-3, "1.67 times shorter than it says"),
        (1e-3, 30e-3, "30.0 times as long as it says"),
        (f64::NAN, 1e-3, "the model does not explain it"),
        (1e-3, 0.0, "the model does not explain it"),
    ] {
        let text = unexplained(model, measured).unwrap();
        assert!(
            text.starts_with("the model does not explain it") && text.contains(ratio),
            "{text}"
        );
    }
    for (model, measured) in [(1e-3, 1e-3), (1e-3, 1.4e-3), (1e-3, 0.8e-3)] {
        assert_eq!(unexplained(model, measured), None);
    }
}

#[test]
fn what_collectives_need_beside_prices_is_a_residual_and_no_price() {
    let prices = prices(&SLOW, Distance::Between, 1.0, 2);
    let software = 10e-6;
    let mut points = Vec::new();
    for (id, parameters) in [
        ("bcast.linear", vec![]),
        ("bcast.binomial", vec![]),
        ("bcast.pipelined_chain", vec![4096]),
    ] {
        for n in [1024, 8192, 65_536] {
            let (counts, seconds) = broadcast(id, 8, n, &parameters, &SLOW);
            points.push((counts, seconds + software * counts.cost.rounds));
        }
    }
    let model = Calibrated::of(&prices, Distance::Between, &points).unwrap();
    approx::assert_relative_eq!(model.residual, software, max_relative = 0.1);
    assert!(model.is_trusted() && model.misfit < 1.1, "{}", model.misfit);
    let (counts, seconds) = broadcast("bcast.linear", 8, 4096, &[], &SLOW);
    let explained = by_prices(&counts, &prices, Distance::Between).unwrap();
    approx::assert_relative_eq!(explained.total.seconds, seconds, max_relative = 0.05);
    let predicted = model.predict(&counts).unwrap();
    approx::assert_relative_eq!(predicted.seconds, seconds + 7.0 * software, max_relative = 0.05);
    assert!(predicted.low <= predicted.seconds && predicted.seconds <= predicted.high);
    // A time shorter than the prices say is no negative residual.
    let short: Vec<(Counts, f64)> = points
        .iter()
        .map(|(counts, seconds)| (*counts, 0.3 * seconds))
        .collect();
    let model = Calibrated::of(&prices, Distance::Between, &short).unwrap();
    assert!(model.residual == 0.0 && !model.is_trusted(), "{model:?}");
    assert_eq!(Calibrated::of(&prices, Distance::Between, &points[..5]), None);
    assert_eq!(Calibrated::of(&Prices::default(), Distance::Between, &points), None);
}

#[test]
fn missing_and_impossible_times_give_no_price() {
    let mut outcomes = outcomes(&SLOW, Distance::Between, 1.0, 3);
    let mut spoil = |id: String, item: &str, seconds: Vec<f64>| {
        let block = outcomes.get_mut(&id).unwrap();
        block.samples.insert(item.to_owned(), ItemSamples { seconds, void: 9 });
    };
    spoil(
        messages_id(Distance::Between, 1),
        &item_id(ROUND_TRIPS, 1),
        vec![1e-3; 4],
    );
    spoil(local_id(LOCAL[0]), &item_id(COPY, 1), vec![f64::NAN; 9]);
    let prices = read(outcomes.iter().map(|(id, outcome)| (id.as_str(), outcome)), LEAST_TIMES);
    // The next size is the smallest one then.
    let level = prices.level(Distance::Between).unwrap();
    approx::assert_relative_eq!(
        level.latency().seconds,
        200e-6 + 1024.0 * SLOW.beta,
        max_relative = 1e-6
    );
    assert_eq!(prices.local.len(), LOCAL.len() - 1);
    assert_eq!(read(std::iter::empty(), 1), Prices::default());
}
