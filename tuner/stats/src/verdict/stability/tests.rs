use super::*;
use crate::verdict::{Pair, judge};

/// Three positions per launch, 1 % apart, in an order without a trend.
fn launches(centers: &[f64]) -> Vec<Vec<f64>> {
    let wobble = [1.0, 0.99, 1.005, 1.01, 0.995];
    centers
        .iter()
        .enumerate()
        .map(|(launch, center)| {
            (0..3)
                .map(|position| center * wobble[(launch * 2 + position * 3) % 5])
                .collect()
        })
        .collect()
}

fn stability(reference: &[Vec<f64>]) -> Stability {
    Stability::of(reference, &Rule::default()).unwrap()
}

fn comparison(left: &[f64], right: &[f64]) -> Comparison {
    let pair = Pair {
        left: Sample::new(left.to_vec()).unwrap(),
        right: Sample::new(right.to_vec()).unwrap(),
    };
    judge(&[pair], &Rule::default()).remove(0)
}

const STEADY: [f64; 10] = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.01, 1.0, 0.99, 1.0];
const MODES: [f64; 10] = [8.7, 15.6, 8.8, 8.6, 15.5, 8.7, 15.7, 8.65, 8.75, 15.6];
const SLOW: [bool; 10] = [false, true, false, false, true, false, true, false, false, true];

fn all() -> Vec<usize> {
    (0..10).collect()
}

#[test]
fn a_steady_machine_is_stable() {
    let stability = stability(&launches(&STEADY));
    assert!(stability.is_stable(), "{:?}", stability.warnings());
    assert!(stability.modes.iter().all(|mode| *mode == Mode::Fast));
    let slow = comparison(&STEADY.map(|s| 1.5 * s), &STEADY);
    assert_eq!(stability.affects(&slow, &all(), &Rule::default()), None);
}

#[test]
fn a_reference_that_cannot_be_read_is_an_error() {
    assert_eq!(Stability::of(&[], &Rule::default()), Err(SampleError::Empty));
    assert_eq!(
        Stability::of(&[vec![1.0], vec![]], &Rule::default()),
        Err(SampleError::Empty)
    );
    assert!(Stability::of(&[vec![f64::NAN]], &Rule::default()).is_err());
    assert!(stability(&[vec![1.0]]).is_stable());
}

#[test]
fn two_modes_are_told_apart_and_named() {
    let stability = stability(&launches(&MODES));
    let slow: Vec<bool> = stability.modes.iter().map(|mode| *mode == Mode::Slow).collect();
    assert_eq!(slow, SLOW);
    assert!((1.7..1.9).contains(&stability.modes_factor.unwrap()));
    assert!(stability.warnings()[0].starts_with("4 of 10 launches were in a slow mode, 1."));
}

#[test]
fn modes_that_both_sides_share_change_no_verdict() {
    let stability = stability(&launches(&MODES));
    for ratio in [1.0, 1.3] {
        let left: Vec<f64> = MODES
            .iter()
            .zip(STEADY)
            .map(|(mode, noise)| ratio * mode * noise)
            .collect();
        let mut pair = comparison(&left, &MODES);
        // The medians spread over both modes, so that few launches decide little; the ratio within a launch does not.
        pair.verdict = if ratio > 1.0 { Outcome::Violated } else { Outcome::Holds };
        assert_eq!(stability.affects(&pair, &all(), &Rule::default()), None, "{ratio}");
    }
}

#[test]
fn a_violation_that_one_mode_does_not_show_is_unstable() {
    let stability = stability(&launches(&MODES));
    let left: Vec<f64> = (0..10).map(|i| STEADY[i] * if SLOW[i] { 1.0 } else { 1.3 }).collect();
    let mut pair = comparison(&left, &STEADY);
    pair.verdict = Outcome::Violated;
    let reason = stability.apply(&mut pair, &all(), &Rule::default()).unwrap();
    assert_eq!(pair.verdict, Outcome::Unstable);
    assert!(reason.contains("fast and slow launches"), "{reason}");
    // And the other way round: it holds only in the mode that most launches are in.
    let left: Vec<f64> = (0..10).map(|i| STEADY[i] * if SLOW[i] { 1.3 } else { 1.0 }).collect();
    let mut pair = comparison(&left, &STEADY);
    pair.verdict = Outcome::Holds;
    assert!(stability.affects(&pair, &all(), &Rule::default()).is_some());
}

#[test]
fn a_cell_that_saw_one_mode_only_stands_and_says_so() {
    let stability = stability(&launches(&MODES));
    let fast: Vec<usize> = (0..10).filter(|&launch| !SLOW[launch]).collect();
    let pair = comparison(
        &[2.0, 2.01, 2.02, 2.03, 2.04, 2.05],
        &[1.0, 1.01, 1.02, 1.03, 1.04, 1.05],
    );
    assert_eq!(pair.verdict, Outcome::Violated);
    assert_eq!(stability.affects(&pair, &fast, &Rule::default()), None);
    assert!(stability.one_mode(&fast).unwrap().contains("in the fast launches"));
    let slow: Vec<usize> = (0..10).filter(|&launch| SLOW[launch]).collect();
    assert!(stability.one_mode(&slow).unwrap().contains("in the slow launches"));
    assert_eq!(stability.one_mode(&all()), None);
}

#[test]
fn drift_is_found_and_halves_are_compared() {
    let rising: Vec<f64> = (0..10).map(|launch| 1.0 + 0.05 * f64::from(launch)).collect();
    let stability = stability(&launches(&rising));
    assert!(
        stability.across.found && (1.3..1.6).contains(&stability.across.factor),
        "{stability:?}"
    );
    assert!(stability.warnings()[0].contains("% slower over the 10 launches"));
    // Both sides drift alike: no doubt.
    let mut pair = comparison(&rising.iter().map(|s| 1.3 * s).collect::<Vec<_>>(), &rising);
    pair.verdict = Outcome::Violated;
    assert_eq!(stability.affects(&pair, &all(), &Rule::default()), None);
    // The slowdown comes only with the second half.
    let left: Vec<f64> = (0..10).map(|i| STEADY[i] * if i < 5 { 1.0 } else { 1.4 }).collect();
    let mut pair = comparison(&left, &STEADY);
    pair.verdict = Outcome::Violated;
    assert!(
        stability
            .affects(&pair, &all(), &Rule::default())
            .unwrap()
            .contains("half of the run")
    );
}

#[test]
fn a_trend_too_small_to_matter_is_none() {
    let rising: Vec<Vec<f64>> = (0..10).map(|launch| vec![1.0 + 0.001 * f64::from(launch); 3]).collect();
    let stability = stability(&rising);
    assert!(stability.across.p < 1e-5 && !stability.across.found);
}

#[test]
fn warming_up_within_each_launch_is_found() {
    let reference: Vec<Vec<f64>> = STEADY
        .iter()
        .map(|center| vec![1.2 * center, 1.1 * center, 1.0 * center])
        .collect();
    let stability = stability(&reference);
    assert!(stability.within.found && !stability.across.found);
    assert!(
        stability.warnings()[0].contains("% faster from the start of a launch"),
        "{:?}",
        stability.warnings()
    );
}

#[test]
fn a_far_launch_is_an_outlier_and_no_mode() {
    let mut centers = STEADY;
    centers[3] = 60.0;
    let stability = stability(&launches(&centers));
    assert_eq!(stability.modes[3], Mode::Outlier);
    assert_eq!(stability.modes_factor, None);
    assert!(stability.warnings()[0].starts_with("1 of 10 launches are outliers"));
}
