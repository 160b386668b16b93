//! Scripted times whose truth is known.

use kilter_algorithms::{Collective, Nodes, registry};
use rand::{RngExt as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::counts::Counts;
use super::explain::fitted;
use super::fit::{Fit, MAX_MISFIT, MIN_POINTS};
use super::prune::{Candidate, Model, judge};
use super::*;

/// Seconds per round, per byte sent, per byte combined.
type Prices = (f64, f64, f64);

/// Rows of a collective that run on `p` ranks, each on a node of its own.
fn rows(collective: Collective, p: usize) -> impl Iterator<Item = &'static Algorithm> {
    registry::by_collective(collective).filter(move |row| row.unmet(p, true, false).is_none())
}

/// The time of a call, wrong by at most a factor `noise` either way.
fn scripted(cost: Cost, (alpha, beta, gamma): Prices, noise: f64, random: &mut Xoshiro256PlusPlus) -> f64 {
    let exponent: f64 = random.random_range(-1.0..=1.0);
    cost.seconds(alpha, beta, gamma) * noise.powf(exponent)
}

/// Times of every row of these collectives at these volumes.
fn measured(
    collectives: &[Collective],
    p: usize,
    sizes: &[u64],
    prices: Prices,
    noise: f64,
    random: &mut Xoshiro256PlusPlus,
) -> Vec<(Cost, f64)> {
    let nodes = Nodes::each_alone(p);
    let mut points = Vec::new();
    for collective in collectives {
        // On nodes of one rank, rows over lanes send what rows of two levels do.
        let rows = rows(*collective, p).filter(|row| !row.id.ends_with(".lanes"));
        for (row, n) in rows.flat_map(|row| sizes.iter().map(move |n| (row, *n))) {
            let cost = cost(row, p, n, &row.default_parameters(), &nodes);
            points.push((cost, scripted(cost, prices, noise, random)));
        }
    }
    points
}

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

const PRICES: Prices = (12e-6, 0.8e-9, 0.2e-9);

#[test]
fn prices_are_recovered_from_noisy_times() {
    // All three terms matter between 4 KiB and 64 KiB: 12 us buy 15,000 bytes.
    for seed in 0..20 {
        let both = [Collective::Allreduce, Collective::Reduce];
        let points = measured(&both, 8, &[4096, 16384, 65536], PRICES, 1.05, &mut random(seed));
        let fit = Fit::of(&points).unwrap();
        // Times are wrong by up to 5 %. What is combined goes along with what is sent, and is a tenth of the time.
        for (price, truth, error) in [
            (fit.alpha, PRICES.0, 0.05),
            (fit.beta, PRICES.1, 0.1),
            (fit.gamma, PRICES.2, 0.3),
        ] {
            assert!(
                (price / truth - 1.0).abs() < error,
                "seed {seed}: {price} is not {truth}"
            );
        }
        assert!(fit.is_trusted() && fit.misfit < 1.2, "{}", fit.misfit);
    }
}

#[test]
fn exact_times_give_exact_prices_and_a_free_price_is_zero() {
    let points = measured(
        &[Collective::Bcast],
        8,
        &[1024, 65536],
        (5e-6, 1e-9, 0.0),
        1.0,
        &mut random(1),
    );
    let fit = Fit::of(&points).unwrap();
    approx::assert_relative_eq!(fit.alpha, 5e-6, max_relative = 1e-6);
    approx::assert_relative_eq!(fit.beta, 1e-9, max_relative = 1e-6);
    assert_eq!(fit.gamma, 0.0);
    approx::assert_relative_eq!(fit.misfit, 1.0, epsilon = 1e-6);
}

#[test]
fn a_disturbed_launch_moves_nothing() {
    let mut points = measured(
        &[Collective::Allreduce],
        8,
        &[4096, 65536],
        PRICES,
        1.02,
        &mut random(2),
    );
    points[3].1 *= 30.0;
    let fit = Fit::of(&points).unwrap();
    assert!((fit.alpha / PRICES.0 - 1.0).abs() < 0.1, "{}", fit.alpha);
    assert!((fit.beta / PRICES.1 - 1.0).abs() < 0.1, "{}", fit.beta);
    assert!(fit.is_trusted(), "{}", fit.misfit);
}

#[test]
fn few_points_and_impossible_times_fit_nothing() {
    let points = measured(&[Collective::Bcast], 8, &[4096], PRICES, 1.0, &mut random(3));
    assert_eq!(Fit::of(&points[..MIN_POINTS - 1]), None);
    let broken: Vec<(Cost, f64)> = points.iter().map(|(cost, _)| (*cost, f64::NAN)).collect();
    assert_eq!(Fit::of(&broken), None);
    assert_eq!(Fit::of(&vec![(Cost::ZERO, 1e-6); 20]), None);
}

#[test]
fn what_the_points_do_not_tell_apart_is_not_predicted_as_if_they_did() {
    // One shape only: as many bytes per round in all points.
    let point = |rounds: f64| Cost {
        rounds,
        bytes_sent: 1000.0 * rounds,
        bytes_reduced: 0.0,
    };
    let points: Vec<(Cost, f64)> = (1..10).map(|i| (point(f64::from(i)), 1e-5 * f64::from(i))).collect();
    let fit = Fit::of(&points).unwrap();
    let same_shape = fit.predict(point(20.0)).unwrap();
    approx::assert_relative_eq!(same_shape.seconds, 2e-4, max_relative = 1e-6);
    assert!(same_shape.high / same_shape.low < 1.2);
    for other in [
        Cost {
            rounds: 20.0,
            ..Cost::ZERO
        },
        Cost {
            bytes_sent: 1e5,
            ..Cost::ZERO
        },
        Cost {
            bytes_reduced: 1e5,
            ..point(20.0)
        },
    ] {
        let wide = fit.predict(other).is_none_or(|one| one.high / one.low > 1e3);
        assert!(wide, "{other:?}: {:?}", fit.predict(other));
    }
}

/// Candidates of a collective and their true times with the best of their parameters.
fn field(
    collective: Collective,
    p: usize,
    n: u64,
    prices: Prices,
    noise: f64,
    random: &mut Xoshiro256PlusPlus,
) -> Vec<(&'static str, Candidate, f64)> {
    let nodes = Nodes::each_alone(p);
    rows(collective, p)
        .map(|row| {
            let costs: Vec<Cost> = costs(row, p, n, &nodes).into_iter().map(|(_, cost)| cost).collect();
            // The row's own deviation from the model is one and the same for all its parameters.
            let factor = noise.powf(random.random_range(-1.0..=1.0));
            let times = costs
                .iter()
                .map(|cost| factor * cost.seconds(prices.0, prices.1, prices.2));
            let seconds = times.fold(f64::INFINITY, f64::min);
            let medium = Medium::of(row);
            let costs = costs.into_iter().map(Counts::from).collect();
            (row.id, Candidate { medium, costs }, seconds)
        })
        .collect()
}

/// Over ranks, sizes, prices and how well the model holds: the fastest candidate is never left out, and in all some are.
#[test]
fn the_best_is_never_left_out() {
    let (mut judged, mut left_out, mut cases) = (0, 0, 0);
    let mut random = random(0);
    for p in [3, 8, 32] {
        for n in [64, 4096, 262_144, 4 << 20] {
            for alpha in [1e-6, 20e-6, 200e-6] {
                for beta in [0.1e-9, 8e-9] {
                    let prices = (alpha, beta, 0.3e-9);
                    let noise = random.random_range(1.0..=1.5);
                    let sizes = [(n / 16).max(1), n, n * 16];
                    let known = [Collective::Allreduce, Collective::Gather];
                    let points = measured(&known, p, &sizes, prices, noise, &mut random);
                    let fit = Fit::of(&points).unwrap();
                    for collective in [Collective::Bcast, Collective::Reduce, Collective::Allgather] {
                        // As much wrong as the points, some of which lie outside the intervals.
                        let field = field(collective, p, n, prices, noise, &mut random);
                        let candidates: Vec<Candidate> = field.iter().map(|(_, c, _)| c.clone()).collect();
                        let result = judge(&candidates, &|_| Some(&fit));
                        let best = (0..field.len())
                            .min_by(|a, b| field[*a].2.total_cmp(&field[*b].2))
                            .unwrap();
                        assert!(
                            !result[best].left_out,
                            "{} of {p} ranks, {n} B, {prices:?}, noise {noise}: {:?}",
                            field[best].0, result[best]
                        );
                        assert!(result.iter().any(|one| !one.left_out));
                        judged += result.len();
                        left_out += result.iter().filter(|one| one.left_out).count();
                        cases += 1;
                    }
                }
            }
        }
    }
    println!("{left_out} of {judged} candidates left out in {cases} cases");
    assert!(
        left_out * 10 > judged,
        "{left_out} of {judged}: the model leaves out next to nothing"
    );
}

#[test]
fn a_bad_model_leaves_nothing_out() {
    let mut random = random(7);
    let mut points = measured(&[Collective::Bcast], 32, &[64, 1024], PRICES, 1.0, &mut random);
    let field = field(Collective::Bcast, 32, 64, PRICES, 1.0, &mut random);
    let candidates: Vec<Candidate> = field.into_iter().map(|(_, candidate, _)| candidate).collect();
    let left_out = |fit: &Fit| {
        judge(&candidates, &|_| Some(fit))
            .iter()
            .filter(|one| one.left_out)
            .count()
    };
    assert!(
        left_out(&Fit::of(&points).unwrap()) > 0,
        "31 rounds in turn are far above 5"
    );
    for (index, point) in points.iter_mut().enumerate() {
        point.1 *= if index % 2 == 0 { 3.0 } else { 1.0 / 3.0 };
    }
    let bad = Fit::of(&points).unwrap();
    assert!(bad.misfit > MAX_MISFIT && left_out(&bad) == 0, "{}", bad.misfit);
}

#[test]
fn what_cannot_be_predicted_stays() {
    let mut random = random(8);
    let points = measured(&[Collective::Bcast], 32, &[64, 1024], PRICES, 1.0, &mut random);
    let fit = Fit::of(&points).unwrap();
    let candidate = |medium, cost| Candidate {
        medium,
        costs: vec![Counts::from(cost)],
    };
    let rounds = |rounds| Cost { rounds, ..Cost::ZERO };
    let candidates = [
        candidate(Medium::Messages, rounds(1.0)),
        candidate(Medium::Messages, rounds(1000.0)),
        // Nothing of this medium was measured.
        candidate(Medium::SharedMemory, rounds(1000.0)),
        // Nothing was combined.
        candidate(
            Medium::Messages,
            Cost {
                bytes_reduced: 1e9,
                ..rounds(1000.0)
            },
        ),
        candidate(Medium::Messages, Cost::ZERO),
    ];
    let model = |medium| (medium == Medium::Messages).then_some(&fit as &dyn Model);
    let left_out: Vec<bool> = judge(&candidates, &model).iter().map(|one| one.left_out).collect();
    assert_eq!(left_out, [false, true, false, false, false]);
}

#[test]
fn a_prediction_says_what_it_is_made_of() {
    let points = measured(&[Collective::Allreduce], 8, &[4096, 65536], PRICES, 1.0, &mut random(9));
    let fit = Fit::of(&points).unwrap();
    let ring = registry::find("reduce.ring").unwrap();
    let cost = cost(ring, 8, 262_144, &[], &Nodes::each_alone(8));
    assert_eq!(
        fitted(cost, &fit),
        "14 rounds x 12.0 us + 448 KiB sent x 0.80 ns/B + 224 KiB combined x 0.20 ns/B"
    );
    let free = Cost {
        rounds: 1.0,
        ..Cost::ZERO
    };
    assert_eq!(fitted(free, &fit), "1 round x 12.0 us");
}

#[test]
fn parameters_are_searched_over_their_powers_of_two() {
    let nodes = Nodes::each_alone(8);
    let chain = registry::find("scan.pipelined_chain").unwrap();
    let values: Vec<u64> = costs(chain, 8, 65536, &nodes)
        .into_iter()
        .map(|(values, _)| values[0])
        .collect();
    assert!(
        values.contains(&chain.parameters[0].min) && values.contains(&65536),
        "{values:?}"
    );
    assert!(values.iter().all(|value| *value <= 65536), "{values:?}");
    assert_eq!(costs(registry::find("reduce.ring").unwrap(), 8, 65536, &nodes).len(), 1);
    assert!(is_near(4096, 65536) && is_near(65536, 4096) && !is_near(4096, 131_072) && is_near(0, 0));
}
