use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

/// Cells that a night watches in these tests.
const CELLS: usize = 9;
/// Launches of an acceptance, of a night, and of a second look.
const LAUNCHES: (usize, usize, usize) = (20, 5, 15);

struct Machine {
    source: Xoshiro256PlusPlus,
    /// Spread between launches, and between nights, as standard deviations of logarithms.
    launch: f64,
    night: f64,
    /// Share of launches that take twice as long.
    spikes: f64,
}

impl Machine {
    fn new(seed: u64, launch: f64) -> Machine {
        Machine {
            source: Xoshiro256PlusPlus::seed_from_u64(seed),
            launch,
            night: 0.0,
            spikes: 0.0,
        }
    }

    fn normal(&mut self) -> f64 {
        let radius = (1.0 - self.source.random::<f64>()).ln();
        let angle: f64 = std::f64::consts::TAU * self.source.random::<f64>();
        (-2.0 * radius).sqrt() * angle.cos()
    }

    fn sample(&mut self, count: usize, mood: f64) -> Sample {
        let one = |machine: &mut Machine| {
            let spike = machine.source.random::<f64>() < machine.spikes;
            (mood + machine.launch * machine.normal()).exp() * 1e-5 * if spike { 2.0 } else { 1.0 }
        };
        Sample::new((0..count).map(|_| one(self)).collect()).unwrap()
    }

    fn mood(&mut self) -> f64 {
        let normal = self.normal();
        self.night * normal
    }

    /// Cells as they are accepted.
    fn accepted(&mut self) -> Vec<Watched> {
        let mood = self.mood();
        let cell = |number: usize, machine: &mut Machine| Watched {
            cell: number.to_string(),
            accepted: machine.sample(LAUNCHES.0, mood),
            nights: Vec::new(),
            tonight: None,
            again: None,
        };
        (0..CELLS).map(|number| cell(number, self)).collect()
    }

    /// A night on which cell 0 takes `slower` times as long; true for an alarm.
    fn night(&mut self, watched: &mut [Watched], slower: f64, rule: &Rule) -> bool {
        let mood = self.mood();
        let of = |number: usize| mood + if number == 0 { slower.ln() } else { 0.0 };
        for (number, one) in watched.iter_mut().enumerate() {
            one.tonight = Some(self.sample(LAUNCHES.1, of(number)));
            one.again = None;
        }
        let suspects = suspects(watched, rule);
        for (number, one) in watched.iter_mut().enumerate() {
            if suspects.contains(&one.cell) {
                one.again = Some(self.sample(LAUNCHES.2, of(number)));
            }
        }
        let alarm = judge(watched, rule).iter().any(|timed| timed.pace == Pace::Slower);
        if !alarm {
            for one in watched.iter_mut() {
                one.nights.extend(one.tonight.as_ref().map(Sample::median));
            }
        }
        alarm
    }
}

/// Alarms among sites that are watched for ten silent nights each.
fn alarms(sites: u64, launch: f64, night: f64, spikes: f64, tolerance: f64) -> usize {
    let rule = Rule::of_ten_nights(0.05, tolerance);
    let site = |seed: &u64| {
        let mut machine = Machine {
            night,
            spikes,
            ..Machine::new(*seed, launch)
        };
        let mut watched = machine.accepted();
        (0..10).any(|_| machine.night(&mut watched, 1.0, &rule))
    };
    (0..sites).filter(site).count()
}

#[test]
fn ten_nights_of_nothing_are_silent_as_often_as_promised() {
    // One in twenty sites may hear an alarm in ten nights. Almost no tolerance: the test alone has to keep the rate.
    let heard = alarms(120, 0.10, 0.0, 0.0, 1e-6);
    assert!(heard <= 6, "{heard} of 120 sites");
    // Spikes and the usual tolerance.
    let heard = alarms(120, 0.05, 0.0, 0.1, 0.10);
    assert!(heard <= 6, "{heard} of 120 sites");
    // Nights that differ by 1.5 % as a whole, which no test within a night can know.
    let heard = alarms(120, 0.03, 0.015, 0.05, 0.10);
    assert!(heard <= 6, "{heard} of 120 sites");
}

#[test]
fn a_cell_that_takes_a_quarter_longer_is_found() {
    let rule = Rule::of_ten_nights(0.05, 0.10);
    let found = |seed: &u64| {
        let mut machine = Machine {
            spikes: 0.05,
            ..Machine::new(*seed, 0.03)
        };
        let mut watched = machine.accepted();
        let silent = (0..3).all(|_| !machine.night(&mut watched, 1.0, &rule));
        silent && machine.night(&mut watched, 1.25, &rule)
    };
    let count = (0..100).filter(found).count();
    assert!(count >= 90, "{count} of 100");
}

#[test]
fn nights_that_differ_widen_the_tolerance_and_a_few_do_not() {
    let rule = Rule::of_ten_nights(0.05, 0.10);
    let mut one = Machine::new(1, 0.01).accepted().remove(0);
    let own = one.accepted.median();
    one.nights = vec![0.8 * own, 1.2 * own];
    assert_eq!(one.tolerance(&rule), 0.10);
    one.nights = vec![0.8 * own, 1.2 * own, 0.85 * own, 1.15 * own];
    assert!(one.tolerance(&rule) > 0.5, "{}", one.tolerance(&rule));
    one.nights = vec![own; 9];
    assert_eq!(one.tolerance(&rule), 0.10);
}

#[test]
fn what_gave_no_times_is_said_and_counts_as_a_test() {
    let rule = Rule::of_ten_nights(0.05, 0.10);
    let mut watched = Machine::new(3, 0.01).accepted();
    watched[1].tonight = Some(watched[1].accepted.clone());
    let timed = judge(&watched, &rule);
    assert_eq!((timed[0].pace, timed[1].pace), (Pace::NotMeasured, Pace::Same));
    assert_eq!((timed[0].seconds, timed[0].launches), (None, 0));
    assert_eq!(timed[1].p_adjusted, 1.0);
}
